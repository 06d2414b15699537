"""Data sheets of operators that sparse arrays are made, cut and measured with.

On dense arrays they are ordinary operators; what they do with sparse ones is written
in `minimx.operators.sparse`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.dtypes import INT64
from minimx.core.errors import OperatorError, ShapeError
from minimx.core.operators.pointwise import binary, unary
from minimx.core.operators.reduce import OverAxes
from minimx.core.ops import GradContext, Kernel, Op, Value, bind, lookup, register
from minimx.core.ops.casting import SINGLE
from minimx.core.ops.spec import Spec
from minimx.core.ops.stypes import DEFAULT, ROW_SPARSE, like, stype_of
from minimx.core.shapes import Shape
from minimx.operators.rules import Gradients


@register("cast_storage")
class CastStorage(Op):
    """The same elements, stored as `stype`: default, row_sparse or csr.

    data, out: one shape and type; csr takes a matrix (m, n). To row_sparse, rows that
    are 0 all over are left out; to csr, elements that are 0. There is no direct way
    between csr and row_sparse: OperatorError says to go through default. The gradient
    passes unchanged.
    """

    stype: str

    def infer(self, *specs: Spec) -> Spec:
        """The wanted storage type."""
        (data,) = specs
        have = stype_of(data)
        if DEFAULT not in (have, self.stype) and have != self.stype:
            raise OperatorError(
                f"cast_storage: {have} cannot become {self.stype} at once. Go through "
                f"default: x.tostype('default').tostype({self.stype!r})."
            )
        return like(data, self.stype)

    def kernel(self, *specs: Spec) -> Kernel:
        """A copy."""
        return lambda data, out: np.copyto(out, data)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """The same gradient, however it is stored."""
        return (dout,)


@register("_sparse_retain", "sparse_retain")
class SparseRetain(Op):
    """Keep the rows that indices name; the others become 0.

    data (n, ...), indices (m,): row numbers, each once; out: the shape of data,
    row_sparse if data is. The gradient goes to the rows that were kept. Raises
    ShapeError if indices have more than one axis.
    """

    inputs = ("data", "indices")
    saves = ("indices",)

    def infer(self, *specs: Spec) -> Spec:
        """The shape of data."""
        data, indices = specs
        if indices.ndim != 1:
            raise ShapeError(
                f"sparse_retain: indices {indices.shape} must be a list of row numbers "
                "with one axis."
            )
        return data

    def kernel(self, *specs: Spec) -> Kernel:
        """Zeros, then the rows."""

        def run(data: Any, indices: Any, out: Any) -> None:
            kept = indices.astype(np.int64)
            rows = data[kept]
            out.fill(0)
            out[kept] = rows

        return run

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """The gradients of the rows that were kept."""
        return (bind(self, dout, *saved) if at.wants[0] else None, None)


@register("_square_sum")
class SquareSum(OverAxes):
    """Add up the squares of the elements along some axes, or all.

    data: any shape; out: without the reduced axes, or with length 1 there if keepdims.
    Of a row_sparse matrix only the stored rows are read, and the sums of rows with
    keepdims are row_sparse again.
    """

    casting = SINGLE
    saves = ("data",)

    def kernel(self, *specs: Spec) -> Kernel:
        """Squares first."""
        total = lookup("sum").of(**self.settings).kernel(*specs)
        return lambda data, out: total(data * data, out)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """Twice the element, times the gradient of its sum."""
        (data,) = saved
        spread = bind(
            lookup("broadcast_to").of(shape=at.ins[0].shape), self.spread(at, dout)
        )
        return (bind(lookup("elemwise_mul").of(), spread, data) * 2,)


@register("_contrib_getnnz")
class StoredElements(Op):
    """How many elements a csr matrix stores, int64: (1,), or with axis=1 (m,).

    Of a dense matrix, how many are not 0.
    """

    axis: int | None = None
    differentiable = False

    def infer(self, *specs: Spec) -> Spec:
        """One number, or one for each row."""
        (data,) = specs
        if data.ndim != 2 or self.axis not in (None, 1, -1):
            raise OperatorError(
                f"getnnz: axis={self.axis} of shape {data.shape}: elements are counted "
                "in a matrix, in all (axis=None) or in each row (axis=1)."
            )
        return Spec.of((1,) if self.axis is None else data.shape[:1], INT64)

    def kernel(self, *specs: Spec) -> Kernel:
        """A count."""
        axis = self.axis

        def run(data: Any, out: Any) -> None:
            out[...] = np.count_nonzero(data, axis=axis)

        return run


# -- lookups whose gradient is row_sparse ----------------------------------------------


@register("_backward_sparse_embedding")
class BackwardSparseEmbedding(Op):
    """The gradient of a lookup, row_sparse: only rows that were looked up have one.

    dout (*data.shape, width), data: numbers of rows; out: `shape`
    """

    shape: Shape
    inputs = ("dout", "data")
    saves = ("data",)

    def infer(self, *specs: Spec) -> Spec:
        """The shape of the table."""
        dout, data = specs
        if dout.shape != (*data.shape, *self.shape[1:]):
            raise ShapeError(
                f"{self.name}: dout {dout.shape} does not have the shape of data "
                f"{data.shape} and then that of a row, {self.shape[1:]}."
            )
        return like(dout.with_shape(self.shape), ROW_SPARSE)

    def kernel(self, *specs: Spec) -> Kernel:
        """On dense arrays: that of `take`."""
        dense_rule = lookup("_backward_take").of(shape=self.shape, mode="clip")
        return dense_rule.kernel(*specs)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """Look up again."""
        (data,) = saved
        table, width = self.shape
        op = lookup("Embedding").of(input_dim=table, output_dim=width)
        return (bind(op, data, dout), None)


@register("_contrib_SparseEmbedding")
class SparseEmbedding(Op):
    """Rows of a table, with a row_sparse gradient.

    data (n, m), weight (input_dim, output_dim); out (n, m, output_dim). deterministic:
    gradients are added up in one order, which is always so here.
    """

    input_dim: int
    output_dim: int
    dtype: str = "float32"
    deterministic: bool = False  # type: ignore[misc]  # MXNet's name
    inputs = ("data", "weight")
    saves = ("data",)

    def complete(self, data: Spec) -> dict[str, Shape]:
        """A vector for each number."""
        return {"weight": (self.input_dim, self.output_dim)}

    def infer(self, *specs: Spec) -> Spec:
        """One more axis."""
        return self._embedding().infer(*specs)  # type: ignore[return-value]

    def kernel(self, *specs: Spec) -> Kernel:
        """That of Embedding."""
        return self._embedding().kernel(*specs)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """Rows looked up several times add up."""
        if not at.wants[1]:
            return (None, None)
        back = BackwardSparseEmbedding.of(shape=at.ins[1].shape)
        return (None, bind(back, dout, *saved))

    def _embedding(self) -> Op:
        return lookup("Embedding").of(
            input_dim=self.input_dim, output_dim=self.output_dim, dtype=self.dtype
        )


# -- arithmetic that leaves alone what is not stored -----------------------------------

unary(
    "_scatter_plus_scalar",
    "x + scalar",
    doc="An array plus a number; of a sparse array, only where it stores something.",
    grad="dy",
    settings={"scalar": "float"},
)
unary(
    "_scatter_minus_scalar",
    "x - scalar",
    doc="An array minus a number; of a sparse array, only where it stores something.",
    grad="dy",
    settings={"scalar": "float"},
)
binary(
    "_scatter_elemwise_div",
    "div(a, b)",
    doc="The quotient of two arrays; only where a row_sparse lhs stores something.",
    grads=("dz / b", "-dz * a / (b * b)"),
    facts={"stretches": False},
)
