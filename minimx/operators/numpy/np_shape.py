"""Data sheets of NumPy's rearrangements that `mx.nd` has not, or has otherwise.

Arrays without axes and without elements are welcome here. Where an operator of `mx.nd`
means the same it bears NumPy's name as an alias, and no second sheet is written.
"""

from __future__ import annotations

from math import prod
from typing import Any, ClassVar

import numpy as np

from minimx.core.errors import OperatorError, ShapeError
from minimx.core.operators.shape import Move, Stretch, Transpose
from minimx.core.operators.views import View, reshaped
from minimx.core.ops import GradContext, Kernel, Value, bind, register
from minimx.core.ops.registry import with_settings
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Shape, normalize_axes, normalize_axis
from minimx.operators.rules import Gradients, kernel_of

# -- other shapes ----------------------------------------------------------------------


@register("_np_reshape")
class NumpyReshape(View):
    """Another shape for the elements; -1 is whatever is left. a (2, 6); out (3, 4).

    order: only "C", the last axis runs fastest.
    """

    newshape: Shape
    order: str = "C"
    inputs = ("a",)

    def infer(self, *specs: Spec) -> Spec:
        """The new shape, with -1 filled in."""
        (a,) = specs
        if self.order != "C":
            raise OperatorError(
                f"reshape: order={self.order!r} is not available: elements are stored "
                "with the last axis running fastest. Use order='C'."
            )
        shape = self.newshape
        rest = prod(n for n in shape if n != -1)
        if shape.count(-1) == 1 and rest:
            shape = tuple(a.size // rest if n == -1 else n for n in shape)
        if prod(shape) != a.size or min(shape, default=0) < 0:
            raise ShapeError(
                f"reshape: the {a.size} elements of shape {a.shape} do not fill "
                f"{self.newshape}. Use -1 for one axis to let its length follow."
            )
        return a.with_shape(shape)


@register("_npx_reshape", "_npi_reshape")
class CodedReshape(View):
    """Another shape, with the codes of `npx.reshape`. a (2, 1, 6); out as they say.

    -1 is whatever is left, -2 keeps an axis, -3 drops one of length 1, -4 keeps all
    further axes, -5 joins two, -6 splits one into the two lengths that follow.
    `reverse` matches from the right.
    """

    newshape: Shape
    reverse: bool = False
    order: str = "C"
    inputs = ("a",)

    def infer(self, *specs: Spec) -> Spec:
        """Read the codes."""
        (a,) = specs
        shape, codes = a.shape, self.newshape
        if self.reverse:
            shape, codes = shape[::-1], _turned(codes)
        found = _read(shape, codes)
        if found.count(-1) > 1:
            raise ShapeError(f"reshape: {self.newshape} leaves several axes open.")
        rest = -prod(found)
        if -1 in found:
            found[found.index(-1)] = a.size // rest if rest > 0 else 0
        if prod(found) != a.size:
            raise ShapeError(
                f"reshape: the codes {self.newshape} turn shape {a.shape} into "
                f"{tuple(found)}, which has room for {prod(found)} elements."
            )
        return a.with_shape(tuple(found[::-1] if self.reverse else found))


def _turned(codes: Shape) -> Shape:
    """The codes from right to left; -6 stays in front of its two lengths."""
    out: list[int] = []
    at = 0
    while at < len(codes):
        width = 3 if codes[at] == -6 else 1
        head, *lengths = codes[at : at + width]
        out = [head, *lengths[::-1], *out]
        at += width
    return tuple(out)


def _read(shape: Shape, codes: Shape) -> list[int]:
    rest, todo, out = list(shape), list(codes), []
    try:
        while todo:
            code = todo.pop(0)
            if code == -1 or code >= 0:
                out.append(code)
                del rest[:1]
            elif code == -2:
                out.append(rest.pop(0))
            elif code == -3:
                if rest.pop(0) != 1:
                    raise IndexError
            elif code == -4:
                out += rest
                rest = []
            elif code == -5:
                out.append(rest.pop(0) * rest.pop(0))
            elif code == -6:
                whole, first, second = rest.pop(0), todo.pop(0), todo.pop(0)
                first = whole // max(second, 1) if first == -1 else first
                second = whole // max(first, 1) if second == -1 else second
                if first * second != whole:
                    raise IndexError
                out += [first, second]
            else:
                raise IndexError
    except IndexError:
        raise ShapeError(
            f"reshape: the codes {codes} do not fit shape {shape}. -1 is what is left, "
            "-2 keeps an axis, -3 drops one of length 1, -4 keeps the others, -5 joins "
            "two, -6 splits one."
        ) from None
    return out


@register("_np_squeeze")
class NumpySqueeze(View):
    """Drop axes of length 1: those named, or all. a (1, 3, 1); out (3,)."""

    axis: Any = None
    inputs = ("a",)

    def infer(self, *specs: Spec) -> Spec:
        """Fewer axes, perhaps none; refuses to drop one that is longer than 1."""
        (a,) = specs
        if self.axis is None:
            return a.with_shape(tuple(n for n in a.shape if n != 1))
        axes = normalize_axes(self.name, self.axis, a.ndim) if self.axis != () else ()
        for axis in axes:
            if a.shape[axis] != 1:
                raise ShapeError(
                    f"squeeze: axis {axis} of shape {a.shape} is longer than 1; only "
                    "axes of length 1 can be dropped."
                )
        return a.with_shape(tuple(n for k, n in enumerate(a.shape) if k not in axes))


def at_least(shape: Shape, ndim: int) -> Shape:
    """A shape with as many axes of length 1 added as NumPy's atleast_nd adds.

    >>> at_least((3,), 2), at_least((3,), 3), at_least((3, 4), 3)
    ((1, 3), (1, 3, 1), (3, 4, 1))
    """
    if len(shape) >= ndim:
        return shape
    if len(shape) == 0:
        return (1,) * ndim
    if ndim == 2:
        return (1, *shape)
    return (1, *shape, 1) if len(shape) == 1 else (*shape, 1)


@with_settings
class _AtLeast(Move):
    """Arrays with so many axes or more: short ones get axes of length 1."""

    ndim: ClassVar[int] = 1
    variadic = True
    is_view = False  # there may be several

    num_args: int = 1

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """One output for each input."""
        return tuple(spec.with_shape(at_least(spec.shape, self.ndim)) for spec in specs)

    def kernel(self, *specs: Spec) -> Kernel:
        """Copies."""
        count = len(specs)

        def launch(*arrays: Any) -> None:
            for x, out in zip(arrays[:count], arrays[count:], strict=True):
                np.copyto(out, x.reshape(out.shape))

        return launch

    @property
    def visible(self) -> int:  # type: ignore[override]
        """One output for each input."""
        return self.num_args

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """The gradient in the shape of the input."""
        douts = dout if isinstance(dout, tuple | list) else (dout,)
        triples = zip(douts, at.outs, at.ins, strict=True)
        return tuple(reshaped(d, out.shape, spec.shape) for d, out, spec in triples)


@register("_np_atleast_1d")
class AtLeast1d(_AtLeast):
    """Arrays with an axis or more. arys (), (2, 3); outs (1,), (2, 3)."""


@register("_np_atleast_2d")
class AtLeast2d(_AtLeast):
    """Arrays with two axes or more. arys (), (3,); outs (1, 1), (1, 3)."""

    ndim = 2


@register("_np_atleast_3d")
class AtLeast3d(_AtLeast):
    """Arrays with three axes or more. arys (3,), (2, 3); outs (1, 3, 1), (2, 3, 1)."""

    ndim = 3


@register("_npi_broadcast_to", "_np_broadcast_to")
class NumpyBroadcastTo(Stretch):
    """Stretch to `shape`, which may have axes of length 0. array (3,); out (2, 3)."""

    shape: Shape = ()
    inputs = ("array",)

    def wanted(self, *specs: Spec) -> Shape:
        """The setting; -2 keeps an axis."""
        old = specs[0].shape
        padded = (1,) * (len(self.shape) - len(old)) + old
        if len(padded) != len(self.shape):
            raise ShapeError(
                f"broadcast_to: shape {old} has more axes than {self.shape}."
            )
        pairs = zip(self.shape, padded, strict=True)
        return tuple(n if m == -2 else m for m, n in pairs)


# -- the order of axes and elements ----------------------------------------------------


@register("_np_moveaxis")
class MoveAxis(Move):
    """Put axes at other places. a (2, 3, 4), source=0, destination=-1; out (3, 4, 2).

    source, destination: one place or several, equally many.
    """

    source: Shape
    destination: Shape
    inputs = ("a",)

    def order(self, ndim: int) -> Shape:
        """The axes of a in the order of the output."""
        source = [normalize_axis("moveaxis", s, ndim) for s in self.source]
        target = [normalize_axis("moveaxis", d, ndim) for d in self.destination]
        if len(set(source)) != len(source) or len(set(target)) != len(source):
            raise ShapeError(
                f"moveaxis: source={self.source} and destination={self.destination} "
                "must name equally many different axes."
            )
        order = [axis for axis in range(ndim) if axis not in source]
        for place, axis in sorted(zip(target, source, strict=True)):
            order.insert(place, axis)
        return tuple(order)

    def turn(self, ndim: int) -> Transpose:
        """The same as a transposition."""
        return Transpose.of(axes=self.order(ndim))

    def infer(self, *specs: Spec) -> Spec:
        """The lengths in the new order."""
        (a,) = specs
        return a.with_shape(tuple(a.shape[axis] for axis in self.order(a.ndim)))

    def kernel(self, *specs: Spec) -> Kernel:
        """A copy of the turned view."""
        return self.turn(specs[0].ndim).kernel(*specs)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """Back to where they were."""
        return tuple(self.turn(at.ins[0].ndim).grad(at, dout))


@register("_np_roll")
class Roll(Move):
    """Shift elements along axes, those pushed out come in again. data, out: one shape.

    shift: how far, for each of `axis`; without axis the elements of the flat array move
    """

    shift: Any = None
    axis: Any = None

    def pairs(self, ndim: int) -> tuple[tuple[int, int], ...]:
        """(axis, shift), the axes named; (-1, shift) for the flat array."""
        if self.shift is None:
            raise OperatorError("roll: say how far: shift=1.")
        shifts = self.shift if isinstance(self.shift, tuple) else (self.shift,)
        if self.axis is None:
            return ((-1, sum(shifts)),)
        axes = self.axis if isinstance(self.axis, tuple) else (self.axis,)
        if len(shifts) == 1:
            shifts *= len(axes)
        if len(axes) == 1:
            axes *= len(shifts)
        if len(axes) != len(shifts):
            raise ShapeError(
                f"roll: shift={self.shift} must have one number for each axis of "
                f"{self.axis}."
            )
        return tuple(
            (normalize_axis("roll", axis, ndim), by)
            for axis, by in zip(axes, shifts, strict=True)
        )

    def infer(self, *specs: Spec) -> Spec:
        """The spec of data."""
        self.pairs(specs[0].ndim)
        return specs[0]

    def kernel(self, *specs: Spec) -> Kernel:
        """Copies of parts."""
        return kernel_of("np_shape.roll", self.pairs(specs[0].ndim))

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """The same way back."""
        shift = self.shift
        back = tuple(-n for n in shift) if isinstance(shift, tuple) else -shift
        return (bind(Roll.of(shift=back, axis=self.axis), dout),)


@register("_npi_rot90")
class Rot90(Move):
    """Turn a plane of two axes by k quarters, from the first towards the second.

    data (2, 3), k=1; out (3, 2)
    """

    k: int = 1
    axes: Any = (0, 1)

    def plane(self, ndim: int) -> tuple[int, int]:
        """The two axes, which must differ."""
        axes = (0, 1) if self.axes is None else tuple(self.axes)
        if len(axes) == 2:
            one, two = (normalize_axis("rot90", axis, ndim) for axis in axes)
            if one != two:
                return one, two
        raise ShapeError(f"rot90: axes={self.axes} must name two different axes.")

    def infer(self, *specs: Spec) -> Spec:
        """The two lengths change places for odd k."""
        (data,) = specs
        one, two = self.plane(data.ndim)
        shape = list(data.shape)
        if self.k % 2:
            shape[one], shape[two] = shape[two], shape[one]
        return data.with_shape(tuple(shape))

    def kernel(self, *specs: Spec) -> Kernel:
        """A copy of NumPy's turned view."""
        k, plane = self.k, self.plane(specs[0].ndim)
        return lambda data, out: np.copyto(out, np.rot90(data, k, plane))

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """Turned back."""
        return (bind(Rot90.of(k=-self.k, axes=self.axes), dout),)
