"""Data sheets of outputs that are compared with a label: linear, absolute, logistic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minimx.core.errors import ShapeError
from minimx.core.operators.nn import (
    Activation,
    Choice,
    Dropout,
    LeakyReLU,
    Mask,
    decisions_of,
)
from minimx.core.operators.views import reshaped
from minimx.core.ops.casting import LOSS
from minimx.core.ops.checks import same_reals
from minimx.core.ops.registry import Kernel, Op, Site, Value, bind, lookup, register
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Deduced, Opens, merge

__all__ = [
    "Activation",
    "Choice",
    "Dropout",
    "LeakyReLU",
    "LinearRegressionOutput",
    "LogisticRegressionOutput",
    "MAERegressionOutput",
    "Mask",
    "Regression",
    "decisions_of",
]


class Regression(Op):
    """An output whose gradient is that of a loss, whatever gradient arrives.

    data: any shape; label: as many elements; out: the shape of data
    The gradient is divided by the number of elements of one sample.
    """

    grad_scale: float

    inputs = ("data", "label")
    saves = ("out", "label")
    unchanged = {"out": "data"}
    ignores = ("label",)

    def deduce(self, ins: Opens, outs: Opens) -> Deduced:
        """As data; a label without a shape, too; of one number each, (N,)."""
        data = merge(self.name, ins[0], outs[0])
        label = ins[1]
        if label is None and data is not None:
            label = data[:1] if len(data) == 2 and data[1] == 1 else data
        return [data, label], [data]

    def infer(self, *specs: Spec) -> Spec:
        """The shape of data."""
        data, label = specs
        same_reals(self.name, self.inputs, *specs)
        if data.size != label.size:
            raise ShapeError(
                f"{self.name}: data {data.shape} has {data.size} elements, label "
                f"{label.shape} has {label.size}. Give a label for each."
            )
        return data

    def kernel(self, *specs: Spec) -> Kernel:
        """The data as they are."""
        return lambda data, label, out: np.copyto(out, data)

    def grad(
        self, at: Site, dout: Any, out: Value, label: Value
    ) -> Sequence[Value | None]:
        """The difference to the label, scaled."""
        data, given = at.ins
        label = reshaped(label, given.shape, data.shape)
        each = max(given.size // max(given.shape[0], 1), 1)
        return self.loss_gradient(out - label) * (self.grad_scale / each), None

    def loss_gradient(self, difference: Value) -> Value:
        """The derivative of the loss, from out - label."""
        return difference


@register("LinearRegressionOutput")
class LinearRegressionOutput(Regression):
    """The data; the gradient is that of half the squared difference to the label.

    data: any shape; label: as many elements; out: the shape of data
    """

    grad_scale: float = 1.0

    casting = LOSS


@register("MAERegressionOutput")
class MAERegressionOutput(Regression):
    """The data; the gradient is that of the absolute difference to the label.

    data: any shape; label: as many elements; out: the shape of data
    """

    grad_scale: float = 1.0

    casting = LOSS

    def loss_gradient(self, difference: Value) -> Value:
        """Its sign."""
        return bind(lookup("sign").of(), difference)


@register("LogisticRegressionOutput")
class LogisticRegressionOutput(Regression):
    """sigmoid(data); the gradient is that of the cross entropy with the label.

    data: any shape; label: as many elements; out: the shape of data
    """

    grad_scale: float = 1.0

    casting = LOSS
    unchanged = {}
    inplace = {"out": "data"}

    def kernel(self, *specs: Spec) -> Kernel:
        """The kernel of sigmoid."""
        launch = lookup("sigmoid").of().kernel(specs[0])
        return lambda data, label, out: launch(data, out)
