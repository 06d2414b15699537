"""Data sheets of operators that pick elements by number.

Index arrays may have any element type; MXNet's are often float32, and fractions are cut
off. No gradient flows to them. An element that is picked several times gets the sum of
the gradients.

MXNet 1.9.1: src/operator/tensor: indexing_op.cc, broadcast_reduce_op_index.cc (pick).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.dtypes import NAMES, resolve
from minimx.core.errors import OperatorError, ShapeError
from minimx.core.kernels import find
from minimx.core.operators.shape import Move
from minimx.core.operators.views import reshaped
from minimx.core.ops.casting import EITHER
from minimx.core.ops.registry import (
    GradContext,
    Kernel,
    Types,
    Value,
    bind,
    lookup,
    register,
)
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Shape, normalize_axis


def _kernel(name: str, *args: Any) -> Kernel:
    made: Kernel = find(f"indexing.{name}")(*args)
    return made


def _check_mode(name: str, mode: str) -> None:
    if mode not in ("clip", "wrap", "raise", "numpy"):
        raise OperatorError(
            f"{name}: mode {mode!r} is not known; choose clip, wrap or raise."
        )


@register("take", "_npi_take")
class Take(Move):
    """Whole slices along an axis, in the order of the indices.

    a (5, 3), indices (2, 4), axis=0; out (2, 4, 3), of the type of a.
    mode: what becomes of indices outside of the axis: 'clip' takes the nearest, 'wrap'
    counts on from the other end (modulo), 'raise' is an OperatorError where the result
    is waited for; 'numpy' raises as well, but counts negative ones from the end.
    Raises ShapeError for an axis that does not exist or has no elements.
    """

    axis: int = 0
    mode: str = "clip"
    inputs = ("a", "indices")
    saves = ("indices",)

    def infer(self, *specs: Spec) -> Spec:
        """The axis is replaced by the shape of the indices."""
        a, indices = specs
        _check_mode(self.name, self.mode)
        axis = normalize_axis(self.name, self.axis, a.ndim)
        if a.shape[axis] == 0 and indices.size:
            raise ShapeError(f"take: axis {axis} of shape {a.shape} has no elements.")
        return a.with_shape((*a.shape[:axis], *indices.shape, *a.shape[axis + 1 :]))

    def kernel(self, *specs: Spec) -> Kernel:
        """Copies of slices."""
        axis = self.axis % specs[0].ndim
        return _kernel("take", axis, specs[0].shape[axis], self.mode)

    def grad(
        self, at: GradContext, dout: Any, *saved: Value
    ) -> tuple[Value | None, ...]:
        """Rule: da[indices[k]] += dout[k] along the axis, zeros elsewhere."""
        shape = at.ins[0].shape
        axis = self.axis % len(shape)
        back = BackwardTake.of(shape=shape, axis=axis, mode=self.mode)
        return (bind(back, dout, *saved), None)


@register("_backward_take")
class BackwardTake(Move):
    """The gradient of `take`. dout, indices: as there; out: `shape`, that of a."""

    shape: Shape
    axis: int = 0
    mode: str = "clip"
    inputs = ("dout", "indices")
    saves = ("indices",)

    def infer(self, *specs: Spec) -> Spec:
        """The shape of what was taken from."""
        return specs[0].with_shape(self.shape)

    def kernel(self, *specs: Spec) -> Kernel:
        """Zeros, then additions."""
        return _kernel("untake", self.shape, self.axis, self.mode)

    def grad(
        self, at: GradContext, dout: Any, *saved: Value
    ) -> tuple[Value | None, ...]:
        """Rule: d dout = take(g, indices), g being the gradient of da."""
        return (bind(Take.of(axis=self.axis, mode=self.mode), dout, *saved), None)


@register("Embedding")
class Embedding(Move):
    """Rows of a table: one vector for each number.

    data (n, m), or any shape; weight (input_dim, output_dim); out (n, m, output_dim),
    of the type of weight. Numbers below 0 or from input_dim on give the nearest row.
    sparse_grad: the gradient of weight is row_sparse: only the rows that were looked
    up. dtype: that of the weight, for layers that make it; a call does not convert.
    Raises ShapeError for another shape of weight.
    """

    input_dim: int
    output_dim: int
    dtype: str = "float32"
    sparse_grad: bool = False
    inputs = ("data", "weight")
    saves = ("data",)

    def complete(self, data: Spec) -> dict[str, Shape]:
        """A vector for each number."""
        return {"weight": (self.input_dim, self.output_dim)}

    def deduce_types(self, ins: Types, outs: Types) -> tuple[Types, Types]:
        """Weight and output are of one type, by default `dtype`, whatever data is."""
        data, weight = ins
        weight = weight or outs[0] or (None if data is None else NAMES[self.dtype])
        return [data, weight], [weight]

    def infer(self, *specs: Spec) -> Spec:
        """One more axis."""
        data, weight = specs
        if weight.shape != (self.input_dim, self.output_dim):
            raise ShapeError(
                f"Embedding: weight is {weight.shape}; input_dim={self.input_dim} and "
                f"output_dim={self.output_dim} ask for "
                f"{(self.input_dim, self.output_dim)}."
            )
        return weight.with_shape((*data.shape, self.output_dim))

    def kernel(self, *specs: Spec) -> Kernel:
        """Copies of rows; numbers that do not exist give the nearest row."""
        take = _kernel("take", 0, self.input_dim, "clip")
        return lambda data, weight, out: take(weight, data, out)

    def grad(
        self, at: GradContext, dout: Any, *saved: Value
    ) -> tuple[Value | None, ...]:
        """Rule: dweight[data[k]] += dout[k]; None for data."""
        if not at.wants[1]:
            return (None, None)
        back = "_backward_sparse_embedding" if self.sparse_grad else "_backward_take"
        return (None, bind(lookup(back).of(shape=at.ins[1].shape), dout, *saved))


# -- one element for each index --------------------------------------------------------


@register("_take_along_axis")
class TakeAlongAxis(Move):
    """One element for each index: out[i, j] = data[i, index[i, j]] for axis=1.

    It is `mx.np.take_along_axis`.

    data (3, 5), index (3, 2); out (3, 2). mode: as for take.
    """

    axis: int
    mode: str = "clip"
    inputs = ("data", "index")
    saves = ("index",)

    def infer(self, *specs: Spec) -> Spec:
        """The shape of the indices."""
        data, index = specs
        _check_mode(self.name, self.mode)
        return data.with_shape(index.shape)

    def kernel(self, *specs: Spec) -> Kernel:
        """A gather along the axis."""
        axis = self.axis % specs[0].ndim
        return _kernel("along", axis, specs[0].shape[axis], self.mode)

    def grad(
        self, at: GradContext, dout: Any, *saved: Value
    ) -> tuple[Value | None, ...]:
        """Rule: ddata[i, index[i, j]] += dout[i, j] for axis=1."""
        axis = self.axis % at.ins[0].ndim
        length = at.ins[0].shape[axis]
        back = PutAlongAxis.of(axis=axis, length=length, mode=self.mode)
        return (bind(back, dout, *saved), None)


@register("_put_along_axis")
class PutAlongAxis(Move):
    """Zeros, then out[i, index[i, j]] += data[i, j] for axis=1.

    data, index: one shape; out: the same, but `length` long on the axis. mode: as for
    take.
    """

    axis: int
    length: int
    mode: str = "clip"
    inputs = ("data", "index")
    saves = ("index",)

    def infer(self, *specs: Spec) -> Spec:
        """The shape of data, `length` long on the axis."""
        shape = specs[0].shape
        return specs[0].with_shape(
            (*shape[: self.axis], self.length, *shape[self.axis + 1 :])
        )

    def kernel(self, *specs: Spec) -> Kernel:
        """A scatter along the axis."""
        return _kernel("unalong", self.axis, self.length, self.mode)

    def grad(
        self, at: GradContext, dout: Any, *saved: Value
    ) -> tuple[Value | None, ...]:
        """Rule: ddata[i, j] = dout[i, index[i, j]] for axis=1."""
        take = TakeAlongAxis.of(axis=self.axis, mode=self.mode)
        return (bind(take, dout, *saved), None)


@register("pick", "choose_element_0index")
class Pick(Move):
    """One element of each row: out[i] = data[i, index[i]].

    data (3, 4), index (3,) or (3, 1), axis=1; out (3,), with keepdims (3, 1), of the
    type of data. mode: as for take. Raises ShapeError for another shape of index.
    """

    axis: int = -1
    keepdims: bool = False
    mode: str = "clip"
    np_shape: bool = False
    keeps_an_axis = True
    inputs = ("data", "index")
    saves = ("index",)

    def kept(self, data: Spec) -> Shape:
        """The shape of data with length 1 on the axis."""
        axis = normalize_axis(self.name, self.axis, data.ndim)
        return (*data.shape[:axis], 1, *data.shape[axis + 1 :])

    def infer(self, *specs: Spec) -> Spec:
        """Data without the axis, or with length 1 in its place."""
        data, index = specs
        _check_mode(self.name, self.mode)
        kept = self.kept(data)
        axis = self.axis % data.ndim
        dropped = kept[:axis] + kept[axis + 1 :] or (() if self.np_shape else (1,))
        if index.shape not in (kept, dropped):
            raise ShapeError(
                f"pick: data {data.shape} along axis {axis} wants an index of shape "
                f"{dropped} or {kept}; it has {index.shape}."
            )
        return data.with_shape(kept if self.keepdims else dropped)

    def kernel(self, *specs: Spec) -> Kernel:
        """A gather along the axis."""
        data = specs[0]
        axis, kept = self.axis % data.ndim, self.kept(data)
        along = _kernel("along", axis, data.shape[axis], self.mode)
        return lambda x, index, out: along(x, index.reshape(kept), out.reshape(kept))

    def grad(
        self, at: GradContext, dout: Any, *saved: Value
    ) -> tuple[Value | None, ...]:
        """Rule: ddata[i, index[i]] = dout[i], zeros elsewhere."""
        data, index = at.ins
        axis, kept = self.axis % data.ndim, self.kept(data)
        put = PutAlongAxis.of(axis=axis, length=data.shape[axis], mode=self.mode)
        wide = reshaped(dout, at.outs[0].shape, kept)
        return (bind(put, wide, reshaped(saved[0], index.shape, kept)), None)


@register("one_hot")
class OneHot(Move):
    """A vector of off_value with one on_value, for each number.

    indices (2, 3), depth=5; out (2, 3, 5), of dtype. A number outside of [0, depth)
    gives a vector of off_value only. Raises OperatorError for a negative depth.
    """

    depth: int
    on_value: float = 1.0
    off_value: float = 0.0
    dtype: str = "float32"
    inputs = ("indices",)
    differentiable = False

    def infer(self, *specs: Spec) -> Spec:
        """One more axis."""
        if self.depth < 0:
            raise OperatorError(f"one_hot: depth={self.depth} must not be negative.")
        return Spec.of((*specs[0].shape, self.depth), resolve(self.dtype))

    def kernel(self, *specs: Spec) -> Kernel:
        """A fill, then the ones."""
        return _kernel("one_hot", self.depth, self.on_value, self.off_value)


# -- x[key] with arrays in the key -----------------------------------------------------


class _ByKey(Move):
    """An operator whose inputs are an array and the index arrays of a key."""

    key: tuple[Any, ...]
    all_inputs = ("data", *(f"index{k}" for k in range(8)))

    @property
    def inputs(self) -> tuple[str, ...]:
        """The array, and an index array for each "array" in the key."""
        return self.all_inputs[: 1 + self.key.count("array")]

    @property
    def saves(self) -> tuple[str, ...]:
        """All index arrays."""
        return self.inputs[1:]


@register("_advanced_index")
class AdvancedIndex(_ByKey):
    """The part x[key], where the key has arrays in it.

    x[i] with i of shape (3,) is data (4, 5), index0 (3,), key=("array",); out (3, 5).
    key: "array" for each index array, (start, stop, step) for a slice, integers, None
    and "...". The rules are NumPy's. Raises ShapeError for a part that does not exist.
    """

    key: tuple[Any, ...]
    np_shape: bool = False

    casting = EITHER

    def infer(self, *specs: Spec) -> Spec:
        """NumPy's rule: it is applied to an array of elements without bytes."""
        data, *indices = specs
        ghost = np.broadcast_to(np.empty((), "V0"), data.shape)
        zeros = [np.broadcast_to(np.zeros((), np.int64), i.shape) for i in indices]
        key = find("indexing.numpy_key")(self.key, tuple(zeros))
        try:
            shape = ghost[key].shape
        except IndexError as error:
            raise ShapeError(
                f"x[key]: shape {data.shape} has no such part: {error}."
            ) from None
        return data.with_shape(shape if self.np_shape else shape or (1,))

    def kernel(self, *specs: Spec) -> Kernel:
        """NumPy's indexing."""
        return _kernel("advanced", self.key)

    def grad(
        self, at: GradContext, dout: Any, *saved: Value
    ) -> tuple[Value | None, ...]:
        """Rule: ddata[key] += dout, zeros elsewhere."""
        back = BackwardAdvancedIndex.of(key=self.key, shape=at.ins[0].shape)
        return (bind(back, dout, *saved), *(None for _ in saved))


@register("_backward_advanced_index")
class BackwardAdvancedIndex(_ByKey):
    """The gradient of `x[key]`: out[key] += data, beginning with zeros of `shape`."""

    key: tuple[Any, ...]
    shape: Shape

    def infer(self, *specs: Spec) -> Spec:
        """The wanted shape."""
        return specs[0].with_shape(self.shape)

    def kernel(self, *specs: Spec) -> Kernel:
        """Zeros, then additions one by one."""
        return _kernel("unadvanced", self.key)

    def grad(
        self, at: GradContext, dout: Any, *saved: Value
    ) -> tuple[Value | None, ...]:
        """Rule: ddata = dout[key]."""
        picked = bind(AdvancedIndex.of(key=self.key, np_shape=True), dout, *saved)
        return (picked, *(None for _ in saved))
