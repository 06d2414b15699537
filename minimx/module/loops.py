"""The loops over data that a module offers: `fit`, `score` and `predict`.

They are made of steps that a subclass writes: bind, init_params, get_params,
init_optimizer, forward, backward, update, get_outputs, update_metric.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from minimx import metric as metrics
from minimx import model, nd
from minimx.callback import BatchEndParam
from minimx.core.arrays.array import NDArray
from minimx.core.errors import ArgumentError
from minimx.initializer import Uniform
from minimx.io import DataBatch

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

    bind: Any
    init_params: Any
    get_params: Any
    init_optimizer: Any
    forward: Any
    backward: Any
    update: Any
    update_metric: Any
    get_outputs: Any
    install_monitor: Any

    _symbol: Any = None

    def __init__(self, logger: Any = None) -> None:
        if logger is None:
            import logging  # slow to import, and most programs have no module

            logger = logging
        self.logger = logger

    @property
    def symbol(self) -> Any:
        """What is trained; None if it is no single symbol."""
        return self._symbol

    def prepare(self, data_batch: Any, sparse_row_id_fn: Any = None) -> None:
        """Get ready for a batch; most modules need not."""

    def set_params(
        self,
        arg_params: Any,
        aux_params: Any,
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        """Take over the values of parameters and states."""
        self.init_params(
            None, arg_params, aux_params, allow_missing, force_init, allow_extra
        )

    def save_params(self, fname: str) -> None:
        """Write the parameters and states to a file."""
        arguments, states = self.get_params()
        stored = {f"arg:{name}": value for name, value in arguments.items()}
        nd.save(fname, stored | {f"aux:{name}": x for name, x in states.items()})

    def load_params(self, fname: str) -> None:
        """Read what `save_params` wrote."""
        self.set_params(*model._split(nd.load(fname)))

    def forward_backward(self, data_batch: DataBatch) -> None:
        """The outputs of a batch in training, and the gradients."""
        self.forward(data_batch, is_train=True)
        self.backward()

    def fit(
        self,
        train_data: Any,
        eval_data: Any = None,
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
        monitor: Any = None,
        sparse_row_id_fn: Any = None,
    ) -> None:
        """Train: from begin_epoch up to, without, num_epoch.

        What was bound, initialized or made before stays as it is, unless force_rebind
        or force_init says other. initializer: Uniform(0.01) by default. After each
        epoch epoch_end_callback is given (epoch, symbol, arguments, states); after each
        batch batch_end_callback a BatchEndParam. monitor: watches it, see `Monitor`.
        sparse_row_id_fn: which rows a batch needs, see `prepare`.
        """
        if num_epoch is None:
            raise ArgumentError("fit: num_epoch says how long to train; give a number.")
        self._bind_for(train_data, force_rebind, monitor)
        if force_init or not self.params_initialized:
            self.init_params(
                initializer or Uniform(0.01), arg_params, aux_params, allow_missing,
                force_init,
            )  # fmt: skip
        if not self.optimizer_initialized:
            self.init_optimizer(kvstore, optimizer, optimizer_params)
        metric = metrics.create(eval_metric)
        for epoch in range(begin_epoch, num_epoch):
            self._train(
                epoch, train_data, metric, batch_end_callback, monitor, sparse_row_id_fn
            )
            self._end_epoch(epoch, epoch_end_callback)
            if eval_data is not None:
                found = self.score(
                    eval_data, validation_metric or eval_metric, None,
                    eval_batch_end_callback, eval_end_callback, epoch=epoch,
                    sparse_row_id_fn=sparse_row_id_fn,
                )  # fmt: skip
                self._log(epoch, "Validation", found)
            train_data.reset()

    def _bind_for(self, data: Any, force_rebind: bool, monitor: Any) -> None:
        self.bind(
            data.provide_data,
            data.provide_label,
            for_training=True,
            force_rebind=force_rebind,
        )
        if monitor is not None:
            self.install_monitor(monitor)

    def _end_epoch(self, epoch: int, callbacks: Callbacks) -> None:
        values = self.get_params()
        self.set_params(*values)  # states, such as means, differ by device
        call_all(callbacks, epoch, self.symbol, *values)

    def _train(
        self, epoch: int, data: Any, metric: Any, callbacks: Callbacks, monitor: Any,
        sparse_row_id_fn: Any,
    ) -> None:  # fmt: skip
        """One epoch."""
        began = time.time()
        metric.reset()
        for number, batch in enumerate(data):
            if monitor is not None:
                monitor.tic()
            if sparse_row_id_fn is not None:
                self.prepare(batch, sparse_row_id_fn)
            self.forward_backward(batch)
            self.update()
            self._measure(metric, batch)
            if monitor is not None:
                monitor.toc_print()
            call_all(callbacks, BatchEndParam(epoch, number, metric, locals()))
        self._log(epoch, "Train", metric.get_global_name_value())
        self.logger.info("Epoch[%d] Time cost=%.3f", epoch, time.time() - began)

    def _measure(self, metric: Any, batch: Any) -> None:
        """Tell a metric about a batch, or about a batch for each device."""
        if isinstance(batch, list):
            self.update_metric(metric, [one.label for one in batch], pre_sliced=True)
        else:
            self.update_metric(metric, batch.label)

    def _log(self, epoch: int, what: str, found: list[tuple[str, float]]) -> None:
        for name, value in found:
            self.logger.info("Epoch[%d] %s-%s=%f", epoch, what, name, value)

    def score(
        self,
        eval_data: Any,
        eval_metric: Any,
        num_batch: int | None = None,
        batch_end_callback: Callbacks = None,
        score_end_callback: Callbacks = None,
        reset: bool = True,
        epoch: int = 0,
        sparse_row_id_fn: Any = None,
    ) -> list[tuple[str, float]]:
        """The metric over all, or the first num_batch, batches: (name, value) pairs."""
        metric = metrics.create(eval_metric)
        metric.reset()
        number = 0
        for number, batch in enumerate(_batches(eval_data, num_batch, reset), start=1):
            self.prepare(batch, sparse_row_id_fn)
            self.forward(batch, is_train=False)
            self._measure(metric, batch)
            param = BatchEndParam(epoch, number - 1, metric, locals())
            call_all(batch_end_callback, param)
        call_all(score_end_callback, BatchEndParam(epoch, number, metric, locals()))
        return metric.get_global_name_value()

    def iter_predict(
        self,
        eval_data: Any,
        num_batch: int | None = None,
        reset: bool = True,
        sparse_row_id_fn: Any = None,
    ) -> Iterator[tuple[list[NDArray], int, DataBatch]]:
        """(outputs without the padding, number, batch) of one batch after the other."""
        for number, batch in enumerate(_batches(eval_data, num_batch, reset)):
            self.prepare(batch, sparse_row_id_fn)
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
        sparse_row_id_fn: Any = None,
    ) -> Any:
        """The outputs for all data: an array, or a list if there are several outputs.

        eval_data: an iterator, or an array that is one batch. merge_batches: join the
        batches; else the result is a list of outputs for each of them.
        """
        if isinstance(eval_data, (NDArray, np.ndarray)):
            array = eval_data if isinstance(eval_data, NDArray) else nd.array(eval_data)
            self.forward(DataBatch([array]), is_train=False)
            return self.get_outputs()[0]
        what = (eval_data, num_batch, reset, sparse_row_id_fn)
        found = [out for out, *_ in self.iter_predict(*what)]
        if not found or not merge_batches:
            return found
        joined = [nd.concat(*parts, dim=0) for parts in zip(*found, strict=True)]
        return joined if always_output_list or len(joined) > 1 else joined[0]


def _batches(data: Any, count: int | None, reset: bool) -> Iterator[DataBatch]:
    if reset:
        data.reset()
    return islice(data, count)
