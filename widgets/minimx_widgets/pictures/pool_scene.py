"""A pool at one moment of its history: its blocks by address, and by size.

Only bookkeeping: what was allocated, what was freed and what went where is in the
history; the real policies decided it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from minimx.core.replay import History
from minimx.core.replay.history import (
    ALLOC,
    FLUSH,
    FREE,
    GIVEN_BACK,
    HIT,
    IDLE_AT_END,
    LIVE,
    RELEASE,
)

IN_USE, CACHED, STRANDED = "in use", "cached", "stranded"
STATES = (IN_USE, CACHED, STRANDED)


class Region(NamedTuple):
    """A block that the pool holds: where it is, and the event that made it so."""

    address: int
    size: int
    requested: int
    state: str
    row: int


@dataclass
class SizeClass:
    """The blocks of one size: how many are in which state, and what was asked for."""

    size: int
    in_use: int = 0
    cached: int = 0
    stranded: int = 0
    requested: int = 0

    @property
    def blocks(self) -> int:
        """All blocks of this size."""
        return self.in_use + self.cached + self.stranded

    @property
    def nbytes(self) -> int:
        """What they hold of the device."""
        return self.blocks * self.size

    @property
    def waste(self) -> int:
        """Bytes in allocated blocks beyond what was asked for."""
        return self.in_use * self.size - self.requested


def regions_at(history: History, row: int, *, ended: bool = True) -> list[Region]:
    """The blocks that the pool holds after an event, by address.

    ended: the program does not go on, so a block that is idle at the end is stranded.
    """
    stop = row + 1
    columns = (history.event, history.address, history.size, history.requested)
    events = zip(*(column[:stop].tolist() for column in columns), strict=True)
    fate = history.fate
    in_use: dict[int, Region] = {}
    idle: dict[int, Region] = {}
    for k, (event, address, size, requested) in enumerate(events):
        if event in (ALLOC, HIT, LIVE):
            idle.pop(address, None)
            in_use[address] = Region(address, size, requested, IN_USE, k)
        elif event == FREE:
            in_use.pop(address, None)
            lost = fate[k] == GIVEN_BACK or (ended and fate[k] == IDLE_AT_END)
            state = STRANDED if lost else CACHED
            idle[address] = Region(address, size, 0, state, k)
        elif event == RELEASE:
            idle.pop(address, None)
        elif event == FLUSH:
            idle.clear()
    return sorted([*in_use.values(), *idle.values()])


def size_classes(regions: Sequence[Region]) -> list[SizeClass]:
    """The blocks by size, the largest first."""
    found: dict[int, SizeClass] = {}
    for region in regions:
        one = found.setdefault(region.size, SizeClass(region.size))
        if region.state == IN_USE:
            one.in_use += 1
            one.requested += region.requested
        elif region.state == CACHED:
            one.cached += 1
        else:
            one.stranded += 1
    return sorted(found.values(), key=lambda one: -one.size)


def holes(regions: Sequence[Region], capacity: int) -> list[tuple[int, int]]:
    """The free ranges of a device between and behind the blocks: (start, length)."""
    found, end = [], 0
    for region in regions:
        if region.address > end:
            found.append((end, region.address - end))
        end = max(end, region.address + region.size)
    if capacity > end:
        found.append((end, capacity - end))
    return found
