"""Data sheets of reductions: many elements become one.

    x (2, 3, 4), axis=(0, 2)          out (3,)
    the same, keepdims=True           out (1, 3, 1)
    the same, exclude=True            out (2, 4): every other axis is reduced

No axis, None or (), means all of them. The result then has shape (1,), as `mx.nd` has
no arrays without dimensions; with `np_shape` it has shape (). The result has the type
of the data. Raises ShapeError for axes that do not exist.

MXNet 1.9.1: src/operator/tensor/broadcast_reduce_op.h and its neighbours.
"""

from __future__ import annotations

from typing import Any, ClassVar

from minimx.core.dtypes import FLOAT16, FLOAT32, FLOAT64, NARROW, DType
from minimx.core.errors import ShapeError
from minimx.core.kernels import find
from minimx.core.knobs import knobs
from minimx.core.ops.casting import SINGLE
from minimx.core.ops.registry import (
    GradContext,
    Kernel,
    Op,
    Value,
    bind,
    lookup,
    register,
    with_settings,
)
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import (
    Shape,
    normalize_axes,
    normalize_axis,
    reduced,
    split_at,
)


def sum_to(value: Value, shape: Shape, wanted: Shape) -> Value:
    """Undo a broadcast: add up what was stretched from `wanted` to `shape`.

    `value` has the shape `shape`; the result has the shape `wanted`.
    """
    return value if shape == wanted else bind(SumTo.of(shape=wanted), value)


def accumulator(dtype: DType) -> DType:
    """The type that norms and softmax add in: a wider one with safe accumulation."""
    if dtype in NARROW:
        return FLOAT32
    safe = knobs.get("MXNET_SAFE_ACCUMULATION")
    return FLOAT64 if safe and dtype == FLOAT32 else dtype


def adding(file: str, dtype: DType) -> str:
    """Which file of kernels adds as MXNET_SAFE_ACCUMULATION wants: `file` or `narrow`.

    Kernels in `file` ("softmax") add in a wider type than `dtype`, which is safe
    accumulation; for float32 they always do, since on a CPU that costs nothing. Those
    in "narrow" round every sum to float16.
    """
    safe = dtype != FLOAT16 or knobs.get("MXNET_SAFE_ACCUMULATION")
    return file if safe else "narrow"


class _Reducing(Op):
    """An operator of one input that makes fewer elements of many."""

    def cost(self, *specs: Spec) -> Cost:
        """One addition or comparison for each element; each is read once."""
        data, out = specs[0], self.infer(*specs)
        assert isinstance(out, Spec)
        return Cost(data.size, data.nbytes + out.nbytes)


class Reduction(_Reducing):
    """Reduce over axes; `kind` names the kernel's formulas."""

    axis: Any = None
    keepdims: bool = False
    exclude: bool = False
    np_shape: bool = False

    keeps_an_axis = True
    kind: ClassVar[str] = ""
    #: The answer where there is nothing to reduce is part of the mathematics.
    has_empty: ClassVar[bool] = True

    def axes(self, data: Spec) -> Shape:
        """The axes to reduce over, sorted."""
        return normalize_axes(self.name, self.axis, data.ndim, self.exclude)

    def infer(self, *specs: Spec) -> Spec:
        """Data without the reduced axes, or with length 1 in their place."""
        (data,) = specs
        axes = self.axes(data)
        if not self.has_empty and not all(data.shape[axis] for axis in axes):
            raise ShapeError(
                f"{self.name}: there is nothing to choose from along axis {axes} of "
                f"shape {data.shape}."
            )
        shape = reduced(data.shape, axes, self.keepdims, self.np_shape)
        return data.with_shape(shape)

    def kernel(self, *specs: Spec) -> Kernel:
        """Blocks of rows, then blocks of blocks."""
        (data,) = specs
        made: Kernel = find("reduce.reduction")(
            self.kind, data.shape, self.axes(data), data.dtype
        )
        return made

    def spread(self, at: GradContext, value: Value) -> Value:
        """A value of the output's shape, with length 1 where axes were reduced.

        So it stretches to the input's shape: (3,) for x (2, 3, 4) and axis=(0, 2)
        becomes (1, 3, 1).
        """
        (data,) = at.ins
        kept = reduced(data.shape, self.axes(data), keepdims=True)
        if at.outs[0].shape == kept:
            return value
        return bind(lookup("_reshape_to").of(shape=kept), value)


@with_settings
class OverAxes(Reduction):
    """The settings that most reductions share."""

    axis: Any = None
    keepdims: bool = False
    exclude: bool = False
    np_shape: bool = False


def _stretched(value: Value, shape: Shape) -> Value:
    return bind(lookup("broadcast_to").of(shape=shape), value)


@register("sum", "sum_axis")
class Sum(OverAxes):
    """Add up the elements along axes.

    data: any shape and type; out: without the reduced axes, of the same type.
    axis: an integer, a tuple, or None for all. keepdims: reduced axes stay, with length
    1. exclude: reduce all axes but those. float16 is added up in float32.
    """

    casting = SINGLE
    kind = "sum"

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> tuple[Value, ...]:
        """Rule: ddata = dout, stretched over the reduced axes."""
        return (_stretched(self.spread(at, dout), at.ins[0].shape),)


