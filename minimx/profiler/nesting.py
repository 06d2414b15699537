"""Where slices of one row go, so that none lies on another: a pure policy.

Slices of one thread nest, mostly: the calls inside a call. Each level of nesting gets
a lane of its own, and so does what overlaps without nesting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from minimx.core.record.tables import Array

CLOSE: Final = 1  # nanoseconds that two moments may differ and be the same
DEEPEST: Final = 63  # lanes of a row beyond its first; what is deeper lies on the last
NONE: Final = -1


@dataclass(frozen=True)
class Nested:
    """Slices of all rows, sorted by row and start; parallel arrays, (n,).

    order: which slice stands there. depth: the lane of its row, from 0. parent: the
    place in this order of the slice that it is inside of, -1 if it is in none.
    """

    order: Array
    row: Array
    start: Array
    end: Array
    depth: Array
    parent: Array

    def around(self, row: int, moment: int) -> int:
        """The innermost slice of a row at a moment, as its place; -1 if there is none.

        At the moment when one ends and the next begins, it is the one that begins.
        """
        low, high = np.searchsorted(self.row, [row, row + 1])
        starts = self.start[low:high]
        place = int(low + np.searchsorted(starts, moment, "right")) - 1
        if place < low:
            return NONE
        while place != NONE and self.end[place] + CLOSE < moment:
            place = int(self.parent[place])
        return place

    def next(self, row: int, moment: int) -> int:
        """The first slice of a row that begins at a moment or later; -1 if none."""
        low, high = np.searchsorted(self.row, [row, row + 1])
        place = int(low + np.searchsorted(self.start[low:high], moment - CLOSE))
        return place if place < high else NONE


def nest(row: Array, start: Array, end: Array) -> Nested:
    """Sort slices and find their lanes; row, start, end: (n,) integers.

    >>> found = nest(np.zeros(3, int), np.array([0, 1, 5]), np.array([9, 3, 12]))
    >>> found.depth.tolist(), found.parent.tolist()
    ([0, 1, 1], [-1, 0, -1])
    """
    # What takes no time goes before what begins at that moment: it is not inside.
    order = np.lexsort((-end, end > start, start, row))
    depth = np.zeros(len(order), np.int64)
    parent = np.full(len(order), NONE, np.int64)
    rows, starts, ends = (column[order] for column in (row, start, end))
    bounds = np.flatnonzero(np.diff(rows, prepend=rows[:1] - 1))
    for low, high in zip(bounds, [*bounds[1:], len(rows)], strict=False):
        found = _of_one_row(starts[low:high].tolist(), ends[low:high].tolist())
        depth[low:high] = found[0]
        parent[low:high] = np.where(np.array(found[1]) < 0, NONE, found[1] + low)
    return Nested(order, rows, starts, ends, depth, parent)


def _of_one_row(starts: Sequence[int], ends: Sequence[int]) -> tuple[list[int], Array]:
    depths, parents = [], []
    lanes: list[int] = []  # the slice that each lane shows now
    for i, start in enumerate(starts):
        end = ends[i]
        for depth, last in enumerate(lanes):
            if ends[last] <= start + CLOSE:
                lanes[depth] = i
                break
        else:
            depth = min(len(lanes), DEEPEST)
            lanes[depth:] = [i]
        around = lanes[depth - 1] if depth else NONE
        inside = around != NONE and ends[around] + CLOSE >= end
        depths.append(depth)
        parents.append(around if inside else NONE)
        while len(lanes) > depth + 1 and ends[lanes[-1]] <= start + CLOSE:
            lanes.pop()
    return depths, np.array(parents, np.int64)
