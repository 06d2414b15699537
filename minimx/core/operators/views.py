"""Data sheets that only look at the same memory in another shape.

A result shares its memory with the input: writing to one changes the other.

MXNet 1.9.1: src/operator/tensor/matrix_op.cc.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from minimx.core.errors import ShapeError
from minimx.core.ops import deduction
from minimx.core.ops.casting import EITHER
from minimx.core.ops.registry import GradContext, Kernel, Op, Value, bind, register
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Shape, normalize_axes, normalize_axis


def reshaped(value: Value, shape: Shape, wanted: Shape) -> Value:
    """A value in another shape of the same size; itself if that is its shape.

    shape: that of value; wanted: the new one.
    """
    return value if shape == wanted else bind(ReshapeTo.of(shape=wanted), value)


class View(Op):
    """The same memory in another shape: no work, and no gradient to compute."""

    is_view = True
    casting = EITHER  # a converted copy would be no view
    deduce = deduction.size_kept

    @property
    def unchanged(self) -> dict[str, str]:
        """The output has the elements of the first input, in their order."""
        return {"out": self.inputs[0]}

    def kernel(self, *specs: Spec) -> Kernel:
        """A copy, for the rare case that the caller gives `out=`."""

        def copy(data: Any, *rest: Any) -> None:
            np.copyto(rest[-1], data.reshape(rest[-1].shape))

        return copy

    def grad(
        self, at: GradContext, dout: Any, *saved: Value
    ) -> tuple[Value | None, ...]:
        """Rule: ddata = dout in the shape of data."""
        first = reshaped(dout, at.outs[0].shape, at.ins[0].shape)
        return (first, *(None for _ in at.ins[1:]))

    def cost(self, *specs: Spec) -> Cost:
        """Nothing."""
        return Cost(0, 0)


@register("_reshape_to")
class ReshapeTo(View):
    """Another shape, taken as it is written. data: any shape; out: `shape`."""

    shape: Shape

    def infer(self, *specs: Spec) -> Spec:
        """The wanted shape."""
        (data,) = specs
        if prod(self.shape) != data.size:
            raise _wrong_size(self.name, data.shape, self.shape, self.shape)
        return data.with_shape(self.shape)


@register("Reshape", "reshape")
class Reshape(View):
    """Another shape for the same elements, with MXNet's codes.

    data: any shape; out: `shape`, in which 0 keeps an axis, -1 is whatever is left, -2
    keeps all further axes, -3 joins two axes, -4 splits one into the two lengths that
    follow (one may be -1). (2, 3, 4) with (-3, 0) is (6, 4), with (-1, 2) (12, 2).
    reverse: codes are matched from the right. target_shape is the old way: one 0 is
    whatever is left; keep_highest keeps the first axis.
    Raises ShapeError if sizes differ, or the codes need more axes than there are.
    """

    shape: Shape = ()
    reverse: bool = False
    target_shape: Shape = ()
    keep_highest: bool = False

    def infer(self, *specs: Spec) -> Spec:
        """Read the codes."""
        (data,) = specs
        if self.target_shape and not self.shape:
            head = data.shape[:1] if self.keep_highest else ()
            rest = [n or -1 for n in self.target_shape[len(head) :]]
            found = read_codes(data.shape, (*head, *rest))
        else:
            found = read_codes(data.shape, self.shape, self.reverse)
        if prod(found) != data.size:
            raise _wrong_size(self.name, data.shape, self.shape, found)
        return data.with_shape(found)


def read_codes(shape: Shape, codes: Shape, reverse: bool = False) -> Shape:
    """The shape that MXNet's codes ask for.

    >>> read_codes((2, 3, 4), (-3, 0)), read_codes((2, 3, 4), (0, -4, 1, -1, -2))
    ((6, 4), (2, 1, 3, 4))
    >>> read_codes((10, 5, 4), (-1, 0), reverse=True)
    (50, 4)
    """
    if reverse:
        shape, codes = shape[::-1], _reversed_codes(codes)
    rest, out, todo = list(shape), [], list(codes)
    try:
        while todo:
            code = todo.pop(0)
            if code == 0:
                out.append(rest.pop(0))
            elif code == -1:
                out.append(-1)
                del rest[:1]
            elif code == -2:
                out += rest
                rest = []
            elif code == -3:
                out.append(rest.pop(0) * rest.pop(0))
            elif code == -4:
                whole, first, second = rest.pop(0), todo.pop(0), todo.pop(0)
                out += _split(whole, first, second)
            elif code > 0:
                out.append(code)
                del rest[:1]
            else:
                raise IndexError
    except IndexError:
        raise ShapeError(
            f"Reshape: the codes {codes} ask for more axes than shape {shape} has. "
            "0 keeps an axis, -1 is what is left, -2 the remaining axes, -3 joins "
            "two, -4 splits one."
        ) from None
    if out.count(-1) > 1:
        raise ShapeError(f"Reshape: {codes} leaves several axes open; give one -1.")
    if -1 in out:
        out[out.index(-1)] = prod(shape) // max(1, -prod(out))
    return tuple(out[::-1]) if reverse else tuple(out)


def _reversed_codes(codes: Shape) -> Shape:
    """The codes from right to left; -4 stays in front of its two lengths."""
    out, at = [], 0
    while at < len(codes):
        width = 3 if codes[at] == -4 else 1
        group = codes[at : at + width]
        out.append((group[0], *group[:0:-1]))
        at += width
    return tuple(code for group in reversed(out) for code in group)


def _split(whole: int, first: int, second: int) -> list[int]:
    if first == -1:
        first = whole // max(second, 1)
    elif second == -1:
        second = whole // max(first, 1)
    if first * second != whole or first < 0:
        raise ShapeError(
            f"Reshape: an axis of length {whole} cannot be split into {first} times "
            f"{second}."
        )
    return [first, second]


def _wrong_size(name: str, old: Shape, asked: Shape, new: Shape) -> ShapeError:
    return ShapeError(
        f"{name}: shape {old} has {prod(old)} elements, {asked} has room for "
        f"{prod(new)}. Use -1 for one axis to let its length follow from the others."
    )


@register("Flatten", "flatten")
class Flatten(View):
    """Join all axes but the first. data (N, C, H, W); out (N, C * H * W)."""

    def infer(self, *specs: Spec) -> Spec:
        """Two axes."""
        (data,) = specs
        return data.with_shape((data.shape[0], prod(data.shape[1:])))


@register("expand_dims", "_npi_expand_dims")
class ExpandDims(View):
    """Insert an axis of length 1 in front of axis `axis`; -1 appends one.

    data (2, 3), axis=1; out (2, 1, 3). Raises ShapeError for an axis that cannot be.
    """

    axis: int

    def infer(self, *specs: Spec) -> Spec:
        """One more axis."""
        (data,) = specs
        axis = normalize_axis(self.name, self.axis, data.ndim + 1)
        return data.with_shape((*data.shape[:axis], 1, *data.shape[axis:]))


@register("squeeze")
class Squeeze(View):
    """Drop axes of length 1: those that `axis` names (one or several), or all.

    data (1, 3, 1); out (3,). If no axis is left, out is (1,), under np_shape (). Raises
    ShapeError for an axis that is longer than 1.
    """

    axis: Any = None
    np_shape: bool = False
    keeps_an_axis = True

    def infer(self, *specs: Spec) -> Spec:
        """Fewer axes; refuses to drop one that is longer than 1."""
        (data,) = specs
        least = () if self.np_shape else (1,)
        if self.axis is None:
            kept = tuple(n for n in data.shape if n != 1)
            return data.with_shape(kept or least)
        axes = normalize_axes(self.name, self.axis, data.ndim)
        long = [axis for axis in axes if data.shape[axis] != 1]
        if long:
            raise ShapeError(
                f"squeeze: axis {long[0]} of shape {data.shape} is longer than 1. "
                "Only axes of length 1 can be dropped; use reshape to join axes."
            )
        kept = tuple(n for axis, n in enumerate(data.shape) if axis not in axes)
        return data.with_shape(kept or least)


@register("reshape_like")
class ReshapeLike(View):
    """The elements of lhs in the shape of rhs, or in parts of it.

    lhs (30, 7), rhs (15, 2, 4), lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=2; out
    (15, 2, 7): those axes of lhs become those of rhs. rhs gets no gradient. Raises
    ShapeError if the sizes differ.
    """

    lhs_begin: int | None = None
    lhs_end: int | None = None
    rhs_begin: int | None = None
    rhs_end: int | None = None
    inputs = ("lhs", "rhs")
    unchanged = {"out": "lhs"}
    ignores = ("rhs",)

    def infer(self, *specs: Spec) -> Spec:
        """The shape of rhs, where the sizes agree."""
        lhs, rhs = specs
        old = slice(self.lhs_begin, self.lhs_end).indices(lhs.ndim)
        new = rhs.shape[self.rhs_begin : self.rhs_end]
        shape = (*lhs.shape[: old[0]], *new, *lhs.shape[old[1] :])
        if prod(shape) != lhs.size:
            raise _wrong_size(self.name, lhs.shape, rhs.shape, shape)
        return lhs.with_shape(shape)
