"""Kernels that count, number places, and write into parts of a copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minimx.core.errors import OperatorError
from minimx.core.shapes import Shape

Launch = Callable[..., None]


def cumsum(axis: int | None) -> Launch:
    """(x, out): running sums along an axis, or of the flat array."""

    def launch(x: Any, out: Any) -> None:
        flat = x if axis is not None else x.reshape(-1)
        target = out if axis is not None else out.reshape(-1)
        np.cumsum(flat, axis or 0, dtype=out.dtype, out=target)

    return launch


def histogram(x: Any, edges: Any, counts: Any, out: Any) -> None:
    """How many numbers lie between each two neighbouring edges; and the edges."""
    np.copyto(counts, np.histogram(x, edges)[0])
    np.copyto(out, edges)


def even_histogram(count: int, low: float, high: float) -> Launch:
    """(x, counts, edges): `count` bins of equal width from low to high."""

    def launch(x: Any, counts: Any, edges: Any) -> None:
        found, places = np.histogram(x, count, (low, high))
        np.copyto(counts, found)
        np.copyto(edges, places, casting="unsafe")

    return launch


def ravel(shape: Shape) -> Launch:
    """(indices (ndim, ...), out): the number of each place in a flat array."""
    steps = np.cumprod((1, *shape[:0:-1]))[::-1].astype(np.int64)

    def launch(indices: Any, out: Any) -> None:
        places = np.tensordot(steps, indices.astype(np.int64), 1)
        np.copyto(out, places.reshape(out.shape), casting="unsafe")

    return launch


def unravel(shape: Shape) -> Launch:
    """(numbers, out (ndim, ...)): the place of each number; the first axis is open."""

    def launch(numbers: Any, out: Any) -> None:
        rest = numbers.astype(np.int64)
        for axis in range(len(shape) - 1, 0, -1):
            rest, place = np.divmod(rest, shape[axis])
            np.copyto(out[axis], place, casting="unsafe")
        np.copyto(out[0], rest, casting="unsafe")

    return launch


def onehot_encode(indices: Any, shaped: Any, out: Any) -> None:
    """A row with one 1 for each index; `shaped` only says how long rows are."""
    out.fill(0)
    out[np.arange(len(indices)), indices.astype(np.int64)] = 1


def fill_element(lhs: Any, values: Any, indices: Any, out: Any) -> None:
    """A copy, with one element of each row replaced."""
    np.copyto(out, lhs)
    out[np.arange(len(indices)), indices.astype(np.int64)] = values


def scatter_set(lhs: Any, rhs: Any, indices: Any, out: Any) -> None:
    """A copy, with rhs at the places; of several at one place the last one stays."""
    if out.ctypes.data != lhs.ctypes.data:
        np.copyto(out, lhs)
    out[tuple(indices.astype(np.int64))] = rhs


def slice_assign(key: tuple[Any, ...]) -> Launch:
    """(lhs, rhs, out): a copy of lhs with rhs in a part of it."""

    def launch(lhs: Any, rhs: Any, out: Any) -> None:
        if out.ctypes.data != lhs.ctypes.data:
            np.copyto(out, lhs)
        out[key] = rhs

    return launch


def slice_fill(key: tuple[Any, ...], value: float) -> Launch:
    """(x, out): a copy with one value in a part of it."""

    def launch(x: Any, out: Any) -> None:
        if out.ctypes.data != x.ctypes.data:
            np.copyto(out, x)
        out[key] = value

    return launch


def index_copy(old: Any, indices: Any, new: Any, out: Any) -> None:
    """A copy of old, with rows of new where the indices say."""
    places = indices.astype(np.int64)
    bad = places[(places < 0) | (places >= len(old))]
    if bad.size:
        raise OperatorError(
            f"index_copy: row {bad[0]} does not exist; there are {len(old)}."
        )
    np.copyto(out, old)
    out[places] = new
