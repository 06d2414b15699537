"""Handlers that most trainings want: stop, measure, validate, report, update."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from minimx.core.errors import ArgumentError
from minimx.gluon.contrib.estimator.checkpoint import CheckpointHandler
from minimx.gluon.contrib.estimator.events import (
    BatchBegin,
    BatchEnd,
    EpochBegin,
    EpochEnd,
    EventHandler,
    TrainBegin,
    TrainEnd,
    Watch,
    check_metrics,
)
from minimx.metric import EvalMetric, Loss

__all__ = [
    "BatchBegin",
    "BatchEnd",
    "CheckpointHandler",
    "EarlyStoppingHandler",
    "EpochBegin",
    "EpochEnd",
    "EventHandler",
    "GradientUpdateHandler",
    "LoggingHandler",
    "MetricHandler",
    "StoppingHandler",
    "TrainBegin",
    "TrainEnd",
    "ValidationHandler",
]


class StoppingHandler(TrainBegin, BatchEnd, EpochEnd):
    """End the training after the epochs or batches that `fit` was asked for."""

    def __init__(
        self, max_epoch: int | None = None, max_batch: int | None = None
    ) -> None:
        self.max_epoch = max_epoch
        self.max_batch = max_batch
        self.current_batch = 0
        self.current_epoch = 0
        self.stop_training = False

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Count from 0."""
        self.max_epoch = estimator.max_epoch
        self.max_batch = estimator.max_batch
        self.current_batch = self.current_epoch = 0
        self.stop_training = False

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
        """Count a batch."""
        self.current_batch += 1
        self.stop_training |= self.current_batch == self.max_batch
        return self.stop_training

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
        """Count an epoch."""
        self.current_epoch += 1
        self.stop_training |= self.current_epoch == self.max_epoch
        return self.stop_training


class MetricHandler(EpochBegin, BatchEnd):
    """Update metrics with every batch; a `Loss` metric gets the losses."""

    def __init__(self, metrics: Any, priority: float = -1000) -> None:
        self.metrics = check_metrics(metrics)
        self.priority = priority  # before those who read the metrics

    def epoch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Begin every epoch anew."""
        for metric in self.metrics:
            metric.reset()

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Count a batch."""
        for metric in self.metrics:
            if isinstance(metric, Loss):
                metric.update(0, kwargs["loss"])
            else:
                metric.update(kwargs["label"], kwargs["pred"])


