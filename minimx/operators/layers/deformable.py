"""Data sheets of deformable convolution: every tap of every window is moved by a bit.

What the moved taps see is a matrix of columns, as im2col makes one for taps that stay;
the rest is a convolution with windows of one pixel over those columns.
"""

from __future__ import annotations

from dataclasses import field
from math import prod
from typing import Any, ClassVar

import numpy as np

from minimx.core.errors import OperatorError, ShapeError
from minimx.core.kernels import find
from minimx.core.kernels.half import computing
from minimx.core.operators.conv import Convolution, ConvolutionData, ConvolutionWeight
from minimx.core.operators.views import reshaped
from minimx.core.ops import GradContext, Kernel, Op, Value, bind, lookup, register
from minimx.core.ops.casting import SINGLE
from minimx.core.ops.checks import expect, same_reals
from minimx.core.ops.registry import with_settings
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Shape
from minimx.operators.images.sampling import SampleGradient, SamplePixels
from minimx.operators.rules import Gradients, per_element, with_half


@register("_deformed_places")
class DeformedPlaces(Op):
    """Where the taps of windows are, once they are moved.

    offset (N, G * K * 2, H', W'): for each of G groups and K taps, how far down and how
    far right; out: y and x in pixels, both (N * G, K * H' * W')
    """

    conv: Any
    data: Shape

    inputs = ("offset",)
    visible = 2

    def _lengths(self, offset: Spec) -> tuple[Shape, Shape]:
        """Offsets as (N * G, K, 2, H' * W'), and places."""
        taps = prod(self.conv.kernel)
        samples, moves, *stops = offset.shape
        groups = samples * (moves // (2 * taps))
        return (groups, taps, 2, prod(stops)), (groups, taps * prod(stops))

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """A place for every tap at every stop."""
        places = specs[0].with_shape(self._lengths(specs[0])[1])
        return places, places

    def kernel(self, *specs: Spec) -> Kernel:
        """The places of taps that stay, and how far they move."""
        seen, places = self._lengths(specs[0])
        still = self.still(specs[0].with_shape(self.data))

        def run(offset: Any, y: Any, x: Any) -> None:
            moves = offset.reshape(seen)
            for k, out in enumerate((y, x)):
                target = out.reshape(seen[0], seen[1], seen[3])
                np.add(moves[:, :, k], still[k], out=target, casting="same_kind")

        return with_half(run, specs)

    def still(self, data: Spec) -> Any:
        """Y and x of unmoved taps, (2, K, H' * W'), in the type of the computation."""
        _, kernel, stride, dilate, pad, stops = self.conv.lengths(data)
        taps = np.indices(kernel).reshape(2, -1, 1)
        places = np.indices(stops).reshape(2, 1, -1)
        steps = (np.array(n).reshape(2, 1, 1) for n in (stride, dilate, pad))
        each, apart, frame = steps
        return (places * each + taps * apart - frame).astype(computing(data.dtype))

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """A move changes a place by as much."""
        (groups, taps, _, stops), places = self._lengths(at.ins[0])
        dy, dx = (reshaped(d, places, (groups, taps, stops)) for d in dout)
        both = bind(lookup("stack").of(axis=2), dy, dx)
        return (reshaped(both, (groups, taps, 2, stops), at.ins[0].shape),)

    cost = per_element(1, 2)


@with_settings
class Deformable(Op):
    """What both deformable convolutions share; the second also has a mask."""

    kernel: Shape = field()  # type: ignore[assignment]
    stride: Shape = ()
    dilate: Shape = ()
    pad: Shape = ()
    num_filter: int = field(kw_only=True)
    num_group: int = 1
    num_deformable_group: int = 1
    workspace: int = 1024  # type: ignore[assignment]
    no_bias: bool = False

    #: What comes between data and weight.
    moving: ClassVar[tuple[str, ...]] = ("offset",)
    #: The bilinear surface ends at the last pixels, see `SamplePixels`.
    sharp: ClassVar[bool] = True

    @property
    def inputs(self) -> tuple[str, ...]:
        """Bias only where there is one."""
        names = ("data", *self.moving, "weight")
        return names if self.no_bias else (*names, "bias")

    @property
    def saves(self) -> tuple[str, ...]:
        """All but the bias."""
        return ("data", *self.moving, "weight")

    def conv(self, data: Spec) -> Convolution:
        """The convolution whose taps are moved."""
        if data.ndim != 4 or len(self.kernel) != 2:
            raise ShapeError(
                f"{self.name}: data {data.shape} must be (N, C, H, W), and "
                f"kernel={self.kernel} have two numbers."
            )
        groups = self.num_deformable_group
        if groups < 1 or data.shape[1] % groups:
            raise OperatorError(
                f"{self.name}: num_deformable_group={groups} does not divide the "
                f"{data.shape[1]} channels of data {data.shape}."
            )
        return Convolution.of(
            kernel=self.kernel, stride=self.stride, dilate=self.dilate, pad=self.pad,
            num_filter=self.num_filter, num_group=self.num_group, no_bias=self.no_bias,
            layout=self.settings["layout"],
        )  # fmt: skip

    def complete(self, data: Spec) -> dict[str, Shape]:
        """Those of the convolution."""
        return self.conv(data).complete(data)

    def columns(self, data: Spec) -> Spec:
        """What the taps see, (N, C * K, H', W')."""
        stops = self.conv(data).lengths(data)[-1]
        channels = data.shape[1] * prod(self.kernel)
        return data.with_shape((data.shape[0], channels, *stops))

    def inner(self, no_bias: bool) -> Convolution:
        """The convolution over what the taps see."""
        return Convolution.of(
            kernel=(1, 1), num_filter=self.num_filter, num_group=self.num_group,
            no_bias=no_bias,
        )  # fmt: skip

    def infer(self, *specs: Spec) -> Spec:
        """As the convolution; offsets and mask for every stop."""
        data = specs[0]
        same_reals(self.name, self.inputs, *specs)
        seen, taps = self.columns(data), prod(self.kernel) * self.num_deformable_group
        shapes = self.complete(data)
        shapes["offset"] = (data.shape[0], 2 * taps, *seen.shape[2:])
        shapes["mask"] = (data.shape[0], taps, *seen.shape[2:])
        for name, spec in zip(self.inputs[1:], specs[1:], strict=True):
            expect(self.name, name, spec, shapes[name], f"data {data.shape}")
        return data.with_shape((data.shape[0], self.num_filter, *seen.shape[2:]))

    def _parts(self, data: Spec, offset: Spec) -> tuple[Spec, Spec, DeformedPlaces]:
        """One sample's data and columns, and where its taps are."""
        one = data.with_shape((1, *data.shape[1:]))
        seen = self.columns(one).with_dtype(computing(data.dtype))
        places = DeformedPlaces.of(conv=self.conv(data), data=one.shape)
        return one, seen, places

    def compute(self, *specs: Spec) -> Kernel:
        """Sample by sample: look where the taps are, then convolve."""
        wide = [spec.with_dtype(computing(spec.dtype)) for spec in specs]
        one, seen, op = self._parts(*wide[:2])
        move = wide[1].with_shape((1, *wide[1].shape[1:]))
        groups, count = op.infer(move)[0].shape
        where, sample = op.kernel(move), find("sampling.sample")
        images = (groups, one.shape[1] // groups, *one.shape[2:])
        weight = (self.num_filter, seen.shape[1] // self.num_group, 1, 1)
        more = (wide[-1],) if not self.no_bias else ()
        inner = self.inner(self.no_bias).compute(seen, one.with_shape(weight), *more)
        sharp, masked = self.sharp, len(self.moving) > 1

        def run(data: Any, *rest: Any) -> None:
            *inputs, out, workspace = rest
            moving, parameters = inputs[: 1 + masked], inputs[1 + masked :]
            free, size = workspace.view(data.dtype), groups * count
            y, x = free[: 2 * size].reshape(2, groups, count)
            columns = free[2 * size :][: seen.size]
            scratch = free[2 * size + seen.size :].view(np.uint8)
            taps = columns.reshape(groups, images[1], count)
            extra = [scratch] if scratch.size else []
            for n in range(len(data)):
                where(moving[0][n], y, x)
                sample(data[n].reshape(images), y, x, sharp, taps)
                if masked:
                    np.multiply(taps, moving[1][n].reshape(groups, 1, count), out=taps)
                matrix = parameters[0].reshape(weight), *parameters[1:]
                inner(columns.reshape(seen.shape), *matrix, out[n : n + 1], *extra)

        return with_half(run, specs)

    def scratch(self, *specs: Spec) -> int:
        """Room for one sample's places and columns, and for the convolution."""
        data, offset = (spec.with_dtype(computing(spec.dtype)) for spec in specs[:2])
        _, seen, _ = self._parts(data, offset)
        inner = self.inner(True).scratch(seen)
        each = seen.size + offset.size // max(offset.shape[0], 1)
        return each * seen.dtype.itemsize + inner

    def grad(
        self, at: GradContext, dout: Any, data: Value, offset: Value, *rest: Value
    ) -> Gradients:
        """Through the convolution to the columns, and from there to where they are."""
        *masks, weight = rest
        image, seen = at.ins[0], self.columns(at.ins[0])
        places = DeformedPlaces.of(conv=self.conv(image), data=image.shape)
        y, x = bind(places, offset)
        groups, count = places.infer(at.ins[1])[0].shape
        channels = image.shape[1] // self.num_deformable_group
        images = (groups, channels, *image.shape[2:])
        taps, narrow = (groups, channels, count), (groups, 1, count)
        data = reshaped(data, image.shape, images)
        plain = bind(SamplePixels.of(sharp=self.sharp), data, y, x)
        bent = plain
        if masks:
            mask = reshaped(masks[0], at.ins[2].shape, narrow)
            bent = plain * mask
        inner = self.inner(self.no_bias)
        columns = reshaped(bent, taps, seen.shape)
        found = bind(ConvolutionWeight.of(conv=inner), dout, columns)
        dweight, *dbias = (found,) if self.no_bias else found
        shape = at.ins[1 + len(self.moving)].shape
        matrix = (shape[0], prod(shape[1:]), 1, 1)
        back = ConvolutionData.of(conv=self.inner(True), shape=seen.shape)
        head = reshaped(
            bind(back, dout, reshaped(weight, shape, matrix)), seen.shape, taps
        )
        grads: list[Value] = []
        if masks:
            total = lookup("sum").of(axis=1, keepdims=True)
            dmask = bind(total, head * plain)
            grads.append(reshaped(dmask, narrow, at.ins[2].shape))
            head = head * mask
        op = SampleGradient.of(sharp=self.sharp, shape=images)
        ddata, dy, dx = bind(op, head, data, y, x)
        (doffset,) = places.grad(GradContext(at.ins[1:2], (), (True,)), (dy, dx))
        ddata = reshaped(ddata, images, image.shape)
        return ddata, doffset, *grads, reshaped(dweight, matrix, shape), *dbias

    def cost(self, *specs: Spec) -> Cost:
        """That of the convolution, and a surface for every tap."""
        seen = self.columns(specs[0])
        return self.conv(specs[0]).work(specs[0]) + Cost(
            12 * seen.size, 5 * seen.nbytes
        )


@register("_contrib_DeformableConvolution")
class DeformableConvolution(Deformable):
    """A convolution whose taps are moved, each at each stop, by `offset` pixels.

    data (N, C, H, W), weight (num_filter, C / num_group, *kernel), bias (num_filter,)
    offset (N, num_deformable_group * K * 2, H', W'), K being the number of taps: how
    far down and how far right; the channels are divided among the deformable groups
    out (N, num_filter, H', W'), as of Convolution
    """

    layout: str | None = None

    casting = SINGLE
    all_inputs = ("data", "offset", "weight", "bias")


@register("_contrib_ModulatedDeformableConvolution")
class ModulatedDeformableConvolution(Deformable):
    """A deformable convolution whose taps count by as much as `mask` says.

    data (N, C, H, W), weight (num_filter, C / num_group, *kernel), bias (num_filter,)
    offset (N, num_deformable_group * K * 2, H', W'): how far down and how far right
    mask (N, num_deformable_group * K, H', W'); out (N, num_filter, H', W')
    Towards the outside the image runs down to 0 over one pixel.
    """

    im2col_step: int = 64
    layout: str | None = None

    all_inputs = ("data", "offset", "mask", "weight", "bias")
    moving = ("offset", "mask")
    sharp = False
