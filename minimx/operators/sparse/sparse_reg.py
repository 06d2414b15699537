"""The data sheet of a penalty on units that are on too often."""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.errors import ShapeError
from minimx.core.operators.views import reshaped
from minimx.core.ops import GradContext, Kernel, Op, Value, register
from minimx.core.ops.casting import SINGLE
from minimx.core.ops.spec import Spec
from minimx.operators.rules import Gradients, per_element


@register("IdentityAttachKLSparseReg")
class IdentityAttachKLSparseReg(Op):
    """The same elements; on the way back, a gradient that makes units seldom on.

    data (n, m): outputs of a sigmoid; moving_avg (m,): how often each unit is on, which
    every call while training brings up to date with `momentum`
    The gradient grows by penalty * ((1 - target) / (1 - avg) - target / avg), with
    target = sparseness_target: the slope of a Kullback-Leibler divergence.
    """

    sparseness_target: float = 0.1
    penalty: float = 0.001
    momentum: float = 0.9
    training: bool = False

    casting = SINGLE
    inputs = ("data", "moving_avg")
    mutates = ("moving_avg",)
    saves = ("moving_avg",)

    def infer(self, *specs: Spec) -> Spec:
        """The spec of data."""
        data, average = specs
        if data.ndim < 2 or average.size * data.shape[0] != data.size:
            raise ShapeError(
                f"IdentityAttachKLSparseReg: moving_avg {average.shape} must have a "
                f"number for each unit of data {data.shape}."
            )
        return data

    def complete(self, data: Spec) -> dict[str, tuple[int, ...]]:
        """What the average must look like for this data."""
        return {"moving_avg": (data.size // max(1, data.shape[0]),)}

    def kernel(self, *specs: Spec) -> Kernel:
        """A copy; while training, an average over the batch."""
        momentum, training = self.momentum, self.training

        def run(data: Any, average: Any, out: Any) -> None:
            if training:
                now = data.mean(0).reshape(average.shape)
                average[...] = momentum * average + (1 - momentum) * now
            np.copyto(out, data)

        return run

    def grad(self, at: GradContext, dout: Any, average: Value) -> Gradients:
        """The gradient and the penalty's."""
        target = self.sparseness_target
        slope = (1 - target) / (1 - average) - target / average
        shape = (1, *at.ins[0].shape[1:])
        slope = reshaped(slope * self.penalty, at.ins[1].shape, shape)
        return dout + slope, None

    cost = per_element(1, 2)
