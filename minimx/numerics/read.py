"""The looks that a record remembers, as histograms again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from minimx.core.dtypes import POWERS
from minimx.core.record import Record
from minimx.numerics.histogram import Histogram


@dataclass(frozen=True, eq=False)
class Look:
    """The numbers of one array in one step.

    kind: weight, activation or gradient. dtype: that of the array; used: the type in
    which its layer computes. scale: what the loss was multiplied by, and with it the
    gradient.
    """

    step: int
    kind: str
    layer: str
    name: str
    dtype: str
    used: str
    scale: float
    histogram: Histogram


def looks(
    record: Record, kind: str | None = None, step: int | None = None
) -> list[Look]:
    """What was looked at, in that order; of one kind, in one step, where given.

    Looks whose counts the record had to drop are left out.
    """
    rows, bins, texts = record.tensors(), record.exponents(), record.strings
    wanted = np.ones(len(rows), bool)
    if step is not None:
        wanted &= rows["step"] == step
    if kind is not None:
        wanted &= rows["kind"] == (texts.index(kind) if kind in texts else -1)
    rows = rows[wanted]
    order = np.argsort(bins["look"], kind="stable")
    bins = bins[order]
    starts = np.searchsorted(bins["look"], rows["look"], "left")
    ends = np.searchsorted(bins["look"], rows["look"], "right")
    found = []
    for row, start, end in zip(rows, starts.tolist(), ends.tolist(), strict=True):
        one = _look(row, bins[start:end], texts)
        if one.histogram.size == row["size"]:
            found.append(one)
    return found


def _look(row: Any, bins: Any, texts: list[str]) -> Look:
    counts = np.zeros(len(POWERS), np.int64)
    counts[bins["power"] - POWERS[0]] = bins["count"]
    zeros, infinite, nan = (int(row[name]) for name in ("zeros", "infinite", "nan"))
    histogram = Histogram(counts, zeros, infinite, nan, float(row["squares"]))
    kind, layer, name, dtype, used = (
        texts[row[column]] for column in ("kind", "layer", "name", "dtype", "used")
    )
    scale = float(row["scale"])
    return Look(int(row["step"]), kind, layer, name, dtype, used, scale, histogram)
