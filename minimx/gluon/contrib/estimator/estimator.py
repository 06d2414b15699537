"""Estimator: a training loop around a network, with handlers at its moments.

    est = Estimator(net, gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer)
    est.fit(train_loader, val_data=val_loader, epochs=3)

The loop itself only runs batches and tells handlers what happened; updating, measuring,
validating, reporting and stopping are handlers, which are added where they are missing.
"""

from __future__ import annotations

import copy
import logging
import sys
import warnings
from typing import Any

from minimx.context import num_gpus
from minimx.core.device import Context, cpu, gpu
from minimx.core.errors import ArgumentError
from minimx.gluon.block import Block
from minimx.gluon.contrib.estimator.batch_processor import BatchProcessor
from minimx.gluon.contrib.estimator.event_handler import (
    GradientUpdateHandler,
    LoggingHandler,
    MetricHandler,
    StoppingHandler,
    ValidationHandler,
)
from minimx.gluon.contrib.estimator.events import (
    BatchBegin,
    BatchEnd,
    EpochBegin,
    EpochEnd,
    EventHandler,
    TrainBegin,
    TrainEnd,
    check_handlers,
    check_metrics,
    refuse_foreign_metrics,
)
from minimx.gluon.data import DataLoader
from minimx.gluon.loss import Loss, SoftmaxCrossEntropyLoss
from minimx.gluon.trainer import Trainer
from minimx.metric import Accuracy, EvalMetric
from minimx.metric import Loss as MeanLoss


class NoSuchDevice(ArgumentError, AssertionError):
    """A device that is not there; an AssertionError in MXNet."""


class Estimator:
    """Trains and evaluates a network.

    loss, val_loss: of `gluon.loss`; the second is the first if it is not given.
    train_metrics, val_metrics: their names get `training ` and `validation ` before
        them. The mean of the loss is always measured, and with a
        SoftmaxCrossEntropyLoss the accuracy, if no metric is given.
    initializer: for parameters that have no values yet.
    trainer: by default SGD with a rate of 0.001, with a warning.
    context: one device or several; by default gpu(0), or the CPU without one.
    val_net: a network that shares the parameters, for evaluation.
    batch_processor: what is done with one batch; see `BatchProcessor`.
    logger: gets all reports; it prints them.
    """

    def __init__(
        self,
        net: Block,
        loss: Loss,
        train_metrics: Any = None,
        val_metrics: Any = None,
        initializer: Any = None,
        trainer: Trainer | None = None,
        context: Any = None,
        val_net: Block | None = None,
        val_loss: Loss | None = None,
        batch_processor: Any = None,
    ) -> None:
        self.net = net
        self.val_net = net if val_net is None else val_net
        self.loss = _check_loss(loss)
        self.val_loss = self.loss if val_loss is None else _check_loss(val_loss)
        self.train_metrics = self._training_metrics(check_metrics(train_metrics))
        self.val_metrics = self._validation_metrics(check_metrics(val_metrics))
        self.logger = logging.Logger("Estimator", logging.INFO)
        self.logger.addHandler(logging.StreamHandler(sys.stdout))
        self.max_epoch: int | None = None
        self.max_batch: int | None = None
        self.batch_axis = 0
        self.context = _check_context(context)
        self._initialize(initializer)
        self.trainer = self._check_trainer(trainer)
        self.batch_processor = _check_processor(batch_processor)

    # -- parts ------------------------------------------------------------------------

    def _training_metrics(self, given: list[EvalMetric]) -> list[EvalMetric]:
        if not given:
            known = isinstance(self.loss, SoftmaxCrossEntropyLoss)
            given = [Accuracy()] if known else []
            given.append(MeanLoss(self.loss.name.rstrip("1234567890")))
        for metric in given:
            metric.name = "training " + metric.name
        return given

    def _validation_metrics(self, given: list[EvalMetric]) -> list[EvalMetric]:
        if not given:
            given = [copy.deepcopy(metric) for metric in self.train_metrics]
        for metric in given:
            metric.name = "validation " + metric.name.removeprefix("training ")
        return given

    def _initialize(self, initializer: Any) -> None:
        fresh = [p for p in self.net.collect_params().values() if not p._contexts()]
        for parameter in fresh:
            parameter.initialize(None, self.context, initializer)
        if initializer is not None and not fresh:
            warnings.warn(
                "Network already fully initialized: the initializer is not used. Call "
                "net.initialize(initializer, force_reinit=True) to draw new values.",
                stacklevel=3,
            )

    def _check_trainer(self, trainer: Any) -> Trainer:
        if trainer is None:
            warnings.warn(
                "No trainer specified: SGD with a learning rate of 0.001 is taken.",
                stacklevel=3,
            )
            settings = {"learning_rate": 0.001}
            return Trainer(self.net.collect_params(), "sgd", settings)
        if not isinstance(trainer, Trainer):
            raise ArgumentError(
                f"Estimator: trainer must be a gluon.Trainer, not {trainer!r}."
            )
        return trainer

    # -- running ----------------------------------------------------------------------

    def evaluate(
        self, val_data: Any, batch_axis: int = 0, event_handlers: Any = None
    ) -> None:
        """Run the network over validation data; `val_metrics` have the scores.

        Metrics and a report are handled where no handler does.
        """
        _check_loader(val_data)
        for metric in self.val_metrics:
            metric.reset()
        handlers = self._prepare_default_validation_handlers(event_handlers)
        _, epoch_begin, batch_begin, batch_end, epoch_end, _ = (
            self._categorize_handlers(handlers)
        )
        for handler in epoch_begin:
            handler.epoch_begin(self)
        for batch in val_data:
            for handler in batch_begin:
                handler.batch_begin(self, batch=batch)
            _, label, pred, loss = self.batch_processor.evaluate_batch(
                self, batch, batch_axis
            )
            for handler in batch_end:
                handler.batch_end(self, batch=batch, pred=pred, label=label, loss=loss)
        for handler in epoch_end:
            handler.epoch_end(self)

    def fit(
        self,
        train_data: Any,
        val_data: Any = None,
        epochs: int | None = None,
        event_handlers: Any = None,
        batches: int | None = None,
        batch_axis: int = 0,
    ) -> None:
        """Train for a number of epochs, or for a number of batches.

        train_data, val_data: DataLoaders of (data, label). batch_axis: along which a
        batch is shared out over the devices.
        """
        _check_loader(train_data)
        if (not epochs) == (not batches):
            raise ArgumentError(
                f"fit: epochs={epochs}, batches={batches}; give one of the two."
            )
        self.max_epoch, self.max_batch = epochs, batches
        self.batch_axis = batch_axis
        handlers = self._prepare_default_handlers(val_data, event_handlers)
        begin, epoch_begin, *of_batches, epoch_end, end = self._categorize_handlers(
            handlers
        )
        for handler in begin:
            handler.train_begin(self)
        done = False
        while not done:
            for handler in epoch_begin:
                handler.epoch_begin(self)
            self._run_epoch(train_data, *of_batches)
            answers = [handler.epoch_end(self) for handler in epoch_end]
            done = any(answers)
        for handler in end:
            handler.train_end(self)

    def _run_epoch(
        self, train_data: Any, batch_begin: list[Any], batch_end: list[Any]
    ) -> None:
        """Every batch, until a handler says that it is enough."""
        for batch in train_data:
            for handler in batch_begin:
                handler.batch_begin(self, batch=batch)
            _, label, pred, loss = self.batch_processor.fit_batch(
                self, batch, self.batch_axis
            )
            found = {"batch": batch, "pred": pred, "label": label, "loss": loss}
            answers = [handler.batch_end(self, **found) for handler in batch_end]
            if any(answers):
                break

    # -- handlers ---------------------------------------------------------------------

    def _prepare_default_handlers(
        self, val_data: Any, event_handlers: Any
    ) -> list[EventHandler]:
        own = check_handlers(event_handlers)
        added: list[EventHandler] = [StoppingHandler(self.max_epoch, self.max_batch)]
        if not _has(own, GradientUpdateHandler):
            added.append(GradientUpdateHandler())
        if not _has(own, MetricHandler):
            added.append(MetricHandler(self.train_metrics))
        if val_data is not None and not _has(own, ValidationHandler):
            added.append(ValidationHandler(val_data, self.evaluate))
        if not _has(own, LoggingHandler):
            added.append(LoggingHandler(metrics=self.train_metrics))
        return _in_order(own, added, self.train_metrics + self.val_metrics)

    def _prepare_default_validation_handlers(
        self, event_handlers: Any
    ) -> list[EventHandler]:
        own = check_handlers(event_handlers)
        added: list[EventHandler] = []
        if not _has(own, MetricHandler):
            added.append(MetricHandler(self.val_metrics))
        if not _has(own, LoggingHandler):
            added.append(LoggingHandler(metrics=self.val_metrics))
        return _in_order(own, added, self.val_metrics)

    def _categorize_handlers(self, event_handlers: list[Any]) -> tuple[list[Any], ...]:
        """The handlers of train, epoch and batch begin, then of their ends."""
        moments = TrainBegin, EpochBegin, BatchBegin, BatchEnd, EpochEnd, TrainEnd
        return tuple(
            [handler for handler in event_handlers if isinstance(handler, moment)]
            for moment in moments
        )


