"""Data sheets of softmin and of the losses that are made with softmax."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from minimx.core.errors import OperatorError, ShapeError
from minimx.core.kernels import find
from minimx.core.operators.softmax import (
    STEPS,
    Family,
    HideBeyond,
    LogSoftmax,
    Softmax,
    SoftmaxGradient,
)
from minimx.core.ops import GradContext, Kernel, Op, Value, bind, lookup, register
from minimx.core.ops.casting import LOSS, SINGLE
from minimx.core.ops.checks import expect, same_reals
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Deduced, Opens, Shape, is_whole, merge, split_at
from minimx.operators.rules import Gradients, per_element, with_half

__all__ = [
    "Family", "HideBeyond", "LogSoftmax", "Softmax", "SoftmaxCrossEntropy",
    "SoftmaxGradient", "SoftmaxOutput", "SoftmaxOutputGradient", "Softmin",
]  # fmt: skip


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

        return with_half(run, specs)

    def grad(self, at: GradContext, dout: Any, data: Value, label: Value) -> Gradients:
        """softmax(data) - one_hot(label)."""
        if not at.wants[0]:
            return None, None
        classes, dtype = at.ins[0].shape[1], at.ins[0].dtype.name
        target = bind(lookup("one_hot").of(depth=classes, dtype=dtype), label)
        return dout * (bind(Softmax.of(), data) - target), None

    def cost(self, *specs: Spec) -> Cost:
        """A few operations for every element."""
        return Cost(STEPS * specs[0].size, specs[0].nbytes + specs[1].nbytes)


@register("SoftmaxOutput", "Softmax")
class SoftmaxOutput(Op):
    """Softmax whose gradient is that of the cross entropy with a label.

    data (N, classes), label (N,): class numbers; multi_output: data (N, classes, ...),
    label (N, ...); preserve_shape: data (..., classes), label (...). A label of the
    shape of data holds probabilities. out: the shape of data.

    Whatever gradient arrives is ignored, unless out_grad is true. use_ignore: labels
    equal to ignore_label do not count. normalization: the gradient is divided by
    nothing ('null'), by N ('batch') or by the number of labels that are not
    ignore_label ('valid'); with multi_output also by the number of places, unless it is
    'valid'. smooth_alpha: so much of each label is shared out over the other classes,
    unless there are several places.
    """

    grad_scale: float = 1.0
    ignore_label: float = -1.0
    multi_output: bool = False
    use_ignore: bool = False
    preserve_shape: bool = False
    normalization: str = "null"
    out_grad: bool = False
    smooth_alpha: float = 0.0

    casting = LOSS
    inputs = ("data", "label")
    saves = ("label", "out")
    inplace = {"out": "data"}
    ignores = ("label",)

    def deduce(self, ins: Opens, outs: Opens) -> Deduced:
        """Out is as data; a label without a shape holds class numbers."""
        data = merge(self.name, ins[0], outs[0])
        label = ins[1]
        if label is None and data is not None:
            if self.preserve_shape:
                label = data[:-1]
            elif self.multi_output and is_whole(data):
                label = (data[0], prod(data[2:]))  # type: ignore[arg-type]
            elif not self.multi_output:
                label = data[:1]
        return [data, label], [data]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.normalization not in ("null", "batch", "valid"):
            raise OperatorError(
                f"SoftmaxOutput: normalization={self.normalization!r}: choose null, "
                "batch or valid."
            )

    def groups(self, data: Spec) -> Shape:
        """Data as (groups, classes, inner)."""
        if self.multi_output:
            return split_at(data.shape, 1)
        if self.preserve_shape:
            return split_at(data.shape, data.ndim - 1)
        return data.shape[0], prod(data.shape[1:]), 1

    def infer(self, *specs: Spec) -> Spec:
        """The shape of data."""
        data, label = specs
        same_reals(self.name, ("data",), data)
        if data.ndim < 2:
            raise ShapeError(
                f"SoftmaxOutput: data {data.shape} needs an axis for the samples and "
                "one for the classes."
            )
        groups, _, inner = self.groups(data)
        if label.shape != data.shape and label.size != groups * inner:
            raise ShapeError(
                f"SoftmaxOutput: label {label.shape} has {label.size} elements, data "
                f"{data.shape} asks for {groups * inner} class numbers, or for "
                "probabilities in the shape of data."
            )
        return data

    def kernel(self, *specs: Spec) -> Kernel:
        """Softmax; the label is for the gradient."""
        shape = self.groups(specs[0])
        softmax = find("softmax.softmax")

        def run(data: Any, label: Any, out: Any) -> None:
            if out.size:
                one = data.dtype.type(1)
                softmax(data.reshape(shape), one, False, out.reshape(shape))

        return with_half(run, specs)

    def grad(self, at: GradContext, dout: Any, label: Value, out: Value) -> Gradients:
        """The output minus the label, whatever the gradient of the output is."""
        gradient = bind(SoftmaxOutputGradient.of(forward=self), label, out)
        return gradient * dout if self.out_grad else gradient, None

    cost = per_element(STEPS, 2)


@register("_backward_SoftmaxOutput")
class SoftmaxOutputGradient(Op):
    """The gradient of the cross entropy between a softmax and a label.

    label, y: as in SoftmaxOutput, y being its output; out: the shape of y
    """

    forward: Any

    inputs = ("label", "y")
    differentiable = False

    @property
    def inplace(self) -> dict[str, str]:
        """Smoothed, the right class is read again after it was written."""
        forward = self.forward
        smooth = forward.smooth_alpha and not forward.multi_output
        return {} if smooth else {"out": "y"}

    def infer(self, *specs: Spec) -> Spec:
        """The shape of the softmax."""
        return specs[1]

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.core.kernels.cpu.softmax`."""
        label, y = specs
        settings = self.forward
        groups, classes, inner = settings.groups(y)
        scale = settings.grad_scale
        if label.shape != y.shape:
            if settings.multi_output and settings.normalization != "valid":
                scale /= inner
            if settings.normalization == "batch":
                scale /= groups
        ignored = settings.ignore_label if settings.use_ignore else np.nan
        skipped = int(settings.ignore_label)
        gradient = find("softmax.output_gradient")
        smooth = 0.0 if settings.multi_output else settings.smooth_alpha
        valid = settings.normalization == "valid"

        def of_numbers(label: Any, y: Any, out: Any) -> None:
            shape = (groups, classes, inner)
            gradient(
                y.reshape(shape), label.reshape(groups, inner), float(ignored), smooth,
                out.reshape(shape),
            )  # fmt: skip
            counted = int((label.astype(np.int64) != skipped).sum()) if valid else 1
            out *= out.dtype.type(scale / max(counted, 1))

        def of_probabilities(label: Any, y: Any, out: Any) -> None:
            np.subtract(y, label, out=out, casting="unsafe")
            out *= out.dtype.type(scale)

        run = of_probabilities if label.shape == y.shape else of_numbers
        return with_half(run, specs)

    def cost(self, *specs: Spec) -> Cost:
        """One subtraction and one product for every element."""
        return Cost(2 * specs[1].size, 2 * specs[1].nbytes + specs[0].nbytes)
