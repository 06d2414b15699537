"""Data sheets of reading images between pixels: the parts that transformers share.

A bilinear surface is linear in the pixels, and linear in each coordinate between them.
Its gradient is one fused kernel; `composed` says it again with `_fetch_pixels` and
`_put_pixels`, which are each other's transposes and have gradients of every order.
"""

from __future__ import annotations

from typing import Any, ClassVar

from minimx.core.errors import ShapeError
from minimx.core.kernels import find
from minimx.core.operators.views import reshaped
from minimx.core.ops import GradContext, Kernel, Op, Value, bind, lookup, register
from minimx.core.ops.checks import expect, same_reals
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Shape
from minimx.operators.rules import Gradients, given_shape, per_element, with_half


class Places(Op):
    """What the operators share that look at places (B, P) of images (B, C, H, W)."""

    inputs: ClassVar[Any] = ("data", "y", "x")
    saves: Any = ("y", "x")

    def _out(self, *specs: Spec) -> Spec:
        data, y, x = specs
        same_reals(self.name, self.inputs, *specs)
        if data.ndim != 4 or y.ndim != 2 or y.shape[0] != data.shape[0]:
            raise ShapeError(
                f"{self.name}: data {data.shape} must be (B, C, H, W) and y {y.shape} "
                "(B, P)."
            )
        expect(self.name, "x", x, y.shape, f"y {y.shape}")
        return data.with_shape((*data.shape[:2], y.shape[1]))

    def infer(self, *specs: Spec) -> Spec | tuple[Spec, ...]:
        """A number for every channel at every place."""
        return self._out(*specs)

    def cost(self, *specs: Spec) -> Cost:
        """A surface through four pixels for every number."""
        places = specs[-1].size * specs[0].shape[1]
        return Cost(12 * places, 5 * places * specs[0].dtype.itemsize)


@register("_sample_pixels")
class SamplePixels(Places):
    """Read images on the bilinear surface through their pixels, 0 outside.

    data (B, C, H, W); y, x (B, P) in pixels; out (B, C, P)
    sharp: the surface ends at the outermost pixels, and does not run down to 0.
    """

    sharp: bool = False

    saves = ("data", "y", "x")

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.operators.kernels.images.sampling`."""
        run, sharp = find("sampling.sample"), self.sharp

        def kernel(data: Any, y: Any, x: Any, out: Any) -> None:
            run(data, y, x, sharp, out)

        return with_half(kernel, specs)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """One operator for all three."""
        op = SampleGradient.of(sharp=self.sharp, shape=at.ins[0].shape)
        return tuple(bind(op, dout, *saved))


@register("_backward_sample_pixels")
class SampleGradient(Op):
    """The gradients of images and places, from the gradient of what was read.

    dout (B, C, P), data (B, C, H, W) = `shape`, y, x (B, P)
    """

    sharp: bool
    shape: Shape

    inputs = ("dout", "data", "y", "x")
    visible = 3

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """The shapes of the images and the places."""
        return specs[1], specs[2], specs[3]

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.operators.kernels.images.sampling`."""
        run, sharp = find("sampling.sample_gradient"), self.sharp

        def kernel(dout: Any, data: Any, y: Any, x: Any, *outs: Any) -> None:
            run(dout, data, y, x, sharp, *outs)

        return with_half(kernel, specs)

    def _axis(self, at: Value, length: int) -> tuple[Any, ...]:
        """The pixel before each place, the rest, and where that matters; or None."""
        first = bind(lookup("floor").of(), at)
        rest = at - first
        if not self.sharp:
            return first, rest, None, None
        below = bind(lookup("_lesser_scalar").of(scalar=length - 1.0), first)
        inside = bind(lookup("_greater_equal_scalar").of(scalar=0.0), at)
        inside = inside * bind(lookup("_lesser_scalar").of(scalar=float(length)), at)
        return first, rest * below, below, inside

    def composed(
        self, dout: Value, data: Value, y: Value, x: Value
    ) -> tuple[Value, ...]:
        """The same, made of operators, pixel by pixel of the four around."""
        batch, channels, height, width = self.shape
        top, down, level_y, inside_y = self._axis(y, height)
        left, right, level_x, inside_x = self._axis(x, width)

        def wide(value: Value) -> Value:
            return bind(lookup("expand_dims").of(axis=1), value)

        if self.sharp:
            dout = dout * wide(inside_y * inside_x)
        fetch, put = FetchPixels.of(), PutPixels.of(shape=self.shape)
        tall_weights, wide_weights = (1 - down, down), (1 - right, right)
        ddata, along_y, along_x = None, None, None
        for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
            at = top + i, left + j
            weight = dout * wide(tall_weights[i] * wide_weights[j])
            part = bind(put, weight, *at)
            seen = dout * bind(fetch, data, *at)
            towards_y = seen * wide(wide_weights[j]) * (2 * i - 1)
            towards_x = seen * wide(tall_weights[i]) * (2 * j - 1)
            ddata = part if ddata is None else ddata + part
            along_y = towards_y if along_y is None else along_y + towards_y
            along_x = towards_x if along_x is None else along_x + towards_x
        total = lookup("sum").of(axis=1)
        dy, dx = bind(total, along_y), bind(total, along_x)
        if self.sharp:
            dy, dx = dy * level_y, dx * level_x
        assert ddata is not None
        return ddata, dy, dx

    cost = per_element(36, 10)


@register("_fetch_pixels")
class FetchPixels(Places):
    """The pixels at whole places, 0 outside. Linear in the images.

    data (B, C, H, W); y, x (B, P), whole numbers; out (B, C, P)
    """

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.operators.kernels.images.sampling`."""
        return with_half(find("sampling.fetch"), specs)

    def grad(self, at: GradContext, dout: Any, y: Value, x: Value) -> Gradients:
        """Put back to where it was fetched."""
        return bind(PutPixels.of(shape=at.ins[0].shape), dout, y, x), None, None


@register("_put_pixels")
class PutPixels(Places):
    """Add up numbers at whole places of empty images. Linear in the numbers.

    data (B, C, P); y, x (B, P), whole numbers; out: `shape` (B, C, H, W)
    """

    shape: Shape

    infer = given_shape

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.operators.kernels.images.sampling`."""
        return with_half(find("sampling.put"), specs)

    def grad(self, at: GradContext, dout: Any, y: Value, x: Value) -> Gradients:
        """Fetch from where it was put."""
        return bind(FetchPixels.of(), dout, y, x), None, None


def flat(value: Value, shape: Shape, axes: int = 2) -> Value:
    """A value whose last `axes` axes are joined."""
    size = 1
    for length in shape[-axes:]:
        size *= length
    return reshaped(value, shape, (*shape[:-axes], size))
