"""AdaGrad, which MXNet has as an operator for row_sparse gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.errors import OperatorError
from minimx.core.ops.registry import Kernel, register
from minimx.core.ops.spec import Spec
from minimx.operators.updates.optim import Update


def _prepared(grad: Any, rescale: float, clip: float) -> Any:
    """The gradient, rescaled and then clipped unless clip is negative."""
    wide = grad.astype(np.float32) if grad.dtype == np.float16 else grad
    scaled = wide * wide.dtype.type(rescale)
    return np.clip(scaled, -clip, clip) if clip >= 0 else scaled


@register("_sparse_adagrad_update")
class AdaGrad(Update):
    """Step lengths shrink with all squared gradients so far.

    history += g * g; weight -= lr * g / sqrt(history + epsilon); wd must be 0
    """

    lr: float
    epsilon: float = 1e-7
    wd: float = 0.0
    rescale_grad: float = 1.0
    clip_gradient: float = -1.0

    states = ("history",)
    steps = 7

    def infer(self, *specs: Spec) -> Spec:
        """The shape of weight."""
        if self.wd:
            raise OperatorError(
                f"{self.name}: wd={self.wd}: sparse weights do not decay here. Give "
                "wd=0, or a dense gradient to the optimizer AdaGrad."
            )
        return super().infer(*specs)

    def kernel(self, *specs: Spec) -> Kernel:
        """Three passes of NumPy."""

        def run(weight: Any, grad: Any, history: Any, out: Any) -> None:
            g = _prepared(grad, self.rescale_grad, self.clip_gradient)
            history += (g * g).astype(history.dtype, copy=False)
            np.subtract(
                weight,
                self.lr * g / np.sqrt(history + g.dtype.type(self.epsilon)),
                out=out,
                casting="same_kind",
            )

        return run
