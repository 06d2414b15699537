"""Launches of what makes, cuts and measures sparse arrays, on dense ones."""

from __future__ import annotations

from typing import Any

from minimx.core.ops.registry import Kernel, bind, lookup
from minimx.core.ops.spec import Spec
from minimx.core.ops.stypes import DEFAULT
from minimx.cuda.kernels import scratch
from minimx.cuda.kernels.arrays import coordinates
from minimx.cuda.kernels.default_launch import numeric
from minimx.cuda.launches import implements
from minimx.cuda.launches.composed import call, shaped
from minimx.cuda.launches.composing import composed


@composed("cast_storage")
def cast(op: Any, data: Any) -> Any:
    """A copy."""
    return data if op.stype == DEFAULT else None


@implements("_sparse_retain")
def retained(op: Any, data: Spec, indices: Spec) -> Kernel | None:
    """A gather of the rows, and a scatter into zeros."""
    if data.dtype.isbuiltin != 1 or not numeric(indices):
        return None
    rows = coordinates.columns(data.shape, (1, indices.size))
    shape = indices.size, *data.shape[1:]

    def run(x: Any, indices: Any, out: Any) -> None:
        with scratch.allocated((shape, data.dtype)) as (kept,):
            rows.fetch(x, indices, kept)
            rows.scatter(kept, indices, out)

    return run


@composed("_square_sum")
def squares(op: Any, data: Any) -> Any:
    """Squares, then their sums."""
    return bind(lookup("sum").of(**op.settings), data * data)


@composed("_contrib_getnnz")
def counted(op: Any, data: Any) -> Any:
    """A sum of ones, counted in whole numbers."""
    ones = call("cast", call("_not_equal_scalar", data, scalar=0), dtype="int64")
    total = call("sum", ones) if op.axis is None else call("sum", ones, axis=1)
    return shaped(total, op.infer(data.spec).shape)


@composed("_contrib_SparseEmbedding")
def looked_up(op: Any, data: Any, weight: Any) -> Any:
    """Rows of a table."""
    return bind(op._embedding(), data, weight)
