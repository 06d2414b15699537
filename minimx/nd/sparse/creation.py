"""Creation of sparse arrays: `csr_matrix`, `row_sparse_array`, `zeros` and others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minimx.core.arrays import creation
from minimx.core.arrays.array import NDArray, checked_dtype
from minimx.core.device import Device, DeviceLike, as_device, current_device
from minimx.core.dtypes import numbers, resolve
from minimx.core.errors import ArgumentError, ShapeError
from minimx.core.ops.stypes import CSR, DEFAULT, ROW_SPARSE, SparseSpec, spec_of
from minimx.nd.sparse import route
from minimx.nd.sparse.array import BaseSparseNDArray, CSRNDArray, from_parts

ShapeLike = int | Sequence[int]


def _device(ctx: DeviceLike | None) -> Device:
    return as_device(ctx or current_device())


def _dtype(source: Any, dtype: Any) -> Any:
    """The element type wanted: that of the source if it has one, else float32."""
    if dtype is None:
        dtype = source.dtype if hasattr(source, "dtype") else None
    return checked_dtype(dtype)


def _numbers(source: Any, dtype: Any) -> Any:
    """A NumPy array of anything that is like one."""
    if isinstance(source, NDArray):
        return source.asnumpy().astype(dtype)
    try:
        return numbers(source, dtype)
    except (TypeError, ValueError, OverflowError) as reason:
        raise TypeError(
            f"a {type(source).__name__} cannot be read as numbers: {reason}."
        ) from None


def _check_shape(found: Any, wanted: Any) -> None:
    if wanted is not None and tuple(found) != tuple(wanted):
        raise ShapeError(
            f"shape={tuple(wanted)} was asked for, but what is given has the shape "
            f"{tuple(found)}. Leave shape away, or give the right one."
        )


def _sparse(shape: Sequence[int], dtype: Any, stype: str) -> SparseSpec:
    spec = spec_of(tuple(int(n) for n in shape), dtype, stype)
    assert isinstance(spec, SparseSpec)
    return spec


def _is_shape(given: Any) -> bool:
    return all(isinstance(n, (int, np.integer)) for n in given)


def _is_scipy(given: Any) -> bool:
    """Whether something is a sparse matrix of SciPy's; SciPy is not imported."""
    return hasattr(given, "tocsr") and not isinstance(given, NDArray)


# -- csr -------------------------------------------------------------------------------


def csr_matrix(
    arg1: Any,
    shape: Sequence[int] | None = None,
    ctx: DeviceLike | None = None,
    dtype: Any = None,
) -> Any:
    """A csr matrix from something like it.

    a matrix          dense, csr, or of SciPy
    (m, n)            a shape: nothing is stored
    (data, indices, indptr)   what is stored; columns must rise within each row
    (data, (row, col))        elements and their places, in any order; those of one
                              place are added up

    >>> import minimx as mx
    >>> x = mx.nd.sparse.csr_matrix(([1, 2, 3], [1, 0, 2], [0, 1, 2, 2, 3]))
    >>> x.shape, x.indices.asnumpy().tolist()
    ((4, 3), [1, 0, 2])
    """
    if not isinstance(arg1, tuple):
        return _csr_from_matrix(arg1, shape, ctx, dtype)
    if len(arg1) == 3:
        return _csr_from_parts(*arg1, shape=shape, ctx=ctx, dtype=dtype)
    if len(arg1) == 2 and isinstance(arg1[1], tuple) and len(arg1[1]) == 2:
        return _csr_from_places(arg1[0], *arg1[1], shape=shape, ctx=ctx, dtype=dtype)
    if len(arg1) == 2 and _is_shape(arg1):
        _check_shape(arg1, shape)
        return empty(CSR, arg1, ctx, dtype)
    raise ArgumentError(
        "csr_matrix: a tuple is a shape (m, n), (data, indices, indptr), or "
        f"(data, (row, col)); this one has {len(arg1)} parts."
    )