def _has(handlers: list[EventHandler], kind: type) -> bool:
    return any(isinstance(handler, kind) for handler in handlers)


def _in_order(
    own: list[EventHandler], added: list[EventHandler], metrics: list[EvalMetric]
) -> list[EventHandler]:
    """All handlers, by priority; own ones read metrics that added ones update."""
    if own and added:
        refuse_foreign_metrics(own, metrics)
    return sorted([*own, *added], key=lambda one: getattr(one, "priority", 0))


def _check_loss(loss: Any) -> Loss:
    if not isinstance(loss, Loss):
        raise ArgumentError(
            f"Estimator: a loss is one of gluon.loss, such as L2Loss(), not {loss!r}."
        )
    return loss


def _check_loader(data: Any) -> None:
    if not isinstance(data, DataLoader):
        raise ArgumentError(
            "an Estimator takes its data from a gluon.data.DataLoader, not from a "
            f"{type(data).__name__}."
        )


def _check_processor(processor: Any) -> Any:
    if processor is None:
        return BatchProcessor()
    for name in ("fit_batch", "evaluate_batch"):
        if not callable(getattr(processor, name, None)):
            raise ArgumentError(
                f"Estimator: the batch_processor {processor!r} has no {name}(); derive "
                "it from BatchProcessor."
            )
    return processor


def _check_context(context: Any) -> list[Context]:
    if not context:
        return [gpu(0)] if num_gpus() else [cpu()]
    contexts = [context] if isinstance(context, Context) else context
    if not isinstance(contexts, list) or not all(
        isinstance(one, Context) for one in contexts
    ):
        raise ArgumentError(
            "Estimator: context must be a device or a list of devices, such as "
            f"[mx.gpu(0), mx.gpu(1)], not {context!r}."
        )
    for one in contexts:
        if one.device_type == "gpu" and one.device_id >= num_gpus():
            raise NoSuchDevice(f"Estimator: {one} is not there; {num_gpus()} GPUs are.")
    return contexts
