"""Launches of what makes, cuts and measures sparse arrays, on dense ones; sketches."""

from __future__ import annotations

from typing import Any

from minimx.core.ops.registry import Kernel, bind, lookup
from minimx.core.ops.spec import Spec
from minimx.core.ops.stypes import DEFAULT
from minimx.cuda.kernels import scratch
from minimx.cuda.kernels.arrays import coordinates, transforms
from minimx.cuda.kernels.updates import adaptive, updates
from minimx.cuda.launches import implements
from minimx.cuda.launches.composed import call, shaped
from minimx.cuda.launches.composing import composed
from minimx.cuda.launches.core.nn import known, real


@composed("cast_storage")
def cast(op: Any, data: Any) -> Any:
    """A copy."""
    return data if op.stype == DEFAULT else None


@implements("_sparse_retain")
def retained(op: Any, *specs: Spec) -> Kernel | None:
    """A gather of the rows, and a scatter into zeros."""
    data, indices = specs
    if data.dtype.isbuiltin != 1 or not known(indices):
        return None
    rows = coordinates.columns(data.shape, (1, indices.size))
    shape = indices.size, *data.shape[1:]

    def run(x: Any, places: Any, out: Any) -> None:
        with scratch.allocated((shape, data.dtype)) as (kept,):
            rows.fetch(x, places, kept)
            rows.scatter(kept, places, out)

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


@implements("_sparse_adagrad_update")
def adagrad(op: Any, *specs: Spec) -> Kernel | None:
    """One step length for each element."""
    if not real(*specs):
        return None
    numbers = op.lr, op.epsilon, op.rescale_grad, op.clip_gradient

    def run(weight: Any, grad: Any, history: Any, out: Any) -> None:
        updates.step(adaptive.adagrad, weight, grad, (history,), out, numbers)

    return run


@implements("_contrib_group_adagrad_update")
def group_adagrad(op: Any, *specs: Spec) -> Kernel | None:
    """One step length for each row."""
    if not real(*specs) or len({spec.dtype for spec in specs}) > 1:
        return None
    numbers = op.lr, op.epsilon, op.rescale_grad, op.clip_gradient
    launch: Kernel = adaptive.group_adagrad(*numbers)
    return launch


@implements("_contrib_count_sketch")
def sketched(op: Any, *specs: Spec) -> Kernel | None:
    """Columns in the order of where they go, then sums."""
    data, h, s = specs
    return transforms.count_sketch if real(data) and known(h, s) else None
