"""A CUDA device: memory that kernels of numba-cuda work on, streams, and copies.

    with driver.working() as stream:      # this thread works on the device now
        kernel[blocks, threads, stream](...)
                                          # at the end: all of it has happened

Every thread has a stream of its own on every device, so work of two engine workers may
overlap, and leaving `working` waits for that stream only. That makes the engine's
"done" mean done, as in MXNet's synchronous engines.

Where numba's CUDA is the simulator, memory is one arena of MINIMX_SIM_GPU_MEMORY bytes
with first-fit allocation, kernels of two threads take turns, and everything else is the
same code.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from math import prod
from typing import Any, Final

import numpy as np

from minimx.core.device import Device
from minimx.core.drivers.addressed import GRAIN, AddressedDriver
from minimx.core.drivers.base import Bytes, DeviceFull, Driver, Region, address_of
from minimx.core.drivers.cards import GENERIC
from minimx.core.drivers.host import HostDriver
from minimx.core.drivers.machine import card
from minimx.core.errors import DeviceError
from minimx.cuda import toolkit

#: numba's simulator runs one kernel at a time, whichever thread launches it.
_turn = threading.RLock()
_thread = threading.local()
#: What a thread has outside `working`; stream 0 is CUDA's own.
_OUTSIDE: Final = {"device": None, "stream": 0, "last": None, "lane": 0}


#: So many arrays over the same bytes are kept.
MOST_VIEWS = 16


class DeviceBytes:
    """Some bytes of a device's memory; what `Region.data` is on a CUDA device."""

    __slots__ = ("array", "views")

    def __init__(self, array: Any) -> None:
        self.array = array  # one of numba's device arrays, flat, uint8
        self.views: dict[Any, Any] = {}

    def __getitem__(self, part: slice) -> DeviceBytes:
        return DeviceBytes(self.array[part])

    def __setitem__(self, part: slice, value: int) -> None:
        self.array[part] = value

    def shaped(self, shape: tuple[int, ...], dtype: Any, offset: int = 0) -> Any:
        """The device array of this shape and type that starts `offset` bytes in.

        It shares the memory. One without axes has the shape (1,); element types that
        NumPy itself does not have are seen as unsigned integers of their size.
        """
        # Programs ask for the same again and again, and numba takes 20 µs for each.
        key = shape, dtype, offset
        if (known := self.views.get(key)) is not None:
            return known
        kind = plain(np.dtype(dtype))
        part = self.array[offset : offset + prod(shape) * kind.itemsize]
        if len(self.views) >= MOST_VIEWS:
            self.views.clear()
        self.views[key] = found = part.view(kind).reshape(*(shape or (1,)))
        return found


def plain(dtype: Any) -> Any:
    """The type, or for one that NumPy does not have the unsigned one of its size."""
    return dtype if dtype.isbuiltin == 1 else np.dtype(f"u{dtype.itemsize}")


def current_stream() -> Any:
    """The stream that this thread launches into; 0, CUDA's own, outside `working`."""
    return getattr(_thread, "stream", 0)


def current_lane() -> int:
    """Which of the streams that this thread uses by turns it is (`into`), from 0."""
    return getattr(_thread, "lane", 0)


@contextmanager
def into(stream: Any, lane: int) -> Iterator[None]:
    """Let this thread launch into another stream. Only inside `working`.

    lane: a number for the stream, 0 for that of `working`; scratch memory is kept apart
    by it. The caller sees to it that the stream is done when `working` ends.
    """
    before = _thread.stream, current_lane()
    _thread.stream, _thread.lane = stream, lane
    try:
        yield
    finally:
        _thread.stream, _thread.lane = before


def current_device() -> Device:
    """The device that this thread works on. Only inside `working`."""
    device: Device = _thread.device
    return device


def at_end(call: Callable[[], None]) -> None:
    """Call something when this thread's work on the device is done. Inside `working`.

    It is called at the end of the outermost `working`, by this thread, also if the work
    failed.
    """
    _thread.last.append(call)


class Working:
    """What a CUDA device can do besides allocating; see the module's docstring."""

    device: Device
    backend = "cuda"

    @contextmanager
    def working(self) -> Iterator[Any]:
        """Let this thread work on the device; yields its stream there.

        At the end it waits until all that it launched has happened. Inside another
        `working` of the device it does nothing: the outer one waits. Raises
        `DeviceError` for what CUDA reports.
        """
        if getattr(_thread, "device", None) is self.device:  # inside already
            yield _thread.stream
            return
        module = toolkit.cuda()
        with ExitStack() as locks, _as_device_errors(self.device):
            if toolkit.simulated():
                locks.enter_context(_turn)
            locks.enter_context(module.gpus[self.device.device_id])
            before = _thread.__dict__.copy()
            _thread.device, _thread.stream = self.device, self._stream(module)
            calls: list[Callable[[], None]] = []
            _thread.last = calls
            try:
                try:
                    yield _thread.stream
                finally:
                    _thread.stream.synchronize()
            finally:
                for call in calls:
                    call()
                for name, outside in _OUTSIDE.items():
                    setattr(_thread, name, before.get(name, outside))

    def _stream(self, module: Any) -> Any:
        """The stream of the calling thread on the device, made at first use."""
        streams = _thread.__dict__.setdefault("streams", {})
        if self.device not in streams:
            streams[self.device] = module.stream()
        return streams[self.device]


