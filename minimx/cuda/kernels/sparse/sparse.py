"""Between dense and sparse storage on CUDA, and csr times dense.

A csr matrix is three arrays on the device, a row_sparse array two, as in the CPU's file
of this name. How much is stored decides how much memory is asked for, so the count is
fetched: that waits for the device. All else is launched and left to it.

A thread owns a row where rows are counted or written one element after another, else an
element; no two write to one place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.drivers import copies
from minimx.cuda.kernels import launching, scratch
from minimx.cuda.kernels.arrays.places import cumsum
from minimx.cuda.kernels.launching import cuda
from minimx.cuda.kernels.pointwise import filler


@launching.kernel
def _count(dense: Any, counts: Any, n: int, length: int, whole: bool) -> None:
    """Into counts[i + 1] the elements of row i that are not 0; whole: 1 for any."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        found = 0
        for j in range(i * length, (i + 1) * length):
            if dense[j] != 0:
                found += 1
        counts[i + 1] = min(found, 1) if whole else found
        if i == 0:
            counts[0] = 0


@launching.kernel
def _collect(
    dense: Any, data: Any, indices: Any, indptr: Any, n: int, length: int
) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        at = indptr[i]
        for j in range(length):
            if dense[i * length + j] != 0:
                data[at] = dense[i * length + j]
                indices[at] = j
                at += 1


@launching.kernel
def _spread(
    data: Any, indices: Any, indptr: Any, dense: Any, n: int, length: int
) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        for at in range(indptr[i], indptr[i + 1]):
            dense[i * length + indices[at]] = data[at]


@launching.kernel
def _name(starts: Any, indices: Any, n: int) -> None:
    """The numbers of the rows that are stored, from how many are before each."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if starts[i + 1] > starts[i]:
            indices[starts[i]] = i


@launching.kernel
def _move(x: Any, indices: Any, out: Any, n: int, length: int, back: bool) -> None:
    """Rows to where they are stored, or back to where they belong."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        whole = indices[i // length] * length + i % length
        if back:
            out[whole] = x[i]
        else:
            out[i] = x[whole]


@launching.kernel
def _times(
    data: Any, indices: Any, indptr: Any, rhs: Any, out: Any, n: int, width: int,
    zero: Any,
) -> None:  # fmt: skip
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        row, j, total = i // width, i % width, zero
        for at in range(indptr[row], indptr[row + 1]):
            total += data[at] * rhs[indices[at] * width + j]
        out[i] = total


def as_number(array: Any) -> Any:
    """Half precision as the 16 bits it is stored in, for code that only moves it."""
    return array.view(np.uint16) if array.dtype == np.float16 else array


def count_entries(dense: Any, whole: bool, indptr: Any) -> int:
    """Fill indptr (m + 1,) for m rows, and say how much there is; waits for that.

    whole: count rows that are not 0 all over, rather than elements.
    """
    rows, last = dense.shape[0], indptr.size - 1
    with scratch.allocated((indptr.size, np.int64)) as (counts,):
        length = dense.size // rows
        launching.over(_count, rows, (as_number(dense), counts), length, whole)
        cumsum((indptr.size,), 0, np.int64)(counts, indptr)
    return int(copies.fetch(indptr[last:])[0])


def collect_entries(dense: Any, out: Any) -> None:
    """Store in `out`, which allocates, the elements that are not 0."""
    rows, length = dense.shape
    with scratch.allocated((rows + 1, np.int64)) as (indptr,):
        count = count_entries(dense, False, indptr)
        made = out.entries(count)
        launching.duplicate(indptr, made.indptr)
        if count:
            arrays = as_number(dense), as_number(made.data), made.indices, indptr
            launching.over(_collect, rows, arrays, length)


def spread_entries(parts: Any, dense: Any) -> None:
    """Fill a dense matrix with the elements of a csr one."""
    rows, length = dense.shape
    filler(dense.dtype.type(0))(dense)
    if parts.indices.size:
        data, *numbers = parts
        arrays = as_number(data), *numbers, as_number(dense)
        launching.over(_spread, rows, arrays, length)


def collect_rows(dense: Any, out: Any) -> None:
    """Store in `out`, which allocates, the rows that are not 0 all over."""
    rows = dense.shape[0]
    with scratch.allocated((rows + 1, np.int64)) as (starts,):
        count = count_entries(dense, True, starts)
        made, n = out.rows(count), count * (dense.size // rows)
        if count:
            launching.over(_name, rows, (starts, made.indices))
            arrays = as_number(dense), made.indices, as_number(made.data)
            launching.over(_move, n, arrays, n // count, False)


def spread_rows(parts: Any, dense: Any) -> None:
    """Fill a dense array with the rows of a row_sparse one."""
    filler(dense.dtype.type(0))(dense)
    if n := parts.data.size:
        arrays = as_number(parts.data), parts.indices, as_number(dense)
        launching.over(_move, n, arrays, dense.size // dense.shape[0], True)


def entries_dense(parts: Any, rhs: Any, out: Any) -> None:
    """Out (m, n) = csr (m, k) · rhs (k, n)."""
    zero, n, width = out.dtype.type(0), out.size, out.shape[1]
    if parts.indices.size:
        launching.over(_times, n, (*parts, rhs, out), width, zero)
    else:
        filler(zero)(out)
