"""Times as they would be on one quiet machine, so that limits hold on any.

The speed of machines differs, and that of a shared one changes from minute to minute.
So what is timed takes turns with a piece of plain Python, whose time on the quiet
machine is known: their ratio is what a limit is held against.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import partial
from statistics import median

#: Seconds of `_plain_python` on an idle core of an EPYC at full clock, Python 3.11.
QUIET = 0.5e-3


class _Block:
    """Something with attributes, lent and returned by the thousand."""

    __slots__ = ("nbytes", "owner")

    def __init__(self, nbytes: int, owner: str) -> None:
        self.nbytes = nbytes
        self.owner = owner


_SIZES = [random.Random(0).randrange(1, 40) for _ in range(5000)]


def _plain_python() -> int:
    """What interpreters do all day: calls, dictionaries, lists, small objects."""
    waiting: dict[int, list[_Block]] = {}
    lent: list[_Block] = []
    made = 0
    for size in _SIZES:
        queue = waiting.get(size)
        if queue:
            block = queue.pop()
            block.owner = "again"
        else:
            block = _Block(size, "new")
            made += 1
        lent.append(block)
        if len(lent) > 20:
            back = lent.pop(size % 20)
            waiting.setdefault(back.nbytes, []).append(back)
    return made


def seconds(work: Callable[[], object]) -> float:
    """How long a call takes by the clock on the wall."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _in_turn(
    work: Callable[[], object], rounds: int
) -> tuple[list[float], list[float]]:
    """The times of some work, and of plain Python for about as long after each.

    As long: on a crowded machine a short call may find a quiet moment, a long one not.
    """
    ours, plain = [], []
    for _ in range(rounds):
        ours.append(seconds(work))
        repeats = max(1, min(200, round(ours[-1] / QUIET)))
        plain.append(seconds(partial(_repeat, repeats)) / repeats)
    return ours, plain


def _repeat(times: int) -> None:
    for _ in range(times):
        _plain_python()


def shortest(work: Callable[[], object], rounds: int = 100) -> float:
    """The shortest time of many, in seconds of the quiet machine."""
    ours, plain = _in_turn(work, rounds)
    return min(ours) / min(plain) * QUIET


def typical(work: Callable[[], object], rounds: int = 9) -> float:
    """The median of some times, in seconds of the quiet machine.

    Work of other programs lengthens both times.
    """
    ours, plain = _in_turn(work, rounds)
    return median(ours) / median(plain) * QUIET


def slowness(rounds: int = 100) -> float:
    """How many times longer than on the quiet machine plain Python takes here.

    For what cannot take turns with it, a browser for one. At least 1.
    """
    return max(1.0, median(seconds(_plain_python) for _ in range(rounds)) / QUIET)
