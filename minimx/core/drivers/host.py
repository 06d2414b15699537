"""The memory of the host, plain and pinned.

Pinned memory is memory that the operating system promises not to move, which is what a
real GPU's copy engine needs. Without such a GPU the promise is worth nothing, so here
it is plain memory behind a pool of its own, as in MXNet's builds without CUDA.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

from minimx.core.device import Device
from minimx.core.drivers.base import (
    Costs,
    DeviceFull,
    Driver,
    Region,
    address_of,
    aligned_bytes,
)

# A modest core: enough for the virtual clock to tell arithmetic from memory traffic.
HOST_COSTS = Costs(
    launch_ns=1_000, flops=50e9, memory_bandwidth=20e9, host_bandwidth=10e9
)

# Asking the operating system takes longer than serving a request; between two looks the
# driver does the sum itself.
LOOK_AGAIN_AFTER = 0.1  # seconds


class HostDriver(Driver):
    """Memory of the host, from the operating system."""

    costs = HOST_COSTS

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self._total = physical_memory()
        self._looked_at = float("-inf")
        self._free_then = 0
        self._used_then = 0

    @property
    def total_bytes(self) -> int:
        """The physical memory of the machine."""
        return self._total

    @property
    def free_bytes(self) -> int:
        """What could be allocated without swapping, at most 0.1 s old.

        MXNet counts only pages that hold nothing at all. The operating system fills
        those with copies of files, so on a machine that has been up for a day the count
        is near zero and every reserve looks broken. We count what would be handed over
        on request.
        """
        now = time.monotonic()
        if now - self._looked_at > LOOK_AGAIN_AFTER:
            self._looked_at = now
            self._free_then = available_memory(self._total - self.used)
            self._used_then = self.used
        return max(self._free_then - (self.used - self._used_then), 0)

    def alloc(self, nbytes: int) -> Region:
        """Allocate `nbytes`. Raises `DeviceFull` for more than the machine has.

        The operating system promises more than it has and stops the process when the
        promise is called in, so the refusal must come from here.
        """
        if nbytes > self._total:
            raise DeviceFull(f"{nbytes:,} bytes are more than the machine has.")
        region = self._fresh(nbytes)
        self.calls += 1
        self.used += nbytes
        return region

    def free(self, region: Region) -> None:
        """Take a region back; the memory goes when its last view does."""
        self.used -= region.nbytes
        del region.data

    def keep_only(self, regions: Iterable[Region]) -> None:
        """Count these regions only; memory without a reference is gone already."""
        self.used = sum(region.nbytes for region in regions)

    def _fresh(self, nbytes: int) -> Region:
        data = aligned_bytes(nbytes)
        return Region(data, address_of(data), nbytes)

    def __repr__(self) -> str:
        return f"<{self.device}: host memory of {self._total:,} bytes>"


def physical_memory() -> int:
    """The physical memory of this machine in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def available_memory(otherwise: int) -> int:
    """What the operating system could hand out now; `otherwise` if it does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as report:
            for line in report:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        return otherwise  # not Linux
    return otherwise
