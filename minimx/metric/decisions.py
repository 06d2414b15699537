"""Scores of decisions: choices among classes, and answers of yes and no.

Answers are counted in a table [label, decision]; every score of them is a function of
such a table.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from minimx.core.errors import ArgumentError, ShapeError
from minimx.metric.base import EvalMetric, as_numbers, paired, register

__all__ = ["F1", "MCC", "Accuracy", "BinaryAccuracy", "Fbeta", "TopKAccuracy"]


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


# -- two classes ----------------------------------------------------------------------


class _Binary(EvalMetric):
    """The base: counts decisions, and scores them in a subclass's `_score`.

    average: `macro` for the mean of the scores of the batches, `micro` for the score of
        all samples together.
    """

    def __init__(self, name: str, average: str = "macro", **kwargs: Any) -> None:
        if average not in ("macro", "micro"):
            raise ArgumentError(
                f"{type(self).__name__}: average={average!r}: choose 'macro' (mean "
                "over batches) or 'micro' (all samples together)."
            )
        self.average = average
        super().__init__(name, average=average, **kwargs)

    def reset(self) -> None:
        """Forget everything."""
        self._global_counts = numpy.zeros((2, 2))
        super().reset()

    def reset_local(self) -> None:
        """Forget what was counted since the last report."""
        self._counts = numpy.zeros((2, 2))
        super().reset_local()

    def _score(self, counts: Any) -> float:
        """The score of counts[label, decision]."""
        raise ArgumentError("a binary metric needs _score(counts)")

    def update(self, labels: Any, preds: Any) -> None:
        """Labels (N,) of 0 and 1, predictions (N, 2)."""
        counts = numpy.zeros((2, 2))
        for label, pred in paired(labels, preds):
            counts += self._count(as_numbers(label), as_numbers(pred))
        if self.average == "macro":
            self._add(self._score(counts), 1)
            return
        self._counts += counts
        self._global_counts += counts
        self.num_inst, self.global_num_inst = (
            int(self._counts.sum()),
            int(self._global_counts.sum()),
        )
        self.sum_metric = self._score(self._counts) * self.num_inst
        self.global_sum_metric = self._score(self._global_counts) * self.global_num_inst

    def _count(self, label: Any, pred: Any) -> Any:
        wanted = label.astype(int).ravel()
        if not set(wanted.tolist()) <= {0, 1}:
            raise ArgumentError(
                f"{type(self).__name__} is for two classes; the labels hold "
                f"{numpy.unique(wanted)[:5]}. Use 0 and 1."
            )
        if pred.ndim != 2 or len(pred) != len(wanted):
            raise ShapeError(
                f"{type(self).__name__}: predictions must be (N, 2) for {len(wanted)} "
                f"labels, not {pred.shape}."
            )
        counts = numpy.zeros((2, 2))
        numpy.add.at(counts, (wanted, numpy.minimum(pred.argmax(1), 1)), 1)
        return counts


@register
class Fbeta(_Binary):
    """Precision and recall in one number, recall weighing `beta` times as much.

    (1 + beta²) · precision · recall / (beta² · precision + recall), for two classes.
    """

    def __init__(self, name: str = "fbeta", beta: float = 1, **kwargs: Any) -> None:
        if beta <= 0:
            raise ArgumentError(f"Fbeta: beta={beta}; give a positive number.")
        super().__init__(name, beta=beta, **kwargs)
        self.beta = beta

    def _score(self, counts: Any) -> float:
        (_, false_yes), (missed, yes) = counts
        weight = self.beta**2
        wrong = weight * missed + false_yes
        return float((1 + weight) * yes / ((1 + weight) * yes + wrong)) if yes else 0.0


@register
class F1(_Binary):
    """2 · precision · recall / (precision + recall), for two classes."""

    def __init__(self, name: str = "f1", **kwargs: Any) -> None:
        super().__init__(name, **kwargs)

    def _score(self, counts: Any) -> float:
        (_, false_yes), (missed, yes) = counts
        wrong = false_yes + missed
        return float(2 * yes / (2 * yes + wrong)) if yes else 0.0


@register
class MCC(_Binary):
    """Matthews' correlation of two classes: 1 all right, 0 by chance, -1 all wrong."""

    def __init__(self, name: str = "mcc", **kwargs: Any) -> None:
        super().__init__(name, **kwargs)

    def _score(self, counts: Any) -> float:
        (no, false_yes), (missed, yes) = counts
        edges = [*counts.sum(0), *counts.sum(1)]
        scale = math.sqrt(math.prod(edge for edge in edges if edge))
        return float((yes * no - false_yes * missed) / scale)


@register
class BinaryAccuracy(EvalMetric):
    """The share of scores on the right side of `threshold`.

    Labels of 0 and 1, and predictions of their shape; above the threshold means 1.
    """

    def __init__(
        self, name: str = "binary_accuracy", threshold: float = 0.5, **kwargs: Any
    ) -> None:
        super().__init__(name, threshold=threshold, **kwargs)
        self.threshold = threshold

    def update(self, labels: Any, preds: Any) -> None:
        """Labels and predictions of one size."""
        for label, pred in paired(labels, preds):
            wanted = as_numbers(label).astype(int).ravel()
            found = (as_numbers(pred) > self.threshold).ravel()
            if wanted.size != found.size:
                raise ShapeError(
                    f"BinaryAccuracy: {wanted.size} labels for {found.size} scores."
                )
            self._add(int((wanted == found).sum()), wanted.size)
