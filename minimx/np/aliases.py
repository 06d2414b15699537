"""Spellings: names of the array API (MXNet 2), and names that NumPy has given up."""

from __future__ import annotations

from typing import Any

import numpy as onp

from minimx.core.arrays.creation import from_dlpack as _from_dlpack
from minimx.core.dtypes import resolve
from minimx.np.calling.dispatch import by_numpy
from minimx.np.linalg import vecdot
from minimx.np.multiarray import as_ndarray, as_np, ndarray
from minimx.np.reductions import all as np_all
from minimx.np.reductions import any as np_any
from minimx.np.reductions import cumsum, prod
from minimx.np.searching import unique

alltrue, sometrue, product = np_all, np_any, prod
cumulative_sum = cumsum


def astype(x: Any, dtype: Any, copy: bool = True) -> ndarray:
    """The array with another element type."""
    return as_ndarray(x, "astype", "x").astype(dtype, copy=copy)


def can_cast(from_: Any, to: Any) -> bool:
    """Whether every number of one type (or of an array's) is one of another type."""
    source = from_.dtype if hasattr(from_, "spec") else resolve(from_)
    return bool(onp.can_cast(source, resolve(to)))


def from_dlpack(x: Any) -> ndarray:
    """An array over the memory of another framework's CPU tensor."""
    return as_np(_from_dlpack(x))


def unique_all(x: Any) -> tuple[ndarray, ndarray, ndarray, ndarray]:
    """The different elements, where each is first, which each is, how many there are.

    Waits for the numbers, as all four do.
    """
    values, places, inverse, counts = unique(x, True, True, True)
    return values, places, inverse.reshape_view(x.shape), counts


def unique_counts(x: Any) -> tuple[ndarray, ndarray]:
    """The different elements, and how often each comes."""
    values, counts = unique(x, return_counts=True)
    return values, counts


def unique_inverse(x: Any) -> tuple[ndarray, ndarray]:
    """The different elements, and which of them every element is."""
    values, inverse = unique(x, return_inverse=True)
    return values, inverse.reshape_view(x.shape)


def unique_values(x: Any) -> ndarray:
    """The different elements."""
    return unique(x)


def trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> ndarray:
    """The area below a line through points; computed by NumPy, without gradient."""
    return by_numpy(onp.trapezoid, (y, x, dx, axis), {})


trapz = trapezoid

__all__ = [
    "alltrue", "astype", "can_cast", "cumulative_sum", "from_dlpack", "product",
    "sometrue", "trapezoid", "trapz", "unique_all", "unique_counts", "unique_inverse",
    "unique_values", "vecdot",
]  # fmt: skip
