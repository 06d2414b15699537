"""One selection for a comparison and for all other views of its two records."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from minimx_widgets.run import Run

if TYPE_CHECKING:
    from minimx_widgets.views.ab_compare import ABCompare


class Marks:
    """Follows what is marked on either side and in the views of its record.

    An operation that is marked anywhere is marked in both timelines, and in every other
    view of both records; where there is no such operation, nothing is.
    """

    def __init__(self, pair: ABCompare) -> None:
        self._pair = pair
        self._lock = threading.RLock()
        self._busy = False
        self._heard: list[tuple[Run, Callable[[int], None]]] = []

    def follow(self) -> None:
        """The sides may be others now: listen to their records."""
        self.close()
        for place, side in enumerate(self._pair.sides):
            hear = self._hearer(place)
            for run in (self._pair.views[place].run, Run.of(side.original)):
                if all(run is not known for known, _ in self._heard):
                    run.heard.append(hear)
                    self._heard.append((run, hear))

    def close(self) -> None:
        """Listen no more."""
        for run, hear in self._heard:
            run.heard.remove(hear)
        self._heard = []

    def _hearer(self, place: int) -> Callable[[int], None]:
        def heard(op: int) -> None:
            feed = self._pair.views[place].run.feed
            if feed.running:  # a page waits for an answer, and aligning takes a while
                feed.post(lambda: self._mark(place, op))
            else:
                self._mark(place, op)

        return heard

    def _mark(self, place: int, op: int) -> None:
        """Mark an operation of one side everywhere."""
        with self._lock:
            if self._busy:
                return
            self._busy = True
            try:
                other = self._pair.counterpart(place, op) if op else 0
                ops = (other, op) if place else (op, other)
                first, second = (Run.of(side.original) for side in self._pair.sides)
                marked = {first: ops[0]} if first is second else {
                    first: ops[0], second: ops[1],
                }  # fmt: skip
                marked |= {
                    view.run: one
                    for view, one in zip(self._pair.views, ops, strict=True)
                }
                for run, one in marked.items():
                    if run.selected != one:
                        run.select(one)
            finally:
                self._busy = False
