"""How far a rank is: `mx.cluster.progress(range(100))` around the loop."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Final, TypeVar

T = TypeVar("T")

#: Called with (steps that are done, steps in all or 0), where a cluster shows them.
report: Callable[[int, int], None] | None = None
#: Seconds between two reports.
PERIOD: Final = 0.1


def progress(steps: Iterable[T], total: int | None = None) -> Iterator[T]:
    """Go through the steps, and report how many are done to the cluster's display.

    total: how many there are; by default their `len`, if they have one. Outside a
    cluster it gives the steps and does nothing else.

    >>> list(progress(range(3)))
    [0, 1, 2]
    """
    if total is None:
        total = len(steps) if isinstance(steps, Sized) else 0
    done, last = 0, 0.0
    for step in steps:
        now = time.monotonic()
        if report is not None and now - last > PERIOD:
            last = now
            report(done, total)
        yield step
        done += 1
    if report is not None:
        report(done, total)
