"""Data sheets that join arrays, take them apart, or put a frame around them."""

from __future__ import annotations

from typing import Any, ClassVar

from minimx.core.errors import OperatorError, ShapeError
from minimx.core.kernels import find
from minimx.core.operators.pointwise import same_dtype
from minimx.core.operators.shape import BasicIndex, Move, SliceAxis
from minimx.core.operators.views import reshaped
from minimx.core.ops import deduction
from minimx.core.ops.casting import WIDEST, Casting
from minimx.core.ops.registry import (
    Kernel,
    Op,
    Site,
    Value,
    bind,
    register,
    with_settings,
)
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Shape, normalize_axis


def _kernel(name: str, *args: Any) -> Kernel:
    made: Kernel = find(f"shape.{name}")(*args)
    return made


@register("Concat", "concat")
class Concat(Move):
    """Join arrays along an axis. data (2, 3), (2, 5), dim=1; out (2, 8)."""

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

    def grad(self, at: Site, dout: Any, *saved: Value) -> list[Value | None]:
        """Each input gets its piece."""
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

    def grad(self, at: Site, dout: Any, *saved: Value) -> list[Value | None]:
        """Each input gets its layer."""
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

    def grad(self, at: Site, dout: Any, *saved: Value) -> tuple[Value, ...]:
        """Join the gradients of the pieces."""
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
    """Cut an axis into equal pieces. data (2, 6), num_outputs=3; outs (2, 2) each."""

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

    data (6, 2), indices=(0, 2), axis=0; outs (2, 2), (4, 2): as in MXNet, the places
    begin with 0
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
        """From place to place, the last one to the end."""
        if self.sections:
            if length % self.sections:
                raise ShapeError(
                    f"split_v2: {self.sections} equal pieces cannot be made of an axis "
                    f"of length {length}."
                )
            return (length // self.sections,) * self.sections
        places = (*self.indices, length)
        if list(places) != sorted(places) or places[0] != 0:
            raise ShapeError(
                f"split_v2: places {self.indices} must ascend from 0 to at most "
                f"{length}, the length of the axis."
            )
        return tuple(b - a for a, b in zip(places, places[1:], strict=False))


# -- frames ----------------------------------------------------------------------------


@with_settings
class Frame(Move):
    """What padding and its gradient share. pad_width: before, after, for each axis."""

    mode: str
    pad_width: Shape
    constant_value: float = 0.0

    modes: ClassVar[tuple[str, ...]] = ("constant", "edge", "reflect")

    def widths(self, ndim: int) -> tuple[tuple[int, int], ...]:
        """(before, after) for each axis."""
        if self.mode not in self.modes:
            raise OperatorError(
                f"Pad: mode {self.mode!r} is not known; choose {', '.join(self.modes)}."
            )
        width = self.pad_width
        if len(width) != 2 * ndim or min(width) < 0:
            raise ShapeError(
                f"Pad: pad_width {width} must have two numbers, before and after, for "
                f"each of {ndim} axes."
            )
        return tuple(zip(width[::2], width[1::2], strict=True))


@register("Pad", "pad")
class Pad(Frame):
    """Put a frame around data, of a constant, its edge or its reflection.

    data (1, 1, 2, 3), pad_width=(0, 0, 0, 0, 1, 1, 2, 2); out (1, 1, 4, 7)
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

    def grad(self, at: Site, dout: Any, *saved: Value) -> tuple[Value, ...]:
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

    def grad(self, at: Site, dout: Any, *saved: Value) -> tuple[Value, ...]:
        """Padding with zeros or as before: the operator is linear."""
        return (bind(Pad.of(mode=self.mode, pad_width=self.pad_width), dout),)


# -- diagonals and blocks --------------------------------------------------------------


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
    """Channels become blocks of pixels. data (n, b*b*c, h, w); out (n, c, b*h, b*w)."""

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

    def grad(self, at: Site, dout: Any, *saved: Value) -> tuple[Value, ...]:
        """The way back."""
        return (bind(SpaceToDepth.of(block_size=self.block_size), dout),)


@register("space_to_depth")
class SpaceToDepth(Move):
    """Blocks of pixels become channels. data (n, c, b*h, b*w); out (n, b*b*c, h, w)."""

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

    def grad(self, at: Site, dout: Any, *saved: Value) -> tuple[Value, ...]:
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

    def axes(self, ndim: int) -> tuple[int, int]:
        """The two axes, which must differ."""
        one = normalize_axis(self.name, self.axis1, ndim)
        two = normalize_axis(self.name, self.axis2, ndim)
        if one == two:
            raise ShapeError(
                f"diag: axis1={self.axis1} and axis2={self.axis2} are one axis; a "
                "diagonal runs along two."
            )
        return one, two

    def infer(self, *specs: Spec) -> Spec:
        """Shorter by an axis, or one more."""
        (data,) = specs
        if data.ndim == 1:
            side = data.size + abs(self.k)
            return data.with_shape((side, side))
        one, two = self.axes(data.ndim)
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
        return _kernel("pick_diagonal", self.k, *self.axes(specs[0].ndim))

    def grad(self, at: Site, dout: Any, *saved: Value) -> tuple[Value, ...]:
        """To where the diagonal was."""
        shape = at.ins[0].shape
        if len(shape) == 1:
            return (bind(Diag.of(k=self.k), dout),)
        one, two = self.axes(len(shape))
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

    def infer(self, *specs: Spec) -> Spec:
        """The wanted shape."""
        return specs[0].with_shape(self.shape)

    def kernel(self, *specs: Spec) -> Kernel:
        """Zeros, then the diagonal."""
        return _kernel("place_diagonal", self.k, self.axis1, self.axis2)

    def grad(self, at: Site, dout: Any, *saved: Value) -> tuple[Value, ...]:
        """The diagonal."""
        diag = Diag.of(k=self.k, axis1=self.axis1, axis2=self.axis2)
        return (bind(diag, dout),)
