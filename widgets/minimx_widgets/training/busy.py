"""Whether other programs use the machine so much that times come out too long.

Linux counts for each core how long it was busy, and for each process how long it
computed. What is busy and not ours was other programs. Only cores that this process may
use count. Times suffer when these cores are nearly full; a browser that draws beside an
idle core does no harm.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

STAT = Path("/proc/stat")
#: Seconds between two looks that are compared.
WINDOW = 2.0
#: From these shares of the machine on it is busy: all programs, and others alone.
FULL, OTHERS = 0.85, 0.25


@dataclass(frozen=True)
class Sample:
    """Seconds counted so far: of the clock, of all busy cores, of our process."""

    wall: float
    busy: float
    own: float
    cores: int


def sample() -> Sample | None:
    """What the system has counted up to now; None where it does not say."""
    try:
        text = STAT.read_text(encoding="ascii")
    except OSError:
        return None
    usable = os.sched_getaffinity(0)
    ticks = os.sysconf("SC_CLK_TCK")
    used = os.times()
    own = used.user + used.system + used.children_user + used.children_system
    busy = busy_ticks(text, usable) / ticks
    return Sample(time.monotonic(), busy, own, len(usable))


def busy_ticks(stat: str, cores: set[int]) -> int:
    r"""Clock ticks in which these cores computed, from the text of `/proc/stat`.

    Waiting for a disk is idle; time that a host took from a virtual machine is busy.

    >>> busy_ticks("cpu  9 9\ncpu0 5 1 2 90 3 0 1 4 0 0\ncpu1 7 0 0 93", {0})
    13
    """
    total = 0
    for line in stat.splitlines():
        name, *numbers = line.split()
        if name.startswith("cpu") and name[3:].isdigit() and int(name[3:]) in cores:
            # user nice system idle iowait irq softirq steal; guests are in user.
            ticks = [int(number) for number in numbers[:8]]
            total += sum(ticks) - sum(ticks[3:5])
    return total


class Busy:
    """Looks now and then; `cores` is how many cores others used, 0 if that is harmless.

    take: how a sample is made.
    """

    def __init__(self, take: Callable[[], Sample | None] = sample) -> None:
        self._take = take
        self._before = take()
        self._suspected = False
        self.cores = 0.0
        self.of = self._before.cores if self._before else 0

    def look(self) -> float:
        """`cores`, from the last window that is over.

        A single busy window is not enough to say so, nor a single free one to unsay it.
        """
        now, before = self._take(), self._before
        if now is None or before is None or now.wall - before.wall < WINDOW:
            return self.cores
        self._before, self.of = now, now.cores
        capacity = (now.wall - before.wall) * now.cores
        busy = now.busy - before.busy
        others = max(0.0, busy - (now.own - before.own))
        crowded = busy >= FULL * capacity and others >= OTHERS * capacity
        if crowded == self._suspected:
            used = others / (now.wall - before.wall)
            self.cores = min(used, float(now.cores)) if crowded else 0.0
        self._suspected = crowded
        return self.cores

    @property
    def text(self) -> str:
        """What to say of it; empty if there is nothing to say."""
        if not self.cores:
            return ""
        return (
            f"Other programs use {self.cores:.1f} of {self.of} cores: times here are "
            "longer than on a free machine."
        )
