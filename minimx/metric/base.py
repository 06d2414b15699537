"""Running scores: how good predictions are, batch after batch.

    accuracy = mx.metric.Accuracy()
    for data, label in loader:
        accuracy.update(label, net(data))
    name, value = accuracy.get()

Every metric keeps two running sums: a local one, which `reset_local` clears (a progress
report does, now and then), and a global one since `reset`. Metrics compute in NumPy and
wait for the arrays they are given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy

from minimx.core.arrays.array import NDArray
from minimx.core.errors import ArgumentError, ShapeError
from minimx.tools.catalogue import Catalogue


def _as_list(values: Any) -> list[Any]:
    return list(values) if isinstance(values, (list, tuple)) else [values]


def as_numbers(value: Any) -> Any:
    """A NumPy array of anything; waits for an NDArray."""
    return value.asnumpy() if isinstance(value, NDArray) else numpy.asarray(value)


class EvalMetric:
    """The base: sums, counts and names. Subclasses write `update`.

    name: how it is reported. output_names, label_names: which entries of a dict
        `update_dict` takes, all by default.
    """

    def __init__(
        self,
        name: str,
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> None:
        self.name = str(name)
        self.output_names = output_names
        self.label_names = label_names
        self._kwargs = kwargs
        self.reset()

    def __str__(self) -> str:
        return f"EvalMetric: {dict(self.get_name_value())}"

    def get_config(self) -> dict[str, Any]:
        """The settings, from which `create` makes the same metric again."""
        return {
            **self._kwargs,
            "metric": type(self).__name__,
            "name": self.name,
            "output_names": self.output_names,
            "label_names": self.label_names,
        }

    def update(self, labels: Any, preds: Any) -> None:
        """Count a batch; both may be one array, or a list with one for each output."""
        raise ArgumentError(f"{type(self).__name__} has no update(labels, preds).")

    def update_dict(self, label: dict[str, Any], pred: dict[str, Any]) -> None:
        """Count a batch of named arrays."""
        outputs, labels = self.output_names, self.label_names
        self.update(
            list(label.values()) if labels is None else [label[n] for n in labels],
            list(pred.values()) if outputs is None else [pred[n] for n in outputs],
        )

    def reset(self) -> None:
        """Forget everything."""
        self.global_sum_metric: float = 0.0
        self.global_num_inst: float = 0
        self.reset_local()

    def reset_local(self) -> None:
        """Forget what was counted since the last report."""
        self.sum_metric: float = 0.0
        self.num_inst: float = 0

    def _add(self, total: float, count: float) -> None:
        self.sum_metric += total
        self.num_inst += count
        self.global_sum_metric += total
        self.global_num_inst += count

    def _value(self, total: float, count: float) -> float:
        """The score from a sum and a count that is not 0."""
        return total / count

    def get(self) -> tuple[Any, Any]:
        """(name, score since the last `reset_local`); nan if nothing was counted."""
        if not self.num_inst:
            return self.name, math.nan
        return self.name, self._value(self.sum_metric, self.num_inst)

    def get_global(self) -> tuple[Any, Any]:
        """(name, score since the last `reset`)."""
        if not self.global_num_inst:
            return self.name, math.nan
        return self.name, self._value(self.global_sum_metric, self.global_num_inst)

    def get_name_value(self) -> list[tuple[str, float]]:
        """`get` as a list of pairs."""
        return _pairs(*self.get())

    def get_global_name_value(self) -> list[tuple[str, float]]:
        """`get_global` as a list of pairs."""
        return _pairs(*self.get_global())


def _pairs(names: Any, values: Any) -> list[tuple[str, float]]:
    return list(zip(_as_list(names), _as_list(values), strict=True))


catalogue = Catalogue(EvalMetric, "metric")
register = alias = catalogue.register


def create(metric: Any, *args: Any, **kwargs: Any) -> EvalMetric:
    """A metric by name, from a function `(label, pred)`, or from a list of these."""
    if isinstance(metric, (list, tuple)):
        found = CompositeEvalMetric()
        for one in metric:
            found.add(create(one, *args, **kwargs))
        return found
    if callable(metric) and not isinstance(metric, EvalMetric):
        return CustomMetric(metric, *args, **kwargs)
    return catalogue.create(metric, *args, **kwargs)


def check_label_shapes(
    labels: Any, preds: Any, wrap: bool = False, shape: bool = False
) -> tuple[Any, Any]:
    """Both as they are; a ShapeError if there are more of the one than of the other.

    wrap: put a single array into a list. shape: compare the shapes of two arrays.
    """
    if wrap:
        labels, preds = _as_list(labels), _as_list(preds)
    if shape and numpy.shape(labels) != numpy.shape(preds):
        raise ShapeError(
            f"a metric was given labels of shape {numpy.shape(labels)} and predictions "
            f"of shape {numpy.shape(preds)}. Reshape one of them."
        )
    if not shape and len(labels) != len(preds):
        raise ShapeError(
            f"a metric was given {len(labels)} label arrays and {len(preds)} "
            "prediction arrays. Give one label array for each output."
        )
    return labels, preds


def paired(labels: Any, preds: Any) -> Iterator[tuple[Any, Any]]:
    """The label and the prediction of each output; a single array is one output."""
    return zip(*check_label_shapes(labels, preds, wrap=True), strict=True)


@register("composite")
class CompositeEvalMetric(EvalMetric):
    """Several metrics, updated and reported together."""

    def __init__(
        self,
        metrics: Sequence[Any] | None = None,
        name: str = "composite",
        **kwargs: Any,
    ) -> None:
        self.metrics = [create(one) for one in metrics or []]
        super().__init__(name, **kwargs)

    def add(self, metric: Any) -> None:
        """Add a metric, or one by name."""
        self.metrics.append(create(metric))

    def get_metric(self, index: int) -> EvalMetric:
        """The metric at a place."""
        if not 0 <= index < len(self.metrics):
            raise ArgumentError(
                f"there is no metric {index}; there are {len(self.metrics)}, counted "
                "from 0."
            )
        return self.metrics[index]

    def update(self, labels: Any, preds: Any) -> None:
        """Count a batch in every metric."""
        for one in self.metrics:
            one.update(labels, preds)

    def update_dict(self, label: dict[str, Any], pred: dict[str, Any]) -> None:
        """Count a batch of named arrays in every metric."""
        for one in self.metrics:
            one.update_dict(label, pred)

    def reset(self) -> None:
        """Forget everything."""
        for one in self.metrics:
            one.reset()

    def reset_local(self) -> None:
        """Forget what was counted since the last report."""
        for one in self.metrics:
            one.reset_local()

    def get(self) -> tuple[Any, Any]:
        """(names, scores)."""
        pairs = [pair for one in self.metrics for pair in one.get_name_value()]
        return [name for name, _ in pairs], [value for _, value in pairs]

    def get_global(self) -> tuple[Any, Any]:
        """(names, scores since the last `reset`)."""
        pairs = [pair for one in self.metrics for pair in one.get_global_name_value()]
        return [name for name, _ in pairs], [value for _, value in pairs]

    def get_config(self) -> dict[str, Any]:
        """The settings of every metric."""
        return {
            **super().get_config(),
            "metrics": [one.get_config() for one in self.metrics],
        }


@register("custom")
class CustomMetric(EvalMetric):
    """A metric from a function of NumPy arrays `(label, pred)`.

    feval returns a score, which is averaged over batches, or (sum, count).
    allow_extra_outputs: let there be more predictions than labels.
    """

    def __init__(
        self,
        feval: Callable[[Any, Any], Any],
        name: str | None = None,
        allow_extra_outputs: bool = False,
        **kwargs: Any,
    ) -> None:
        if name is None:
            name = getattr(feval, "__name__", type(feval).__name__)
            if "<" in name:
                name = f"custom({name})"
        super().__init__(name, **kwargs)
        self._feval = feval
        self._allow_extra_outputs = allow_extra_outputs

    def get_config(self) -> dict[str, Any]:
        """A function cannot be written down."""
        raise ArgumentError(
            f"{self.name} is made from a function, which has no settings."
        )

    def update(self, labels: Any, preds: Any) -> None:
        """Count what the function says of a batch."""
        labels, preds = _as_list(labels), _as_list(preds)
        if not self._allow_extra_outputs:
            check_label_shapes(labels, preds, wrap=True)
        for label, pred in zip(labels, preds, strict=False):
            found = self._feval(as_numbers(label), as_numbers(pred))
            if isinstance(found, tuple):
                self._add(*found)
            else:
                self._add(found, 1)


def np(
    numpy_feval: Callable[[Any, Any], Any],
    name: str | None = None,
    allow_extra_outputs: bool = False,
) -> CustomMetric:
    """A metric from a function of NumPy arrays; see `CustomMetric`."""
    return CustomMetric(numpy_feval, name, allow_extra_outputs)
