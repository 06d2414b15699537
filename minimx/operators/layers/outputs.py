"""Data sheets of the ends of networks: the data go through, a loss comes back.

Their gradients are those of a loss, whatever gradient arrives.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from minimx.core.errors import ShapeError
from minimx.core.operators.views import reshaped
from minimx.core.ops import GradContext, Kernel, Op, Value, bind, lookup, register
from minimx.core.ops.casting import LOSS, SINGLE
from minimx.core.ops.checks import same_reals
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Shape
from minimx.operators.rules import Gradients, like_first, one_of


class Through(Op):
    """The data as they are."""

    casting = LOSS
    unchanged = {"out": "data"}
    saves: Any = ("data",)

    infer = like_first

    def kernel(self, *specs: Spec) -> Kernel:
        """A copy, unless the output lies over the data."""
        return lambda data, *rest: np.copyto(rest[-1], data)


@register("make_loss")
class Loss(Through):
    """The same elements, as the end of a network: each one's gradient is 1.

    data: any shape; out: the same shape. The gradient that arrives is ignored.
    """

    saves = ()

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """Ones."""
        return (bind(lookup("ones_like").of(), dout),)


@register("MakeLoss")
class MakeLoss(Through):
    """The same elements, as the end of a network: each one's gradient is grad_scale.

    data: any shape; out: the same shape. The gradient that arrives is ignored.
    normalization: the gradient is divided by nothing ('null'), by the length of the
    first axis ('batch') or by the number of elements above valid_thresh ('valid').
    """

    grad_scale: float = 1.0
    valid_thresh: float = 0.0
    normalization: str = "null"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self, "normalization", "null", "batch", "valid")

    @property
    def saves(self) -> tuple[str, ...]:
        """The data, if elements are counted."""
        return ("data",) if self.normalization == "valid" else ()

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """The same number everywhere."""
        ones = bind(lookup("ones_like").of(), dout)
        if self.normalization != "valid":
            batch = at.ins[0].shape[0] if self.normalization == "batch" else 1
            return (ones * (self.grad_scale / max(batch, 1)),)
        (data,) = saved
        counted = bind(lookup("sum").of(keepdims=True), data > self.valid_thresh)
        counted = bind(lookup("_maximum_scalar").of(scalar=1.0), counted)
        return (ones * self.grad_scale / counted,)


@register("SVMOutput")
class SVMOutput(Through):
    """Scores of classes; the gradient is that of the margin that an SVM asks for.

    data (…, classes), label: a class number for each row; out: the shape of data
    The right class should score at least `margin`, the others at most -margin; what is
    missing counts squared, or linearly with `use_linear`.
    """

    margin: float = 1.0
    regularization_coefficient: float = 1.0
    use_linear: bool = False

    inputs = ("data", "label")
    saves = ("data", "label")

    def complete(self, data: Spec) -> dict[str, Shape]:
        """A label for each row."""
        return {"label": data.shape[:1]}

    def infer(self, *specs: Spec) -> Spec:
        """The shape of data."""
        data, label = specs
        same_reals(self.name, ("data",), data)
        if data.ndim < 2 or label.size != prod(data.shape[:-1]):
            raise ShapeError(
                f"SVMOutput: label {label.shape} must hold a class number for each row "
                f"of data {data.shape}, whose last axis counts the classes."
            )
        return data

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """Towards the margin: up for the right class, down for the others."""
        data, label = saved
        spec, given = at.ins
        label = reshaped(label, given.shape, spec.shape[:-1])
        hot = lookup("one_hot").of(
            depth=spec.shape[-1], on_value=-1.0, off_value=1.0, dtype=spec.dtype.name
        )
        side = bind(hot, label)  # -1 for the right class, 1 for the others
        missing = bind(lookup("relu").of(), side * data + self.margin)
        if self.use_linear:
            missing = missing > 0
        scale = self.regularization_coefficient * (1 if self.use_linear else 2)
        return side * missing * scale, None


@register("SoftmaxActivation")
class SoftmaxActivation(Op):
    """Softmax of each sample, or across the channels at each place.

    mode: 'instance', along the last axis, or 'channel', along the second one.
    data: any shape; out: the same shape
    """

    mode: str = "instance"

    casting = SINGLE
    saves = ("out",)
    inplace = {"out": "data"}

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self, "mode", "instance", "channel")

    def _softmax(self) -> Op:
        axis = 1 if self.mode == "channel" else -1
        return lookup("softmax").of(axis=axis)

    def infer(self, *specs: Spec) -> Spec | tuple[Spec, ...]:
        """The same shape."""
        if self.mode == "channel" and specs[0].ndim < 3:
            raise ShapeError(
                f"SoftmaxActivation: data {specs[0].shape} has no places beside its "
                "channels. Use mode='instance', or give (N, C, …)."
            )
        return self._softmax().infer(*specs)

    def kernel(self, *specs: Spec) -> Kernel:
        """That of softmax."""
        return self._softmax().kernel(*specs)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """That of softmax."""
        return self._softmax().grad(at, dout, *saved)
