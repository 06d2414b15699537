"""A make-believe GPU: a limited arena of host memory with an allocator of its own.

It has what makes a GPU's memory interesting: it is small, it is separate (arrays must
be copied to it), and its address space fragments. Its kernels are the CPU kernels, so
its speed says nothing; on the virtual clock it costs what it declares.

The arena is a private mapping: the operating system gives pages as they are written to,
and takes those of a large region back when it is freed, as it does for host memory.
"""

from __future__ import annotations

import mmap
import sys
from typing import Any

import numpy as np

from minimx.core.device import Device
from minimx.core.drivers.address_space import AddressSpace
from minimx.core.drivers.addressed import GRAIN, AddressedDriver
from minimx.core.drivers.base import Bytes, DeviceFull, Region, aligned_bytes
from minimx.core.drivers.cards import GENERIC, Card

# Regions from this size on go back to the host when they are freed. A smaller one is
# soon used again, and its pages would only have to be cleared once more.
GIVEN_BACK = 4 << 20
_LEAST = 64 << 20  # what a halved arena has at least
_PAGE = mmap.PAGESIZE
# Linux's number, which Python has a name for only from 3.13 on. Without the flag two
# arenas beside each other count as one mapping, and where it is larger than the host's
# memory the system refuses to fork.
_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)
_LAZY = all(hasattr(mmap, name) for name in ("MAP_PRIVATE", "MADV_DONTNEED"))


class SimulatedGPU(AddressedDriver):
    """`capacity` bytes of pretended GPU memory, on a card that costs what it declares.

    The arena is reserved at once and costs real memory only where it was written to.
    """

    def __init__(
        self,
        device: Device,
        capacity: int,
        card: Card = GENERIC,
        link: str = "",
        halve: bool = False,
    ) -> None:
        """`link` says in words what joins it to the next GPU.

        halve: take half as much, again and again, while the host refuses. Raises
        `DeviceFull` if it refuses all.
        """
        super().__init__(device, capacity, GRAIN)
        self.card = card
        self.costs = card.costs
        self.link = link
        self._map: Any = None
        self._arena = self._reserved(halve)

    def _reserved(self, halve: bool) -> Bytes:
        """The arena, and `self.space` as large as it came out."""
        while True:
            size = self.space.size
            try:
                if not _LAZY or not size:
                    return aligned_bytes(size)
                self._map = _mapping(size)
                return np.frombuffer(self._map, np.uint8, size)
            except DeviceFull:
                if not halve or size // 2 < _LEAST:
                    raise
                self.space = AddressSpace(size // 2, GRAIN)

    def free(self, region: Region) -> None:
        """Take a range back; the host gets the whole pages of a large one."""
        if self._map is not None and region.nbytes >= GIVEN_BACK:
            first = -(-region.address // _PAGE) * _PAGE
            last = (region.address + region.nbytes) // _PAGE * _PAGE
            self._map.madvise(mmap.MADV_DONTNEED, first, last - first)
        super().free(region)

    def _bytes(self, start: int, nbytes: int) -> Bytes:
        return self._arena[start : start + nbytes]

    def __repr__(self) -> str:
        c = self.costs
        card = "" if self.card is GENERIC else f" {self.card.name}"
        call = f", {c.driver_call_ns / 1e3:g} µs a driver call" * (c.driver_call_ns > 0)
        matrices = f"{c.tensor_flops / 1e12:g} on tensor cores, " * (c.tensor_flops > 0)
        link = f", {self.link} to the next GPU" if self.link else ""
        return (
            f"<{self.device}: simulated GPU{card}, {self.total_bytes / 2**20:,g} MiB "
            f"in grains of {GRAIN} bytes; on the virtual clock "
            f"{c.launch_ns / 1e3:g} µs a launch{call}, {c.flops / 1e12:g} TFLOP/s, "
            f"{matrices}"
            f"{c.memory_bandwidth / 1e9:g} GB/s to its memory, "
            f"{c.host_bandwidth / 1e9:g} GB/s to the host{link}; on the wall clock as "
            "fast as the CPU that plays it>"
        )


def _mapping(nbytes: int) -> mmap.mmap:
    """Private memory that takes pages of the host only where it is written to.

    Raises `DeviceFull` if the operating system refuses.
    """
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE
    try:
        found = mmap.mmap(-1, nbytes, flags=flags)
    except (OSError, OverflowError, ValueError):
        raise DeviceFull(f"the operating system refused {nbytes:,} bytes.") from None
    if hasattr(mmap, "MADV_HUGEPAGE"):
        try:
            found.madvise(mmap.MADV_HUGEPAGE)
        except OSError:
            return found  # a kernel without large pages: small ones do as well
    return found
