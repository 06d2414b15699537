"""Where the operations of a run lie in the picture of its engine, as numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from minimx.core.events import PHASES
from minimx.core.record import Record
from minimx_widgets.joined import busy, holders, holding
from minimx_widgets.packing import Array, Coder

PUSHER = "python"  # the lane of the thread that pushes operations
TOP = 46
LANE = 28
MOST_BOXES = 4000  # of a static picture, about


@dataclass(frozen=True)
class Box:
    """A stretch of one lane in one colour: one operation, or many too short to tell."""

    lane: int
    start: float
    end: float
    phase: int
    text: int  # of the layer or the operator, as a number of the string table
    row: int  # of the operation in `ops`, -1 for many
    count: int


@dataclass(frozen=True)
class EngineLayout:
    """The picture as numbers: lanes from top to bottom, boxes, shares, the extent."""

    lanes: tuple[str, ...]
    boxes: tuple[Box, ...]
    pushes: Array
    busy: Array
    start: float
    end: float


def lane_order(names: Sequence[str]) -> list[str]:
    """The pushing thread first, then the workers by name, numbers in their order.

    >>> lane_order(["cpu(0)/10", "python", "cpu(0)/2"])
    ['python', 'cpu(0)/2', 'cpu(0)/10']
    """

    def key(name: str) -> tuple[bool, list[tuple[int, str]]]:
        parts = re.split(r"(\d+)", name)
        return name != PUSHER, [(int(p), "") if p.isdigit() else (0, p) for p in parts]

    return sorted({PUSHER, *names}, key=key)


def lay_out(
    record: Record, *, axis: str = "time", steps: int = 1500, by: str = "layer"
) -> EngineLayout:
    """Lanes and boxes of all operations; those shorter than a step are put together.

    An operation that only holds others has no box; those that it holds have. `by` is
    the column whose text each box brings, "layer" or "name".
    """
    kept = plain(record)
    ops = record.ops()[kept]
    known, which = np.unique(ops["worker"], return_inverse=True)
    names = record.texts(known)
    lanes = lane_order(names)
    numbers = np.array([lanes.index(name) for name in names], int)[which.reshape(-1)]
    t0 = record.conditions.t_start
    start, end = (ops[name] - t0 for name in ("t_start", "t_end"))
    if axis == "events":
        begin, until = np.arange(len(ops), dtype=float), np.arange(len(ops)) + 0.92
        pushes = begin
    else:
        begin, until = start.astype(float), end.astype(float)
        pushes = (ops["t_push"] - t0).astype(float)
    low, high = 0.0, 1.0
    if len(ops):
        low, high = float(min(begin.min(), pushes.min())), float(until.max())
    used = [busy(start[numbers == i], end[numbers == i]) for i in range(len(lanes))]
    span = float(end.max() - start.min()) if len(ops) else 1.0
    phases = Coder(PHASES).codes(record.strings, ops["phase"])
    # What is too short to be seen alone is put together, the more the more lanes.
    step = (high - low) / min(steps, MOST_BOXES // len(lanes))
    boxes: list[Box] = []
    for lane in range(len(lanes)):
        rows = np.flatnonzero(numbers == lane)
        rows = rows[np.argsort(begin[rows], kind="stable")]
        columns = (begin[rows], until[rows], phases[rows], ops[by][rows])
        boxes += _merged(lane, kept[rows], *columns, step)
    shares = np.array(used, float) / max(span, 1.0)
    high = max(high, low + 1)
    return EngineLayout(tuple(lanes), tuple(boxes), pushes, shares, low, high)


def plain(record: Record) -> Array:
    """The rows of the operations but for those that only hold others."""
    ops = record.ops()
    return np.flatnonzero(~holding(ops, holders(record.deps(), record.strings)))


def _merged(
    lane: int,
    rows: Array,
    start: Array,
    end: Array,
    phase: Array,
    text: Array,
    step: float,
) -> list[Box]:
    """One lane's boxes; neighbours that are too short to be seen alone become one."""
    if not len(rows):
        return []
    short = end - start < step
    joins = short[1:] & short[:-1] & (start[1:] - end[:-1] < step / 2)
    joins &= phase[1:] == phase[:-1]
    firsts = np.flatnonzero(np.append(True, ~joins))
    counts = np.diff(firsts, append=len(rows))
    lasts = firsts + counts - 1
    columns = (
        start[firsts], end[lasts], phase[firsts], text[firsts],
        np.where(counts == 1, rows[firsts], -1), counts,
    )  # fmt: skip
    values = zip(*(column.tolist() for column in columns), strict=True)
    return [Box(lane, *each) for each in values]
