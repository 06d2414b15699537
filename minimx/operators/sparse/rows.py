"""Picking rows: slices, lookups, joins, and what goes back from a lookup."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from minimx.core.kernels import find
from minimx.core.ops import Op
from minimx.core.ops.spec import Spec
from minimx.core.ops.stypes import CSR, ROW_SPARSE, Entries, Rows, dense, like
from minimx.operators.sparse import Answer, Target, rule
from minimx.operators.sparse.pointwise import in_order, rows_at
from minimx.operators.sparse.products import wide, widened


def _copy_rows(parts: Entries, picked: Any, out: Target, first: int, last: int) -> None:
    """Store rows of a csr matrix, and of them the columns first to last - 1."""
    counts = np.zeros(len(picked) + 1, np.int64)
    find("sparse.count_rows")(parts.indices, parts.indptr, picked, counts, first, last)
    np.cumsum(counts, out=counts)
    made = out.entries(int(counts[-1]))
    np.copyto(made.indptr, counts)
    bits = find("sparse.as_number")
    find("sparse.copy_rows")(
        bits(parts.data), parts.indices, parts.indptr, picked,
        bits(made.data), made.indices, counts, first, last,
    )  # fmt: skip


def _nearest(wanted: Any, length: int) -> Any:
    """The numbers of rows; what is outside counts as the nearest row.

    NumPy's clip does the same, in twice the time for a few hundred numbers.
    """
    return np.minimum(np.maximum(wanted.astype(np.int64), 0), length - 1)


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


@rule("slice", CSR)
def part(op: Any, x: Spec) -> Answer | None:
    """Some rows, and of them some columns, without gaps."""
    if any(step not in (None, 1) for step in _as_tuple(op.step or ())):
        return None
    out = op.infer(dense(x))
    if not out.size:
        return None
    begin, end = _as_tuple(op.begin), _as_tuple(op.end)
    cuts = [slice(*mark) for mark in zip(begin, end, strict=True)]
    cuts += [slice(None)] * (2 - len(cuts))
    bounds = [cut.indices(n) for cut, n in zip(cuts, x.shape, strict=True)]
    (top, bottom, _), (left, right, _) = bounds

    def run(parts: Entries, target: Target) -> None:
        _copy_rows(parts, np.arange(top, bottom), target, left, right)

    def whole_rows(parts: Entries, target: Target) -> None:
        begins = parts.indptr[top : bottom + 1]
        stored = slice(begins[0], begins[-1])
        made = target.entries(int(begins[-1] - begins[0]))
        made.data[...] = parts.data[stored]
        made.indices[...] = parts.indices[stored]
        np.subtract(begins, begins[0], out=made.indptr)

    return Answer(like(out, CSR), whole_rows if right - left == x.shape[1] else run)


@rule("take", "csr default")
def take(op: Any, x: Spec, indices: Spec) -> Answer | None:
    """Rows in the order of the indices."""
    if op.axis % 2 or indices.ndim != 1 or op.mode not in ("clip", "wrap"):
        return None
    rows, columns = x.shape

    def run(parts: Entries, wanted: Any, target: Target) -> None:
        wrap = op.mode == "wrap"
        picked = wanted.astype(np.int64) % rows if wrap else _nearest(wanted, rows)
        _copy_rows(parts, picked, target, 0, columns)

    return Answer(like(op.infer(dense(x), indices), CSR), run)


@rule("Concat", "any")
def join(op: Any, *specs: Spec) -> Answer | None:
    """Csr matrices, one below the other."""
    if any(getattr(spec, "stype", "") != CSR for spec in specs) or op.dim % 2:
        return None
    out = op.infer(*[dense(spec) for spec in specs])

    def run(*arrays: Any) -> None:
        *inputs, target = arrays
        made = target.entries(sum(len(parts.indices) for parts in inputs))
        np.concatenate([parts.data for parts in inputs], out=made.data)
        np.concatenate([parts.indices for parts in inputs], out=made.indices)
        made.indptr[0] = 0
        lengths = [np.diff(parts.indptr) for parts in inputs]
        np.cumsum(np.concatenate(lengths), out=made.indptr[1:])

    return Answer(like(out, CSR), run)


@rule("where", "csr default default")
def where(op: Op, condition: Spec, x: Spec, y: Spec) -> Answer | None:
    """Y, and x where the condition stores something that is not 0."""
    if not condition.shape == x.shape == y.shape or x.dtype != y.dtype:
        return None

    def run(parts: Entries, yes: Any, no: Any, out: Any) -> None:
        if out is not no:
            np.copyto(out, no)
        rows = np.repeat(np.arange(len(parts.indptr) - 1), np.diff(parts.indptr))
        true = parts.data != 0
        place = rows[true], parts.indices[true]
        out[place] = yes[place]

    return Answer(x, run)


@rule("_sparse_retain", "row_sparse default")
def retain(op: Op, x: Spec, indices: Spec) -> Answer:
    """The rows that are named, in that order; those that are not stored are 0."""

    def run(parts: Rows, wanted: Any, out: Target) -> None:
        picked = wanted.astype(np.int64).reshape(-1)
        found = rows_at(in_order(parts), picked)
        made = out.rows(len(picked))
        np.copyto(made.indices, picked)
        np.copyto(made.data, found)

    return Answer(x, run)


@rule("Embedding _contrib_SparseEmbedding", "default row_sparse")
def lookup_rows(op: Any, data: Spec, weight: Spec) -> Answer:
    """Rows of a weight that stores some of them; the others are 0."""
    length = weight.shape[0]

    def run(wanted: Any, parts: Rows, out: Any) -> None:
        picked = _nearest(wanted, length)
        place = np.full(length, len(parts.indices), np.int64)
        place[parts.indices] = np.arange(len(parts.indices))
        zero = np.zeros((1, *parts.data.shape[1:]), parts.data.dtype)
        rows = np.concatenate([parts.data, zero])
        np.take(rows, place[picked], axis=0, out=out, mode="wrap")

    return Answer(op.infer(data, dense(weight)), run)


@rule("_backward_sparse_embedding", "default default")
def looked_up(op: Any, dout: Spec, data: Spec) -> Answer:
    """The rows that were looked up; what went to one row is added up."""
    out = op.infer(dout, data)
    length, width = op.shape[0], prod(op.shape[1:])

    def run(douts: Any, wanted: Any, target: Target) -> None:
        picked = _nearest(wanted, length).reshape(-1)
        each = np.arange(len(picked) + 1)  # a csr matrix of one element in each row
        _, order, begins, stored = find("sparse.turn")(picked, picked, each, length)
        made = target.rows(len(stored))
        np.copyto(made.indices, stored)
        rows = wide(douts).reshape(-1, width)
        with widened(made.data.reshape(-1, width)) as total:
            find("sparse.add_rows")(rows, order, begins, total)

    return Answer(like(dense(out), ROW_SPARSE), run)
