"""Data sheets of exchanged, reversed, repeated axes, and of stretching like another."""

from __future__ import annotations

from typing import Any

from minimx.core.errors import OperatorError, ShapeError
from minimx.core.operators.reduce import Sum
from minimx.core.operators.shape import (
    BackwardBasicIndex,
    BasicIndex,
    BroadcastTo,
    Key,
    Move,
    Part,
    Slice,
    SliceAxis,
    Stretch,
    Transpose,
    _kernel,
    numpy_key,
    picked,
)
from minimx.core.operators.views import reshaped
from minimx.core.ops import GradContext, Kernel, Value, bind, register
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Shape, normalize_axis
from minimx.operators.rules import Gradients

__all__ = [
    "BackwardBasicIndex", "BasicIndex", "BroadcastAxis", "BroadcastLike", "BroadcastTo",
    "Move", "Part", "Repeat", "Reverse", "Slice", "SliceAxis", "SliceLike", "Stretch",
    "SwapAxis", "Tile", "Transpose", "numpy_key", "picked",
]  # fmt: skip


@register("SwapAxis", "swapaxes", "SwapAxes", "_npi_swapaxes")
class SwapAxis(Move):
    """Exchange two axes.

    data (2, 3, 4), dim1=0, dim2=2; out (4, 3, 2). Negative axes count from the end.
    Raises ShapeError for an axis that does not exist.
    """

    dim1: int = 0
    dim2: int = 0

    def order(self, ndim: int) -> Shape:
        """The axes of data in the order of the output."""
        order = list(range(ndim))
        one, two = (normalize_axis(self.name, d, ndim) for d in (self.dim1, self.dim2))
        order[one], order[two] = two, one
        return tuple(order)

    def infer(self, *specs: Spec) -> Spec:
        """The lengths in the new order."""
        (data,) = specs
        return data.with_shape(tuple(data.shape[a] for a in self.order(data.ndim)))

    def kernel(self, *specs: Spec) -> Kernel:
        """A copy of the turned view."""
        return _kernel("transpose", self.order(specs[0].ndim))

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """The same exchange."""
        return (bind(self, dout),)


@register("slice_like")
class SliceLike(Part):
    """The first elements of data, as many as shape_like has, along `axes` or all.

    data (8, 6), shape_like (3, 4), axes=(0,); out (3, 6). shape_like is not read and
    gets no gradient. Raises ShapeError where data are shorter than shape_like.
    """

    axes: Shape = ()
    inputs = ("data", "shape_like")
    ignores = ("shape_like",)

    def key(self, *specs: Spec) -> Key:
        """A range from 0 on each of the axes."""
        data, like = specs
        axes = self.axes or range(data.ndim)
        ranges = [(0, n, 1) for n in data.shape]
        for axis in (normalize_axis(self.name, a, data.ndim) for a in axes):
            if axis >= like.ndim or like.shape[axis] > data.shape[axis]:
                raise ShapeError(
                    f"slice_like: data {data.shape} has not as many elements along "
                    f"axis {axis} as shape_like {like.shape}."
                )
            ranges[axis] = (0, like.shape[axis], 1)
        return tuple(ranges)


@register("reverse", "flip", "_npi_flip")
class Reverse(Part):
    """The elements in reverse order along one axis or several.

    data: any shape; out: the same shape and type. axis: a number or a tuple of them;
    negative ones count from the end.
    """

    axis: Shape

    def key(self, *specs: Spec) -> Key:
        """A range backwards on each of the axes."""
        shape = specs[0].shape
        axes = {normalize_axis(self.name, axis, len(shape)) for axis in self.axis}
        return tuple(
            (n - 1, -1, -1) if axis in axes else (0, n, 1)
            for axis, n in enumerate(shape)
        )


@register("broadcast_axis", "broadcast_axes")
class BroadcastAxis(Stretch):
    """Stretch some axes of length 1 to given lengths.

    data (1, 3, 1), axis=(0, 2), size=(2, 4); out (2, 3, 4). The gradient is the sum
    over the copies. Raises ShapeError if axis and size differ in length, or an axis is
    not 1 long.
    """

    axis: Shape = ()
    size: Shape = ()

    def wanted(self, *specs: Spec) -> Shape:
        """The shape of data with the new lengths."""
        shape = list(specs[0].shape)
        if len(self.axis) != len(self.size):
            raise ShapeError(
                f"broadcast_axis: axis={self.axis} and size={self.size} must have one "
                "entry for each axis that stretches."
            )
        for axis, size in zip(self.axis, self.size, strict=True):
            shape[normalize_axis(self.name, axis, len(shape))] = size
        return tuple(shape)


