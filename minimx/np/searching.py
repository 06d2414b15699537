"""Sorting, searching, counting, sets, and statistics of order.

Where the shape of a result depends on numbers (`unique`, `nonzero`, …) the call waits
for them.
"""

from __future__ import annotations

from typing import Any

import numpy as onp

from minimx.core.arrays.array import NDArray
from minimx.core.dtypes import resolve
from minimx.core.errors import ArgumentError, DTypeError, ShapeError
from minimx.core.shapes import normalize_axis
from minimx.np.calling.calls import as_tuple, call, constant, refuse_arguments, whole
from minimx.np.calling.promotion import cast
from minimx.np.multiarray import as_ndarray, ndarray

INT64 = resolve("int64")


# -- sorting ---------------------------------------------------------------------------


def sort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None) -> ndarray:
    """The elements in ascending order along an axis; flat if axis is None.

    The sort is stable, whatever `kind` says.
    """
    refuse_arguments("sort", order=order)
    return call("sort", as_ndarray(a, "sort"), axis=axis)


def argsort(
    a: Any, axis: int | None = -1, kind: Any = None, order: Any = None
) -> ndarray:
    """The indices of the elements in ascending order; int64."""
    refuse_arguments("argsort", order=order)
    return call("argsort", as_ndarray(a, "argsort"), axis=axis, dtype="int64")


# -- picking ---------------------------------------------------------------------------


def take(
    a: Any, indices: Any, axis: int | None = None, mode: str = "raise", out: Any = None
) -> ndarray:
    """Whole slices along an axis, in the order of the indices; flat without an axis.

    mode: what becomes of indices that do not exist: raise an error where the
    result is waited for, clip to the ends, or wrap round
    """
    a = as_ndarray(a, "take")
    if mode not in ("raise", "clip", "wrap"):
        raise ArgumentError(
            f"np.take: mode {mode!r}: choose 'raise', 'clip' or 'wrap'."
        )
    if not isinstance(indices, NDArray):
        indices = constant(onp.asarray(indices), a, "int64")
    if axis is None:
        a, axis = a.reshape_view(-1), 0
    mode = "numpy" if mode == "raise" else mode  # negative ones count from the end
    return call("take", a, as_ndarray(indices, "take"), axis=axis, mode=mode, out=out)


def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> ndarray:
    """One element for each index, along an axis: argsort's places give what sort does.

    indices: as many axes as arr; axes of length 1 stretch
    """
    arr = as_ndarray(arr, "take_along_axis", "arr")
    indices = as_ndarray(indices, "take_along_axis", "indices")
    if axis is None:
        arr, indices, axis = arr.reshape_view(-1), indices.reshape_view(-1), 0
    if arr.ndim != indices.ndim:
        raise ShapeError(
            f"take_along_axis: arr {arr.shape} and indices {indices.shape} must have "
            "equally many axes."
        )
    axis %= arr.ndim
    pairs = zip(arr.shape, indices.shape, strict=True)
    common = [max(m, n) if 0 not in (m, n) else 0 for m, n in pairs]
    wide, places = list(common), list(common)
    wide[axis], places[axis] = arr.shape[axis], indices.shape[axis]
    arr = call("_npi_broadcast_to", arr, shape=tuple(wide))
    indices = call("_npi_broadcast_to", indices, shape=tuple(places))
    return call("_take_along_axis", arr, indices, axis=axis, mode="numpy")


def nonzero(a: Any) -> tuple[ndarray, ...]:
    """Where the elements are not 0: one row of int64 indices for each axis.

    Waits for the numbers.
    """
    a = as_ndarray(a, "nonzero")
    numbers = a.asnumpy()
    found = onp.nonzero(numbers if numbers.ndim else numbers.reshape(1))
    return tuple(constant(row, a, INT64) for row in found)


def flatnonzero(a: Any) -> ndarray:
    """Where the elements of the flat array are not 0. Waits for the numbers."""
    return nonzero(as_ndarray(a, "flatnonzero").reshape_view(-1))[0]


def argwhere(a: Any) -> ndarray:
    """Where the elements are not 0: a row of indices for each. Waits for them."""
    a = as_ndarray(a, "argwhere")
    return constant(onp.argwhere(a.asnumpy()), a, INT64)


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> ndarray:
    """Before which element of the sorted vector `a` each of `v` belongs; int64.

    Waits for the numbers.
    """
    a = as_ndarray(a, "searchsorted")
    refuse_arguments("searchsorted", sorter=sorter)
    numbers = v.asnumpy() if isinstance(v, NDArray) else onp.asarray(v)
    found = onp.searchsorted(a.asnumpy(), numbers, side=side)  # type: ignore[call-overload]
    return (
        constant(found, a, INT64) if isinstance(v, NDArray) or numbers.ndim else found
    )


# -- places as one number, or one for each axis ----------------------------------------


def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Any, ...]:
    """The indices of elements of the flat array: one array of indices for each axis."""
    if order != "C":
        raise ArgumentError("np.unravel_index: arrays here are stored with order='C'.")
    shape = whole(as_tuple(shape))
    if not isinstance(indices, NDArray):
        return tuple(onp.unravel_index(indices, shape))
    rows = call("_np_unravel_index", as_ndarray(indices, "unravel_index"), shape=shape)
    return tuple(rows[k] for k in range(len(shape)))


