"""The lines of a training: where metrics stand, running values, and scales of an axis.

What a page computes for itself is computed here in the same way, for static pictures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from minimx.core.record import Record
from minimx_widgets import svg

Array = npt.NDArray[Any]
LOSS, TRAIN, TEST, SPEED = "loss", "train accuracy", "test accuracy", "samples/s"
#: The share of one batch that was right; the monitor draws its running mean.
BATCH: Final = "batch accuracy"
#: What is kept of a run when the next one begins.
KEPT = (LOSS, TRAIN, TEST, SPEED, BATCH)
MOST_KEPT = 1000  # points of a line that is kept
STEADY = 15  # the running median of the throughput goes over so many values
BATCHES = 50  # the running mean of a batch's accuracy goes over so many batches
TREND = 0.08  # the weight of the newest value in the running mean of the loss
MOST = 0.9999  # of what is right; 100 % would lie at infinity


@dataclass(frozen=True)
class Line:
    """A metric: steps, nanoseconds after the run began, values."""

    steps: Array
    times: Array
    values: Array

    def at(self, axis: str) -> Array:
        """Where its points lie on an axis, "steps" or "time"."""
        return self.steps if axis == "steps" else self.times

    def thinned(self, most: int = MOST_KEPT) -> Line:
        """At most so many of its points, first and last among them."""
        if len(self.values) <= most:
            return self
        kept = np.linspace(0, len(self.values) - 1, most).round().astype(int)
        return Line(self.steps[kept], self.times[kept], self.values[kept])


def line_of(record: Record, name: str) -> Line:
    """A metric of a record, in the order in which it was observed."""
    metrics, strings = record.metrics(), record.strings
    number = strings.index(name) if name in strings else -1
    rows = metrics[metrics["name"] == number] if number >= 0 else metrics[:0]
    start = record.conditions.t_start
    return Line(
        rows["step"].astype(float), (rows["t"] - start).astype(float), rows["value"]
    )


def kept(record: Record) -> dict[str, Line]:
    """The lines of a run that the next one is compared with; empty if it was too short.

    Accuracy on the training data is that of single batches where it was noted.
    """
    lines = {name: line_of(record, name) for name in KEPT}
    lines[LOSS] = replaced(lines[LOSS], trend(lines[LOSS].values))
    lines[BATCH] = replaced(lines[BATCH], running_mean(lines[BATCH].values))
    lines[SPEED] = replaced(lines[SPEED], running_median(lines[SPEED].values))
    if len(lines[LOSS].values) < 2:
        return {}
    return {name: line.thinned() for name, line in lines.items() if len(line.values)}


def replaced(line: Line, values: Array) -> Line:
    """The line with other values."""
    return Line(line.steps, line.times, values)


def trend(values: Array, weight: float = TREND) -> Array:
    """A running mean that leans on the newest values; those not finite are left out.

    >>> trend(np.array([1.0, 3.0, np.inf, 2.0]), weight=0.5).tolist()
    [1.0, 2.0, nan, 2.0]
    """
    out, mean, known = np.full(len(values), np.nan), 0.0, 0
    for i, value in enumerate(values.tolist()):
        if math.isfinite(value):
            known += 1
            mean += max(weight, 1 / known) * (value - mean)
            out[i] = mean
    return out


def running_median(values: Array, window: int = STEADY) -> Array:
    """The median of each value and those before it.

    >>> running_median(np.array([1.0, 9.0, 2.0, 3.0]), window=3).tolist()
    [1.0, 5.0, 2.0, 3.0]
    """
    return np.array(
        [np.median(values[max(0, i - window + 1) : i + 1]) for i in range(len(values))]
    )


def running_mean(values: Array, window: int = BATCHES) -> Array:
    """The mean of each value and those before it.

    >>> running_mean(np.array([0.0, 1.0, 1.0]), window=2).tolist()
    [0.0, 0.5, 1.0]
    """
    sums = np.concatenate([[0.0], np.cumsum(values)])
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(0, ends - window)
    result: Array = (sums[ends] - sums[starts]) / np.maximum(ends - starts, 1)
    return result


@dataclass(frozen=True)
class Scale:
    """How values become heights: `to` an even scale, and which values are labelled."""

    to: Callable[[float], float]
    ticks: Callable[[float, float, int], list[float]]


def log_ticks(low: float, high: float, count: int) -> list[float]:
    """Round values between two bounds on a logarithmic axis.

    >>> log_ticks(0.02, 3, 4)
    [0.1, 1.0]
    >>> log_ticks(0.3, 3, 4)
    [0.5, 1.0, 2.0]
    """
    if not 0 < low < high:
        return []
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for parts in ((1, 2, 5), (1, 3), (1,)):
        found = [part * 10.0**power for power in powers for part in parts]
        found = [value for value in found if low <= value <= high]
        if len(found) <= count:
            return found
    return found[:: math.ceil(len(found) / count)]


# Which shares are labelled on a scale of nines, the most informative first.
NINES = (0, 0.9, 0.99, 0.5, 0.999, 0.9999, 0.98, 0.95, 0.8, 0.995, 0.998, 0.97)


def nine_ticks(low: float, high: float, count: int) -> list[float]:
    """Shares between two bounds that are well apart on a scale of nines.

    >>> nine_ticks(0, 0.992, 5)
    [0, 0.5, 0.9, 0.98, 0.99]
    """
    gap = (nines(high) - nines(low)) / count / 1.7
    found: list[float] = []
    for share in NINES:
        apart = all(abs(nines(share) - nines(one)) >= gap for one in found)
        if low <= share <= high and apart and len(found) < count:
            found.append(share)
    return sorted(found)


def nines(share: float) -> float:
    """How many nines a share has: 0 % is 0, 90 % is 1, 99 % is 2.

    >>> round(nines(0.9), 6), round(nines(0.99), 6), round(nines(1.0), 6)
    (1.0, 2.0, 4.0)
    """
    return -math.log10(1 - min(share, MOST))


def _log(value: float) -> float:
    return math.log10(value) if value > 0 else math.nan


SCALES = {
    "linear": Scale(float, svg.ticks),
    "bytes": Scale(
        float, lambda _, high, most: [*map(float, svg.byte_ticks(high, most))]
    ),
    "log": Scale(_log, log_ticks),
    "nines": Scale(nines, nine_ticks),
}


def extent(
    scale: Scale, values: Sequence[Array], *, cover: Sequence[float] = ()
) -> tuple[float, float]:
    """The lowest and highest finite value on a scale, a little apart, as heights."""
    heights = [scale.to(float(v)) for array in values for v in array if np.isfinite(v)]
    heights += [scale.to(value) for value in cover]
    heights = [height for height in heights if math.isfinite(height)]
    low, high = min(heights, default=0.0), max(heights, default=1.0)
    return (low, high) if high > low else (low, low + 1)
