"""What the core asks of CUDA, function by function: `minimx.core.drivers.cuda.Cuda`."""

from __future__ import annotations

from typing import Any

from minimx.core.device import Device
from minimx.core.drivers.base import Driver
from minimx.cuda import toolkit


def count() -> int:
    """How many CUDA devices may be used (MINIMX_CUDA); imports no numba."""
    return toolkit.stack().count


def opened(device: Device) -> Driver:
    """The driver of a device."""
    from minimx.cuda import driver

    return driver.opened(device)


def pinned(device: Device) -> Driver:
    """The driver of memory of the host that devices can read."""
    from minimx.cuda import driver

    return driver.PinnedDriver(device)


def link(start: Device, end: Device) -> Any:
    """How two devices copy from one to the other, a row of `drivers.machine`."""
    from minimx.cuda.kernels import peers

    return peers.link(start, end)


def stream() -> Any:
    """The CUDA stream of this thread, 0 outside of `drivers.working`."""
    from minimx.cuda.driver import current_stream

    return current_stream()


def implementation(op: Any, specs: tuple[Any, ...], plan: Any) -> Any:
    """How an operator runs: `kernel`, `workspace` in bytes, and `native`."""
    from minimx.cuda.launches import CudaPlan

    return CudaPlan(op, specs, plan)