def ravel_multi_index(multi_index: Any, dims: Any) -> ndarray:
    """The place in the flat array, from one array of indices for each axis."""
    dims = whole(as_tuple(dims))
    rows = [as_ndarray(row, "ravel_multi_index", "multi_index") for row in multi_index]
    if len(rows) != len(dims):
        raise ShapeError(
            f"ravel_multi_index: {len(rows)} rows of indices for the {len(dims)} axes "
            f"of {dims}."
        )
    total = rows[0]
    for row, length in zip(rows[1:], dims[1:], strict=True):
        total = total * length + row
    return total


# -- sets and counts -------------------------------------------------------------------


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
) -> Any:
    """The different elements (or slices along an axis) in ascending order.

    Further results, int64 each: where each stands first, which of them every element
    is, how often each comes. Waits for the numbers; no gradient.
    """
    ar = as_ndarray(ar, "unique", "ar")
    numbers = onp.atleast_1d(ar.asnumpy())
    if axis is not None:
        axis = normalize_axis("unique", axis, numbers.ndim)
    if not numbers.size:  # as in MXNet one row of nothing, whatever the axis
        numbers, axis = numbers.reshape(-1), None
    wanted: tuple[Any, ...] = (return_index, return_inverse, return_counts, axis)
    found: Any = onp.unique(numbers, *wanted)
    if not isinstance(found, tuple):
        return constant(found, ar)
    first, *counts = found
    # The places of all elements are one row, however many axes there are.
    return (constant(first, ar), *(constant(c.reshape(-1), ar, INT64) for c in counts))


def bincount(x: Any, weights: Any = None, minlength: int = 0) -> ndarray:
    """How often each of 0, 1, 2, … stands in `x`, or the sum of the weights there.

    x (n,): whole numbers, none negative. Waits for the numbers; no gradient.
    """
    x = as_ndarray(x, "bincount", "x")
    if x.spec.dtype.kind not in "iu" or x.ndim != 1:
        raise DTypeError(
            f"np.bincount: x must be one row of whole numbers; it is {x.spec}."
        )
    if minlength < 0:
        raise ArgumentError(f"np.bincount: minlength={minlength} must not be negative.")
    numbers = x.asnumpy()
    if numbers.size and numbers.min() < 0:
        raise ArgumentError(
            f"np.bincount: {numbers.min()} is negative; counts begin at 0."
        )
    if weights is None:
        return constant(onp.bincount(numbers, None, minlength), x)
    weights = as_ndarray(weights, "bincount", "weights")
    if weights.shape != x.shape:
        raise ShapeError(
            f"np.bincount: weights {weights.shape} must have the shape of x, {x.shape}."
        )
    return constant(onp.bincount(numbers, weights.asnumpy(), minlength), weights)


def histogram(
    a: Any,
    bins: Any = 10,
    range: Any = None,  # noqa: A002 (NumPy's name)
    normed: Any = None,
    weights: Any = None,
    density: Any = None,
) -> list[ndarray]:
    """How many elements lie in each interval, and where the intervals begin and end.

    bins: how many of equal width, or the places where they begin and the last ends;
    range: (low, high), by default the smallest and the largest element. Waits for the
    numbers; no gradient.
    """
    a = as_ndarray(a, "histogram")
    given = weights.asnumpy() if isinstance(weights, NDArray) else weights
    refuse_arguments("histogram", normed=normed or None)
    edges = bins.asnumpy() if isinstance(bins, NDArray) else bins
    counts, found = onp.histogram(a.asnumpy(), edges, range, bool(density), given)
    kind = INT64 if counts.dtype.kind == "i" else a.spec.dtype
    if isinstance(bins, NDArray):
        return [constant(counts, a, kind), as_ndarray(bins, "histogram", "bins")]
    wide = a.spec.dtype if a.spec.dtype.kind == "f" else "float32"
    return [constant(counts, a, kind), constant(found, a, wide)]


# -- statistics of order ---------------------------------------------------------------


def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: Any = None,
    interpolation: str = "linear",
    keepdims: bool = False,
) -> ndarray:
    """The numbers below which q percent of the elements lie; no gradient.

    q: a number or an array, whose axes come first; interpolation: which number where
    one lies between two elements: linear, lower, higher, midpoint or nearest
    """
    a = as_ndarray(a, "percentile")
    refuse_arguments("percentile", overwrite_input=overwrite_input or None)
    settings: dict[str, Any] = {"axis": whole(axis), "interpolation": interpolation}
    settings["keepdims"] = keepdims
    if not isinstance(q, NDArray) and onp.ndim(q) == 0:
        return call("_npi_percentile", a, q_scalar=float(q), out=out, **settings)
    q = q if isinstance(q, NDArray) else constant(onp.asarray(q, float), a, "float64")
    return call(
        "_npi_percentile", a, as_ndarray(q, "percentile", "q"), out=out, **settings
    )


def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: Any = None,
    interpolation: str = "linear",
    keepdims: bool = False,
) -> ndarray:
    """The numbers below which a share q of the elements lies: `percentile` of 100 q."""
    if not isinstance(q, NDArray):
        percent: Any = onp.asarray(q, float) * 100
    else:
        percent = cast(as_ndarray(q, "quantile", "q"), resolve("float64")) * 100
    return percentile(a, percent, axis, out, overwrite_input, interpolation, keepdims)


def median(
    a: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: Any = None,
    keepdims: bool = False,
) -> ndarray:
    """The number in the middle: as many elements lie below it as above."""
    return quantile(a, 0.5, axis, out, overwrite_input, keepdims=keepdims)


__all__ = [
    "argsort", "argwhere", "bincount", "flatnonzero", "histogram", "median", "nonzero",
    "percentile", "quantile", "ravel_multi_index", "searchsorted", "sort", "take",
    "take_along_axis", "unique", "unravel_index",
]  # fmt: skip
