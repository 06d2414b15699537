"""The loops over data that a module offers: `fit`, `score` and `predict`.

They are made of steps that a subclass writes: bind, init_params, init_optimizer,
forward, backward, update, get_outputs, update_metric.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from minimx import metric as metrics
from minimx import nd
from minimx.callback import BatchEndParam
from minimx.errors import ArgumentError
from minimx.initializer import Uniform
from minimx.io import DataBatch, DataIter
from minimx.nd.array import NDArray

Callbacks = Callable[..., Any] | list[Callable[..., Any]] | None


def call_all(callbacks: Callbacks, *args: Any) -> None:
    """Call none, one or several functions."""
    several = callbacks if isinstance(callbacks, (list, tuple)) else [callbacks]
    for callback in several:
        if callback is not None:
            callback(*args)


class BaseModule:
    """The loops; subclasses bring the steps."""

    #: Whether these steps were made.
    binded = params_initialized = optimizer_initialized = False

    symbol: Any
    bind: Any
    init_params: Any
    init_optimizer: Any
    forward: Any
    backward: Any
    update: Any
    update_metric: Any
    get_outputs: Any
    get_params: Any

    def __init__(self, logger: Any = None) -> None:
        if logger is None:
            import logging  # slow to import, and most programs have no module

            logger = logging
        self.logger = logger

    def forward_backward(self, data_batch: DataBatch) -> None:
        """The outputs of a batch in training, and the gradients."""
        self.forward(data_batch, is_train=True)
        self.backward()

    def fit(
        self,
        train_data: DataIter,
        eval_data: DataIter | None = None,
        eval_metric: Any = "acc",
        epoch_end_callback: Callbacks = None,
        batch_end_callback: Callbacks = None,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        eval_end_callback: Callbacks = None,
        eval_batch_end_callback: Callbacks = None,
        initializer: Any = None,
        arg_params: Any = None,
        aux_params: Any = None,
        allow_missing: bool = False,
        force_rebind: bool = False,
        force_init: bool = False,
        begin_epoch: int = 0,
        num_epoch: int | None = None,
        validation_metric: Any = None,
    ) -> None:
        """Train: from begin_epoch up to, without, num_epoch.

        What was bound, initialized or made before stays as it is, unless force_rebind
        or force_init says other. initializer: Uniform(0.01) by default. After each
        epoch epoch_end_callback is given (epoch, symbol, arguments, states); after each
        batch batch_end_callback a BatchEndParam.
        """
        if num_epoch is None:
            raise ArgumentError("fit: num_epoch says how long to train; give a number.")
        self.bind(
            train_data.provide_data,  # type: ignore[attr-defined]
            train_data.provide_label,  # type: ignore[attr-defined]
            for_training=True,
            force_rebind=force_rebind,
        )
        if force_init or not self.params_initialized:
            self.init_params(
                initializer or Uniform(0.01), arg_params, aux_params, allow_missing,
                force_init,
            )  # fmt: skip
        if not self.optimizer_initialized:
            self.init_optimizer(kvstore, optimizer, optimizer_params)
        metric = metrics.create(eval_metric)
        for epoch in range(begin_epoch, num_epoch):
            self._train(epoch, train_data, metric, batch_end_callback)
            if epoch_end_callback is not None:
                call_all(epoch_end_callback, epoch, self.symbol, *self.get_params())
            if eval_data is not None:
                found = self.score(
                    eval_data, validation_metric or eval_metric, None,
                    eval_batch_end_callback, eval_end_callback, epoch=epoch,
                )  # fmt: skip
                self._log(epoch, "Validation", found)
            train_data.reset()

    def _train(
        self, epoch: int, data: DataIter, metric: Any, callbacks: Callbacks
    ) -> None:
        """One epoch."""
        began = time.time()
        metric.reset()
        for number, batch in enumerate(data):
            self.forward_backward(batch)
            self.update()
            self.update_metric(metric, batch.label)
            call_all(callbacks, BatchEndParam(epoch, number, metric, locals()))
        self._log(epoch, "Train", metric.get_global_name_value())
        self.logger.info("Epoch[%d] Time cost=%.3f", epoch, time.time() - began)

    def _log(self, epoch: int, what: str, found: list[tuple[str, float]]) -> None:
        for name, value in found:
            self.logger.info("Epoch[%d] %s-%s=%f", epoch, what, name, value)

    def score(
        self,
        eval_data: DataIter,
        eval_metric: Any,
        num_batch: int | None = None,
        batch_end_callback: Callbacks = None,
        score_end_callback: Callbacks = None,
        reset: bool = True,
        epoch: int = 0,
    ) -> list[tuple[str, float]]:
        """The metric over all, or the first num_batch, batches: (name, value) pairs."""
        metric = metrics.create(eval_metric)
        metric.reset()
        number = 0
        for number, batch in enumerate(_batches(eval_data, num_batch, reset), start=1):
            self.forward(batch, is_train=False)
            self.update_metric(metric, batch.label)
            param = BatchEndParam(epoch, number - 1, metric, locals())
            call_all(batch_end_callback, param)
        call_all(score_end_callback, BatchEndParam(epoch, number, metric, locals()))
        return metric.get_global_name_value()

    def iter_predict(
        self, eval_data: DataIter, num_batch: int | None = None, reset: bool = True
    ) -> Iterator[tuple[list[NDArray], int, DataBatch]]:
        """(outputs without the padding, number, batch) of one batch after the other."""
        for number, batch in enumerate(_batches(eval_data, num_batch, reset)):
            self.forward(batch, is_train=False)
            outputs = self.get_outputs()
            pad = batch.pad or 0
            yield [out[: out.shape[0] - pad].copy() for out in outputs], number, batch

    def predict(
        self,
        eval_data: Any,
        num_batch: int | None = None,
        merge_batches: bool = True,
        reset: bool = True,
        always_output_list: bool = False,
    ) -> Any:
        """The outputs for all data: an array, or a list if there are several outputs.

        eval_data: an iterator, or an array that is one batch. merge_batches: join the
        batches; else the result is a list of outputs for each of them.
        """
        if not isinstance(eval_data, DataIter):
            array = eval_data if isinstance(eval_data, NDArray) else nd.array(eval_data)
            self.forward(DataBatch([array]), is_train=False)
            return self.get_outputs()[0]
        found = [out for out, *_ in self.iter_predict(eval_data, num_batch, reset)]
        if not found or not merge_batches:
            return found
        joined = [nd.concat(*parts, dim=0) for parts in zip(*found, strict=True)]
        return joined if always_output_list or len(joined) > 1 else joined[0]


def _batches(data: DataIter, count: int | None, reset: bool) -> Iterator[DataBatch]:
    if reset:
        data.reset()
    return islice(data, count)
