"""Loops over arrays that store only a part of their elements.

A csr matrix is three arrays: `data` and the columns `indices` of its elements, row by
row, and `indptr`, where each row begins. A row_sparse array is two: whole rows, and
their numbers. What comes out has as many elements as the numbers say, so a kernel is
two: one counts, one fills what was then asked for.

Threads share the rows of the result, and each row is added up in one order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.dtypes import NARROW
from minimx.core.kernels import threads
from minimx.core.kernels.parts import dealt

# -- between dense and csr -------------------------------------------------------------


@threads.jit(parallel=True)
def _count(part: Any, dense: Any, indptr: Any) -> None:
    """Indptr[i + 1] = how many elements of row i are not 0."""
    for i in dealt(dense.shape[0], part):
        count = 0
        for j in range(dense.shape[1]):
            if dense[i, j] != 0:
                count += 1
        indptr[i + 1] = count


@threads.jit(parallel=True)
def _collect(part: Any, dense: Any, data: Any, indices: Any, indptr: Any) -> None:
    for i in dealt(dense.shape[0], part):
        at = indptr[i]
        for j in range(dense.shape[1]):
            if dense[i, j] != 0:
                data[at] = dense[i, j]
                indices[at] = j
                at += 1


def count_entries(dense: Any) -> Any:
    """The indptr (m + 1,) of a dense matrix (m, k)."""
    indptr = np.zeros(dense.shape[0] + 1, np.int64)
    _count(as_number(dense), indptr)
    return np.cumsum(indptr, out=indptr)


def collect_entries(dense: Any, data: Any, indices: Any, indptr: Any) -> None:
    """Fill data and indices with what `count_entries` counted."""
    _collect(as_number(dense), as_number(data), indices, indptr)


@threads.jit(parallel=True)
def _spread(part: Any, data: Any, indices: Any, indptr: Any, dense: Any) -> None:
    for i in dealt(dense.shape[0], part):
        dense[i] = 0
        for at in range(indptr[i], indptr[i + 1]):
            dense[i, indices[at]] = data[at]


def spread_entries(data: Any, indices: Any, indptr: Any, dense: Any) -> None:
    """Fill a dense matrix with the elements of a csr one."""
    _spread(as_number(data), indices, indptr, as_number(dense))


def as_number(array: Any) -> Any:
    """Half precision as the 16 bits it is stored in, for code that only moves it.

    A float16 of -0 is then not 0; that is a stored element more, and no other number.
    """
    return array.view(np.uint16) if array.dtype in NARROW else array


# -- two csr matrices ------------------------------------------------------------------


@threads.jit(parallel=True)
def _count_union(
    part: Any, a: Any, a_ptr: Any, b: Any, b_ptr: Any, indptr: Any
) -> None:
    for i in dealt(a_ptr.size - 1, part):
        p, q, count = a_ptr[i], b_ptr[i], 0
        while p < a_ptr[i + 1] or q < b_ptr[i + 1]:
            if q >= b_ptr[i + 1] or (p < a_ptr[i + 1] and a[p] < b[q]):
                p += 1
            elif p >= a_ptr[i + 1] or b[q] < a[p]:
                q += 1
            else:
                p += 1
                q += 1
            count += 1
        indptr[i + 1] = count


@threads.jit(parallel=True)
def _place_union(
    part: Any, a: Any, a_ptr: Any, b: Any, b_ptr: Any,
    indices: Any, indptr: Any, from_a: Any, from_b: Any,
) -> None:  # fmt: skip
    """For each element of the union: its column, and its place in a and b, or -1."""
    for i in dealt(a_ptr.size - 1, part):
        p, q = a_ptr[i], b_ptr[i]
        for at in range(indptr[i], indptr[i + 1]):
            if q >= b_ptr[i + 1] or (p < a_ptr[i + 1] and a[p] < b[q]):
                indices[at], from_a[at], from_b[at] = a[p], p, -1
                p += 1
            elif p >= a_ptr[i + 1] or b[q] < a[p]:
                indices[at], from_a[at], from_b[at] = b[q], -1, q
                q += 1
            else:
                indices[at], from_a[at], from_b[at] = a[p], p, q
                p += 1
                q += 1


def union(a: Any, a_ptr: Any, b: Any, b_ptr: Any) -> tuple[Any, Any, Any, Any]:
    """Every element that one of two csr matrices stores.

    Returns indices, indptr, and for each element its place in a and in b, or -1.
    Columns must rise within each row.
    """
    indptr = np.zeros(a_ptr.size, np.int64)
    _count_union(a, a_ptr, b, b_ptr, indptr)
    np.cumsum(indptr, out=indptr)
    indices, from_a, from_b = (np.empty(int(indptr[-1]), np.int64) for _ in range(3))
    _place_union(a, a_ptr, b, b_ptr, indices, indptr, from_a, from_b)
    return indices, indptr, from_a, from_b


# -- products --------------------------------------------------------------------------


@threads.jit(parallel=True)
def entries_dense(
    part: Any, data: Any, indices: Any, indptr: Any, rhs: Any, out: Any
) -> None:
    """Out (m, n) = csr (m, k) · rhs (k, n)."""
    for i in dealt(out.shape[0], part):
        out[i] = 0
        for at in range(indptr[i], indptr[i + 1]):
            factor, row = data[at], indices[at]
            for j in range(out.shape[1]):
                out[i, j] += factor * rhs[row, j]


@threads.jit(parallel=True)
def entries_rows(
    part: Any, data: Any, indices: Any, indptr: Any, rhs: Any, place: Any, out: Any
) -> None:
    """Out = csr (m, k) · row_sparse (k, n) with rows rhs; place (k,): where, or -1."""
    for i in dealt(out.shape[0], part):
        out[i] = 0
        for at in range(indptr[i], indptr[i + 1]):
            factor, row = data[at], place[indices[at]]
            if row >= 0:
                for j in range(out.shape[1]):
                    out[i, j] += factor * rhs[row, j]


@threads.jit(parallel=True)
def dense_entries(
    part: Any, lhs: Any, data: Any, indices: Any, indptr: Any, column: Any, out: Any
) -> None:
    """Out (m, c) = lhs (m, k) · csr (k, n); column (n,): where a column goes in out."""
    for i in dealt(out.shape[0], part):
        out[i] = 0
        for k in range(indptr.size - 1):
            factor = lhs[i, k]
            for at in range(indptr[k], indptr[k + 1]):
                out[i, column[indices[at]]] += factor * data[at]


@threads.jit(parallel=True)
def dense_entries_turned(
    part: Any, lhs: Any, data: Any, indices: Any, indptr: Any, out: Any
) -> None:
    """Out (m, n) = lhs (m, k) · the transpose of a csr (n, k)."""
    for i in dealt(out.shape[0], part):
        for j in range(out.shape[1]):
            total = out.dtype.type(0)
            for at in range(indptr[j], indptr[j + 1]):
                total += lhs[i, indices[at]] * data[at]
            out[i, j] = total


@threads.jit()
def _turn(
    data: Any, indices: Any, indptr: Any, starts: Any, turned: Any, rows: Any
) -> None:
    """Fill the columns one after the other; starts: where each begins, moved on."""
    for i in range(indptr.size - 1):
        for at in range(indptr[i], indptr[i + 1]):
            to = starts[indices[at]]
            turned[to] = data[at]
            rows[to] = i
            starts[indices[at]] = to + 1


@threads.jit()
def _begin(indices: Any, begins: Any, stored: Any) -> int:
    """Where each column begins; which of them have elements, and how many they are.

    begins: zeros (k + 1,); stored: room for all columns that may have elements, and
    one more, as a column is written down before it is counted: no branch to guess.
    """
    for at in range(indices.size):
        begins[indices[at] + 1] += 1
    count = total = 0
    for j in range(begins.size - 1):
        stored[count] = j
        count += begins[j + 1] > 0
        total += begins[j + 1]
        begins[j + 1] = total
    return count


def turn(data: Any, indices: Any, indptr: Any, columns: int) -> tuple[Any, ...]:
    """The transpose of a csr matrix with so many columns, as csr.

    Returns data, indices and indptr of those rows only that have elements, and which
    rows they are.
    """
    named = None
    if columns > 16 * indices.size:  # sort what is stored, and count no empty columns
        named, indices = np.unique(indices, return_inverse=True)
        columns = named.size
    begins = np.zeros(columns + 1, np.int64)
    stored = np.empty(min(columns, indices.size) + 1, np.int64)
    stored = stored[: _begin(indices, begins, stored)]
    kept = np.concatenate((begins[stored], begins[-1:]))
    turned, rows = np.empty_like(data), np.empty_like(indices)
    _turn(data, indices, indptr, begins, turned, rows)
    return turned, rows, kept, stored if named is None else named


# -- sums ------------------------------------------------------------------------------


@threads.jit(parallel=True)
def sum_rows(part: Any, data: Any, indptr: Any, out: Any) -> None:
    """Out (m,): the sum of the elements of each row."""
    for i in dealt(out.size, part):
        total = out.dtype.type(0)
        for at in range(indptr[i], indptr[i + 1]):
            total += data[at]
        out[i] = total


# -- moving rows -----------------------------------------------------------------------


@threads.jit(parallel=True)
def copy_rows(
    part: Any, data: Any, indices: Any, indptr: Any, picked: Any,
    out: Any, columns: Any, begins: Any, first: int, last: int,
) -> None:  # fmt: skip
    """Fill a csr matrix with rows `picked` of another, columns first to last - 1.

    begins: where each row starts in `out`; columns outside are skipped.
    """
    for i in dealt(picked.size, part):
        to = begins[i]
        for at in range(indptr[picked[i]], indptr[picked[i] + 1]):
            if first <= indices[at] < last:
                out[to] = data[at]
                columns[to] = indices[at] - first
                to += 1


@threads.jit(parallel=True)
def count_rows(
    part: Any, indices: Any, indptr: Any, picked: Any, counts: Any, first: int,
    last: int,
) -> None:  # fmt: skip
    """Counts[i + 1]: how many elements `copy_rows` moves for row i."""
    for i in dealt(picked.size, part):
        count = 0
        for at in range(indptr[picked[i]], indptr[picked[i] + 1]):
            if first <= indices[at] < last:
                count += 1
        counts[i + 1] = count


@threads.jit(parallel=True)
def places(
    part: Any, indices: Any, indptr: Any, rows: Any, columns: Any, out: Any
) -> None:
    """Where each element (rows[i], columns[i]) is stored; -1 where it is not."""
    for i in dealt(out.size, part):
        out[i] = -1
        for at in range(indptr[rows[i]], indptr[rows[i] + 1]):
            if indices[at] == columns[i]:
                out[i] = at
                break


@threads.jit(parallel=True)
def put_rows(part: Any, values: Any, rows: Any, out: Any) -> None:
    """Out[rows[i]] = values[i], for matrices; no row is named twice."""
    for i in dealt(rows.size, part):
        for j in range(out.shape[1]):
            out[rows[i], j] = values[i, j]


@threads.jit(parallel=True)
def add_rows(part: Any, values: Any, order: Any, begins: Any, out: Any) -> None:
    """Out[i] = the sum of the rows order[begins[i]], …, order[begins[i + 1] - 1]."""
    for i in dealt(out.shape[0], part):
        out[i] = 0
        for at in range(begins[i], begins[i + 1]):
            row = order[at]
            for j in range(out.shape[1]):
                out[i, j] += values[row, j]