@register("mean")
class Mean(OverAxes):
    """The average of the elements along axes; settings as for sum.

    data: any shape and type; out: without the reduced axes, of the same type.
    """

    casting = SINGLE
    kind = "mean"

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> tuple[Value, ...]:
        """Rule: ddata = dout / n, stretched; n: of how many elements the average is."""
        data, out = at.ins[0], at.outs[0]
        count = max(1, data.size // max(1, out.size))
        return (_stretched(self.spread(at, dout) * (1 / count), data.shape),)


@with_settings
class Extremum(OverAxes):
    """The largest or smallest element."""

    saves = ("data", "out")
    has_empty = False

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> tuple[Value, ...]:
        """Rule: ddata = dout where data == out, else 0; equals all get all of it."""
        data, out = saved
        return (self.spread(at, dout) * (data == self.spread(at, out)),)


@register("max", "max_axis")
class Max(Extremum):
    """The largest element along axes; NaN if there is one. Settings as for sum.

    data: any shape; out: without the reduced axes. Raises ShapeError where an axis of
    length 0 is reduced.
    """

    kind = "max"


@register("min", "min_axis")
class Min(Extremum):
    """The smallest element along axes; NaN if there is one. Settings as for sum.

    data: any shape; out: without the reduced axes. Raises ShapeError where an axis of
    length 0 is reduced.
    """

    kind = "min"


@register("_sum_to")
class SumTo(_Reducing):
    """Add up until the shape fits: the gradient of broadcasting.

    data: a shape that `shape` stretches to; out: `shape`.
    """

    shape: Shape

    def axes(self, data: Spec) -> Shape:
        """The axes of data that were stretched or added."""
        new = data.ndim - len(self.shape)
        padded = (1,) * new + self.shape
        return tuple(
            axis
            for axis, (n, m) in enumerate(zip(data.shape, padded, strict=True))
            if axis < new or n != m
        )

    def infer(self, *specs: Spec) -> Spec:
        """The wanted shape; refuses one that does not stretch to that of data."""
        (data,) = specs
        padded = (1,) * (data.ndim - len(self.shape)) + self.shape
        if len(padded) != data.ndim or any(
            m not in (1, n) for n, m in zip(data.shape, padded, strict=True)
        ):
            raise ShapeError(
                f"_sum_to: {self.shape} does not stretch to the shape {data.shape}."
            )
        return data.with_shape(self.shape)

    def kernel(self, *specs: Spec) -> Kernel:
        """A sum over the stretched axes."""
        (data,) = specs
        made: Kernel = find("reduce.reduction")(
            "sum", data.shape, self.axes(data), data.dtype
        )
        return made

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> tuple[Value, ...]:
        """Rule: ddata = dout, stretched to the shape of data."""
        return (_stretched(dout, at.ins[0].shape),)


@with_settings
class ArgExtremum(_Reducing):
    """The index of an extremum, in the element type of the data; the first one wins."""

    axis: int | None = None
    keepdims: bool = False
    np_shape: bool = False
    keeps_an_axis = True

    differentiable = False
    sign: ClassVar[int] = 1

    def infer(self, *specs: Spec) -> Spec:
        """The shape without the axis; no axes are left where axis is None."""
        (data,) = specs
        if self.axis is None:
            axes = tuple(range(data.ndim))
        else:
            axes = (normalize_axis(self.name, self.axis, data.ndim),)
        if not all(data.shape[axis] for axis in axes):
            raise ShapeError(
                f"{self.name}: there is nothing to choose from along axis {axes} of "
                f"shape {data.shape}."
            )
        shape = reduced(data.shape, axes, self.keepdims, self.np_shape)
        return data.with_shape(shape)

    def kernel(self, *specs: Spec) -> Kernel:
        """One pass over the data."""
        (data,) = specs
        if self.axis is None:
            split: tuple[int, ...] = (1, data.size, 1)
        else:
            split = split_at(data.shape, self.axis % data.ndim)
        made: Kernel = find("reduce.arg_extremum")(split, data.dtype, self.sign)
        return made


@register("argmax")
class ArgMax(ArgExtremum):
    """The index of the largest element along an axis; of equals, the first.

    data: any shape; out: without the axis, of the type of data, as in MXNet: float32
    counts exactly up to 2**24. axis=None: the index in the flattened data, out (1,).
    keepdims: the axis stays, with length 1. Raises ShapeError for an axis that does not
    exist or has no elements.
    """


@register("argmin")
class ArgMin(ArgExtremum):
    """The index of the smallest element along an axis; otherwise as argmax.

    data: any shape; out: without the axis, of the type of data.
    """

    sign = -1


@register("argmax_channel")
class ArgMaxChannel(ArgExtremum):
    """The index of the largest element of each row. data (n, m); out (n,)."""

    axis: int | None = 1