@contextmanager
def _as_device_errors(device: Device) -> Iterator[None]:
    """Turn what CUDA reports into an error that says what to do."""
    try:
        yield
    except Exception as error:
        if type(error).__name__ not in ("CudaAPIError", "CUDAError", "NvrtcError"):
            raise
        raise DeviceError(
            f"{device}: CUDA reports: {error}. After such an error the device's memory "
            "is lost to this process: start it anew. If it comes back, look for a "
            "kernel that writes beyond its arrays, and ask `nvidia-smi` whether the "
            "device is well."
        ) from error


class CudaDriver(Working, Driver):
    """The memory of a real CUDA device."""

    costs = GENERIC.costs

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        toolkit.check_libraries()
        with self.working():
            self._total = int(self._context().get_memory_info().total)

    def _context(self) -> Any:
        return toolkit.cuda().current_context(self.device.device_id)

    @property
    def total_bytes(self) -> int:
        """The device's memory, as CUDA reports it."""
        return self._total

    @property
    def free_bytes(self) -> int:
        """What no program uses."""
        with self.working():
            return int(self._context().get_memory_info().free)

    def alloc(self, nbytes: int) -> Region:
        """New memory, not initialized. Raises `DeviceFull` where CUDA refuses."""
        with self.working():
            try:
                array = toolkit.cuda().device_array(nbytes, np.uint8)
            except Exception as error:
                if "OUT_OF_MEMORY" not in str(error).upper().replace(" ", "_"):
                    raise
                raise DeviceFull(f"CUDA refused {nbytes:,} bytes.") from None
        self.calls += 1
        self.used += nbytes
        address = int(array.__cuda_array_interface__["data"][0])
        return Region(DeviceBytes(array), address, nbytes)

    def free(self, region: Region) -> None:
        """Take a region back; numba frees it with its last reference."""
        self.used -= region.nbytes
        del region.data
        with self.working():
            self._context().deallocations.clear()

    def keep_only(self, regions: Iterable[Region]) -> None:
        """Count these regions only; memory without a reference is gone already."""
        self.used = sum(region.nbytes for region in regions)

    def __repr__(self) -> str:
        name = toolkit.cuda().gpus[self.device.device_id].name
        text = name.decode() if isinstance(name, bytes) else name
        return f"<{self.device}: {text}, {self._total / 2**30:,.1f} GiB, by CUDA>"


class PlayedCuda(Working, AddressedDriver):
    """The device of numba's CUDA simulator, with an arena of its own."""

    def __init__(self, device: Device, capacity: int) -> None:
        super().__init__(device, capacity, GRAIN)
        toolkit.check_libraries()
        self._arena = toolkit.cuda().device_array(self.space.size, np.uint8)

    def _bytes(self, start: int, nbytes: int) -> Any:
        return DeviceBytes(self._arena[start : start + nbytes])

    def __repr__(self) -> str:
        return (
            f"<{self.device}: numba's CUDA simulator, "
            f"{self.total_bytes / 2**20:,g} MiB in grains of {GRAIN} bytes; every CUDA "
            "thread is played by one of Python's, so its speed says nothing>"
        )


def opened(device: Device) -> Driver:
    """The driver of a CUDA device that `toolkit.stack` counted, or of the simulator's.

    Raises `DeviceError` for what CUDA reports.
    """
    if toolkit.simulated():
        return PlayedCuda(device, card().memory)
    return CudaDriver(device)


class PinnedDriver(HostDriver):
    """Host memory that CUDA has pinned, so that copies run beside everything else."""

    def _fresh(self, nbytes: int) -> Region:
        try:
            data: Bytes = toolkit.cuda().pinned_array(nbytes, np.uint8)
        except Exception as error:
            if "MEMORY" not in str(error).upper():
                raise
            raise DeviceFull(f"CUDA refused to pin {nbytes:,} bytes.") from None
        return Region(data, address_of(data), nbytes)

    def __repr__(self) -> str:
        return f"<{self.device}: host memory of {self._total:,} bytes, pinned by CUDA>"
