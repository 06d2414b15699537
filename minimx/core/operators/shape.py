"""Data sheets that copy elements into another arrangement.

MXNet 1.9.1: src/operator/tensor/matrix_op.cc, broadcast_reduce_op_value.cc.
"""

from __future__ import annotations

from typing import Any, ClassVar

from minimx.core.errors import OperatorError, ShapeError
from minimx.core.kernels import find, pointwise
from minimx.core.kernels.formula import Formula
from minimx.core.operators.reduce import sum_to
from minimx.core.operators.views import reshaped
from minimx.core.ops.casting import EITHER
from minimx.core.ops.registry import GradContext, Kernel, Op, Value, bind, register
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Deduced, Opens, Shape, merge, normalize_axis

Key = tuple[Any, ...]


class Move(Op):
    """An operator that computes nothing and only moves elements."""

    def cost(self, *specs: Spec) -> Cost:
        """The elements of the output, read and written."""
        inferred = self.infer(*specs)
        outs = inferred if isinstance(inferred, tuple) else (inferred,)
        return Cost(0, 2 * sum(spec.nbytes for spec in outs))


def _kernel(name: str, *args: Any) -> Kernel:
    """A kernel of `kernels/cpu/shape.py`, whose copies a graph may join to others."""
    made: Kernel = find("short_copies.offered")(name, find(f"shape.{name}"), args)
    return made


# -- the order of axes -----------------------------------------------------------------


@register("transpose", "_np_transpose")
class Transpose(Move):
    """Put the axes into another order, by default the reverse.

    data (2, 3, 4), axes=(1, 2, 0); out (3, 4, 2): a copy, of the same type. Raises
    ShapeError unless axes names each axis once.
    """

    axes: Shape = ()

    def order(self, ndim: int) -> Shape:
        """The axes of data in the order of the output."""
        if not self.axes:
            return tuple(reversed(range(ndim)))
        order = tuple(normalize_axis(self.name, axis, ndim) for axis in self.axes)
        if sorted(order) != list(range(ndim)):
            raise ShapeError(
                f"transpose: axes {self.axes} must name each of the {ndim} axes once."
            )
        return order

    def deduce(self, ins: Opens, outs: Opens) -> Deduced:
        """A known length of one is known of the other, in the other order."""
        data, out = ins[0], outs[0]
        if data is not None:
            out = merge(self.name, out, tuple(data[a] for a in self.order(len(data))))
        if out is not None:
            order = self.order(len(out))
            data = tuple(out[order.index(axis)] for axis in range(len(out)))
        return [data], [out]

    def infer(self, *specs: Spec) -> Spec:
        """The lengths in the new order."""
        (data,) = specs
        return data.with_shape(tuple(data.shape[a] for a in self.order(data.ndim)))

    def kernel(self, *specs: Spec) -> Kernel:
        """A copy of the turned view."""
        return _kernel("transpose", self.order(specs[0].ndim))

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> tuple[Value, ...]:
        """Rule: ddata = dout with its axes in the inverse order."""
        order = self.order(at.ins[0].ndim)
        inverse = tuple(order.index(axis) for axis in range(len(order)))
        return (bind(Transpose.of(axes=inverse), dout),)


# -- parts -----------------------------------------------------------------------------


@register("_basic_index")
class BasicIndex(Move):
    """A part of an array: x[key], for a key without arrays.

    data (5, 6), key=(2, (0, 6, 2)); out (3,), a copy. key: (start, stop, step) for a
    slice, an integer for one index, None for a new axis, from the first axis on.
    """

    key: tuple[Any, ...]
    np_shape: bool = False

    casting = EITHER

    def infer(self, *specs: Spec) -> Spec:
        """What the key picks."""
        (data,) = specs
        least = () if self.np_shape else (1,)
        return data.with_shape(picked(data.shape, self.key) or least)

    def kernel(self, *specs: Spec) -> Kernel:
        """A copy of the view that the key gives."""
        return _kernel("pick", numpy_key(self.key))

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> tuple[Value, ...]:
        """Rule: ddata[key] = dout, zeros elsewhere."""
        return (bind(BackwardBasicIndex.of(key=self.key, shape=at.ins[0].shape), dout),)


@register("_backward_basic_index")
class BackwardBasicIndex(Move):
    """Zeros of `shape`, then out[key] = data. data: the shape that key picks."""

    key: tuple[Any, ...]
    shape: Shape

    def infer(self, *specs: Spec) -> Spec:
        """The given shape."""
        return specs[0].with_shape(self.shape)

    def kernel(self, *specs: Spec) -> Kernel:
        """Fill, then copy."""
        return _kernel("place", numpy_key(self.key))

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> tuple[Value, ...]:
        """Rule: ddata = dout[key]."""
        part = bind(BasicIndex.of(key=self.key), dout)
        return (reshaped(part, picked(self.shape, self.key) or (1,), at.ins[0].shape),)


def numpy_key(key: Key) -> Key:
    """A key for NumPy; a stop of -1 with a negative step means to the start.

    >>> numpy_key((2, (3, -1, -1)))
    (2, slice(3, None, -1))
    """
    return tuple(
        slice(part[0], part[1] if part[1] >= 0 else None, part[2])
        if isinstance(part, tuple)
        else part
        for part in key
    )


def picked(shape: Shape, key: Key) -> Shape:
    """The shape of the part that a complete key picks.

    >>> picked((5, 6, 7), (2, (0, 6, 2), None))
    (3, 1, 7)
    """
    out, axis = [], 0
    for part in key:
        if part is None:
            out.append(1)
            continue
        if isinstance(part, tuple):
            out.append(len(range(*part)))
        axis += 1
    return (*out, *shape[axis:])


