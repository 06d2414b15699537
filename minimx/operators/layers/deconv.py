"""The data sheet of transposed convolution: a convolution's data gradient, as a layer.

Where a convolution gathers a window into one number, this spreads a number over a
window. It is linear in data and weight, and all its gradients are convolutions.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from minimx.core.errors import OperatorError, ShapeError
from minimx.core.operators.conv import (
    Convolution,
    ConvolutionData,
    ConvolutionWeight,
    channels_second,
    per_axis,
)
from minimx.core.ops import GradContext, Kernel, Op, Value, bind, lookup, register
from minimx.core.ops.casting import TARGET_IN_FLOAT16
from minimx.core.ops.checks import expect, same_reals
from minimx.core.ops.deduction import samples_of_out
from minimx.core.ops.devices import Multiplies
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Shape
from minimx.operators.rules import Gradients


@register("Deconvolution")
class Deconvolution(Multiplies, Op):
    """Transposed convolution: spread every number over a window, and add up overlaps.

    data (N, C, *image), one to three image axes
    weight (C, num_filter / num_group, *kernel), bias (num_filter,) unless no_bias
    out (N, num_filter, *lengths); a length is
        stride * (image - 1) + dilate * (kernel - 1) + 1 - 2 * pad + adj

    kernel, stride, dilate, pad, adj: a number for each image axis, in pixels; adj <
    stride. target_shape: the lengths that are wanted; pad and adj then follow from
    them. num_group: channels and filters are divided into so many groups that do not
    mix. workspace: the scratch memory that it may use, in MiB. layout: None or the one
    with channels second. cudnn_tune and cudnn_off have no effect.

    It is the gradient of Convolution by its data, and undoes its change of shape. As in
    MXNet no_bias is true by default. Raises ShapeError for shapes that do not fit,
    OperatorError for settings that do not.
    """

    kernel: Shape = field()  # type: ignore[assignment]
    stride: Shape = ()
    dilate: Shape = ()
    pad: Shape = ()
    adj: Shape = ()
    target_shape: Shape = ()
    num_filter: int = field(kw_only=True)
    num_group: int = 1
    workspace: int = 512  # type: ignore[assignment]
    no_bias: bool = True
    cudnn_tune: str | None = None
    cudnn_off: bool = False
    layout: str | None = None

    casting = TARGET_IN_FLOAT16
    all_inputs = ("data", "weight", "bias")
    saves = ("data", "weight")
    deduce = samples_of_out

    @property
    def inputs(self) -> tuple[str, ...]:
        """Bias only where there is one."""
        return self.all_inputs[:2] if self.no_bias else self.all_inputs

    def _check(self, data: Spec) -> None:
        axes = data.ndim - 2
        if axes not in (1, 2, 3) or not self.kernel:
            raise ShapeError(
                f"Deconvolution: data {data.shape} with kernel={self.kernel} must be "
                "(N, C, W), (N, C, H, W) or (N, C, D, H, W), and kernel have one "
                "number for each axis after the second."
            )
        channels_second(self.name, self.layout, axes)
        if self.num_filter < 1 or self.num_group < 1:
            raise OperatorError(
                f"Deconvolution: num_filter={self.num_filter} and "
                f"num_group={self.num_group} must be at least 1."
            )
        if data.shape[1] % self.num_group or self.num_filter % self.num_group:
            raise ShapeError(
                f"Deconvolution: num_group={self.num_group} does not divide both the "
                f"{data.shape[1]} channels of data {data.shape} and "
                f"num_filter={self.num_filter}. Change one of them."
            )

    def _lengths(self, data: Spec) -> tuple[Shape, Shape]:
        """The padding and the image axes of the output."""
        self._check(data)
        image, axes = data.shape[2:], data.ndim - 2
        settings = (("kernel", 1), ("stride", 1), ("dilate", 1), ("pad", 0), ("adj", 0))
        kernel, stride, dilate, pad, adj = (
            per_axis(self.name, word, getattr(self, word), axes, low)
            for word, low in settings
        )
        steps = zip(image, kernel, stride, dilate, strict=True)
        whole = [s * (n - 1) + d * (k - 1) + 1 for n, k, s, d in steps]
        if any(self.target_shape):
            wanted = per_axis(self.name, "target_shape", self.target_shape, axes, 0)
            rest = [n - w for n, w in zip(whole, wanted, strict=True)]
            pad, adj = tuple(-(-r // 2) for r in rest), tuple(r % 2 for r in rest)
            if min(rest) < 0:
                raise ShapeError(
                    f"Deconvolution: target_shape={wanted} is larger than "
                    f"{tuple(whole)}, the most that data {data.shape} gives. Take a "
                    "larger stride or kernel."
                )
        if any(a >= s for a, s in zip(adj, stride, strict=True)):
            raise OperatorError(
                f"Deconvolution: adj={adj} must be smaller than stride={stride} along "
                "each axis; it only says which of the lengths that a convolution with "
                "this stride maps to the same one is meant."
            )
        out = tuple(n - 2 * p + a for n, p, a in zip(whole, pad, adj, strict=True))
        if min(out) < 1:
            raise ShapeError(
                f"Deconvolution: pad={pad} takes away all of {tuple(whole)}, what data "
                f"{data.shape} gives. Pad less."
            )
        return pad, out

    def convolution(self, data: Spec) -> Convolution:
        """The convolution whose data gradient this is; it maps out to data."""
        return Convolution.of(
            kernel=self.kernel, stride=self.stride, dilate=self.dilate,
            pad=self._lengths(data)[0], num_filter=data.shape[1],
            num_group=self.num_group, workspace=self.workspace, no_bias=True,
            cudnn_tune=self.cudnn_tune, cudnn_off=self.cudnn_off,
        )  # fmt: skip

    def _spread(self, data: Spec) -> ConvolutionData:
        shape = data.shape[0], self.num_filter, *self._lengths(data)[1]
        found = ConvolutionData.of(conv=self.convolution(data), shape=shape)
        return found.for_device(self.kind)

    def complete(self, data: Spec) -> dict[str, Shape]:
        """What the parameters must look like for this data."""
        self._check(data)
        filters = self.num_filter // self.num_group
        shapes: dict[str, Shape] = {"weight": (data.shape[1], filters, *self.kernel)}
        return shapes if self.no_bias else {**shapes, "bias": (self.num_filter,)}

    def infer(self, *specs: Spec) -> Spec:
        """The image grows, channels become filters."""
        data = specs[0]
        same_reals(self.name, self.inputs, *specs)
        _, image = self._lengths(data)
        why = f"data {data.shape} with kernel={self.kernel}"
        for name, spec in zip(self.inputs[1:], specs[1:], strict=True):
            expect(self.name, name, spec, self.complete(data)[name], why)
        return data.with_shape((data.shape[0], self.num_filter, *image))

    def compute(self, *specs: Spec) -> Kernel:
        """That of the convolution's data gradient, and the bias."""
        spread = self._spread(specs[0]).kernel(*specs[:2])
        if self.no_bias:
            return spread
        aligned = (-1, *(1,) * (specs[0].ndim - 2))

        def kernel(data: Any, weight: Any, bias: Any, out: Any, *scratch: Any) -> None:
            spread(data, weight, out, *scratch)
            out += bias.reshape(aligned)

        return kernel

    def scratch(self, *specs: Spec) -> int:
        """As much as the data gradient."""
        return self._spread(specs[0]).workspace(*specs[:2])

    def grad(self, at: GradContext, dout: Any, data: Value, weight: Value) -> Gradients:
        """What gradients are to a convolution, the convolution is to this."""
        conv = self.convolution(at.ins[0])
        ddata = bind(conv, dout, weight) if at.wants[0] else None
        dweight = None
        if at.wants[1]:
            dweight = bind(ConvolutionWeight.of(conv=conv), data, dout)
        if self.no_bias:
            return ddata, dweight
        others = (0, *range(2, at.ins[0].ndim))
        dbias = bind(lookup("sum").of(axis=others), dout) if at.wants[2] else None
        return ddata, dweight, dbias

    def cost(self, *specs: Spec) -> Cost:
        """As much as the convolution."""
        return self._spread(specs[0]).cost(*specs[:2])
