"""The machine that numbers are from, and how busy others kept it meanwhile.

Others are all that is neither this process nor one of its children: their share of the
processors' time, with what a hypervisor gave to another machine (`steal`), is what a
measurement was disturbed by. Linux counts both in `/proc`, in ticks of 10 ms.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Any

PROC = Path("/proc")
#: From this share of all processors' time on, a round counts as disturbed.
DISTURBED = 0.05


def machine() -> dict[str, Any]:
    """What the numbers depend on, without naming the machine."""
    cpu = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text().splitlines()
        models = [line.split(":", 1)[1] for line in lines if "model name" in line]
        cpu = models[0].strip() if models else cpu
    return {
        "cpu": cpu,
        "cores": len(os.sched_getaffinity(0)),
        "system": platform.system(),
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 2),
    }


def ticks(stat: str) -> tuple[int, int]:
    """(all, used) ticks of all processors, from the text of `/proc/stat`.

    >>> ticks("cpu  60 10 20 100 5 0 3 2 7 0")
    (200, 95)
    """
    # user, nice, system, idle, iowait, irq, softirq, steal; guests are in user already
    counts = [int(word) for word in stat.split("\n", 1)[0].split()[1:9]]
    return sum(counts), sum(counts) - counts[3] - counts[4]


def of_process(stat: str) -> int:
    """Ticks of a process and its children that ended, from its `/proc/…/stat`.

    >>> of_process("7 (a (b) c) S 1 1 1 0 -1 0 0 0 0 0 11 22 33 44 20 0")
    110
    """
    # The name may hold anything but is the last thing in brackets.
    return sum(int(word) for word in stat.rpartition(")")[2].split()[11:15])


class Watch:
    """How much others used since it was made; `processes`: children that still run."""

    def __init__(self, processes: Iterable[int]) -> None:
        self._processes = tuple(processes)
        self._start = self._look()

    def _look(self) -> tuple[int, int, int]:
        if not (PROC / "stat").exists():
            return 0, 0, 0
        ours = 0
        for process in ("self", *map(str, self._processes)):
            stat = PROC / process / "stat"
            ours += of_process(stat.read_text()) if stat.exists() else 0
        return *ticks((PROC / "stat").read_text()), ours

    def others(self, processes: Iterable[int]) -> float | None:
        """The share of all processors' time; None where the system does not say.

        processes: children that run now; what others of them used is then counted by
        this process, which has waited for their end.
        """
        self._processes = tuple(processes)
        now = self._look()
        total, used, ours = (b - a for a, b in zip(self._start, now, strict=True))
        if total <= 0:
            return None
        return round(min(max(used - ours, 0) / total, 1.0), 3)


def disturbed(others: float | None) -> bool:
    """Whether others used enough to matter."""
    return others is not None and others >= DISTURBED
