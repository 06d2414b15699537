"""What an estimator does with one batch; override it for other networks."""

from __future__ import annotations

from typing import Any

from minimx.core import autograd
from minimx.core.device import Context
from minimx.gluon.utils import split_and_load


class BatchProcessor:
    """Runs a network on a batch of (data, label), shared out over the devices."""

    def _get_data_and_label(
        self, batch: Any, ctx: list[Context], batch_axis: int = 0
    ) -> tuple[Any, Any]:
        data, label = batch[0], batch[1]
        return (
            split_and_load(data, ctx_list=ctx, batch_axis=batch_axis),
            split_and_load(label, ctx_list=ctx, batch_axis=batch_axis),
        )

    def evaluate_batch(
        self, estimator: Any, val_batch: Any, batch_axis: int = 0
    ) -> tuple[Any, Any, Any, Any]:
        """(data, label, prediction, loss) of a batch, each a list by device."""
        data, label = self._get_data_and_label(val_batch, estimator.context, batch_axis)
        pred = [estimator.val_net(x) for x in data]
        loss = [estimator.val_loss(p, y) for p, y in zip(pred, label, strict=True)]
        return data, label, pred, loss

    def fit_batch(
        self, estimator: Any, train_batch: Any, batch_axis: int = 0
    ) -> tuple[Any, Any, Any, Any]:
        """The same with gradients; the update is a handler's."""
        data, label = self._get_data_and_label(
            train_batch, estimator.context, batch_axis
        )
        with autograd.record():
            pred = [estimator.net(x) for x in data]
            loss = [estimator.loss(p, y) for p, y in zip(pred, label, strict=True)]
        autograd.backward(loss)
        return data, label, pred, loss