class Part(Move):
    """A slice that settings describe in another way than a key."""

    clips = True

    def key(self, *specs: Spec) -> Key:
        """(start, stop, step) for each axis."""
        raise OperatorError(f"{self.name} does not say what it picks")

    def infer(self, *specs: Spec) -> Spec:
        """The shape that the key picks."""
        return specs[0].with_shape(picked(specs[0].shape, self.key(*specs)))

    def kernel(self, *specs: Spec) -> Kernel:
        """A copy of the view that the key gives."""
        return _kernel("pick", numpy_key(self.key(*specs)))

    def grad(
        self, at: GradContext, dout: Any, *saved: Value
    ) -> tuple[Value | None, ...]:
        """Rule: ddata[key] = dout, zeros elsewhere."""
        back = BackwardBasicIndex.of(key=self.key(*at.ins), shape=at.ins[0].shape)
        return (bind(back, dout), *(None for _ in at.ins[1:]))


def _range(begin: Any, end: Any, step: Any, length: int) -> tuple[int, int, int]:
    start, stop, stride = slice(begin, end, step or None).indices(length)
    return start, start + len(range(start, stop, stride)) * stride, stride


@register("slice", "crop")
class Slice(Part):
    """A copy of the slices [begin:end:step] along the first axes.

    data (8, 6), begin=(2, None), end=(4, None); out (2, 6). begin, end: an entry for
    each of the first axes; as in Python, end is left out, negative numbers count from
    the end, None means all the way. step: None or () for 1, may be negative. Raises
    ShapeError for entries that do not fit the shape.
    """

    begin: Any
    end: Any
    step: Any = ()

    def key(self, *specs: Spec) -> Key:
        """One range for each named axis, all of the others."""
        shape = specs[0].shape
        begin, end, step = map(_as_tuple, (self.begin, self.end, self.step))
        if not len(begin) == len(end) <= len(shape):
            raise ShapeError(
                f"slice: begin={begin} and end={end} must have one entry for each of "
                f"the first axes of shape {shape}."
            )
        step += (None,) * (len(shape) - len(step))
        begin += (None,) * (len(shape) - len(begin))
        end += (None,) * (len(shape) - len(end))
        return tuple(map(_range, begin, end, step, shape))


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


@register("slice_axis")
class SliceAxis(Part):
    """A copy of the slice [begin:end] along one axis.

    data (8, 6), axis=1, begin=0, end=3; out (8, 3). end=None means to the end; negative
    numbers count from the end. Raises ShapeError for an axis that does not exist.
    """

    axis: int
    begin: int
    end: int | None

    def key(self, *specs: Spec) -> Key:
        """A range on one axis."""
        shape = specs[0].shape
        axis = normalize_axis(self.name, self.axis, len(shape))
        ranges = [(0, n, 1) for n in shape]
        ranges[axis] = _range(self.begin, self.end, 1, shape[axis])
        return tuple(ranges)

    @property
    def row_range(self) -> slice | None:
        """Along the first axis."""
        return slice(self.begin, self.end) if self.axis == 0 else None


# -- more of the same ------------------------------------------------------------------


class Stretch(Op):
    """Repeat along axes of length 1: broadcasting, written out in new memory."""

    formula: ClassVar[Formula] = Formula("x", ("x",))

    def wanted(self, *specs: Spec) -> Shape:
        """The shape to stretch to."""
        raise OperatorError(f"{self.name} does not say how far it stretches")

    def infer(self, *specs: Spec) -> Spec:
        """The wanted shape; only axes of length 1 may grow."""
        data, wanted = specs[0], self.wanted(*specs)
        padded = (1,) * (len(wanted) - data.ndim) + data.shape
        if len(padded) != len(wanted) or any(
            n not in (1, m) for n, m in zip(padded, wanted, strict=True)
        ):
            raise ShapeError(
                f"{self.name}: shape {data.shape} cannot be stretched to {wanted}; "
                "only axes of length 1 grow. Use tile to repeat longer ones."
            )
        return data.with_shape(wanted)

    def kernel(self, *specs: Spec) -> Kernel:
        """The identity, broadcast."""
        data, wanted = specs[0], self.wanted(*specs)
        inner = pointwise.kernel(
            self.formula, [data.shape], [data.dtype], wanted, data.dtype
        )
        return lambda data, *rest: inner(data, rest[-1])

    def grad(
        self, at: GradContext, dout: Any, *saved: Value
    ) -> tuple[Value | None, ...]:
        """Rule: ddata = Σ dout over the axes that were stretched."""
        first = sum_to(dout, at.outs[0].shape, at.ins[0].shape)
        return (first, *(None for _ in at.ins[1:]))

    def cost(self, *specs: Spec) -> Cost:
        """Read once, written out."""
        return Cost(0, specs[0].nbytes + self.infer(*specs).nbytes)


@register("broadcast_to")
class BroadcastTo(Stretch):
    """Repeat along axes of length 1, until the shape is `shape`.

    data (1, 3), shape=(2, 0); out (2, 3): 0 keeps an axis. Raises ShapeError for an
    axis of another length than 1 that would have to grow.
    """

    shape: Shape = ()

    def wanted(self, *specs: Spec) -> Shape:
        """The setting, with zeros filled in."""
        shape = specs[0].shape
        padded = (1,) * (len(self.shape) - len(shape)) + shape
        return tuple(
            m or n
            for m, n in zip(
                self.shape, padded[-len(self.shape) or len(padded) :], strict=True
            )
        )
