"""Elements and axes in another order; diagonals and triangles."""

from __future__ import annotations

from typing import Any

import numpy as onp

from minimx.core.arrays.array import NDArray
from minimx.core.dtypes import resolve
from minimx.core.errors import ShapeError
from minimx.np.arithmetic import store
from minimx.np.calling.calls import as_tuple, call, constant, whole
from minimx.np.calling.promotion import BOOL, cast
from minimx.np.multiarray import as_ndarray, ndarray


def moveaxis(a: Any, source: Any, destination: Any) -> ndarray:
    """Axes at other places; the others stay in order."""
    places = {
        "source": whole(as_tuple(source)),
        "destination": whole(as_tuple(destination)),
    }
    return call("_np_moveaxis", as_ndarray(a, "moveaxis"), **places)


def rollaxis(a: Any, axis: int, start: int = 0) -> ndarray:
    """One axis moved back until it stands before the axis `start`."""
    a = as_ndarray(a, "rollaxis")
    axis, start = axis % a.ndim, start + a.ndim if start < 0 else start
    return moveaxis(a, axis, start - 1 if axis < start else start)


def matrix_transpose(x: Any) -> ndarray:
    """Every matrix of a stack transposed: the last two axes change places."""
    return call("SwapAxis", as_ndarray(x, "matrix_transpose", "x"), dim1=-1, dim2=-2)


def roll(a: Any, shift: Any, axis: Any = None) -> ndarray:
    """Elements shifted along axes; those pushed out at one end come in at the other.

    shift: how far, for each of `axis`; without axis the elements of the flat array move
    """
    return call("_np_roll", as_ndarray(a, "roll"), shift=whole(shift), axis=whole(axis))


def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> ndarray:
    """A plane of two axes turned by k quarters, from the first axis to the second."""
    return call("_npi_rot90", as_ndarray(m, "rot90", "m"), k=k, axes=whole(axes))


def flip(m: Any, axis: Any = None, out: Any = None) -> ndarray:
    """The elements in reverse order along some axes, or along all."""
    m = as_ndarray(m, "flip", "m")
    axes = tuple(range(m.ndim)) if axis is None else whole(as_tuple(axis))
    return call("reverse", m, axis=axes, out=out) if axes else store(m.copy(), out)


def flipud(m: Any) -> ndarray:
    """The rows in reverse order."""
    m = as_ndarray(m, "flipud", "m")
    if m.ndim < 1:
        raise ShapeError("flipud: an array without axes has no rows.")
    return flip(m, 0)


def fliplr(m: Any) -> ndarray:
    """The columns in reverse order."""
    m = as_ndarray(m, "fliplr", "m")
    if m.ndim < 2:
        raise ShapeError(f"fliplr: shape {m.shape} has no columns.")
    return flip(m, 1)


def broadcast_arrays(*args: Any) -> list[ndarray]:
    """Arrays stretched to the one shape that all of them fit."""
    arrays = [as_ndarray(x, "broadcast_arrays", "args") for x in args]
    try:
        shape = onp.broadcast_shapes(*(x.shape for x in arrays))
    except ValueError:
        raise ShapeError(
            f"broadcast_arrays: shapes {', '.join(str(x.shape) for x in arrays)} do "
            "not stretch to one shape."
        ) from None
    return [
        x if x.shape == shape else call("_npi_broadcast_to", x, shape=shape)
        for x in arrays
    ]


# -- diagonals and triangles -----------------------------------------------------------


def diag(v: Any, k: int = 0) -> ndarray:
    """The k-th diagonal of a matrix, or the matrix that has a vector on it."""
    return call("_np_diag", as_ndarray(v, "diag", "v"), k=k)


def diagflat(v: Any, k: int = 0) -> ndarray:
    """The matrix that has all elements of an array on its k-th diagonal."""
    return call("_np_diagflat", as_ndarray(v, "diagflat", "v"), k=k)


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> ndarray:
    """Diagonals of two axes, along the last axis of the result (a copy)."""
    places = {"offset": offset, "axis1": axis1, "axis2": axis2}
    return call("_np_diagonal", as_ndarray(a, "diagonal"), **places)


def trace(
    a: Any,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: Any = None,
    out: Any = None,
) -> ndarray:
    """Sums over diagonals of two axes."""
    a = as_ndarray(a, "trace")
    if dtype is not None or a.spec.dtype == BOOL:
        a = cast(a, resolve("int64" if dtype is None else dtype))
    places = {"offset": offset, "axis1": axis1, "axis2": axis2}
    return call("_np_trace", a, out=out, **places)


def diag_indices_from(arr: Any) -> tuple[ndarray, ...]:
    """The places of the main diagonal: one array of indices for each axis.

    arr: two axes or more, all of one length
    """
    arr = as_ndarray(arr, "diag_indices_from", "arr")
    if arr.ndim < 2 or len(set(arr.shape)) != 1:
        raise ShapeError(
            f"diag_indices_from: shape {arr.shape} must have two axes or more, all of "
            "one length."
        )
    numbers = onp.arange(arr.shape[0])
    return tuple(constant(numbers, arr, "int64") for _ in arr.shape)


def _indices(found: tuple[Any, ...], beside: Any = None) -> tuple[ndarray, ...]:
    from minimx.np.creation import array

    where = beside.context if isinstance(beside, NDArray) else None
    return tuple(array(index, dtype="int64", ctx=where) for index in found)


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[ndarray, ...]:
    """The places of the lower triangle of an (n, m) matrix: rows and columns."""
    return _indices(onp.tril_indices(n, k, m))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[ndarray, ...]:
    """The places of the upper triangle of an (n, m) matrix: rows and columns."""
    return _indices(onp.triu_indices(n, k, m))


def tril_indices_from(arr: Any, k: int = 0) -> tuple[ndarray, ...]:
    """The places of the lower triangle of a matrix: rows and columns."""
    arr = as_ndarray(arr, "tril_indices_from", "arr")
    n, m = _matrix("tril_indices_from", arr)
    return _indices(onp.tril_indices(n, k, m), arr)


def triu_indices_from(arr: Any, k: int = 0) -> tuple[ndarray, ...]:
    """The places of the upper triangle of a matrix: rows and columns."""
    arr = as_ndarray(arr, "triu_indices_from", "arr")
    n, m = _matrix("triu_indices_from", arr)
    return _indices(onp.triu_indices(n, k, m), arr)


def _matrix(who: str, arr: Any) -> tuple[int, int]:
    if arr.ndim != 2:
        raise ShapeError(f"{who}: shape {arr.shape} is not that of a matrix.")
    return arr.shape[0], arr.shape[1]


__all__ = [
    "broadcast_arrays", "diag", "diag_indices_from", "diagflat", "diagonal", "flip",
    "fliplr", "flipud", "matrix_transpose", "moveaxis", "roll", "rollaxis", "rot90",
    "trace", "tril_indices", "tril_indices_from", "triu_indices", "triu_indices_from",
]  # fmt: skip
