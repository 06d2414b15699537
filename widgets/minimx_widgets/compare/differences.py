"""What differs between two runs: figures, and operations that both have.

rows(Side.of(before), Side.of(after))[0]     # the peak of both, and the difference
deltas(align(before, after))[0]              # the operator that changed most
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from minimx.core.record import Record
from minimx.experiments import Alignment
from minimx_widgets.compare.sides import Side, figures_of
from minimx_widgets.packing import Array
from minimx_widgets.units import human_bytes, human_time

#: Ways to say how much more B is than A.
DIFFERENCE, RATIO = "difference", "ratio"


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _seconds(value: float) -> str:
    return human_time(round(1e9 * value))


def _number(value: float) -> str:
    return f"{value:.6g}"


#: Each figure, what it is called, and how it is written.
FIGURES: Final[dict[str, tuple[str, Callable[[float], str]]]] = {
    "peak": ("peak of memory", human_bytes),
    "reserved": ("reserved by pools", human_bytes),
    "driver_calls": ("driver calls", _count),
    "pushes": ("pushes", _count),
    "moved": ("bytes moved by operators", human_bytes),
    "copied": ("bytes copied between devices", human_bytes),
    "makespan": ("makespan", _seconds),
    "loss": ("last loss", _number),
}


class Row(NamedTuple):
    """One figure of both sides as texts; "–" for what is not known.

    measured: of a run of B, where B is a replay and one was made. difference, ratio: of
    B against A, of the figures in `before` and `after`. direction: "▲", "▼", "=" or "".
    """

    name: str
    label: str
    before: str
    after: str
    measured: str
    difference: str
    ratio: str
    direction: str

    def as_message(self) -> dict[str, str]:
        """The row as the browser wants it."""
        return self._asdict()


def rows(first: Side, second: Side) -> list[Row]:
    """The figures of two sides, without losses and copies where there are none."""
    a, b = first.figures, second.figures
    real = figures_of(second.trial.record) if second.trial else {}
    found = []
    for name, (label, text) in FIGURES.items():
        before, after = a.get(name), b.get(name)
        if not (before or after) and name in ("copied", "loss"):
            continue
        found.append(_row(name, label, text, before, after, real.get(name)))
    return found


def _row(
    name: str,
    label: str,
    text: Callable[[float], str],
    before: float | None,
    after: float | None,
    real: float | None,
) -> Row:
    old, new = ("–" if value is None else text(value) for value in (before, after))
    trial = "" if real is None else text(real)
    if before is None or after is None:
        return Row(name, label, old, new, trial, "–", "–", "")
    by = after - before
    direction = "▲" if by > 0 else "▼" if by < 0 else "="
    sign = "+" if by > 0 else "−" if by < 0 else "±"
    ratio = f"{after / before:.3f} ×" if before else "–"
    return Row(name, label, old, new, trial, sign + text(abs(by)), ratio, direction)


@dataclass(frozen=True)
class Delta:
    """One operator of one layer in one phase: calls and nanoseconds in both records."""

    operator: str
    layer: str
    phase: str
    calls: tuple[int, int]
    took: tuple[int, int]

    @property
    def change(self) -> int:
        """Nanoseconds more in the second record; negative if it got quicker."""
        return self.took[1] - self.took[0]


def deltas(found: Alignment) -> list[Delta]:
    """Every kind of operation of two aligned records, the largest change first.

    An operation that both have counts under the names that it has in the first.
    """
    pairs = found.pairs
    kinds: dict[tuple[str, str, str], list[int]] = {}
    parts = (
        (found.before, pairs[:, 0], pairs[:, 0], 0),
        (found.before, pairs[:, 0], pairs[:, 1], 1),
        (found.before, found.removed, found.removed, 0),
        (found.after, found.inserted, found.inserted, 1),
    )
    for place, (names, named, timed, side) in enumerate(parts):
        times = found.after if place in (1, 3) else found.before
        for key, calls, took in _sums(names, named, times, timed):
            sums = kinds.setdefault(key, [0, 0, 0, 0])
            sums[side] += calls
            sums[2 + side] += took
    made = [Delta(*key, (a, b), (c, d)) for key, (a, b, c, d) in kinds.items()]
    return sorted(made, key=lambda one: -abs(one.change))


def _sums(
    names: Record, named: Array, times: Record, timed: Array
) -> list[tuple[tuple[str, str, str], int, int]]:
    """Calls and nanoseconds by operator, layer and phase.

    names, named: the record and the rows that say what it is; times, timed: those that
    say how long it took.
    """
    if not len(named):
        return []
    ops = names.ops()[named]
    rows = times.ops()[timed]
    took = (rows["t_end"] - rows["t_start"]).astype(np.int64)
    keys = np.stack([ops[name] for name in ("name", "layer", "phase")], axis=1)
    kinds, which = np.unique(keys, axis=0, return_inverse=True)
    which = which.reshape(-1)
    calls = np.bincount(which, minlength=len(kinds)).tolist()
    totals = np.zeros(len(kinds), np.int64)
    np.add.at(totals, which, took)
    texts = [tuple(names.texts(kind)) for kind in kinds]
    return [
        ((a, b, c), many, total)
        for (a, b, c), many, total in zip(texts, calls, totals.tolist(), strict=True)
    ]
