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
        """The link over which two devices copy directly, a `links.Link`.

        None if CUDA has no peer access for them, or MXNET_ENABLE_GPU_P2P is off: then
        copies go through the host.
        """

    def stream(self) -> Any:
        """The CUDA stream of this thread, 0 outside of `drivers.working`."""

    def implementation(self, op: Any, specs: tuple[Any, ...], plan: Any) -> Any:
        """How an operator runs on a CUDA device.

        specs: of its inputs. plan: that of the CPU, whose outputs it has as well. The
        result has `kernel`, a function of arrays as the plan's; `workspace`, the bytes
        of scratch memory that it takes; and `native`: False if it runs on the host,
        between two copies.
        """


def cuda() -> Cuda:
    """The functions of CUDA; their module is imported at the first call."""
    return cast(Cuda, provided("cuda"))
