"""Operator tuning: from how many elements on threads pay, for this loop, here.

Starting threads costs time, and so does working alone. Which is more depends on the
loop and on the machine, so both are measured, once per program and loop, and then

    threads pay  ⇔  starting + work · size / threads  <  work · size

which is MXNet's rule. A loop is measured when it first meets an array that is large
enough to ask; the cost of starting threads with the first loop that asks.

    parts(size, loop, dtype)    into how many pieces a loop cuts its work
    report()                    what was measured, and where the crossing lies
    Loop.work_ns()              what one thread takes for 2048 elements

A size that is set by hand, `MXNET_CPU_PARALLEL_SIZE`, goes before what was
measured. Results do not depend on any of this: a piece computes what the whole would.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Any, Final

import numpy as np

from minimx.core.dtypes import DType
from minimx.core.kernels import threads
from minimx.core.knobs import knobs

SMALL: Final = threads.SMALL
#: Costs are given per so many elements, as MXNet does.
UNIT: Final = 2048
#: A loop is measured on so many elements, and on `UNIT` to take away the call.
LONG: Final = 16 * UNIT
#: The cost of starting threads is measured on so many elements.
SHARED: Final = 1 << 18
#: So many different values, at random, are what a loop is measured on.
VALUES: Final = 256
#: How often each measurement is taken.
ROUNDS: Final = 16

# -- the policy ------------------------------------------------------------------------


def pays(size: int, threads: int, work_ns: float, start_ns: float) -> bool:
    """Whether `threads` threads finish `size` elements sooner than one.

    work_ns: nanoseconds of one thread for `UNIT` elements; start_ns: what starting and
    joining the threads costs.

    >>> pays(100_000, 2, work_ns=500, start_ns=5_000)
    True
    >>> pays(10_000, 2, work_ns=500, start_ns=5_000)
    False
    """
    alone = work_ns * size / UNIT
    return threads > 1 and start_ns + alone / threads < alone


def crossing(threads: int, work_ns: float, start_ns: float) -> float:
    """The size above which threads pay; infinite if they never do.

    >>> crossing(2, work_ns=500, start_ns=5_000)
    40960.0
    """
    if threads < 2 or work_ns <= 0:
        return float("inf")
    return start_ns / work_ns * UNIT * threads / (threads - 1)


# -- the measurements ------------------------------------------------------------------


@dataclass(frozen=True)
class Loop:
    """A compiled pointwise loop, ready to be timed.

    text: its formula. code: the address of its machine code. ins, outs: the types of
    the elements that it reads and writes. reduces: it is the step of a reduction, whose
    operand 0 and output are the same few partial results, in the nearest cache.
    """

    text: str
    code: int
    ins: tuple[DType, ...]
    outs: tuple[DType, ...]
    reduces: bool = False

    def _runs(self, size: int, count: int, joining: bool = False) -> list[int]:
        """Nanoseconds of `ROUNDS` runs over `size` elements, on `count` threads.

        joining: rows of `UNIT` elements all join the same partial results, which one
        thread must do.
        """
        from minimx.core.kernels import native

        arrays = [_values(dtype, size) for dtype in self.ins]
        outs = [np.empty(size, dtype) for dtype in self.outs]
        arrays += arrays[:1] if joining else outs
        args = np.array([array.ctypes.data for array in arrays])
        grid = np.ones((3, len(arrays) + 1), np.intp)
        grid[:, 0] = (0, UNIT, size // UNIT) if joining else (0, size, 1)
        grid[1, 1:] = [array.itemsize for array in arrays]
        grid[2, 1:] = grid[1, 1:] * UNIT
        grid[2, [1, -1]] = 0  # only a reduction has more than one row
        run = native.rows.threaded if count > 1 else native.rows.serial
        with threads.using(count):
            run(self.code, args, grid)  # what happens once, such as loading
            return [_time(run, self.code, args, grid) for _ in range(ROUNDS)]

    def work_ns(self) -> float:
        """Nanoseconds of one thread for `UNIT` elements.

        The difference between a long and a short run, so that the call is not counted.
        """
        long, short = (min(self._runs(n, 1, self.reduces)) for n in (LONG, UNIT))
        return max((long - short) / (LONG // UNIT - 1), 1.0)

    def start_ns(self, threads: int) -> float:
        """What starting and joining so many threads costs: the median of the runs.

        It is what they take beyond their share of the work. Where other programs keep
        the cores busy, threads start soon but do not get their share any sooner, so
        that the work must be long enough to show it.
        """
        together = float(np.median(self._runs(SHARED, threads)))
        return max(together - min(self._runs(SHARED, 1)) / threads, 0.0)

    def __str__(self) -> str:
        ins, outs = (", ".join(d.name for d in side) for side in (self.ins, self.outs))
        return f"{self.text} ({ins} → {outs})"


def _time(run: Any, *args: Any) -> int:
    begun = perf_counter_ns()
    run(*args)
    return perf_counter_ns() - begun


def _values(dtype: DType, size: int) -> Any:
    """Numbers that no function finds hard: between 0.5 and 1, or 1 and 100."""
    draw = np.random.default_rng(0)
    if dtype.kind == "f":
        some = (draw.random(VALUES) / 2 + 0.5).astype(dtype)
    else:
        some = draw.integers(1, 100, VALUES).astype(dtype)
    return np.resize(some, size)


# -- what is known ---------------------------------------------------------------------


@dataclass
class _Known:
    """What this program has measured. `start` is None until it is first asked."""

    start: float | None = None
    starts: dict[int, float] = field(default_factory=dict)  # by number of threads
    work: dict[Loop, float] = field(default_factory=dict)


_known = _Known()
_measuring = threading.RLock()


def parts(size: int, loop: Loop, dtype: DType) -> int:
    """Into how many pieces to cut `size` elements of a loop: 1 means serially.

    dtype: that of the numbers as the program sees them; the loop may widen them.
    """
    if not _asked_for(dtype):
        return threads.parts(size)
    count = threads.count()
    if count == 1 or size < SMALL:
        return 1
    return count if pays(size, count, _work(loop), _start(loop)) else 1


def _asked_for(dtype: DType) -> bool:
    """Whether loops over this type are tuned."""
    by_hand = knobs.is_set("MXNET_CPU_PARALLEL_SIZE")
    wanted = knobs.get("MXNET_USE_OPERATOR_TUNING")
    return not by_hand and ("1" in wanted or dtype.name in wanted)


def cores() -> int:
    """With how many threads tuning reckons at most."""
    share = int(knobs.get("MXNET_USE_NUM_CORES_OPERATOR_TUNING"))
    return min(share or threads.count(), threads.count())


def _work(loop: Loop) -> float:
    with _measuring:
        if loop not in _known.work:
            _known.work[loop] = loop.work_ns()
            _tell_of(loop)
        return _known.work[loop]


def _start(loop: Loop) -> float:
    """The median over all numbers of threads from 2 on; infinite if 1 is all."""
    with _measuring:
        if _known.start is None:
            counts = range(2, cores() + 1)
            _known.starts = {n: loop.start_ns(n) for n in counts}
            scale = float(knobs.get("MXNET_TUNING_WEIGHT_SCALE"))
            found = float(np.median([*_known.starts.values()] or [np.inf]))
            _known.start = found * scale if scale > 0.01 else found
            _tell_of_starting()
        return _known.start


def forget() -> None:
    """Measure anew from now on."""
    global _known
    with _measuring:
        _known = _Known()


def _tell_of_starting() -> None:
    if knobs.get("MXNET_VERBOSE_TUNING_INFO"):
        for count, cost in _known.starts.items():
            print(f"operator tuning: starting {count} threads takes {cost:,.0f} ns")
        if not _known.starts:
            print("operator tuning: one thread is all there is; nothing is cut")


def _tell_of(loop: Loop) -> None:
    work, start = _known.work[loop], _start(loop)
    row = Tuned(loop, work, crossing(threads.count(), work, start))
    if knobs.get("MXNET_VERBOSE_TUNING_INFO"):
        print(f"operator tuning: {row}")
    if knobs.get("MXNET_OUTPUT_TUNING_DATA"):
        print(row.data())


def _tell_what_is_known(name: str, new: bool, old: bool) -> None:
    """Printing was turned on: begin with what was measured before."""
    if not new:
        return
    verbose = name == "MXNET_VERBOSE_TUNING_INFO"
    with _measuring:
        if verbose and _known.start is not None:
            _tell_of_starting()
        for row in report():
            print(f"operator tuning: {row}" if verbose else row.data())


# -- what there is to see --------------------------------------------------------------


@dataclass(frozen=True)
class Tuned:
    """What was measured of one loop.

    work_ns: nanoseconds of one thread for 2048 elements. crossing: the number of
    elements above which threads pay.
    """

    loop: Loop
    work_ns: float
    crossing: float

    def __str__(self) -> str:
        return (
            f"{self.loop}: {self.work_ns:,.0f} ns for {UNIT} elements; threads pay "
            f"above {self.crossing:,.0f}"
        )

    def data(self) -> str:
        """The row in the form of MXNet's tuning data."""
        loop = self.loop
        types = ",".join(dtype.name for dtype in (*loop.ins, *loop.outs))
        return f'TUNING "{loop.text}",{types},{self.work_ns:.0f},{self.crossing:.0f}'


