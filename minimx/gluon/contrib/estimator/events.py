"""The moments of training at which handlers are called, and what else they share.

A handler derives from the moments it wants: each class has one method, which is given
the estimator. What `batch_end` and `epoch_end` return decides: True ends the training.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from typing import Any

from minimx.core.errors import ArgumentError
from minimx.metric import CompositeEvalMetric, EvalMetric

MODES = ("auto", "min", "max")


class EventHandler:
    """The base of all handlers. `priority`: who goes first, the lowest; 0 if absent."""


class TrainBegin(EventHandler):
    """Called when training begins."""

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> Any:
        """Before the first epoch."""


class TrainEnd(EventHandler):
    """Called when training ends."""

    def train_end(self, estimator: Any, *args: Any, **kwargs: Any) -> Any:
        """After the last epoch."""


class EpochBegin(EventHandler):
    """Called when an epoch begins."""

    def epoch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> Any:
        """Before the first batch of an epoch."""


class EpochEnd(EventHandler):
    """Called when an epoch ends."""

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> Any:
        """After the last batch of an epoch; True ends the training."""
        return False


class BatchBegin(EventHandler):
    """Called when a batch begins."""

    def batch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> Any:
        """Before a batch; kwargs: batch."""


class BatchEnd(EventHandler):
    """Called when a batch ends."""

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> Any:
        """After a batch; kwargs: batch, pred, label, loss. True ends the epoch."""
        return False


def check_handlers(handlers: Any) -> list[EventHandler]:
    """A list of handlers, from one, several or None."""
    found = [handlers] if isinstance(handlers, EventHandler) else list(handlers or [])
    for one in found:
        if not isinstance(one, EventHandler):
            raise ArgumentError(
                f"event_handlers holds a {type(one).__name__}; a handler derives from "
                "TrainBegin, BatchEnd or another of the events."
            )
    return found


def check_metrics(metrics: Any) -> list[EvalMetric]:
    """A list of simple metrics, from one, several or None."""
    if isinstance(metrics, CompositeEvalMetric):
        return [one for part in metrics.metrics for one in check_metrics(part)]
    if isinstance(metrics, EvalMetric):
        return [metrics]
    found = list(metrics or [])
    for one in found:
        if not isinstance(one, EvalMetric):
            raise ArgumentError(
                f"metrics must be EvalMetrics, such as mx.metric.Accuracy(), not "
                f"{one!r}."
            )
    return found


def refuse_foreign_metrics(
    handlers: Iterable[EventHandler], known: list[EvalMetric]
) -> None:
    """A handler's metrics are those that the estimator updates."""
    for handler in handlers:
        for name, value in vars(handler).items():
            if "metric" not in name and name != "monitor":
                continue
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, EvalMetric) and not any(one is x for x in known):
                    raise ArgumentError(
                        f"{type(handler).__name__} reads the metric {one.name!r}, "
                        "which nobody updates. Take it from estimator.train_metrics or "
                        "estimator.val_metrics."
                    )


class Watch:
    """Whether a metric gets better.

    mode: `min` or `max` say what is better; `auto` warns and takes `max`, as MXNet
    does for every metric.
    """

    def __init__(self, who: str, monitor: Any, mode: str, min_delta: float = 0) -> None:
        if not isinstance(monitor, EvalMetric) or isinstance(
            monitor, CompositeEvalMetric
        ):
            raise ArgumentError(
                f"{who}: monitor must be one of estimator.train_metrics or "
                f"estimator.val_metrics, not {monitor!r}."
            )
        if mode not in MODES:
            warnings.warn(
                f"{who}: mode={mode!r} is none of {', '.join(MODES)}; 'auto' is taken.",
                RuntimeWarning,
                stacklevel=3,
            )
        if mode not in ("min", "max"):
            warnings.warn(
                f"{who}: more is better of {monitor.get()[0]}, it is taken. Give "
                "mode='min' where less is, or mode='max' to be silent.",
                stacklevel=3,
            )
        self.who = who
        self.monitor = monitor
        self.sign = -1 if mode == "min" else 1
        self.min_delta = abs(min_delta)
        self.best = math.nan
        self.begin(None)

    def begin(self, baseline: float | None) -> None:
        """Start again; every number is better than none."""
        self.best = -self.sign * math.inf if baseline is None else baseline

    def value(self) -> float | None:
        """What the metric says; None, with a warning, if no handler updates it."""
        name, value = self.monitor.get()
        if not math.isnan(value):
            return float(value)
        warnings.warn(
            f"{self.who}: {name} has no value. Take the monitor from "
            "estimator.train_metrics or estimator.val_metrics.",
            RuntimeWarning,
            stacklevel=3,
        )
        return None

    def improves(self, value: float) -> bool:
        """Whether a value is better than the best one by more than `min_delta`."""
        return self.sign * (value - self.best) > self.min_delta
