"""Data sheets of correlation: how alike two images are, at several displacements.

The mean of products is linear in both images. Its two gradients are linear in two
things each, and the three operators are all that gradients of any order need.
"""

from __future__ import annotations

from typing import Any

from minimx.core.errors import OperatorError, ShapeError
from minimx.core.kernels import find
from minimx.core.ops import GradContext, Kernel, Op, Value, bind, register
from minimx.core.ops.casting import WIDEST
from minimx.core.ops.checks import expect, same_reals
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Shape
from minimx.operators.rules import Gradients, with_half


@register("Correlation")
class Correlation(Op):
    """Compare windows of one image with displaced windows of another, as FlowNet does.

    data1, data2 (N, C, H, W); out (N, D², H', W'): a number for each displacement

    kernel_size: the side of a window, odd. max_displacement: how far windows are
    displaced to each side, in pixels, in steps of stride2, so D = 2 * (max_displacement
    // stride2) + 1. stride1: the steps between windows of data1. pad_size: pixels of 0
    around images. is_multiply: the mean of the products of two windows; False: of their
    absolute differences.

    Raises OperatorError for an even kernel_size and other impossible settings,
    ShapeError for images that differ in shape or are too small.
    """

    kernel_size: int = 1
    max_displacement: int = 1
    stride1: int = 1
    stride2: int = 1
    pad_size: int = 0
    is_multiply: bool = True

    casting = WIDEST
    inputs = ("data1", "data2")
    saves = ("data1", "data2")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kernel_size < 1 or self.kernel_size % 2 == 0:
            raise OperatorError(
                f"Correlation: kernel_size={self.kernel_size} must be odd: windows "
                "have a middle. Take 1 or 3."
            )
        if min(self.stride1, self.stride2) < 1 or self.max_displacement < 0:
            raise OperatorError(
                f"Correlation: stride1={self.stride1} and stride2={self.stride2} must "
                f"be positive, max_displacement={self.max_displacement} not negative."
            )

    def comparison(self) -> Any:
        """The lengths, as the kernels want them."""
        displacements = 2 * (self.max_displacement // self.stride2) + 1
        return find("correlation.Comparison")(
            self.kernel_size, self.max_displacement, self.stride1, self.stride2,
            self.pad_size, displacements,
        )  # fmt: skip

    def infer(self, *specs: Spec) -> Spec:
        """A channel for each displacement."""
        data, other = specs
        same_reals(self.name, self.inputs, *specs)
        if data.ndim != 4:
            raise ShapeError(f"Correlation: data1 {data.shape} must be (N, C, H, W).")
        expect(self.name, "data2", other, data.shape, "data1")
        border = 2 * (self.max_displacement + self.kernel_size // 2)
        spaces = [n + 2 * self.pad_size - border for n in data.shape[2:]]
        if min(spaces) < 1:
            raise ShapeError(
                f"Correlation: data {data.shape} with pad_size={self.pad_size} leave "
                f"no room for max_displacement={self.max_displacement} on all sides of "
                f"a window of {self.kernel_size}. Pad more."
            )
        count = (2 * (self.max_displacement // self.stride2) + 1) ** 2
        stops = (-(-space // self.stride1) for space in spaces)
        return data.with_shape((data.shape[0], count, *stops))

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.operators.kernels.layers.correlation`."""
        correlate, at = find("correlation.correlate"), self.comparison()
        multiply = self.is_multiply

        def run(data1: Any, data2: Any, out: Any) -> None:
            correlate(data1, data2, multiply, at, out)

        return with_half(run, specs)

    def grad(self, at: GradContext, dout: Any, data1: Value, data2: Value) -> Gradients:
        """One operator for each image, or one for both."""
        shape = at.ins[0].shape
        if not self.is_multiply:
            both = CorrelationSigns.of(forward=self)
            return tuple(bind(both, dout, data1, data2))
        grads: list[Value | None] = []
        for first, other in ((True, data2), (False, data1)):
            op = CorrelationSpread.of(forward=self, shape=shape, first=first)
            grads.append(bind(op, dout, other) if at.wants[not first] else None)
        return grads

    def cost(self, *specs: Spec) -> Cost:
        """A product and a sum for every pixel of every window."""
        return self.work(specs[0])

    def work(self, data: Spec) -> Cost:
        """The cost of one direction."""
        out = self.infer(data, data)
        pixels = out.size * self.kernel_size**2 * data.shape[1]
        return Cost(2 * pixels, 2 * data.nbytes + out.nbytes)


@register("_backward_Correlation")
class CorrelationSpread(Op):
    """The gradient of a correlation for one of its images, from the other.

    dout (N, D * D, H', W'), other (N, C, H, W) = `shape`; out: that shape
    first: it is the gradient of data1, and `other` is data2
    """

    forward: Any
    shape: Shape
    first: bool

    inputs = ("dout", "other")
    saves = ("dout", "other")

    def infer(self, *specs: Spec) -> Spec:
        """The shape of the images."""
        return specs[1]

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.operators.kernels.layers.correlation`."""
        spread, at = find("correlation.spread"), self.forward.comparison()
        first = self.first

        def run(dout: Any, other: Any, out: Any) -> None:
            spread(dout, other, first, at, out)

        return with_half(run, specs)

    def grad(self, at: GradContext, dout: Any, head: Value, other: Value) -> Gradients:
        """Linear in both: the correlation, and the gradient for the other image."""
        images = (dout, other) if self.first else (other, dout)
        dhead = bind(self.forward, *images) if at.wants[0] else None
        back = CorrelationSpread.of(
            forward=self.forward, shape=self.shape, first=not self.first
        )
        return dhead, bind(back, head, dout) if at.wants[1] else None

    def cost(self, *specs: Spec) -> Cost:
        """As much as the correlation."""
        found: Cost = self.forward.work(specs[1])
        return found


@register("_backward_Correlation_difference")
class CorrelationSigns(Op):
    """The gradients of the mean absolute differences of two images.

    dout (N, D * D, H', W'), data1, data2 (N, C, H, W); out: the shape of these, twice
    """

    forward: Any

    inputs = ("dout", "data1", "data2")
    visible = 2
    differentiable = False

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """The shapes of the images."""
        return specs[1], specs[2]

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.operators.kernels.layers.correlation`."""
        spread, at = find("correlation.spread_signs"), self.forward.comparison()

        def run(dout: Any, data1: Any, data2: Any, *outs: Any) -> None:
            spread(dout, data1, data2, at, *outs)

        return with_half(run, specs)

    def cost(self, *specs: Spec) -> Cost:
        """As much as the correlation, twice."""
        once: Cost = self.forward.work(specs[1])
        return once + once
