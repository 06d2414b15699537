"""Comparing arrays, and saying where they differ.

Everything here takes NumPy arrays, arrays of `mx.nd` and `mx.np`, and plain numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minimx.core.arrays.array import NDArray
from minimx.core.errors import ArgumentError
from minimx.test_utils.tolerance import (
    Tolerance,
    get_atol,
    get_etol,
    get_rtol,
    get_tols,
)

Array = Any


def as_numpy(x: Any) -> Array:
    """The numbers of an NDArray, a NumPy array or a number, as a NumPy array.

    Waits for an NDArray and copies it; NumPy arrays are returned themselves.
    """
    found = x.asnumpy() if hasattr(x, "asnumpy") else x
    return np.asarray(found)


def same(a: Any, b: Any) -> bool:
    """Whether two arrays have equal shapes and equal numbers; NaN equals nothing."""
    return bool(np.array_equal(as_numpy(a), as_numpy(b)))


def same_array(array1: NDArray, array2: NDArray) -> bool:
    """Whether two NDArrays share their memory: a write to one shows in both.

    Adds 1 to `array1` for a moment, and restores it.
    """
    before = array1.copy()
    array1[:] += 1
    shared = same(array1, array2)
    array1[:] = before
    return shared and same(array1, array2)


def almost_equal(
    a: Any,
    b: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    use_broadcast: bool = True,
) -> bool:
    """Whether |a - b| ≤ atol + rtol·|b| everywhere.

    rtol, atol: 1e-5 and 1e-20 if not given. equal_nan: two NaNs are equal.
    use_broadcast: whether shapes may differ and broadcast; off, such raise
    AssertionError.
    """
    a, b = as_numpy(a), as_numpy(b)
    if not use_broadcast:
        _same_shape(a, b)
    return bool(np.allclose(a, b, get_rtol(rtol), get_atol(atol), equal_nan))


def assert_almost_equal(
    a: Any,
    b: Any,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    names: tuple[str, str] = ("a", "b"),
    equal_nan: bool = False,
    use_broadcast: bool = True,
    mismatches: tuple[int, int] = (10, 10),
) -> None:
    """Raise AssertionError unless |a - b| ≤ atol + rtol·|b| everywhere.

    rtol, atol: a number, or {dtype: number}; by default what suits the element types.
    names: what to call the two arrays. mismatches: how many places to print.
    """
    rtol, atol = get_tols(a, b, rtol, atol)
    a, b = as_numpy(a), as_numpy(b)
    if not use_broadcast:
        _same_shape(a, b)
    if a.dtype == b.dtype == np.bool_:
        np.testing.assert_equal(a, b)
    elif not np.allclose(a, b, rtol, atol, equal_nan):
        wrong = ~np.isclose(a, b, rtol, atol, equal_nan)
        raise AssertionError(_mismatch(a, b, wrong, rtol, atol, names, mismatches[0]))


def assert_allclose(
    a: Any, b: Any, rtol: float = 1e-7, atol: float = 0, equal_nan: bool = True
) -> None:
    """Like `assert_almost_equal`, with the tolerances of `numpy.testing`."""
    assert_almost_equal(a, b, rtol, atol, equal_nan=equal_nan)


def assert_almost_equal_with_err(
    a: Any,
    b: Any,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    etol: float | None = None,
    names: tuple[str, str] = ("a", "b"),
    equal_nan: bool = False,
    mismatches: tuple[int, int] = (10, 10),
) -> None:
    """Raise AssertionError if more than the share `etol` of elements is too far apart.

    The rest is as for `assert_almost_equal`, which it is for `etol=0`.
    """
    share = get_etol(etol)
    if share <= 0:
        assert_almost_equal(a, b, rtol, atol, names, equal_nan, mismatches=mismatches)
        return
    rtol, atol = get_tols(a, b, rtol, atol)
    a, b = as_numpy(a), as_numpy(b)
    wrong = ~np.isclose(a, b, rtol, atol, equal_nan)
    if wrong.mean() > share:
        raise AssertionError(_mismatch(a, b, wrong, rtol, atol, names, mismatches[0]))


def assert_almost_equal_ignore_nan(
    a: Any,
    b: Any,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    names: tuple[str, str] = ("a", "b"),
) -> None:
    """Like `assert_almost_equal`; where either is NaN, nothing is compared.

    Raises AssertionError for a difference elsewhere.
    """
    a, b = as_numpy(a), as_numpy(b)
    missing = np.isnan(a) | np.isnan(b)
    a, b = np.where(missing, 0, a), np.where(missing, 0, b)
    assert_almost_equal(a, b, rtol, atol, names)


def assert_exception(
    f: Callable[..., Any],
    exception_type: type[BaseException],
    *args: Any,
    **kwargs: Any,
) -> None:
    """Raise AssertionError unless `f(*args, **kwargs)` raises `exception_type`.

    An exception of another type comes out as it is.
    """
    try:
        f(*args, **kwargs)
    except exception_type:
        return
    raise AssertionError(
        f"{getattr(f, '__name__', f)} was to raise {exception_type.__name__}, and "
        "returned."
    )


def compare_ndarray_tuple(
    t1: Any, t2: Any, rtol: Tolerance = None, atol: Tolerance = None
) -> None:
    """Compare two arrays, or nested tuples of them, with `assert_almost_equal`.

    None on either side matches anything; tuples of different lengths raise ValueError.
    """
    if t1 is None or t2 is None:
        return
    if isinstance(t1, (tuple, list)):
        for one, other in zip(t1, t2, strict=True):
            compare_ndarray_tuple(one, other, rtol, atol)
    else:
        assert_almost_equal(t1, t2, rtol, atol)


def _same_shape(a: Array, b: Array) -> None:
    if a.shape != b.shape:
        raise AssertionError(f"the shapes differ: a has {a.shape}, b has {b.shape}")


def _mismatch(
    a: Array,
    b: Array,
    wrong: Array,
    rtol: float,
    atol: float,
    names: tuple[str, str],
    most: int,
) -> str:
    """The worst places, worst first."""
    a, b = np.broadcast_arrays(a, b)
    if a.dtype.kind not in "biufc":
        raise ArgumentError(f"these are no arrays of numbers: {a!r}, {b!r}")
    x, y = (v.astype(complex if v.dtype.kind == "c" else float) for v in (a, b))
    with np.errstate(all="ignore"):
        excess = np.abs(x - y) / (atol + rtol * np.abs(y) + 1e-20)
    # A NaN or an infinity on one side only is as wrong as can be.
    excess = np.where(wrong, np.nan_to_num(excess, nan=np.inf, posinf=np.inf), -1.0)
    count = int(wrong.sum())
    worst = np.argsort(-excess, axis=None)[: min(count, max(most, 1))]
    lines = [
        f"{count} of {wrong.size} elements ({100 * count / wrong.size:.3g} %) are "
        f"further apart than atol={atol:g} + rtol={rtol:g} * |{names[1]}|. The worst:"
    ]
    for flat in worst:
        place = tuple(int(i) for i in np.unravel_index(flat, a.shape))
        lines.append(
            f"  at {place}: {names[0]}={a[place]!r} {names[1]}={b[place]!r}, "
            f"{excess[place]:.3g} times the tolerance"
        )
    return "\n".join(lines)
