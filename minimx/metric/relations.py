"""Scores of how labels and predictions go together: correlation, angle, distance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy

from minimx.core.errors import ArgumentError, ShapeError
from minimx.metric.base import EvalMetric, as_numbers, paired, register

__all__ = [
    "MeanCosineSimilarity", "MeanPairwiseDistance", "PCC", "PearsonCorrelation",
]  # fmt: skip


def _same_shape(metric: EvalMetric, label: Any, pred: Any) -> tuple[Any, Any]:
    """Both as float64 of one shape."""
    wanted = as_numbers(label).astype(numpy.float64)
    found = as_numbers(pred).astype(numpy.float64)
    if wanted.shape != found.shape:
        raise ShapeError(
            f"{type(metric).__name__}: labels {wanted.shape} and predictions "
            f"{found.shape} must have one shape. Reshape one of them."
        )
    return wanted, found


@dataclass
class _Moments:
    """Count, means and sums of squared deviations of pairs (x, y); two are merged by +.

    Sums of squares alone would lose the digits in which large numbers differ.
    """

    count: int = 0
    mean_x: float = 0.0
    mean_y: float = 0.0
    xx: float = 0.0
    yy: float = 0.0
    xy: float = 0.0

    @classmethod
    def of(cls, x: Any, y: Any) -> _Moments:
        mean_x, mean_y = float(x.mean()), float(y.mean())
        dx, dy = x - mean_x, y - mean_y
        sums = float(dx @ dx), float(dy @ dy), float(dx @ dy)
        return cls(x.size, mean_x, mean_y, *sums)

    def __add__(self, other: _Moments) -> _Moments:
        count = self.count + other.count
        if not count:
            return self
        dx, dy = other.mean_x - self.mean_x, other.mean_y - self.mean_y
        share = other.count / count
        both = self.count * share
        return _Moments(
            count,
            self.mean_x + dx * share,
            self.mean_y + dy * share,
            self.xx + other.xx + dx * dx * both,
            self.yy + other.yy + dy * dy * both,
            self.xy + other.xy + dx * dy * both,
        )

    def correlation(self) -> float:
        scale = math.sqrt(self.xx * self.yy)
        return self.xy / scale if scale else math.nan


@register("pearsonr")
class PearsonCorrelation(EvalMetric):
    """How straight the relation of labels and predictions is.

    average: `macro` for the mean over batches, `micro` for all samples together.
    """

    def __init__(
        self, name: str = "pearsonr", average: str = "macro", **kwargs: Any
    ) -> None:
        if average not in ("macro", "micro"):
            raise ArgumentError(
                f"PearsonCorrelation: average={average!r}: choose 'macro' (mean over "
                "batches) or 'micro' (all samples together)."
            )
        self.average = average
        super().__init__(name, average=average, **kwargs)

    def reset(self) -> None:
        """Forget everything."""
        self._global_moments = _Moments()
        super().reset()

    def reset_local(self) -> None:
        """Forget what was counted since the last report."""
        self._moments = _Moments()
        super().reset_local()

    def update(self, labels: Any, preds: Any) -> None:
        """Labels and predictions of the same shape."""
        for label, pred in paired(labels, preds):
            wanted, found = _same_shape(self, label, pred)
            new = _Moments.of(wanted.ravel(), found.ravel())
            self._moments += new
            self._global_moments += new
            self._add(new.correlation() if self.average == "macro" else 0.0, 1)

    def get(self) -> tuple[Any, Any]:
        """(name, score since the last `reset_local`)."""
        if self.average == "macro" or not self.num_inst:
            return super().get()
        return self.name, self._moments.correlation()

    def get_global(self) -> tuple[Any, Any]:
        """(name, score since the last `reset`)."""
        if self.average == "macro" or not self.global_num_inst:
            return super().get_global()
        return self.name, self._global_moments.correlation()


@register
class PCC(EvalMetric):
    """Matthews' correlation for any number of classes: 1 all right, 0 by chance.

    Predictions are classes, of the shape of the labels, or scores (N, classes). nan
    where only one class occurs.
    """

    def __init__(self, name: str = "pcc", **kwargs: Any) -> None:
        super().__init__(name, **kwargs)

    def reset(self) -> None:
        """Forget everything."""
        self._global_table = numpy.zeros((2, 2))
        super().reset()

    def reset_local(self) -> None:
        """Forget what was counted since the last report."""
        self._table = numpy.zeros((2, 2))
        super().reset_local()

    def update(self, labels: Any, preds: Any) -> None:
        """Labels (N,) of classes."""
        for label, pred in paired(labels, preds):
            wanted, found = as_numbers(label), as_numbers(pred)
            if found.shape != wanted.shape:
                found = found.argmax(1)
            pairs = found.astype(int).ravel(), wanted.astype(int).ravel()
            if len({part.size for part in pairs}) > 1:
                raise ShapeError(
                    f"PCC: {pairs[1].size} labels for {pairs[0].size} predictions."
                )
            self._table = _counted(self._table, pairs)
            self._global_table = _counted(self._global_table, pairs)
        self._add(0.0, 1)

    def get(self) -> tuple[Any, Any]:
        """(name, score since the last `reset_local`)."""
        return self.name, _correlation_of_classes(self._table)

    def get_global(self) -> tuple[Any, Any]:
        """(name, score since the last `reset`)."""
        return self.name, _correlation_of_classes(self._global_table)


def _counted(table: Any, pairs: tuple[Any, Any]) -> Any:
    """The table [prediction, label] with more counts; it grows with the classes."""
    if not pairs[0].size:
        return table
    low = min(part.min() for part in pairs)
    if low < 0:
        raise ArgumentError(f"PCC: there is a class {low}; classes count from 0.")
    more = max(0, max(part.max() for part in pairs) + 1 - len(table))
    found = numpy.pad(table, (0, more))
    numpy.add.at(found, pairs, 1)
    return found


def _correlation_of_classes(table: Any) -> float:
    count = table.sum()
    predicted, true = table.sum(1), table.sum(0)
    scale = (predicted * (count - predicted)).sum() * (true * (count - true)).sum()
    if not scale:
        return math.nan
    together = (table.diagonal() * count - predicted * true).sum()
    return float(together / math.sqrt(scale))


@register
class MeanPairwiseDistance(EvalMetric):
    """The mean distance of predicted from wanted vectors, in the norm `p`."""

    def __init__(self, name: str = "mpd", p: float = 2, **kwargs: Any) -> None:
        super().__init__(name, p=p, **kwargs)
        self.p = p

    def update(self, labels: Any, preds: Any) -> None:
        """Labels and predictions (N, …) of one shape."""
        for label, pred in paired(labels, preds):
            wanted, found = _same_shape(self, label, pred)
            off = (wanted - found).reshape(len(wanted), -1)
            far = numpy.linalg.norm(off, self.p, axis=1)
            self._add(float(far.sum()), far.size)


@register("cos_sim")
class MeanCosineSimilarity(EvalMetric):
    """The mean cosine of the angle between predicted and wanted vectors.

    The vectors lie along the last axis; `eps` is the least product of their lengths.
    """

    def __init__(self, name: str = "cos_sim", eps: float = 1e-8, **kwargs: Any) -> None:
        super().__init__(name, eps=eps, **kwargs)
        self.eps = eps

    def update(self, labels: Any, preds: Any) -> None:
        """Labels and predictions (…, length) of one shape."""
        for label, pred in paired(labels, preds):
            wanted, found = _same_shape(self, label, pred)
            lengths = numpy.linalg.norm(wanted, axis=-1) * numpy.linalg.norm(
                found, axis=-1
            )
            cosines = (wanted * found).sum(-1) / numpy.maximum(lengths, self.eps)
            self._add(float(cosines.sum()), cosines.size)
