"""Data sheets of padding, of blocks moved between depth and space, and of diagonals."""

from __future__ import annotations

from typing import Any

from minimx.core.errors import ShapeError
from minimx.core.operators.join import (
    Concat,
    Pieces,
    SliceChannel,
    SplitV2,
    Stack,
)
from minimx.core.operators.shape import Move, _kernel
from minimx.core.ops import GradContext, Kernel, Op, Value, bind, register
from minimx.core.ops.registry import with_settings
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Shape
from minimx.operators.rules import Gradients, different_axes, given_shape, one_of

__all__ = [
    "BackwardDiag", "BackwardPad", "Concat", "DepthToSpace", "Diag", "Frame", "Pad",
    "Pieces", "SliceChannel", "SpaceToDepth", "SplitV2", "Stack",
]  # fmt: skip


@with_settings
class Frame(Move):
    """What padding and its gradient share. pad_width: before, after, for each axis."""

    mode: str
    pad_width: Shape
    constant_value: float = 0.0

    def widths(self, ndim: int) -> tuple[tuple[int, int], ...]:
        """(before, after) for each axis."""
        one_of(self, "mode", "constant", "edge", "reflect")
        width = self.pad_width
        if len(width) != 2 * ndim or min(width) < 0:
            raise ShapeError(
                f"Pad: pad_width {width} must have two numbers, before and after, for "
                f"each of {ndim} axes."
            )
        return tuple(zip(width[::2], width[1::2], strict=True))


@register("Pad", "pad")
class Pad(Frame):
    """Put a frame around data: of a constant, of its edge, or of its reflection.

    data (1, 1, 2, 3), pad_width=(0, 0, 0, 0, 1, 1, 2, 2); out (1, 1, 4, 7) pad_width:
    how many elements go before and after, for each axis in turn. mode: 'constant',
    filled with constant_value; 'edge', which repeats the last element; 'reflect', which
    mirrors without repeating it. Raises ShapeError where a reflection is longer than
    the axis. MXNet pads arrays of 4 or 5 axes only, and their last ones; here any axis
    will do.
    """

    def infer(self, *specs: Spec) -> Spec:
        """Each axis longer by its two widths."""
        (data,) = specs
        widths = self.widths(data.ndim)
        for n, width in zip(data.shape, widths, strict=True):
            if self.mode == "reflect" and max(width) >= n:
                raise ShapeError(
                    f"Pad: a reflection {max(width)} wide needs an axis longer than "
                    f"{n} in shape {data.shape}."
                )
        lengths = zip(data.shape, widths, strict=True)
        return data.with_shape(tuple(n + a + b for n, (a, b) in lengths))

    def kernel(self, *specs: Spec) -> Kernel:
        """Copy, then the frame axis by axis."""
        return _kernel(
            "pad", self.widths(specs[0].ndim), self.mode, self.constant_value
        )

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """What was repeated adds up."""
        back = BackwardPad.of(mode=self.mode, pad_width=self.pad_width)
        return (bind(back, dout),)


@register("_backward_Pad")
class BackwardPad(Frame):
    """The gradient of `Pad`. dout: the framed shape; out: the shape inside."""

    inputs = ("dout",)

    def infer(self, *specs: Spec) -> Spec:
        """Each axis shorter by its two widths."""
        (dout,) = specs
        lengths = zip(dout.shape, self.widths(dout.ndim), strict=True)
        return dout.with_shape(tuple(n - a - b for n, (a, b) in lengths))

    def kernel(self, *specs: Spec) -> Kernel:
        """Fold the frame back, the last axis first."""
        return _kernel("unpad", self.widths(specs[0].ndim), self.mode)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """Padding with zeros or as before: the operator is linear."""
        return (bind(Pad.of(mode=self.mode, pad_width=self.pad_width), dout),)


def _check_blocks(op: Op, data: Spec, size: int, *split: int) -> None:
    """Raise unless the axes that are split are multiples of the size, and none is 0."""
    lengths = [data.shape[axis] for axis in split] if data.ndim == 4 else []
    unit = size if len(split) > 1 else size * size
    if not lengths or size < 1 or 0 in data.shape or any(n % unit for n in lengths):
        raise ShapeError(
            f"{op.name}: blocks of {size} x {size} cannot be made of shape "
            f"{data.shape}, which is taken as (batch, channels, height, width)."
        )


