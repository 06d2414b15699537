"""Bind the threads of kernels to cores, as `KMP_AFFINITY` says.

Every worker of the engine has a team of `OMP_NUM_THREADS` threads for its kernels. The
first worker's team takes the first places, the next worker's those that follow, so that
two workers meet on a core only where there are more threads than cores. Intel's runtime
lets the team of every worker begin at the first place.

A thread can only be bound by itself or by its number, and numba does not tell numbers;
so a kernel runs in which each thread binds itself.
"""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path
from typing import Any, Final

import numpy as np

from minimx.core import engine
from minimx.core.errors import KnobError
from minimx.core.kernels import threads
from minimx.core.knobs import knobs
from minimx.core.knobs.knob import KnobWarning
from minimx.core.knobs.notices import warn
from minimx.fast.affinity import NAME, Affinity, Place, Processor, places, read

MASK_BYTES: Final = 128  # 1024 processors, as in glibc
CPUS: Final = Path("/sys/devices/system/cpu")
POSSIBLE: Final = hasattr(os, "sched_setaffinity")


class _State:
    """What is wished for, the machine then, and how many workers have begun."""

    def __init__(self, wish: Affinity) -> None:
        self.wish = wish
        self.machine = machine() if wish.binds else []
        self.ranks = count()


def machine() -> list[Processor]:
    """The logical processors that this process may use, and where they sit."""
    if not POSSIBLE:
        return [Processor(0, i, 0, i) for i in range(os.cpu_count() or 1)]
    found: list[Processor] = []
    for number in sorted(os.sched_getaffinity(0)):
        folder = CPUS / f"cpu{number}" / "topology"
        try:
            package = int((folder / "physical_package_id").read_text())
            core = int((folder / "core_id").read_text())
        except (OSError, ValueError):  # unknown: a core of its own
            package, core = 0, number
        thread = sum((one.package, one.core) == (package, core) for one in found)
        found.append(Processor(package, core, thread, number))
    return found


def team() -> list[Place]:
    """Where each kernel thread of the calling thread may run now."""
    from minimx.fast.cpu.team import ask

    masks = np.zeros((threads.count(), MASK_BYTES), np.uint8)
    ask.threaded(masks, np.zeros(len(masks), np.int64))
    bits = np.unpackbits(masks, axis=1, bitorder="little")
    return [frozenset(np.flatnonzero(row).tolist()) for row in bits]


def pin() -> None:
    """Bind the kernel threads of a worker that begins; the engine calls it."""
    from minimx.fast.cpu.team import bind

    state, size = _state, threads.count()
    rank = next(state.ranks)
    mine = places(state.wish, state.machine, (rank + 1) * size)[rank * size :]
    bits = np.zeros((size, MASK_BYTES * 8), np.uint8)
    for row, place in zip(bits, mine, strict=True):
        row[list(place)] = 1
    failed = np.zeros(size, np.int64)
    bind.threaded(np.packbits(bits, axis=1, bitorder="little"), failed)
    if failed.any():
        raise KnobError(f"{NAME}: the operating system refused to bind a thread.")


def turned(name: str, new: Any, old: Any) -> None:
    """Check a new value of the knob, and start all workers again under it."""
    global _state
    wish = read(new)
    if wish.binds and not POSSIBLE:
        warn(
            f"{NAME}={new!r}: this system does not bind threads to cores. The knob "
            "stays without effect.",
            KnobWarning,
        )
        return
    state = _State(wish)
    if wish.binds:
        places(wish, state.machine, 1)  # refuses what is not there
    _state = state
    if pin in engine.on_worker_start:
        engine.on_worker_start.remove(pin)
    if wish.binds:
        engine.on_worker_start.append(pin)
    engine.restart()


def begin(text: str) -> None:
    """Bind as the environment says; a text with a mistake only gives a warning."""
    try:
        turned(NAME, text, "")
    except KnobError as mistake:
        knobs.reset(NAME)
        warn(f"{mistake} No thread is bound.", KnobWarning)


_state = _State(Affinity())
