"""The ledger of a run's memory, kept row by row while it goes on.

`minimx.core.record.memory_curve` looks at a finished table; a live view needs the same
sums without starting again at every frame, and must know what was alive before the
oldest row it still has. The ledger turns rows of `mem` into changes: so many bytes more
or less in a category, and in what the pool holds of the device.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from minimx.core.events import CATEGORIES, PHASES
from minimx.core.record import MEMORY_EVENTS
from minimx_widgets.packing import Array, Coder

# What the picture calls an event; "live" and "cached" were there before the record.
CHANGE = np.dtype(
    [
        ("t", "f8"),
        ("device", "u2"),
        ("event", "u1"),
        ("category", "u1"),
        ("phase", "u1"),
        ("owner", "u4"),
        ("layer", "u4"),
        ("op", "u4"),
        ("block", "u4"),
        ("requested", "f8"),
        ("rounded", "f8"),
        ("reserved", "f8"),
    ]
)
TEMPORARY = CATEGORIES.index("temporary")
_LIVE, _CACHED, _ALLOC, _HIT, _FREE, _RELEASE, _FLUSH, _OOM = range(len(MEMORY_EVENTS))


class Ledger:
    """The changes of one record's memory, the newest `capacity` of them kept.

    Strings are the record's string table, which only grows.
    """

    def __init__(
        self, strings: list[str], t_start: int, capacity: int = 120_000
    ) -> None:
        self._strings = strings
        self._t_start = t_start
        self._capacity = capacity
        self._kept: deque[Array] = deque()
        self._count = 0
        self._in_use: set[int] = set()
        self._events = Coder(MEMORY_EVENTS, _OOM)
        self._categories = Coder(CATEGORIES, TEMPORARY)
        self._phases = Coder(PHASES)
        # (device, category) → requested, rounded; device → reserved: before `_kept`.
        self._before: dict[tuple[int, int], list[float]] = {}
        self._reserved_before: dict[int, float] = {}

    def take(self, mem: Array) -> Array:
        """New rows of `mem` as changes, which are kept as well."""
        changes = np.zeros(len(mem), CHANGE)
        if not len(mem):
            return changes
        events = self._events.codes(self._strings, mem["event"])
        sign = self._allocations(events, mem["block"])
        changes["t"] = mem["t"] - self._t_start
        changes["event"] = events
        changes["category"] = self._categories.codes(self._strings, mem["category"])
        changes["phase"] = self._phases.codes(self._strings, mem["phase"])
        for new, old in (("device", "device"), ("owner", "name"), ("layer", "layer")):
            changes[new] = mem[old]
        changes["op"] = mem["op"]
        changes["block"] = mem["block"]
        changes["requested"] = sign * mem["requested"]
        changes["rounded"] = sign * mem["rounded"]
        taken = ((events == _ALLOC) | (events == _LIVE)) & (sign > 0)
        returned = (events == _RELEASE) | (events == _FLUSH)
        held = (taken | (events == _CACHED)).astype(np.int64) - returned
        changes["reserved"] = held * mem["rounded"]
        self._keep(changes)
        return changes

    def recent(self) -> Array:
        """What is kept, after rows that stand for everything before it."""
        first = self._kept[0]["t"][0] if self._kept else 0.0
        opening = [
            (first, device, _LIVE, category, 0, 0, 0, 0, 0, *nbytes, 0.0)
            for (device, category), nbytes in self._before.items()
            if any(nbytes)
        ]
        opening += [
            (first, device, _CACHED, TEMPORARY, 0, 0, 0, 0, 0, 0.0, 0.0, nbytes)
            for device, nbytes in self._reserved_before.items()
            if nbytes
        ]
        return np.concatenate([np.array(opening, CHANGE), *self._kept])

    def _allocations(self, events: Array, blocks: Array) -> Array:
        """+1 at an allocation, -1 at a free, else 0; repetitions count once."""
        sign = np.zeros(len(events), np.int64)
        in_use = self._in_use
        begins = (events == _LIVE) | (events == _ALLOC) | (events == _HIT)
        rows = np.flatnonzero(begins | (events == _FREE))
        for row, block, begin in zip(
            rows.tolist(), blocks[rows].tolist(), begins[rows].tolist(), strict=True
        ):
            if begin and block not in in_use:
                in_use.add(block)
                sign[row] = 1
            elif not begin and block in in_use:
                in_use.remove(block)
                sign[row] = -1
        return sign

    def _keep(self, changes: Array) -> None:
        """Keep new changes; what no longer fits goes into the sums before them."""
        self._kept.append(changes)
        self._count += len(changes)
        while self._count - len(self._kept[0]) >= self._capacity:
            gone = self._kept.popleft()
            self._count -= len(gone)
            self._carry(gone)

    def _carry(self, gone: Array) -> None:
        for device in np.unique(gone["device"]).tolist():
            of_device = gone[gone["device"] == device]
            total = float(of_device["reserved"].sum())
            before = self._reserved_before.get(device, 0.0)
            self._reserved_before[device] = before + total
            for category in np.unique(of_device["category"]).tolist():
                rows = of_device[of_device["category"] == category]
                sums = self._before.setdefault((device, category), [0.0, 0.0])
                sums[0] += float(rows["requested"].sum())
                sums[1] += float(rows["rounded"].sum())
