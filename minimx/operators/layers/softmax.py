"""Data sheets of further relatives of softmax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minimx.core.errors import ShapeError
from minimx.core.kernels import find
from minimx.core.kernels.half import in_single
from minimx.core.operators.softmax import (
    STEPS,
    Family,
    HideBeyond,
    LogSoftmax,
    Softmax,
    SoftmaxGradient,
    SoftmaxOutput,
    SoftmaxOutputGradient,
)
from minimx.core.ops.casting import SINGLE
from minimx.core.ops.checks import expect, same_reals
from minimx.core.ops.registry import Kernel, Op, Site, Value, bind, lookup, register
from minimx.core.ops.spec import Cost, Spec

__all__ = [
    "Family",
    "HideBeyond",
    "LogSoftmax",
    "Softmax",
    "SoftmaxCrossEntropy",
    "SoftmaxGradient",
    "SoftmaxOutput",
    "SoftmaxOutputGradient",
    "Softmin",
]


@register("softmin")
class Softmin(Family):
    """Softmax of -data: the smallest element gets the most.

    data: any shape; length (with `use_length`): the shape of data without `axis`; what
    lies beyond takes no part and gets 0. out: the shape of data, of `dtype` or its own.
    """

    axis: int = -1
    temperature: float | None = None
    dtype: str | None = None
    use_length: bool = False

    casting = SINGLE
    sign = -1.0


@register("softmax_cross_entropy")
class SoftmaxCrossEntropy(Op):
    """The sum over samples of -log softmax(data)[label].

    data (N, classes), label (N,): class numbers; out (1,). A label that is no class
    makes the sum NaN.
    """

    casting = SINGLE
    inputs = ("data", "label")
    saves = ("data", "label")

    def infer(self, *specs: Spec) -> Spec:
        """One number."""
        data, label = specs
        same_reals(self.name, ("data",), data)
        if data.ndim != 2:
            raise ShapeError(
                f"softmax_cross_entropy: data {data.shape} must be (samples, classes). "
                "Reshape it."
            )
        expect(self.name, "label", label, data.shape[:1], f"data {data.shape}")
        return data.with_shape((1,))

    def kernel(self, *specs: Spec) -> Kernel:
        """A row each; the rows are summed in double precision, in order."""
        cross_entropy = find("softmax.cross_entropy")

        def run(data: Any, label: Any, out: Any) -> None:
            losses = np.zeros(data.shape[0], data.dtype)
            if data.size:
                cross_entropy(data, label, losses)
            out[0] = losses.sum(dtype=np.float64)

        return in_single(run, 2) if specs[0].dtype.itemsize == 2 else run

    def grad(
        self, at: Site, dout: Any, data: Value, label: Value
    ) -> Sequence[Value | None]:
        """softmax(data) - one_hot(label)."""
        if not at.wants[0]:
            return None, None
        classes, dtype = at.ins[0].shape[1], at.ins[0].dtype.name
        target = bind(lookup("one_hot").of(depth=classes, dtype=dtype), label)
        return dout * (bind(Softmax.of(), data) - target), None

    def cost(self, *specs: Spec) -> Cost:
        """A few operations for every element."""
        return Cost(STEPS * specs[0].size, specs[0].nbytes + specs[1].nbytes)
