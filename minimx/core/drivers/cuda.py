"""What the core asks of CUDA; `minimx/cuda/interface.py` answers.

    cuda().count()               how many CUDA devices there are

The core knows CUDA by these functions only. All but `count` are called where there is
a device.
"""

from __future__ import annotations

from typing import Any, Protocol, cast

from minimx.core.device import Device
from minimx.core.drivers.base import Driver
from minimx.core.extensions import provided


class Cuda(Protocol):
    """The functions of CUDA that the core calls."""

    def count(self) -> int:
        """How many CUDA devices may be used (MINIMX_CUDA); imports no numba."""

    def opened(self, device: Device) -> Driver:
        """The driver of a device."""

    def pinned(self, device: Device) -> Driver:
        """The driver of memory of the host that devices can read."""

    def link(self, start: Device, end: Device) -> Any:
        """How two devices copy from one to the other, a row of `drivers.machine`."""

    def stream(self) -> Any:
        """The CUDA stream of this thread, 0 outside of `drivers.working`."""

    def implementation(self, op: Any, specs: tuple[Any, ...], plan: Any) -> Any:
        """How an operator runs: `kernel`, `workspace` in bytes, and `native`."""


def cuda() -> Cuda:
    """CUDA's side, imported when it is first asked for."""
    return cast(Cuda, provided("cuda"))
