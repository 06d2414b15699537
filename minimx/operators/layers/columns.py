"""Data sheets of windows as columns of a matrix, and of the way back."""

from __future__ import annotations

from dataclasses import field
from math import prod
from typing import Any

from minimx.core.errors import OperatorError, ShapeError
from minimx.core.kernels import find
from minimx.core.operators.conv import per_axis
from minimx.core.ops import GradContext, Kernel, Op, Value, bind, register
from minimx.core.ops.checks import same_reals
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Shape, window
from minimx.operators.rules import Gradients, with_half


class Windows(Op):
    """What im2col and col2im share: how windows slide over an image."""

    kernel: Any
    stride: Shape
    dilate: Shape
    pad: Shape

    def steps(self, axes: int) -> tuple[Shape, ...]:
        """Kernel, stride, dilate and pad along each axis."""
        if axes not in (1, 2, 3):
            raise ShapeError(
                f"{self.name}: one to three image axes are possible, not {axes}. Data "
                "are (N, C, *image) and kernel has a number for each image axis."
            )
        lows = (("kernel", 1), ("stride", 1), ("dilate", 1), ("pad", 0))
        return tuple(
            per_axis(self.name, word, getattr(self, word), axes, low)
            for word, low in lows
        )

    def stops(self, image: Shape) -> Shape:
        """How many windows there are along each axis."""
        if not self.kernel:
            raise OperatorError(f"{self.name}: kernel=() is no window; give its size.")
        kernel, stride, dilate, pad = self.steps(len(image))
        found = tuple(map(window, image, kernel, stride, pad, dilate))
        if min(found) < 1:
            raise ShapeError(
                f"{self.name}: a window of {kernel}, dilated by {dilate}, is larger "
                f"than an image of {image} with pad {pad}. Take a smaller kernel."
            )
        return found

    def run(self, name: str, image: Shape) -> Kernel:
        """A kernel on arrays of the shapes it wants; `image` begins with N and C."""
        steps = find("columns.Steps")(*self.steps(len(image) - 2))
        columns = (*image[:2], *self.kernel, *self.stops(image[2:]))
        shapes = (image, columns) if name == "unfold" else (columns, image)
        kernel = find(f"columns.{name}")

        def run(data: Any, out: Any) -> None:
            kernel(data.reshape(shapes[0]), out.reshape(shapes[1]), steps)

        return run

    def other(self, kind: type[Op], **settings: Any) -> Op:
        """The way back."""
        return kind.of(
            kernel=self.kernel, stride=self.stride, dilate=self.dilate, pad=self.pad,
            **settings,
        )  # fmt: skip

    def cost(self, *specs: Spec) -> Cost:
        """A copy or a sum for each element of a column."""
        out = self.infer(*specs)
        assert isinstance(out, Spec)
        size = max(out.size, specs[0].size)
        return Cost(size, 2 * size * out.dtype.itemsize)


@register("im2col")
class Im2col(Windows):
    """Every window of an image as a column of a matrix.

    data (N, C, *image), one to three image axes
    out (N, C * product of kernel, number of stops); a product with the weight of a
    convolution, as a matrix, is then that convolution
    """

    kernel: Shape = field()
    stride: Shape = ()
    dilate: Shape = ()
    pad: Shape = ()

    def infer(self, *specs: Spec) -> Spec:
        """A row for each tap, a column for each stop."""
        (data,) = specs
        same_reals(self.name, ("data",), data)
        samples, channels, *image = data.shape if data.ndim > 2 else (0, 0)
        stops = self.stops(tuple(image))
        return data.with_shape((samples, channels * prod(self.kernel), prod(stops)))

    def compute(self, *specs: Spec) -> Kernel:
        """See `minimx.operators.kernels.layers.columns`."""
        run = self.run("unfold", specs[0].shape)
        return with_half(run, specs)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """The columns added up."""
        back = self.other(Col2im, output_size=at.ins[0].shape[2:])
        return (bind(back, dout),)


@register("col2im")
class Col2im(Windows):
    """Add up what the columns of `im2col` say about each pixel: its transpose.

    data (N, C * product of kernel, number of stops); out (N, C, *output_size)
    """

    output_size: Shape
    kernel: Shape = field()
    stride: Shape = ()
    dilate: Shape = ()
    pad: Shape = ()

    def infer(self, *specs: Spec) -> Spec:
        """An image of the wanted size."""
        (data,) = specs
        same_reals(self.name, ("data",), data)
        taps, stops = prod(self.kernel), prod(self.stops(self.output_size))
        if data.ndim != 3 or data.shape[1] % taps or data.shape[2] != stops:
            raise ShapeError(
                f"col2im: data {data.shape} must be (N, C * {taps}, {stops}) for "
                f"kernel={self.kernel} and output_size={self.output_size}, as im2col "
                "makes them."
            )
        channels = data.shape[1] // taps
        return data.with_shape((data.shape[0], channels, *self.output_size))

    def compute(self, *specs: Spec) -> Kernel:
        """See `minimx.operators.kernels.layers.columns`."""
        run = self.run("fold", self.infer(*specs).shape)
        return with_half(run, specs)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """The windows of the gradient."""
        return (bind(self.other(Im2col), dout),)
