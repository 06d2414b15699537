"""Which devices this machine has, and the driver of each.

    driver_for(gpu(0)).total_bytes      # of a CUDA device, or of a simulated one
    backend_of(gpu(0))                  # "cuda", or "cpu": whose kernels run there

A driver allocates and frees memory of one device (`base.py`); pools stand before it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from minimx.core.device import Device
from minimx.core.drivers import machine
from minimx.core.drivers.base import Bytes, Costs, DeviceFull, Driver, Region, shaped
from minimx.core.drivers.cuda import cuda
from minimx.core.drivers.host import HostDriver
from minimx.core.drivers.links import HOST, hops, place
from minimx.core.drivers.machine import Passage, link_between, passage
from minimx.core.drivers.shared import SharedDriver
from minimx.core.errors import DeviceError
from minimx.core.knobs import knobs

__all__ = [
    "HOST", "Bytes", "Costs", "DeviceFull", "Driver", "Passage", "Region",
    "backend_of", "during", "driver_for", "forget", "kernels_as_on", "hops",
    "link_between", "num_gpus", "opened", "passage", "place", "shaped", "working",
]  # fmt: skip

_drivers: dict[Device, Driver] = {}
_lock = threading.Lock()


def num_gpus() -> int:
    """How many `gpu(i)` can be used: CUDA devices, or more where more are simulated.

    Examples
    --------
    >>> import minimx as mx
    >>> mx.num_gpus() >= 0
    True
    """
    return max(cuda().count(), int(knobs.get("MINIMX_SIM_GPUS")))


def driver_for(device: Device) -> Driver:
    """The driver of a device, opened at first use.

    Raises `DeviceError` for a GPU that does not exist.
    """
    found = _drivers.get(device)
    if found is None:
        with _lock:
            found = _drivers.get(device)
            if found is None:
                found = _drivers[device] = _open(device)
                device.backend = found.backend
    return found


def kernels_as_on(device: Device) -> str:
    """Whose kernels a device has: "cpu", "cuda", or "gpu".

    A simulated GPU has the CPU's, and chooses among them by the knobs of GPUs.
    """
    backend = backend_of(device)
    return "gpu" if device.device_type == "gpu" and backend == "cpu" else backend


def backend_of(device: Device) -> str:
    """Whose kernels run on a device: `cpu` or `cuda`.

    Raises `DeviceError` for a GPU that does not exist: where it is asked for, not in
    a worker later.
    """
    return device.backend or driver_for(device).backend


def working(device: Device) -> AbstractContextManager[Any]:
    """A `with` block in which this thread works on a device.

    For a CUDA device it has a stream, and the end of the block waits for that stream;
    for others there is nothing to do.
    """
    if backend_of(device) == "cpu":
        return nullcontext()
    driver: Any = driver_for(device)
    context: AbstractContextManager[Any] = driver.working()
    return context


def during(device: Device, run: Callable[[], None]) -> Callable[[], None]:
    """The same work, inside `working`: for a thread of the engine.

    Returns a function without arguments. Raises DeviceError, when that is called, for a
    GPU that does not exist.
    """

    def inside() -> None:
        with working(device):
            run()

    return inside


def opened() -> list[Driver]:
    """The drivers opened so far."""
    return list(_drivers.values())


def forget(device: Device) -> None:
    """Give up a device's driver; the next use opens it anew. Nothing may be in use."""
    with _lock:
        _drivers.pop(device, None)
        if device.device_type == "gpu":
            device.backend = ""


def _open(device: Device) -> Driver:
    if device.device_type == "gpu":
        count = num_gpus()
        if device.device_id >= count:
            raise DeviceError(_no_such_gpu(device, count))
        if device.device_id < cuda().count():
            return cuda().opened(device)
        return machine.open_gpu(device)
    if device.device_type == "cpu_pinned" and cuda().count():
        return cuda().pinned(device)
    if device.device_type == "cpu_shared":
        return SharedDriver(device)
    return HostDriver(device)


def _no_such_gpu(device: Device, count: int) -> str:
    there = {0: "no GPU", 1: "only gpu(0)"}.get(count, f"gpu(0) to gpu({count - 1})")
    return (
        f"{device} does not exist; there is {there}. Use one that exists, or set "
        f"MINIMX_SIM_GPUS={device.device_id + 1} for more simulated GPUs."
    )


def _described_anew(name: str, new: Any, old: Any) -> None:
    """A knob of the simulated machine was turned: give its GPUs their new costs."""
    for driver in opened():
        if driver.device.device_type == "gpu" and driver.backend == "cpu":
            machine.describe(driver)


knobs.watch(
    (
        *machine.COST_KNOBS,
        "MINIMX_SIM_GPUS",
        "MINIMX_SIM_LINKS",
        "MXNET_ENABLE_GPU_P2P",
    ),
    _described_anew,
)
