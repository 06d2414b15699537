"""Devices whose addresses we hand out ourselves, by first fit."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable

from minimx.core.device import Device
from minimx.core.drivers.address_space import AddressSpace
from minimx.core.drivers.base import Bytes, DeviceFull, Driver, Region
from minimx.core.drivers.cards import GENERIC

GRAIN = 512  # bytes; the granularity of CUDA's own allocator


class AddressedDriver(Driver):
    """`capacity` bytes, cut into grains, in an address space of their own."""

    costs = GENERIC.costs
    simulated = True

    def __init__(self, device: Device, capacity: int, grain: int = GRAIN) -> None:
        super().__init__(device)
        self.space = AddressSpace(capacity, grain)

    @abstractmethod
    def _bytes(self, start: int, nbytes: int) -> Bytes:
        """The memory behind a range of addresses."""

    @property
    def total_bytes(self) -> int:
        """The capacity, in whole grains."""
        return self.space.size

    @property
    def free_bytes(self) -> int:
        """Free bytes, in one piece or in many."""
        return self.space.free

    @property
    def largest_free(self) -> int:
        """The longest free range."""
        return self.space.largest_hole

    def alloc(self, nbytes: int) -> Region:
        """Allocate a range. Raises `DeviceFull` if no hole is long enough."""
        start = self.space.take(nbytes)
        if start is None:
            raise DeviceFull(
                f"no hole of {nbytes:,} bytes; the largest has {self.largest_free:,}."
            )
        self.calls += 1
        self.busy_ns += self.costs.driver_call_ns
        self.used = self.space.size - self.space.free
        return Region(self._bytes(start, nbytes), start, nbytes)

    def free(self, region: Region) -> None:
        """Take a range back."""
        self.space.give(region.address)
        self.busy_ns += self.costs.driver_call_ns
        self.used = self.space.size - self.space.free

    def keep_only(self, regions: Iterable[Region]) -> None:
        """Take back every range but those of these regions."""
        kept = {region.address for region in regions}
        for start, _ in self.space.taken:
            if start not in kept:
                self.space.give(start)
        self.used = self.space.size - self.space.free
