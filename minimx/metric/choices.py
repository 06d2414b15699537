"""Scores of choices among classes."""

from __future__ import annotations

from typing import Any

import numpy

from minimx.core.errors import ArgumentError, ShapeError
from minimx.metric.base import EvalMetric, as_numbers, paired, register


@register("acc")
class Accuracy(EvalMetric):
    """The share of predictions that are right.

    Predictions are classes, of the shape of the labels, or scores, whose largest along
    `axis` is the class.
    """

    def __init__(self, axis: int = 1, name: str = "accuracy", **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
        self.axis = axis

    def get_config(self) -> dict[str, Any]:
        """The settings."""
        return {"axis": self.axis, **super().get_config()}

    def update(self, labels: Any, preds: Any) -> None:
        """Labels (N, …); predictions of that shape, or with the axis of classes."""
        for label, pred in paired(labels, preds):
            wanted, found = as_numbers(label), as_numbers(pred)
            if found.shape != wanted.shape:
                found = found.argmax(self.axis)
            wanted, found = wanted.astype(int).ravel(), found.astype(int).ravel()
            if wanted.size != found.size:
                raise ShapeError(
                    f"Accuracy: {wanted.size} labels for {found.size} predictions, "
                    f"from shapes {numpy.shape(label)} and {numpy.shape(pred)}."
                )
            self._add(int((wanted == found).sum()), wanted.size)


@register("top_k_accuracy", "top_k_acc")
class TopKAccuracy(EvalMetric):
    """The share of labels that are among the `top_k` largest scores."""

    def __init__(
        self, top_k: int = 1, name: str = "top_k_accuracy", **kwargs: Any
    ) -> None:
        if top_k < 2:
            raise ArgumentError(
                f"TopKAccuracy: top_k={top_k}; give 2 or more, or use Accuracy."
            )
        super().__init__(f"{name}_{top_k}", top_k=top_k, **kwargs)
        self.top_k = top_k

    def get_config(self) -> dict[str, Any]:
        """The settings; the name without the number that is added to it."""
        given = self.name.removesuffix(f"_{self.top_k}")
        return {**super().get_config(), "name": given}

    def update(self, labels: Any, preds: Any) -> None:
        """Labels (N,), predictions (N, classes)."""
        for label, pred in paired(labels, preds):
            wanted, scores = as_numbers(label).astype(int).ravel(), as_numbers(pred)
            if scores.ndim != 2 or len(scores) != len(wanted):
                raise ShapeError(
                    f"TopKAccuracy: predictions must be (N, classes) for {len(wanted)} "
                    f"labels, not {scores.shape}."
                )
            count = min(self.top_k, scores.shape[1])
            best = numpy.argsort(scores, axis=1, kind="stable")[:, -count:]
            self._add(int((best == wanted[:, None]).sum()), len(wanted))
