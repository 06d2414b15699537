"""Sums, means and lengths of what is stored."""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.errors import OperatorError
from minimx.core.kernels import find
from minimx.core.ops import Op
from minimx.core.ops.spec import Spec
from minimx.core.ops.stypes import CSR, ROW_SPARSE, Entries, Rows, dense, like
from minimx.operators.sparse import Answer, Target, rule
from minimx.operators.sparse.products import wide, widened


def _over_entries(axis: int, divisor: int) -> Any:
    def run(parts: Entries, out: Any) -> None:
        data = wide(parts.data)
        with widened(out) as total:
            if axis == 0:
                total.fill(0)
                np.add.at(total, parts.indices, data)
            else:
                find("sparse.sum_rows")(data, parts.indptr, total)
            if divisor != 1:
                np.divide(total, divisor, out=total, casting="unsafe")

    return run


@rule("sum mean", CSR)
def along_an_axis(op: Any, x: Spec) -> Answer | None:
    """The sum or mean of each row or column, dense."""
    axes = op.axes(x)
    if op.keepdims or len(axes) != 1:
        return None
    (axis,) = axes
    divisor = x.shape[axis] if op.name == "mean" else 1
    return Answer(op.infer(dense(x)), _over_entries(axis, divisor))


@rule("norm", CSR, ROW_SPARSE)
def length(op: Any, x: Spec) -> Answer | None:
    """Euclid's length of everything, or of the rows or columns of a csr matrix."""
    if op.ord != 2:
        return None
    out = op.infer(dense(x))
    if op.axis is None:

        def run(parts: Rows | Entries, target: Any) -> None:
            target.fill(np.sqrt((wide(parts.data) ** 2).sum()))

        return Answer(out, run)
    axes = op.axes(x)
    if op.keepdims or len(axes) != 1 or x.stype != CSR:  # type: ignore[attr-defined]
        return None
    summed = _over_entries(axes[0], 1)

    def roots(parts: Entries, target: Any) -> None:
        squares = parts._replace(data=wide(parts.data) ** 2)
        total = wide(target)
        summed(squares, total)
        np.sqrt(total, out=target, casting="same_kind")

    return Answer(out, roots)


@rule("BatchNorm", "any")
def normalised(op: Any, *specs: Spec) -> None:
    """Only densely, and not with a fixed gamma, as in MXNet."""
    if op.fix_gamma:
        raise OperatorError(
            "BatchNorm: with sparse arrays, gamma cannot be fixed at 1. Give "
            "fix_gamma=False, or make the arrays dense with tostype('default')."
        )


@rule("_square_sum", ROW_SPARSE)
def square_sum(op: Any, x: Spec) -> Answer | None:
    """Dense; over the rows, with their axis kept, row_sparse."""
    axes = op.axes(x)
    if x.ndim != 2 or len(axes) != 1:
        return None
    out = op.infer(dense(x))
    (axis,) = axes
    if axis == 0:

        def columns(parts: Rows, target: Any) -> None:
            squares = (wide(parts.data) ** 2).sum(0)
            np.copyto(target, squares.reshape(target.shape), casting="same_kind")

        return Answer(out, columns)
    if not op.keepdims:

        def rows(parts: Rows, target: Any) -> None:
            target.fill(0)
            target[parts.indices] = (wide(parts.data) ** 2).sum(1)

        return Answer(out, rows)

    def kept(parts: Rows, target: Target) -> None:
        made = target.rows(len(parts.indices))
        np.copyto(made.indices, parts.indices)
        made.data[...] = (wide(parts.data) ** 2).sum(1, keepdims=True)

    return Answer(like(out, ROW_SPARSE), kept)


@rule("_contrib_getnnz", CSR)
def stored_elements(op: Op, x: Spec) -> Answer:
    """How many elements are stored, in all or in each row."""

    def run(parts: Entries, out: Any) -> None:
        if out.size == x.shape[0] and op.settings["axis"] is not None:
            out[...] = np.diff(parts.indptr)
        else:
            out.fill(len(parts.indices))

    return Answer(op.infer(dense(x)), run)