class ValidationHandler(TrainBegin, BatchEnd, EpochEnd):
    """Evaluate every `epoch_period` epochs and every `batch_period` batches.

    eval_fn(val_data=, batch_axis=, event_handlers=): such as `estimator.evaluate`.
    """

    def __init__(
        self,
        val_data: Any,
        eval_fn: Callable[..., Any],
        epoch_period: int | None = 1,
        batch_period: int | None = None,
        priority: float = -1000,
        event_handlers: Any = None,
    ) -> None:
        self.val_data = val_data
        self.eval_fn = eval_fn
        self.epoch_period = epoch_period
        self.batch_period = batch_period
        self.current_batch = 0
        self.current_epoch = 0
        self.priority = priority
        self.event_handlers = event_handlers

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Count from 0."""
        self.current_batch = self.current_epoch = 0

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Count a batch; evaluate if it is time."""
        self.current_batch += 1
        self._evaluate_every(self.batch_period, self.current_batch, estimator)

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Count an epoch; evaluate if it is time."""
        self.current_epoch += 1
        self._evaluate_every(self.epoch_period, self.current_epoch, estimator)

    def _evaluate_every(self, period: int | None, count: int, estimator: Any) -> None:
        if period and count % period == 0:
            self.eval_fn(
                val_data=self.val_data,
                batch_axis=estimator.batch_axis,
                event_handlers=self.event_handlers,
            )


class LoggingHandler(TrainBegin, TrainEnd, EpochBegin, EpochEnd, BatchBegin, BatchEnd):
    """Report the progress of training to the estimator's logger.

    log_interval: `epoch`, or a number of batches.
    """

    def __init__(
        self,
        log_interval: int | str = "epoch",
        metrics: Any = None,
        priority: float = math.inf,
    ) -> None:
        if not isinstance(log_interval, int) and log_interval != "epoch":
            raise ArgumentError(
                f"LoggingHandler: log_interval={log_interval!r}; give 'epoch' or a "
                "number of batches."
            )
        self.metrics = check_metrics(metrics)
        self.log_interval = log_interval
        self.priority = priority  # after those who update the metrics
        self._begin()

    def _begin(self) -> None:
        self.batch_index = 0
        self.current_epoch = 0
        self.processed_samples = 0
        self.log_interval_time = 0.0

    def _scores(self) -> str:
        pairs = [pair for metric in self.metrics for pair in metric.get_name_value()]
        return ", ".join(f"{name}: {value:.4f}" for name, value in pairs)

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Say how, and for how long, is trained."""
        self.train_start = time.time()
        estimator.logger.info(
            "Training begin: using optimizer %s with current learning rate %.4f ",
            type(estimator.trainer.optimizer).__name__,
            estimator.trainer.learning_rate,
        )
        if estimator.max_epoch:
            estimator.logger.info("Train for %d epochs.", estimator.max_epoch)
        else:
            estimator.logger.info("Train for %d batches.", estimator.max_batch)
        self._begin()

    def train_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Say what was reached."""
        passed = time.time() - self.train_start
        estimator.logger.info(
            f"Train finished using total {passed:.0f}s with {self.current_epoch} "
            f"epochs. {self._scores()}"
        )

    def batch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Start the clock."""
        self.batch_start = time.time()

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Report every `log_interval` batches."""
        if isinstance(self.log_interval, int):
            axis = getattr(estimator, "batch_axis", 0)
            self.processed_samples += kwargs["batch"][0].shape[axis]
            self.log_interval_time += time.time() - self.batch_start
            if self.batch_index % self.log_interval == 0:
                estimator.logger.info(
                    f"[Epoch {self.current_epoch}][Batch {self.batch_index}]"
                    f"[Samples {self.processed_samples}] "
                    f"time/interval: {self.log_interval_time:.3f}s {self._scores()}"
                )
                self.log_interval_time = 0.0
        self.batch_index += 1

    def epoch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Say which epoch begins, or that it is a validation."""
        self.epoch_start = time.time()
        if any("training" in metric.name for metric in self.metrics):
            estimator.logger.info(
                "[Epoch %d] Begin, current learning rate: %.4f",
                self.current_epoch,
                estimator.trainer.learning_rate,
            )
        else:
            estimator.logger.info("Validation Begin")

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Say what the epoch has reached."""
        passed = time.time() - self.epoch_start
        estimator.logger.info(
            f"[Epoch {self.current_epoch}] Finished in {passed:.3f}s, {self._scores()}"
        )
        self.current_epoch += 1
        self.batch_index = 0


class EarlyStoppingHandler(TrainBegin, EpochEnd, TrainEnd):
    """End the training when a metric has not improved for `patience` epochs.

    min_delta: by how much it must improve. baseline: the value to begin with. mode:
    `min` or `max`, whichever is better.
    """

    def __init__(
        self,
        monitor: EvalMetric,
        min_delta: float = 0,
        patience: int = 0,
        mode: str = "auto",
        baseline: float | None = None,
    ) -> None:
        self._watch = Watch("EarlyStoppingHandler", monitor, mode, min_delta)
        self.monitor = monitor
        self.patience = patience
        self.baseline = baseline
        self._begin()

    def _begin(self) -> None:
        self._watch.begin(self.baseline)
        self.wait = 0
        self.stopped_epoch = 0
        self.current_epoch = 0
        self.stop_training = False

    @property
    def best(self) -> float:
        """The best value so far."""
        return self._watch.best

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Count from 0."""
        self._begin()

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
        """Compare with the best epoch; True if it was too long ago."""
        value = self._watch.value()
        if value is not None and self._watch.improves(value):
            self._watch.best = value
            self.wait = 0
        elif value is not None:
            self.wait += 1
            if self.wait >= self.patience:
                self.stopped_epoch = self.current_epoch
                self.stop_training = True
        self.current_epoch += 1
        return self.stop_training

    def train_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Say that it was ended early."""
        if self.stopped_epoch > 0:
            estimator.logger.info(
                "[Epoch %d] EarlyStoppingHandler: early stopping due to %s not "
                "improving",
                self.stopped_epoch,
                self.monitor.get()[0],
            )


class GradientUpdateHandler(BatchEnd):
    """Let the trainer update with every batch, before all other handlers."""

    def __init__(self, priority: float = -2000) -> None:
        self.priority = priority

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """A step; the batch size is the number of losses."""
        losses = kwargs["loss"]
        losses = losses if isinstance(losses, list) else [losses]
        estimator.trainer.step(sum(loss.shape[0] for loss in losses))