def _csr_from_matrix(source: Any, shape: Any, ctx: Any, dtype: Any) -> Any:
    if isinstance(source, CSRNDArray) or _is_scipy(source):
        _check_shape(source.shape, shape)
        return array(source, ctx, dtype)
    if isinstance(source, BaseSparseNDArray):
        raise ArgumentError(
            f"csr_matrix: a {source.stype} array cannot become csr at once. Make it "
            "dense first, with tostype('default')."
        )
    return _from_dense(source, CSR, shape, ctx, dtype)


def _from_dense(source: Any, stype: str, shape: Any, ctx: Any, dtype: Any) -> Any:
    found = creation.array(source, ctx=ctx, dtype=_dtype(source, dtype))
    _check_shape(found.shape, shape)
    return found.tostype(stype)


def _csr_from_parts(
    data: Any, indices: Any, indptr: Any, shape: Any, ctx: Any, dtype: Any
) -> Any:
    wanted = _dtype(data, dtype)
    values = _numbers(data, wanted)
    places = _numbers(indices, np.int64)
    begins = _numbers(indptr, np.int64)
    if shape is None:
        if not places.size:
            raise ShapeError(
                "csr_matrix: nothing is stored, so the shape is unknown. Give it: "
                "shape=(m, n)."
            )
        shape = (len(begins) - 1, int(places.max()) + 1)
    flat = values.ndim == places.ndim == begins.ndim == 1
    if not flat or len(shape) != 2 or len(begins) != shape[0] + 1:
        raise ShapeError(
            f"csr_matrix: data {values.shape}, indices {places.shape} and indptr "
            f"{begins.shape} do not make a matrix {tuple(shape)}: each has one axis, "
            "and indptr one number more than there are rows."
        )
    if len(values) != len(places):
        raise ShapeError(
            f"csr_matrix: {len(values)} values at {len(places)} places; give one "
            "column in indices for each value."
        )
    spec = _sparse(shape, wanted, CSR)
    return from_parts(spec, (values, places, begins), _device(ctx))


def _csr_from_places(
    data: Any, row: Any, col: Any, shape: Any, ctx: Any, dtype: Any
) -> Any:
    wanted = _dtype(data, dtype)
    values = _numbers(data, wanted)
    rows, columns = _numbers(row, np.int64), _numbers(col, np.int64)
    if not values.shape == rows.shape == columns.shape or values.ndim != 1:
        raise ShapeError(
            f"csr_matrix: data {values.shape}, row {rows.shape} and col "
            f"{columns.shape} must be lists of one length."
        )
    if shape is None:
        if not len(rows):
            raise ShapeError("csr_matrix: nothing is stored; give shape=(m, n).")
        shape = (int(rows.max()) + 1, int(columns.max()) + 1)
    spec = _sparse(shape, wanted, CSR)
    m, n = spec.shape
    outside = (rows < 0) | (rows >= m) | (columns < 0) | (columns >= n)
    if outside.any():
        raise ShapeError(
            f"csr_matrix: the place ({rows[outside][0]}, {columns[outside][0]}) lies "
            f"outside of a matrix {spec.shape}."
        )
    return from_parts(spec, _sorted(values, rows, columns, spec.shape), _device(ctx))


