"""`mx.model.FeedForward`: a network with its parameters, as programs before `Module`.

    model = mx.model.FeedForward(symbol, num_epoch=5, learning_rate=0.1)
    model.fit(X, y)                     # NumPy arrays, or an iterator
    model.predict(X)

It trains and predicts by a `Module`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minimx import metric as metrics
from minimx import symbol as symbols
from minimx.callback import save_checkpoint
from minimx.core.arrays.array import NDArray
from minimx.core.device import cpu
from minimx.core.errors import ArgumentError, OperandError
from minimx.initializer import Uniform
from minimx.io import DataIter, NDArrayIter
from minimx.model import load_checkpoint
from minimx.module import Module

__all__ = ["FeedForward"]


class FeedForward:
    """A network that is trained by `fit` and asked by `predict` and `score`.

    symbol: the network, or a function of a bucket's key that gives it. ctx: a device or
    a list of them. num_epoch, epoch_size: how long to train; epoch_size is in batches,
    by default all of the data. numpy_batch_size: of batches made from NumPy arrays.
    arg_params, aux_params: values to begin with. allow_extra_params: whether there may
    be more of them than the network has. kwargs: settings of the optimizer.
    """

    def __init__(
        self,
        symbol: Any,
        ctx: Any = None,
        num_epoch: int | None = None,
        epoch_size: int | None = None,
        optimizer: Any = "sgd",
        initializer: Any = None,
        numpy_batch_size: int = 128,
        arg_params: dict[str, NDArray] | None = None,
        aux_params: dict[str, NDArray] | None = None,
        allow_extra_params: bool = False,
        begin_epoch: int = 0,
        **kwargs: Any,
    ) -> None:
        generated = callable(symbol) and not isinstance(symbol, symbols.Symbol)
        self.symbol = None if generated else symbol
        self.sym_gen: Callable[[Any], Any] | None = symbol if generated else None
        self.ctx = [cpu()] if ctx is None else ctx if isinstance(ctx, list) else [ctx]
        self.num_epoch, self.epoch_size = num_epoch, epoch_size
        self.optimizer = optimizer
        self.initializer = initializer or Uniform(0.01)
        self.numpy_batch_size = numpy_batch_size
        self.arg_params, self.aux_params = arg_params, aux_params
        self.allow_extra_params = allow_extra_params
        self.begin_epoch = begin_epoch
        self.kwargs = dict(kwargs)

    # -- data -------------------------------------------------------------------------

    def _iterator(self, X: Any, y: Any, training: bool) -> DataIter:
        """Batches of arrays, with zeros as labels where there are none."""
        if isinstance(X, DataIter):
            return X
        if not isinstance(X, (np.ndarray, NDArray)):
            raise OperandError(
                f"X must be a DataIter, an NDArray or a NumPy array, not a "
                f"{type(X).__name__}."
            )
        if y is None:
            if training:
                raise ArgumentError("fit: give y, the labels, with an array X.")
            y = np.zeros(X.shape[0])
        y = np.asarray(y.asnumpy() if isinstance(y, NDArray) else y)
        if y.shape[:1] != X.shape[:1] or y.size != y.shape[0]:
            raise ArgumentError(
                f"there are {X.shape[0]} samples, and labels of shape {y.shape}. Give "
                "one label for each sample."
            )
        batch = min(X.shape[0], self.numpy_batch_size)
        last = "roll_over" if training else "pad"
        return NDArrayIter(X, y.reshape(-1), batch, training, last)

    def _module(self, data: Any, training: bool) -> Module:
        """A module with our parameters, bound to the shapes of some data."""
        if self.sym_gen is not None:
            self.symbol = self.sym_gen(data.default_bucket_key)
        wanted: Any = self.symbol
        arguments = set(wanted.list_arguments())
        labels = [one for one in data.provide_label if one[0] in arguments]
        module = Module(
            wanted,
            [one[0] for one in data.provide_data],
            [one[0] for one in labels],
            context=self.ctx,
        )
        module.bind(data.provide_data, labels or None, for_training=training)
        module.init_params(
            self.initializer,
            self.arg_params,
            self.aux_params,
            allow_missing=training or self.arg_params is None,
            allow_extra=self.allow_extra_params,
        )
        return module

    # -- training and asking ----------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        eval_data: Any = None,
        eval_metric: Any = "acc",
        epoch_end_callback: Any = None,
        batch_end_callback: Any = None,
        kvstore: Any = "local",
        logger: Any = None,
        work_load_list: Any = None,
        monitor: Any = None,
        eval_end_callback: Any = None,
        eval_batch_end_callback: Any = None,
    ) -> None:
        """Train on an iterator, or on arrays X and their labels y.

        eval_data: an iterator, or a pair (X, y), that is scored after each epoch. The
        other arguments are those of `Module.fit`.
        """
        data = self._iterator(X, y, training=True)
        if eval_data is not None and not isinstance(eval_data, DataIter):
            eval_data = self._iterator(eval_data[0], eval_data[1], training=False)
        if self.epoch_size is not None:
            from minimx.io import ResizeIter

            data = ResizeIter(data, self.epoch_size)
        module = self._module(data, training=True)
        settings = dict(self.kwargs)
        if isinstance(self.optimizer, str):
            settings.setdefault("learning_rate", 0.01)
        module.fit(
            data,
            eval_data,
            eval_metric,
            epoch_end_callback,
            batch_end_callback,
            kvstore,
            self.optimizer,
            settings,
            eval_end_callback,
            eval_batch_end_callback,
            begin_epoch=self.begin_epoch,
            num_epoch=self.num_epoch,
            monitor=monitor,
        )
        self.arg_params, self.aux_params = module.get_params()

    def predict(
        self,
        X: Any,
        num_batch: int | None = None,
        return_data: bool = False,
        reset: bool = True,
    ) -> Any:
        """The outputs for all samples, NumPy arrays: one, or a list of several.

        num_batch: only so many batches. return_data: also the data and labels. reset:
        begin with the first batch.
        """
        data = self._iterator(X, None, training=False)
        if reset:
            data.reset()
        module = self._module(data, training=False)
        rows: list[list[Any]] = []
        for number, batch in enumerate(data):
            if number == num_batch:
                break
            module.forward(batch, is_train=False)
            arrays: list[Any] = [*module.get_outputs()]
            if return_data:
                arrays += [*(batch.data or ())[:1], *(batch.label or ())[:1]]
            count = arrays[0].shape[0] - (batch.pad or 0)
            rows.append([array[:count].asnumpy() for array in arrays])
        joined = [np.concatenate(parts) for parts in zip(*rows, strict=True)]
        extra = 2 if return_data else 0
        outputs = joined[: len(joined) - extra]
        first = outputs[0] if len(outputs) == 1 else outputs
        return (first, *joined[-2:]) if return_data else first

    def score(
        self,
        X: Any,
        eval_metric: Any = "acc",
        num_batch: int | None = None,
        batch_end_callback: Any = None,
        reset: bool = True,
    ) -> Any:
        """The value of a metric on an iterator's data."""
        data = self._iterator(X, None, training=False)
        if reset:
            data.reset()
        score = metrics.create(eval_metric)
        module = self._module(data, training=False)
        module.score(data, score, num_batch, batch_end_callback, reset=False)
        return score.get()[1]

    # -- files ------------------------------------------------------------------------

    def save(
        self, prefix: str, epoch: int | None = None, remove_amp_cast: bool = True
    ) -> None:
        """Write `prefix-symbol.json` and `prefix-0001.params`, of the last epoch."""
        number = self.num_epoch if epoch is None else epoch
        if number is None:
            raise ArgumentError("save: give epoch, the number in the file's name.")
        known = self.arg_params or {}, self.aux_params or {}
        save_checkpoint(prefix, number, self.symbol, *known)

    @staticmethod
    def load(prefix: str, epoch: int, ctx: Any = None, **kwargs: Any) -> FeedForward:
        """The model that `save` wrote, to go on with or to ask."""
        symbol, arguments, states = load_checkpoint(prefix, epoch)
        return FeedForward(
            symbol,
            ctx,
            arg_params=arguments,
            aux_params=states,
            begin_epoch=epoch,
            **kwargs,
        )

    @staticmethod
    def create(
        symbol: Any,
        X: Any,
        y: Any = None,
        ctx: Any = None,
        num_epoch: int | None = None,
        epoch_size: int | None = None,
        optimizer: Any = "sgd",
        initializer: Any = None,
        eval_data: Any = None,
        eval_metric: Any = "acc",
        epoch_end_callback: Any = None,
        batch_end_callback: Any = None,
        kvstore: Any = "local",
        logger: Any = None,
        work_load_list: Any = None,
        eval_end_callback: Any = None,
        eval_batch_end_callback: Any = None,
        **kwargs: Any,
    ) -> FeedForward:
        """A model that is trained already: the arguments of both."""
        model = FeedForward(
            symbol, ctx, num_epoch, epoch_size, optimizer, initializer, **kwargs
        )
        model.fit(
            X, y, eval_data, eval_metric, epoch_end_callback, batch_end_callback,
            kvstore, logger, work_load_list, None, eval_end_callback,
            eval_batch_end_callback,
        )  # fmt: skip
        return model
