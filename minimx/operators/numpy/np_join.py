"""Data sheets that join arrays as NumPy does, or put a frame around one."""

from __future__ import annotations

from math import prod
from typing import Any, ClassVar

import numpy as np

from minimx.core.errors import OperatorError, ShapeError
from minimx.core.operators.pointwise import same_dtype
from minimx.core.operators.shape import Move, SliceAxis
from minimx.core.operators.views import reshaped
from minimx.core.ops import GradContext, Kernel, Value, bind, register
from minimx.core.ops.casting import WIDEST
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Shape, normalize_axis
from minimx.operators.numpy.np_shape import at_least
from minimx.operators.rules import Gradients, given_shape, kernel_of, one_of

# -- joining ---------------------------------------------------------------------------


class _Join(Move):
    """Join arrays that are first looked at in a shape with enough axes."""

    casting = WIDEST
    variadic = True

    #: How many axes inputs are given, if they have fewer; and which of them grows.
    least: ClassVar[int] = 1
    grows: ClassVar[int] = 0

    def seen(self, shape: Shape) -> Shape:
        """The shape in which an input is joined."""
        return at_least(shape, self.least)

    def along(self, ndim: int) -> int:
        """The axis to join along, for inputs of so many axes as seen."""
        return min(self.grows, ndim - 1)

    def infer(self, *specs: Spec) -> Spec:
        """The lengths along the axis add up; the others must be equal."""
        if not specs:
            raise OperatorError(f"{self.name}: give at least one array.")
        same_dtype(self.name, specs)
        seen = [self.seen(spec.shape) for spec in specs]
        first = seen[0]
        axis = self.along(len(first))
        for other in seen[1:]:
            if len(other) != len(first) or any(
                m != n and k != axis
                for k, (m, n) in enumerate(zip(first, other, strict=True))
            ):
                raise ShapeError(
                    f"{self.name}: shapes {specs[0].shape} and {other} may differ "
                    f"along axis {axis} only."
                )
        total = sum(shape[axis] for shape in seen)
        return specs[0].with_shape((*first[:axis], total, *first[axis + 1 :]))

    def kernel(self, *specs: Spec) -> Kernel:
        """One copy for each input."""
        seen = [self.seen(spec.shape) for spec in specs]
        return kernel_of("np_shape.join", seen, self.along(len(seen[0])))

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """Each input gets its piece."""
        grads: list[Value | None] = []
        begin = 0
        for spec, wanted in zip(at.ins, at.wants, strict=True):
            seen = self.seen(spec.shape)
            axis = self.along(len(seen))
            end = begin + seen[axis]
            piece = SliceAxis.of(axis=axis, begin=begin, end=end)
            grads.append(
                reshaped(bind(piece, dout), seen, spec.shape) if wanted else None
            )
            begin = end
        return grads


@register("_npi_concatenate", "_np_concat")
class Concatenate(_Join):
    """Join arrays along an axis, as `np.concatenate`.

    data (2, 3), (5, 3), ..., of one type; out (7, 3). dim: the axis; None joins the
    flat arrays. Raises ShapeError if other axes differ in length. Each input gets its
    piece of the gradient.
    """

    dim: int | None = 0

    def seen(self, shape: Shape) -> Shape:
        """Flat without an axis."""
        return (prod(shape),) if self.dim is None else shape

    def along(self, ndim: int) -> int:
        """The setting."""
        return normalize_axis("concatenate", self.dim or 0, ndim)


@register("_npi_vstack")
class VStack(_Join):
    """Join rows: along the first of two axes or more. data (3,), (2, 3); out (3, 3)."""

    least = 2


@register("_npi_hstack")
class HStack(_Join):
    """Join along the second axis, or the only one. data (2,), (3,); out (5,)."""

    grows = 1


@register("_npi_dstack")
class DStack(_Join):
    """Join along the third axis. data (2, 3), (2, 3); out (2, 3, 2)."""

    least = 3
    grows = 2


@register("_npi_column_stack")
class ColumnStack(_Join):
    """Join columns, as which vectors are taken. data (3,), (3, 2); out (3, 3)."""

    grows = 1

    def seen(self, shape: Shape) -> Shape:
        """A column for a vector."""
        return (prod(shape), 1) if len(shape) < 2 else shape


def joined(values: list[Value], axis: int) -> Value:
    """Values one after another along an axis; a single one is itself."""
    return values[0] if len(values) == 1 else bind(Concatenate.of(dim=axis), *values)


# -- frames ----------------------------------------------------------------------------


class _Framed(Move):
    """What padding and its gradient share."""

    pad_width: tuple[tuple[int, int], ...]
    mode: str

    def widths(self, ndim: int) -> tuple[tuple[int, int], ...]:
        """(before, after) for each axis; one pair serves all of them."""
        one_of(self, "mode", "constant", "edge", "reflect", "symmetric")
        flat = np.asarray(self.pad_width)
        try:
            found = np.broadcast_to(flat, (ndim, 2)).tolist()
        except ValueError:
            found = [[-1, -1]]
        if flat.dtype.kind not in "iu" or min(map(min, found), default=0) < 0:
            raise ShapeError(
                f"pad: pad_width={self.pad_width} must say how many elements go before "
                f"and after each of {ndim} axes, as in ((1, 1), (0, 2))."
            )
        return tuple((a, b) for a, b in found)


@register("_npi_pad")
class NumpyPad(_Framed):
    """Put a frame around data: of a constant, its edge or its mirror image.

    data (2, 3), pad_width=((1, 1), (0, 2)); out (4, 5)
    """

    pad_width: tuple[tuple[int, int], ...]
    mode: str = "constant"
    constant_value: float = 0.0
    reflect_type: str = "even"

    def infer(self, *specs: Spec) -> Spec:
        """Each axis longer by its two widths."""
        (data,) = specs
        if self.reflect_type != "even":
            raise OperatorError(
                f"pad: reflect_type={self.reflect_type!r} is not available; use 'even'."
            )
        pairs = list(zip(data.shape, self.widths(data.ndim), strict=True))
        if self.mode != "constant" and any(n == 0 and max(w) for n, w in pairs):
            raise ShapeError(
                f"pad: shape {data.shape} has an axis without elements; there is "
                f"nothing to repeat. Use mode='constant'."
            )
        return data.with_shape(tuple(n + a + b for n, (a, b) in pairs))

    def kernel(self, *specs: Spec) -> Kernel:
        """NumPy's padding."""
        return kernel_of(
            "np_shape.pad", self.widths(specs[0].ndim), self.mode, self.constant_value
        )

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """What was repeated adds up."""
        settings = {"pad_width": self.pad_width, "mode": self.mode}
        back = BackwardNumpyPad.of(**settings, shape=at.ins[0].shape)
        return (bind(back, dout),)


@register("_backward_npi_pad")
class BackwardNumpyPad(_Framed):
    """The gradient of `np.pad`. dout: the framed shape; out: `shape`, that inside."""

    pad_width: tuple[tuple[int, int], ...]
    mode: str
    shape: Shape
    inputs = ("dout",)

    infer = given_shape

    def kernel(self, *specs: Spec) -> Kernel:
        """The inside, or a sum over what was repeated."""
        return kernel_of(
            "np_shape.unpad", self.widths(len(self.shape)), self.mode, self.shape
        )

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """Padding again: the operator is linear."""
        again = NumpyPad.of(pad_width=self.pad_width, mode=self.mode)
        return (bind(again, dout),)
