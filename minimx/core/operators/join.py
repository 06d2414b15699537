"""Data sheets that join arrays and take them apart.

MXNet 1.9.1: src/operator: nn/concat.cc, slice_channel.cc, and tensor/matrix_op.cc for
stack and split_v2.
"""

from __future__ import annotations

from typing import Any

from minimx.core.errors import OperatorError, ShapeError
from minimx.core.operators.pointwise import same_dtype
from minimx.core.operators.shape import BasicIndex, Move, SliceAxis, _kernel
from minimx.core.operators.views import reshaped
from minimx.core.ops import deduction
from minimx.core.ops.casting import WIDEST, Casting
from minimx.core.ops.registry import (
    GradContext,
    Kernel,
    Value,
    bind,
    register,
)
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Shape, normalize_axis


@register("Concat", "concat")
class Concat(Move):
    """Join arrays along an existing axis.

    data (2, 3), (2, 5), dim=1; out (2, 8). All of one type; lengths may differ along
    dim only. Raises ShapeError or DTypeError if they do not fit.
    """

    dim: int = 1
    casting = Casting("widest", "either")
    variadic = True
    deduce = deduction.joined

    def infer(self, *specs: Spec) -> Spec:
        """The lengths along `dim` add up; the others must be equal."""
        _some(self.name, specs)
        same_dtype(self.name, specs)
        first = specs[0]
        axis = normalize_axis(self.name, self.dim, first.ndim)
        total = 0
        for spec in specs:
            if (
                spec.ndim != first.ndim
                or spec.shape[:axis] != first.shape[:axis]
                or spec.shape[axis + 1 :] != first.shape[axis + 1 :]
            ):
                raise ShapeError(
                    f"Concat: shapes {first.shape} and {spec.shape} may differ along "
                    f"axis {axis} only. Reshape one, or choose another dim."
                )
            total += spec.shape[axis]
        return first.with_shape((*first.shape[:axis], total, *first.shape[axis + 1 :]))

    def kernel(self, *specs: Spec) -> Kernel:
        """One copy for each input."""
        return _kernel("concatenate", self.dim % specs[0].ndim)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> list[Value | None]:
        """The k-th gradient is the slice of dout along `dim` where input k lies."""
        axis = self.dim % at.ins[0].ndim
        grads: list[Value | None] = []
        begin = 0
        for spec, wanted in zip(at.ins, at.wants, strict=True):
            end = begin + spec.shape[axis]
            piece = SliceAxis.of(axis=axis, begin=begin, end=end)
            grads.append(bind(piece, dout) if wanted else None)
            begin = end
        return grads


@register("stack", "_npi_stack")
class Stack(Move):
    """Join arrays of one shape along a new axis. data (2, 3), (2, 3); out (2, 2, 3)."""

    axis: int = 0
    casting = WIDEST
    variadic = True

    def infer(self, *specs: Spec) -> Spec:
        """One more axis, as long as there are inputs."""
        _some(self.name, specs)
        same_dtype(self.name, specs)
        first = specs[0]
        for spec in specs:
            if spec.shape != first.shape:
                raise ShapeError(
                    f"stack: shapes {first.shape} and {spec.shape} differ. Use concat "
                    "to join arrays of different lengths."
                )
        axis = normalize_axis(self.name, self.axis, first.ndim + 1)
        return first.with_shape((*first.shape[:axis], len(specs), *first.shape[axis:]))

    def kernel(self, *specs: Spec) -> Kernel:
        """One copy for each input."""
        return _kernel("stack", self.axis % (specs[0].ndim + 1))

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> list[Value | None]:
        """The k-th gradient is dout at index k of the new axis."""
        out = at.outs[0].shape
        axis = self.axis % len(out)
        whole = [(0, n, 1) for n in out]
        grads: list[Value | None] = []
        for k, wanted in enumerate(at.wants):
            if not wanted:
                grads.append(None)
                continue
            key = (*whole[:axis], k, *whole[axis + 1 :])
            grads.append(bind(BasicIndex.of(key=key), dout))
        return grads


def _some(name: str, specs: tuple[Spec, ...]) -> None:
    if not specs:
        raise OperatorError(f"{name}: give at least one array.")


