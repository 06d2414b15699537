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


# -- grouping --------------------------------------------------------------------------

_BITS = 11  # of a row's number that one pass sorts by
_MASK = (1 << _BITS) - 1


@threads.jit()
def _group(
    rows: Any, length: int, work: Any, counts: Any, stored: Any, order: Any, begins: Any
) -> int:
    """Radix sort; work (2, 2, n): rows and places, sorted from one half to the other.

    Fills stored, order and begins as `group` says; returns the number of groups.
    """
    now, shift, count = 0, 0, 0
    for i in range(rows.size):
        work[0, 0, i] = min(max(rows[i], 0), length - 1)
        work[0, 1, i] = i
    while (length - 1) >> shift > 0:
        counts[:] = 0
        for i in range(rows.size):
            counts[((work[now, 0, i] >> shift) & _MASK) + 1] += 1
        for digit in range(_MASK):
            counts[digit + 1] += counts[digit]
        for i in range(rows.size):
            digit = (work[now, 0, i] >> shift) & _MASK
            work[1 - now, 0, counts[digit]] = work[now, 0, i]
            work[1 - now, 1, counts[digit]] = work[now, 1, i]
            counts[digit] += 1
        now, shift = 1 - now, shift + _BITS
    for i in range(rows.size):
        order[i] = work[now, 1, i]
        if i == 0 or work[now, 0, i] != stored[count - 1]:
            stored[count], begins[count] = work[now, 0, i], i
            count += 1
    begins[count] = rows.size
    return count


def group(rows: Any, length: int) -> tuple[Any, Any, Any]:
    """Where each row of `length` ones is named in rows (n,), an array of int64.

    Returns stored, the rows that are named, rising; order (n,) and begins: stored[i] is
    named at order[begins[i]], …, order[begins[i + 1] - 1], which rise. What is outside
    counts as the nearest row.
    """
    n = rows.size
    work, counts = np.empty((2, 2, n), np.int64), np.empty(_MASK + 2, np.int64)
    stored, order, begins = (np.empty(k, np.int64) for k in (n, n, n + 1))
    count = _group(rows, length, work, counts, stored, order, begins)
    return stored[:count], order, begins[: count + 1]


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
