"""`mx.optimizer.contrib`: what MXNet tried out."""

from __future__ import annotations

from typing import Any

import minimx.nd as nd
from minimx.core.arrays.array import NDArray
from minimx.core.errors import ArgumentError, ShapeError
from minimx.optimizer.base import Index, Optimizer, State, register

__all__ = ["GroupAdaGrad"]


@register
class GroupAdaGrad(Optimizer):
    """AdaGrad with one step length for each row of a matrix; there is no weight decay.

    h += mean(g²) over a row; weight -= lr * g / sqrt(h + eps). Made for embeddings.
    """

    def __init__(self, eps: float = 1e-5, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def create_state(self, index: Index, weight: NDArray) -> State:
        """The sum of mean squared gradients, a number for each row."""
        if weight.ndim != 2:
            raise ShapeError(
                f"GroupAdaGrad: the weight {weight.shape} is not a matrix. Use AdaGrad."
            )
        shape = (weight.shape[0], 1)
        return nd.zeros(shape, weight.context, weight.dtype, weight.stype)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update one weight."""
        lr, wd = self._begin(index)
        if wd:
            raise ArgumentError(
                "GroupAdaGrad has no weight decay; leave wd at 0, or use AdaGrad."
            )
        update = nd._internal._contrib_group_adagrad_update
        settings = self._common(lr=lr, epsilon=self.float_stable_eps)
        update(weight, grad, state, out=weight, **settings)
