"""Random sparse arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minimx import nd
from minimx.core.arrays.array import NDArray
from minimx.core.device import Device
from minimx.core.errors import ArgumentError
from minimx.test_utils.defaults import default_context, default_dtype
from minimx.test_utils.reference import assign_each

Array = Any


def rand_sparse_ndarray(
    shape: tuple[int, ...],
    stype: str,
    density: float | None = None,
    dtype: Any = None,
    distribution: str | None = None,
    data_init: float | None = None,
    rsp_indices: Any = None,
    modifier_func: Callable[[float], float] | None = None,
    shuffle_csr_indices: bool = False,
    ctx: Device | None = None,
) -> tuple[NDArray, tuple[Any, ...]]:
    """A random `row_sparse` or `csr` array, and what it is made of.

    density: the share of rows (`row_sparse`) or elements (`csr`) that are stored.
    distribution: 'uniform', or 'powerlaw': each row stores twice as many as the last.
    data_init: the value of every stored number. rsp_indices: the rows to store.
    Returns the array with (values, rows), or with (indptr, indices, data).
    """
    density = float(np.random.rand()) if density is None else density
    if not 0 <= density <= 1:
        raise ArgumentError(f"density={density} is not a share between 0 and 1.")
    kind = np.dtype(default_dtype() if dtype is None else dtype)
    ctx = ctx or default_context()
    if stype == "row_sparse":
        if distribution not in (None, "uniform"):
            raise ArgumentError(f"row_sparse arrays are uniform, not {distribution}.")
        return _row_sparse(
            shape, density, kind, data_init, rsp_indices, modifier_func, ctx
        )
    if stype != "csr":
        raise ArgumentError(f"stype={stype!r}: choose row_sparse or csr.")
    pattern = _PATTERNS.get(distribution or "uniform")
    if pattern is None:
        raise ArgumentError(f"distribution={distribution!r}: uniform or powerlaw.")
    stored = pattern(shape[0], shape[1], density)
    rows, columns = np.nonzero(stored)
    data = np.random.rand(rows.size)
    if distribution == "powerlaw":
        data += 1
    if data_init is not None:
        data = np.full_like(data, data_init)
    if modifier_func is not None and data.size:
        data = assign_each(data, modifier_func)
    indptr = np.concatenate([[0], np.cumsum(stored.sum(1))])
    if shuffle_csr_indices:
        for start, end in zip(indptr[:-1], indptr[1:], strict=True):
            np.random.shuffle(columns[start:end])
    csr = nd.sparse.csr_matrix(
        (data.astype(kind), columns, indptr), shape=shape, dtype=kind, ctx=ctx
    )
    return csr, (csr.indptr, csr.indices, csr.data)


def _row_sparse(
    shape: tuple[int, ...],
    density: float,
    dtype: Any,
    data_init: float | None,
    rsp_indices: Any,
    modifier_func: Callable[[float], float] | None,
    ctx: Device,
) -> tuple[NDArray, tuple[Array, Array]]:
    if rsp_indices is None:
        rows = np.flatnonzero(np.random.rand(shape[0]) < density)
    else:
        rows = np.asarray(rsp_indices)
    values = np.random.rand(rows.size, *shape[1:]).astype(dtype)
    if data_init is not None:
        values.fill(data_init)
    if modifier_func is not None and values.size:
        values = assign_each(values, modifier_func).astype(dtype)
    made = nd.sparse.row_sparse_array((values, rows), shape=shape, dtype=dtype, ctx=ctx)
    return made, (values, rows)


def _uniform(rows: int, columns: int, density: float) -> Array:
    """A mask with that share of its elements set."""
    cells = rows * columns
    stored = np.zeros(cells, bool)
    stored[np.random.permutation(cells)[: int(cells * density)]] = True
    return stored.reshape(rows, columns)


def _powerlaw(rows: int, columns: int, density: float) -> Array:
    """One element in each row first, then rows of 2, 4, 8, … until all are spent."""
    left = int(rows * columns * density)
    if left < 2 * rows:
        raise ArgumentError(
            f"powerlaw needs two elements for each row: {left} for {rows} rows are "
            "too few. Raise the density."
        )
    stored = np.zeros((rows, columns), bool)
    stored[:, 0] = True
    left -= rows
    for row in range(rows):
        more = max(0, min(2 ** (row + 1), columns, left + 1) - 1)
        stored[row, 1 : 1 + more] = True
        left -= more
    return stored


_PATTERNS = {"uniform": _uniform, "powerlaw": _powerlaw}


def create_sparse_array(
    shape: tuple[int, ...],
    stype: str,
    data_init: float | None = None,
    rsp_indices: Any = None,
    dtype: Any = None,
    modifier_func: Callable[[float], float] | None = None,
    density: float = 0.5,
    shuffle_csr_indices: bool = False,
) -> NDArray:
    """A random `row_sparse` or `csr` NDArray; `rand_sparse_ndarray` without its parts.

    rsp_indices: the rows of a `row_sparse` array that are stored, in any order. Raises
    `ArgumentError` as `rand_sparse_ndarray` does.
    """
    return rand_sparse_ndarray(
        shape,
        stype,
        density=density,
        data_init=data_init,
        rsp_indices=None if rsp_indices is None else np.sort(np.asarray(rsp_indices)),
        dtype=dtype,
        modifier_func=modifier_func,
        shuffle_csr_indices=shuffle_csr_indices,
    )[0]


def create_sparse_array_zd(
    shape: tuple[int, ...],
    stype: str,
    density: float,
    data_init: float | None = None,
    rsp_indices: Any = None,
    dtype: Any = None,
    modifier_func: Callable[[float], float] | None = None,
    shuffle_csr_indices: bool = False,
) -> NDArray:
    """Like `create_sparse_array`; of `row_sparse` only `rsp_indices` are stored.

    The density counts for `csr` only.
    """
    if stype == "row_sparse":
        density = 0.0
    return create_sparse_array(
        shape,
        stype,
        data_init,
        rsp_indices,
        dtype,
        modifier_func,
        density,
        shuffle_csr_indices,
    )