@register("depth_to_space")
class DepthToSpace(Move):
    """Channels become blocks of pixels: sub-pixel convolution's last step.

    data (n, b*b*c, h, w) with b = block_size; out (n, c, b*h, b*w). Raises ShapeError
    if the channels are no multiple of b². `space_to_depth` is the way back.
    """

    block_size: int

    def infer(self, *specs: Spec) -> Spec:
        """Fewer channels, a larger image."""
        (data,) = specs
        b = self.block_size
        _check_blocks(self, data, b, 1)
        n, c, h, w = data.shape
        return data.with_shape((n, c // (b * b), b * h, b * w))

    def kernel(self, *specs: Spec) -> Kernel:
        """A transposition of six axes."""
        n, c, h, w = specs[0].shape
        b = self.block_size
        turn = _kernel("transpose", (0, 3, 4, 1, 5, 2))
        apart, back = (n, b, b, c // (b * b), h, w), (n, c // (b * b), h, b, w, b)
        return lambda x, out: turn(x.reshape(apart), out.reshape(back))

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """The way back."""
        return (bind(SpaceToDepth.of(block_size=self.block_size), dout),)


@register("space_to_depth")
class SpaceToDepth(Move):
    """Blocks of pixels become channels.

    data (n, c, b*h, b*w) with b = block_size; out (n, b*b*c, h, w). Raises ShapeError
    if height or width are no multiple of b. `depth_to_space` is the way back.
    """

    block_size: int

    def infer(self, *specs: Spec) -> Spec:
        """More channels, a smaller image."""
        (data,) = specs
        b = self.block_size
        _check_blocks(self, data, b, 2, 3)
        n, c, h, w = data.shape
        return data.with_shape((n, c * b * b, h // b, w // b))

    def kernel(self, *specs: Spec) -> Kernel:
        """A transposition of six axes."""
        n, c, h, w = specs[0].shape
        b = self.block_size
        turn = _kernel("transpose", (0, 3, 5, 1, 2, 4))
        apart, back = (n, c, h // b, b, w // b, b), (n, b, b, c, h // b, w // b)
        return lambda x, out: turn(x.reshape(apart), out.reshape(back))

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """The way back."""
        return (bind(DepthToSpace.of(block_size=self.block_size), dout),)


@register("diag")
class Diag(Move):
    """The k-th diagonal of a matrix, or the matrix of a diagonal.

    data (3, 3); out (3,). data (3,), k=1; out (4, 4). With more axes the last of out
    runs along the diagonals of axis1 and axis2: data (2, 3, 4), out (4, 2).
    """

    k: int = 0
    axis1: int = 0
    axis2: int = 1

    def infer(self, *specs: Spec) -> Spec:
        """Shorter by an axis, or one more."""
        (data,) = specs
        if data.ndim == 1:
            side = data.size + abs(self.k)
            return data.with_shape((side, side))
        one, two = different_axes(self, data.ndim)
        rows, columns = data.shape[one], data.shape[two]
        length = min(rows + min(self.k, 0), columns - max(self.k, 0))
        if length < 1:
            raise ShapeError(
                f"diag: a matrix of {rows} x {columns} has no diagonal {self.k}."
            )
        kept = tuple(n for a, n in enumerate(data.shape) if a not in (one, two))
        return data.with_shape((*kept, length))

    def kernel(self, *specs: Spec) -> Kernel:
        """A copy of NumPy's view of the diagonal."""
        if specs[0].ndim == 1:
            return _kernel("place_diagonal", self.k, 0, 1)
        return _kernel("pick_diagonal", self.k, *different_axes(self, specs[0].ndim))

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """To where the diagonal was."""
        shape = at.ins[0].shape
        if len(shape) == 1:
            return (bind(Diag.of(k=self.k), dout),)
        one, two = different_axes(self, len(shape))
        back = BackwardDiag.of(k=self.k, axis1=one, axis2=two, shape=shape)
        return (bind(back, dout),)


@register("_backward_diag")
class BackwardDiag(Move):
    """Zeros of `shape` with dout on a diagonal. dout: as `diag` gives it."""

    k: int
    axis1: int
    axis2: int
    shape: Shape
    inputs = ("dout",)

    infer = given_shape

    def kernel(self, *specs: Spec) -> Kernel:
        """Zeros, then the diagonal."""
        return _kernel("place_diagonal", self.k, self.axis1, self.axis2)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """The diagonal."""
        diag = Diag.of(k=self.k, axis1=self.axis1, axis2=self.axis2)
        return (bind(diag, dout),)