class Report(Sequence[Tuned]):
    """What operator tuning has measured so far, the most expensive loop first."""

    def __init__(
        self, rows: Sequence[Tuned], count: int, start_ns: float | None
    ) -> None:
        self.threads = count
        self.start_ns = start_ns
        self._rows = sorted(rows, key=lambda row: -row.work_ns)

    def __getitem__(self, index: Any) -> Any:
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        if self.start_ns is None:
            return (
                "operator tuning has measured nothing yet: no tuned loop has met "
                f"{SMALL:,} elements"
            )
        head = f"starting {self.threads} threads takes {self.start_ns:,.0f} ns"
        return "\n".join([head, *map(str, self._rows)])

    def _repr_html_(self) -> str:
        from html import escape

        cells = "".join(
            f"<tr><td style='text-align:left'>{escape(str(row.loop))}</td>"
            f"<td>{row.work_ns:,.0f}</td><td>{row.crossing:,.0f}</td></tr>"
            for row in self._rows
        )
        head = escape(repr(self).splitlines()[0])
        return (
            f"<p>{head}</p><table><tr><th style='text-align:left'>loop</th>"
            f"<th>ns for {UNIT} elements</th><th>threads pay above</th></tr>"
            f"{cells}</table>"
        )


def report() -> Report:
    """What operator tuning has measured so far, as a table.

    Examples
    --------
    >>> from minimx.fast import tuning
    >>> tuning.forget(); print(tuning.report())
    operator tuning has measured nothing yet: no tuned loop has met 8,192 elements
    """
    with _measuring:
        count, start = threads.count(), _known.start
        rows = [
            Tuned(loop, work, crossing(count, work, start if start is not None else 0))
            for loop, work in _known.work.items()
        ]
        return Report(rows, count, start)


knobs.watch(
    (
        "MXNET_USE_OPERATOR_TUNING",
        "MXNET_USE_NUM_CORES_OPERATOR_TUNING",
        "MXNET_TUNING_WEIGHT_SCALE",
        "OMP_NUM_THREADS",
        "MXNET_OMP_MAX_THREADS",
    ),
    lambda name, new, old: forget(),
)
knobs.watch(
    ("MXNET_VERBOSE_TUNING_INFO", "MXNET_OUTPUT_TUNING_DATA"), _tell_what_is_known
)
