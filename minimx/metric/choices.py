"""Scores of choices among classes."""

from __future__ import annotations

import math
from typing import Any

import numpy

from minimx.errors import ArgumentError, ShapeError
from minimx.metric.base import EvalMetric, as_numbers, check_label_shapes, register


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
        for label, pred in zip(*check_label_shapes(labels, preds), strict=True):
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

    def update(self, labels: Any, preds: Any) -> None:
        """Labels (N,), predictions (N, classes)."""
        for label, pred in zip(*check_label_shapes(labels, preds), strict=True):
            wanted, scores = as_numbers(label).astype(int).ravel(), as_numbers(pred)
            if scores.ndim != 2 or len(scores) != len(wanted):
                raise ShapeError(
                    f"TopKAccuracy: predictions must be (N, classes) for {len(wanted)} "
                    f"labels, not {scores.shape}."
                )
            count = min(self.top_k, scores.shape[1])
            best = numpy.argsort(scores, axis=1, kind="stable")[:, -count:]
            self._add(int((best == wanted[:, None]).sum()), len(wanted))


class _Binary(EvalMetric):
    """Counts right and wrong yes/no decisions; the base of F1 and MCC.

    average: `macro` for the mean score of the batches, `micro` for the score of all
    samples together.
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

    @staticmethod
    def _score(counts: Any) -> float:
        """The score of counts[label, prediction]."""
        raise ArgumentError("a binary metric needs _score(counts)")

    def update(self, labels: Any, preds: Any) -> None:
        """Labels (N,) of 0 and 1, predictions (N, 2)."""
        for label, pred in zip(*check_label_shapes(labels, preds), strict=True):
            wanted = as_numbers(label).astype(int).ravel()
            found = as_numbers(pred).argmax(1)
            if not set(wanted.tolist()) <= {0, 1}:
                raise ArgumentError(
                    f"{type(self).__name__} is for two classes; the labels hold "
                    f"{numpy.unique(wanted)[:5]}. Use 0 and 1."
                )
            counts = numpy.zeros((2, 2))
            numpy.add.at(counts, (wanted, numpy.minimum(found, 1)), 1)
            self._counts += counts
            self._global_counts += counts
            if self.average == "macro":
                self._add(self._score(counts), 1)
            else:
                self._add(0.0, len(wanted))

    def get(self) -> tuple[Any, Any]:
        """(name, score since the last `reset_local`)."""
        if self.average == "micro" and self.num_inst:
            return self.name, self._score(self._counts)
        return super().get()

    def get_global(self) -> tuple[Any, Any]:
        """(name, score since the last `reset`)."""
        if self.average == "micro" and self.global_num_inst:
            return self.name, self._score(self._global_counts)
        return super().get_global()


@register
class F1(_Binary):
    """2 · precision · recall / (precision + recall), for two classes."""

    def __init__(self, name: str = "f1", **kwargs: Any) -> None:
        super().__init__(name, **kwargs)

    @staticmethod
    def _score(counts: Any) -> float:
        (_, false_yes), (false_no, yes) = counts
        wrong = false_yes + false_no
        return float(2 * yes / (2 * yes + wrong)) if yes else 0.0


@register
class MCC(_Binary):
    """Matthews' correlation of two classes: 1 all right, 0 by chance, -1 all wrong."""

    def __init__(self, name: str = "mcc", **kwargs: Any) -> None:
        super().__init__(name, **kwargs)

    @staticmethod
    def _score(counts: Any) -> float:
        (no, false_yes), (false_no, yes) = counts
        edges = [*counts.sum(0), *counts.sum(1)]
        scale = math.sqrt(math.prod(edge for edge in edges if edge))
        return float((yes * no - false_yes * false_no) / scale)