def _sorted(values: Any, rows: Any, columns: Any, shape: Any) -> tuple[Any, Any, Any]:
    """The parts of a csr matrix with elements at these places, each place once."""
    places, which = np.unique(rows * shape[1] + columns, return_inverse=True)
    if len(places) < len(values):
        total = np.zeros(len(places), values.dtype)
        np.add.at(total, which, values)
    else:
        total = np.empty_like(values)
        total[which] = values
    begins = np.zeros(shape[0] + 1, np.int64)
    np.cumsum(
        np.bincount(places // max(shape[1], 1), minlength=shape[0]), out=begins[1:]
    )
    return total, places % max(shape[1], 1), begins


# -- row_sparse ------------------------------------------------------------------------


def row_sparse_array(
    arg1: Any,
    shape: Sequence[int] | None = None,
    ctx: DeviceLike | None = None,
    dtype: Any = None,
) -> Any:
    """A row_sparse array from something like it.

    an array          dense or row_sparse
    (d0, d1, …)       a shape: nothing is stored
    (data, indices)   rows and their numbers, which must rise

    >>> import minimx as mx
    >>> x = mx.nd.sparse.row_sparse_array(([[1, 2], [3, 4]], [1, 4]), shape=(6, 2))
    >>> x.indices.asnumpy().tolist()
    [1, 4]
    """
    if isinstance(arg1, tuple):
        if len(arg1) < 2:
            raise ArgumentError(
                "row_sparse_array: a tuple is a shape of two axes or more, or "
                f"(data, indices); this one has {len(arg1)} part."
            )
        if _is_shape(arg1):
            _check_shape(arg1, shape)
            return empty(ROW_SPARSE, arg1, ctx, dtype)
        if len(arg1) == 2:
            return _rows_from_parts(*arg1, shape=shape, ctx=ctx, dtype=dtype)
        raise ArgumentError(
            "row_sparse_array: the tuple is neither a shape nor (data, indices)."
        )
    if isinstance(arg1, BaseSparseNDArray):
        if arg1.stype != ROW_SPARSE:
            raise ArgumentError(
                f"row_sparse_array: a {arg1.stype} array cannot become row_sparse at "
                "once. Make it dense first, with tostype('default')."
            )
        _check_shape(arg1.shape, shape)
        return array(arg1, ctx, dtype)
    return _from_dense(arg1, ROW_SPARSE, shape, ctx, dtype)


def _rows_from_parts(data: Any, indices: Any, shape: Any, ctx: Any, dtype: Any) -> Any:
    wanted = _dtype(data, dtype)
    values = _numbers(data, wanted)
    places = _numbers(indices, np.int64)
    if shape is None:
        if not places.size:
            raise ShapeError(
                "row_sparse_array: nothing is stored, so the shape is unknown. "
                "Give it: shape=(d0, d1, …)."
            )
        shape = (int(places.reshape(-1)[-1]) + 1, *values.shape[1:])
    if not places.size and not values.size:
        values = values.reshape(0, *shape[1:])
    fits = values.ndim == len(shape) and values.shape[1:] == tuple(shape[1:])
    if not fits or places.ndim != 1 or len(values) != len(places):
        raise ShapeError(
            f"row_sparse_array: data {values.shape} and indices {places.shape} do not "
            f"make an array {tuple(shape)}: one number in indices for each row."
        )
    return from_parts(
        _sparse(shape, wanted, ROW_SPARSE), (values, places), _device(ctx)
    )


# -- any storage type ------------------------------------------------------------------


def zeros(
    stype: str,
    shape: ShapeLike,
    ctx: DeviceLike | None = None,
    dtype: Any = None,
    **kwargs: Any,
) -> Any:
    """An array of zeros, of which a sparse one stores nothing."""
    if stype == DEFAULT:
        return creation.zeros(shape, ctx=ctx, dtype=dtype, **kwargs)
    axes = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    spec = _sparse(axes, checked_dtype(dtype), stype)
    return route.empty(spec, _device(ctx), "zeros")


def empty(
    stype: str, shape: ShapeLike, ctx: DeviceLike | None = None, dtype: Any = None
) -> Any:
    """A sparse array that stores nothing: zeros."""
    return zeros(stype, shape, ctx, dtype)


def array(source_array: Any, ctx: DeviceLike | None = None, dtype: Any = None) -> Any:
    """A copy of a sparse array, ours or SciPy's, stored as it was."""
    device = _device(ctx)
    if isinstance(source_array, BaseSparseNDArray):
        wanted = _dtype(source_array, dtype)
        spec = _sparse(source_array.shape, wanted, source_array.stype)
        made = route.empty(spec, device, "array")
        route.copy(source_array, made)
        return made
    if not _is_scipy(source_array):
        raise ArgumentError(
            f"sparse.array copies sparse arrays, not a {type(source_array).__name__}. "
            "Use x.tostype(…), csr_matrix or row_sparse_array."
        )
    matrix = source_array.tocsr().copy()
    matrix.sum_duplicates()
    matrix.sort_indices()
    spec = _sparse(matrix.shape, resolve(dtype or matrix.dtype), CSR)
    parts = matrix.data, matrix.indices, matrix.indptr
    return from_parts(spec, parts, device)
