"""Scores of numbers: errors, likelihoods, and the running mean of a loss."""

from __future__ import annotations

import math
from typing import Any

import numpy

from minimx.core.errors import ArgumentError, ShapeError
from minimx.metric.base import EvalMetric, as_numbers, paired, register

__all__ = [
    "Caffe", "CrossEntropy", "Loss", "MAE", "MSE", "NegativeLogLikelihood",
    "Perplexity", "RMSE", "Torch",
]  # fmt: skip


class _Error(EvalMetric):
    """The mean error of each batch; the base of MAE, MSE and RMSE."""

    @staticmethod
    def _error(off: Any) -> float:
        raise ArgumentError("an error metric needs _error(differences)")

    def update(self, labels: Any, preds: Any) -> None:
        """Labels and predictions (N,) or (N, …) of the same shape."""
        for label, pred in paired(labels, preds):
            wanted, found = as_numbers(label), as_numbers(pred)
            wanted = wanted.reshape(-1, 1) if wanted.ndim == 1 else wanted
            found = found.reshape(-1, 1) if found.ndim == 1 else found
            if wanted.shape != found.shape:
                raise ShapeError(
                    f"{type(self).__name__}: labels {wanted.shape} and predictions "
                    f"{found.shape} must have one shape. Reshape one of them."
                )
            self._add(self._error(wanted - found), 1)


@register
class MAE(_Error):
    """Mean absolute error."""

    def __init__(self, name: str = "mae", **kwargs: Any) -> None:
        super().__init__(name, **kwargs)

    @staticmethod
    def _error(off: Any) -> float:
        return float(abs(off).mean())


@register
class MSE(_Error):
    """Mean squared error."""

    def __init__(self, name: str = "mse", **kwargs: Any) -> None:
        super().__init__(name, **kwargs)

    @staticmethod
    def _error(off: Any) -> float:
        return float((off**2.0).mean())


@register
class RMSE(_Error):
    """Root of the mean squared error, averaged over batches."""

    def __init__(self, name: str = "rmse", **kwargs: Any) -> None:
        super().__init__(name, **kwargs)

    @staticmethod
    def _error(off: Any) -> float:
        return float(numpy.sqrt((off**2.0).mean()))


@register("ce")
class CrossEntropy(EvalMetric):
    """Mean of -log(probability of the right class + eps).

    Labels (N,) of classes, predictions (N, classes) of probabilities.
    """

    def __init__(
        self, eps: float = 1e-12, name: str = "cross-entropy", **kwargs: Any
    ) -> None:
        super().__init__(name, eps=eps, **kwargs)
        self.eps = eps

    def update(self, labels: Any, preds: Any) -> None:
        """Count a batch."""
        for label, pred in paired(labels, preds):
            wanted, scores = as_numbers(label).astype(int).ravel(), as_numbers(pred)
            if scores.ndim != 2 or len(scores) != len(wanted):
                raise ShapeError(
                    f"{type(self).__name__}: predictions must be (N, classes) for "
                    f"{len(wanted)} labels, not {scores.shape}."
                )
            chosen = scores[numpy.arange(len(wanted)), wanted]
            self._add(float(-numpy.log(chosen + self.eps).sum()), len(wanted))


@register("nll_loss", "nll-loss")
class NegativeLogLikelihood(CrossEntropy):
    """The same number under its other name."""

    def __init__(
        self, eps: float = 1e-12, name: str = "nll-loss", **kwargs: Any
    ) -> None:
        super().__init__(eps, name, **kwargs)


@register
class Perplexity(EvalMetric):
    """exp of the mean cross entropy: among how many classes the choice seems open.

    ignore_label: a class that is not counted, or None. axis: where the classes are.
    """

    def __init__(
        self,
        ignore_label: int | None,
        axis: int = -1,
        name: str = "perplexity",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, ignore_label=ignore_label, axis=axis, **kwargs)
        self.ignore_label = ignore_label
        self.axis = axis

    def _value(self, total: float, count: float) -> float:
        return math.exp(total / count)

    def update(self, labels: Any, preds: Any) -> None:
        """Labels (…), predictions with the axis of classes besides."""
        for label, pred in paired(labels, preds):
            wanted = as_numbers(label).astype(int).ravel()
            scores = numpy.moveaxis(as_numbers(pred), self.axis, -1)
            scores = scores.reshape(-1, scores.shape[-1])
            if len(scores) != len(wanted):
                raise ShapeError(
                    f"Perplexity: {len(wanted)} labels for predictions of shape "
                    f"{numpy.shape(pred)}, which hold {len(scores)} choices."
                )
            if self.ignore_label is not None:
                kept = wanted != self.ignore_label
                wanted, scores = wanted[kept], scores[kept]
            wanted = wanted.clip(0, scores.shape[-1] - 1)  # as nd.pick does
            chosen = scores[numpy.arange(len(wanted)), wanted]
            logs = numpy.log(numpy.maximum(1e-10, chosen))
            self._add(float(-logs.sum()), len(wanted))


@register
class Loss(EvalMetric):
    """The mean of a loss, over all its elements."""

    def __init__(self, name: str = "loss", **kwargs: Any) -> None:
        super().__init__(name, **kwargs)

    def update(self, labels: Any, preds: Any) -> None:
        """`preds` holds losses; `labels` is not looked at."""
        for pred in preds if isinstance(preds, (list, tuple)) else [preds]:
            losses = as_numbers(pred)
            self._add(float(losses.sum()), losses.size)


@register
class Torch(Loss):
    """`Loss` under the name that losses of Torch had in MXNet."""

    def __init__(self, name: str = "torch", **kwargs: Any) -> None:
        super().__init__(name, **kwargs)


@register
class Caffe(Loss):
    """`Loss` under the name that losses of Caffe had in MXNet."""

    def __init__(self, name: str = "caffe", **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
