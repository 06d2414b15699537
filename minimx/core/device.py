"""Devices: the names of where arrays live and operators run.

A `Device` is a name and nothing more: a type and a number. It can be made for hardware
that is not there; only asking it for memory fails. There is one object per name, so
devices are compared and hashed by identity, which keeps them cheap as dictionary keys.

MXNet 1 says `Context` and `current_context`, MXNet 2 `Device` and `current_device`;
here both names stand for the same thing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, ClassVar

from minimx.core.errors import DeviceError, did_you_mean


class _Current(type):
    """`Context.default_ctx`: the device that new arrays are on; it may be set."""

    @property
    def default_ctx(cls) -> Device:
        """What `current_device` says, for this thread."""
        return current_device()

    @default_ctx.setter
    def default_ctx(cls, device: Device) -> None:
        set_default_device(device)


class Device(metaclass=_Current):
    """A device by type (`cpu`, `gpu`, `cpu_pinned`, `cpu_shared`) and number.

    >>> Device("gpu", 1) is gpu(1), Device(gpu(1)) is gpu(1)
    (True, True)
    >>> with gpu(1):
    ...     current_device()
    gpu(1)
    """

    __slots__ = (
        "_name",
        "backend",
        "device_id",
        "device_type",
        "device_typeid",
        "home",
    )

    # MXNet's codes, as they stand in `.params` files.
    devtype2str: ClassVar[dict[int, str]] = {
        1: "cpu",
        2: "gpu",
        3: "cpu_pinned",
        5: "cpu_shared",
    }
    devstr2type: ClassVar[dict[str, int]] = {
        name: code for code, name in devtype2str.items()
    }
    # Filled in by `minimx.core.storage`, which owns the caches and is one layer above.
    cache_emptier: ClassVar[Callable[[Device], object] | None] = None

    _known: ClassVar[dict[tuple[str, int], Device]] = {}

    device_type: str
    device_id: int
    device_typeid: int
    #: Where operators put what they make: `cpu` for all memory of the host.
    home: Device
    #: Whose kernels run on it, `cpu` or `cuda`; "" as long as its driver was not asked.
    backend: str
    _name: str

    def __new__(cls, device_type: str | Device, device_id: int = 0) -> Device:
        """The one device of this name, made at first mention.

        Raises `DeviceError` for an unknown type or a number that is none.
        """
        if isinstance(device_type, Device):
            return device_type
        found = cls._known.get((device_type, device_id))
        return found if found is not None else cls._make(device_type, device_id)

    @classmethod
    def _make(cls, device_type: str, device_id: int) -> Device:
        if device_type not in cls.devstr2type:
            hint = did_you_mean(str(device_type), cls.devstr2type)
            raise DeviceError(
                f"{device_type!r} is not a type of device: "
                f"{', '.join(cls.devstr2type)}.{hint}"
            )
        try:
            number = int(device_id.__index__())
        except AttributeError:
            number = -1
        if number < 0:
            raise DeviceError(
                f"{device_type}({device_id!r}): devices are numbered 0, 1, 2 and so on."
            )
        device = object.__new__(cls)
        device.device_type = device_type
        device.device_id = number
        device.device_typeid = cls.devstr2type[device_type]
        device._name = f"{device_type}({number})"
        device.backend = "" if device_type == "gpu" else "cpu"
        staging = device_type in ("cpu_pinned", "cpu_shared")
        device.home = Device("cpu", number) if staging else device
        # Two threads may get here together; the first one in wins for both.
        return cls._known.setdefault((device_type, number), device)

    def __repr__(self) -> str:
        return self._name

    def __reduce__(self) -> tuple[Any, ...]:
        return Device, (self.device_type, self.device_id)

    def __enter__(self) -> Device:
        _scopes.stack.append(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _scopes.stack.pop()

    def empty_cache(self) -> None:
        """Give the idle memory in this device's pool back to the device."""
        if Device.cache_emptier is not None:
            Device.cache_emptier(self)


class _Scopes(threading.local):
    """The devices that this thread has entered with `with`, outermost first."""

    def __init__(self) -> None:
        self.stack = [Device("cpu", 0)]


_scopes = _Scopes()


def cpu(device_id: int = 0) -> Device:
    """The host. All numbers share one memory.

    Examples
    --------
    >>> import minimx as mx
    >>> mx.cpu()
    cpu(0)
    """
    return Device("cpu", device_id)


def gpu(device_id: int = 0) -> Device:
    """An accelerator: a real one where there is one, else a simulated one.

    Examples
    --------
    >>> import minimx as mx
    >>> mx.gpu(1)
    gpu(1)
    """
    return Device("gpu", device_id)


def cpu_pinned(device_id: int = 0) -> Device:
    """Host memory for staging copies to and from a GPU.

    Examples
    --------
    >>> import minimx as mx
    >>> mx.cpu_pinned()
    cpu_pinned(0)
    """
    return Device("cpu_pinned", device_id)


def cpu_shared(device_id: int = 0) -> Device:
    """Host memory that processes forked from this one share with it."""
    return Device("cpu_shared", device_id)


def as_device(value: DeviceLike) -> Device:
    """The device that is meant: itself, or one named as it prints, such as `gpu(1)`.

    >>> as_device("gpu(1)") is gpu(1), as_device("cpu") is cpu()
    (True, True)
    """
    if isinstance(value, Device):
        return value
    if not isinstance(value, str):
        raise DeviceError(
            f"{value!r} is a {type(value).__name__}, not a device. Give mx.cpu(), "
            "mx.gpu(0), …"
        )
    kind, bracket, number = value.partition("(")
    number = number.removesuffix(")") if bracket else "0"
    return Device(kind, int(number) if number.isdecimal() else -1)


def current_device() -> Device:
    """The device of the innermost `with device:` of this thread, else `cpu(0)`.

    Examples
    --------
    >>> import minimx as mx
    >>> with mx.cpu(1):
    ...     mx.current_device()
    cpu(1)
    """
    return _scopes.stack[-1]


def set_default_device(device: DeviceLike) -> None:
    """Change what `current_device` says in this thread outside any `with device:`.

    Inside one, it changes what holds until the end of that block.
    """
    _scopes.stack[-1] = as_device(device)


Context = Device
#: A device, or its name as `as_device` reads it.
DeviceLike = Device | str
current_context = current_device