@register("broadcast_like")
class BroadcastLike(Stretch):
    """Stretch axes of length 1 of lhs to the lengths of rhs.

    lhs (1, 3), rhs (2, 3); out (2, 3). With lhs_axes and rhs_axes, equally many, only
    those axes of lhs stretch, each to the length of its partner in rhs: lhs (1, 3), rhs
    (5, 6), lhs_axes=(0,), rhs_axes=(1,); out (6, 3). rhs gets no gradient. Raises
    ShapeError where an axis longer than 1 would have to change.
    """

    lhs_axes: Shape | None = None
    rhs_axes: Shape | None = None
    inputs = ("lhs", "rhs")
    ignores = ("rhs",)

    def wanted(self, *specs: Spec) -> Shape:
        """The shape of rhs, in whole or in parts."""
        lhs, rhs = specs
        if self.lhs_axes is None and self.rhs_axes is None:
            return rhs.shape
        mines, itss = self.lhs_axes or (), self.rhs_axes or ()
        if not mines or len(mines) != len(itss):
            raise ShapeError(
                f"broadcast_like: lhs_axes={self.lhs_axes} and "
                f"rhs_axes={self.rhs_axes} must name equally many axes, one "
                "or more; leave both away for all."
            )
        shape = list(lhs.shape)
        for mine, its in zip(mines, itss, strict=True):
            other = normalize_axis(self.name, its, rhs.ndim)
            shape[normalize_axis(self.name, mine, lhs.ndim)] = rhs.shape[other]
        return tuple(shape)


@register("tile", "_npi_tile")
class Tile(Move):
    """Lay copies side by side. data (2, 3), reps=(2, 2); out (4, 6).

    No copy at all, reps=(0, 2), takes an array without elements, which exist with
    `np_shape` only.
    """

    reps: Shape
    np_shape: bool = False

    def padded(self, data: Spec) -> tuple[Shape, Shape]:
        """Shape and repetitions, both as long as the output has axes."""
        if any(n < (0 if self.np_shape else 1) for n in self.reps):
            raise OperatorError(
                f"tile: reps={self.reps} asks for fewer than one copy. Give whole "
                "numbers above 0; under mx.np_shape(), 0 makes an empty array."
            )
        ndim = max(len(self.reps), data.ndim)
        shape = (1,) * (ndim - data.ndim) + data.shape
        return shape, (1,) * (ndim - len(self.reps)) + self.reps

    def infer(self, *specs: Spec) -> Spec:
        """Each length times its repetitions."""
        shape, reps = self.padded(specs[0])
        return specs[0].with_shape(
            tuple(n * r for n, r in zip(shape, reps, strict=True))
        )

    def kernel(self, *specs: Spec) -> Kernel:
        """A copy from a stretched view."""
        return _kernel("tile", *self.padded(specs[0]))

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """Add up the copies."""
        shape, reps = self.padded(at.ins[0])
        apart = tuple(n for pair in zip(reps, shape, strict=True) for n in pair)
        axes = tuple(range(0, len(apart), 2))
        total = bind(Sum.of(axis=axes), reshaped(dout, at.outs[0].shape, apart))
        return (reshaped(total, shape or (1,), at.ins[0].shape),)


@register("repeat", "_np_repeat")
class Repeat(Move):
    """Repeat each element `repeats` times in a row.

    data (2, 3), repeats=2, axis=1; out (2, 6). Without an axis data are flattened
    first: data (2,), repeats=2; out (4,): a a b b. The gradient is the sum over the
    copies.
    """

    repeats: int
    axis: int | None = None

    def split(self, data: Spec) -> tuple[Shape, int]:
        """The shape to repeat in, and the axis of it."""
        if self.axis is None:
            return (data.size,), 0
        return data.shape, normalize_axis(self.name, self.axis, data.ndim)

    def infer(self, *specs: Spec) -> Spec:
        """One axis becomes `repeats` times longer."""
        shape, axis = self.split(specs[0])
        longer = shape[axis] * self.repeats
        return specs[0].with_shape((*shape[:axis], longer, *shape[axis + 1 :]))

    def kernel(self, *specs: Spec) -> Kernel:
        """A copy from a stretched view."""
        shape, axis = self.split(specs[0])
        return _kernel("repeat", shape, axis, self.repeats)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """Add up the repetitions."""
        shape, axis = self.split(at.ins[0])
        apart = (*shape[: axis + 1], self.repeats, *shape[axis + 1 :])
        total = bind(Sum.of(axis=axis + 1), reshaped(dout, at.outs[0].shape, apart))
        return (reshaped(total, shape, at.ins[0].shape),)