class Pieces(Move):
    """Pieces of an array along an axis."""

    axis: int = 1
    squeeze_axis: bool = False

    def lengths(self, length: int) -> tuple[int, ...]:
        """How long the pieces of an axis of this length are."""
        raise OperatorError(f"{self.name} does not say where it cuts")

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """One spec for each piece; `squeeze_axis` drops the axis if it has length 1."""
        (data,) = specs
        axis = normalize_axis(self.name, self.axis, data.ndim)
        before, after = data.shape[:axis], data.shape[axis + 1 :]
        lengths = self.lengths(data.shape[axis])
        if self.squeeze_axis and set(lengths) != {1}:
            raise ShapeError(
                f"{self.name}: squeeze_axis drops an axis of length 1, but the pieces "
                f"of shape {data.shape} have lengths {lengths} along axis {axis}."
            )
        return tuple(
            data.with_shape(
                (before + after or (1,)) if self.squeeze_axis else (*before, n, *after)
            )
            for n in lengths
        )

    def kernel(self, *specs: Spec) -> Kernel:
        """One copy for each piece."""
        axis = self.axis % specs[0].ndim
        return _kernel("split", axis, self.lengths(specs[0].shape[axis]))

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> tuple[Value, ...]:
        """Rule: ddata = concat(douts) along the axis."""
        douts = dout if isinstance(dout, tuple) else (dout,)
        axis = self.axis % at.ins[0].ndim
        shape = at.ins[0].shape
        lengths = self.lengths(shape[axis])
        pieces = [
            reshaped(d, spec.shape, (*shape[:axis], n, *shape[axis + 1 :]))
            for d, spec, n in zip(douts, at.outs, lengths, strict=True)
        ]
        return (bind(Concat.of(dim=axis), *pieces),)


@register("SliceChannel", "split")
class SliceChannel(Pieces):
    """Cut an axis into equal pieces.

    data (2, 6), num_outputs=3, axis=1; outs (2, 2) each. squeeze_axis: drop the axis,
    where pieces have length 1. Raises ShapeError if the pieces cannot be equal.
    """

    num_outputs: int
    axis: int = 1
    squeeze_axis: bool = False

    deduce = deduction.pieces

    @property
    def visible(self) -> int:  # type: ignore[override]
        """One output for each piece."""
        return self.num_outputs

    def lengths(self, length: int) -> tuple[int, ...]:
        """Equal pieces."""
        if self.num_outputs < 1 or length % self.num_outputs:
            raise ShapeError(
                f"split: {self.num_outputs} equal pieces cannot be made of an axis of "
                f"length {length}. Use split_v2 with the places to cut at."
            )
        return (length // self.num_outputs,) * self.num_outputs


@register("_split_v2", "_npi_split")
class SplitV2(Pieces):
    """Cut an axis at `indices`, or into `sections` equal pieces.

    data (6, 2), indices=(0, 2), axis=0; outs (2, 2), (4, 2): where the pieces begin,
    as in MXNet, so that the first number is 0. sections: if it is not 0, indices do not
    count. squeeze_axis: drop the axis, where pieces have length 1. Raises ShapeError.
    """

    indices: Shape
    axis: int = 1
    squeeze_axis: bool = False
    sections: int = 0

    @property
    def visible(self) -> int:  # type: ignore[override]
        """One output for each piece."""
        return self.sections or len(self.indices)

    def lengths(self, length: int) -> tuple[int, ...]:
        """From index to index, the last one to the end."""
        if self.sections:
            if self.sections < 0 or length % self.sections:
                raise ShapeError(
                    f"split_v2: {self.sections} equal pieces cannot be made of an axis "
                    f"of length {length}."
                )
            return (length // self.sections,) * self.sections
        cuts = (*self.indices, length)
        if list(cuts) != sorted(cuts) or cuts[0] != 0:
            raise ShapeError(
                f"split_v2: places {self.indices} must ascend from 0 to at most "
                f"{length}, the length of the axis."
            )
        return tuple(b - a for a, b in zip(cuts, cuts[1:], strict=False))
