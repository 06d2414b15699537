"""Gathering and scattering by arrays of indices, and sorting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minimx.core.kernels.cpu.indexing import Launch


def gather_nd(x: Any, indices: Any, out: Any) -> None:
    """Indices (m, ...): column by column the place in x of what goes to out."""
    np.copyto(out, x[tuple(indices.astype(np.int64))])


def scatter_nd(data: Any, indices: Any, out: Any) -> None:
    """Zeros with `data` at the places; of several at one place the last one stays."""
    out.fill(0)
    out[tuple(indices.astype(np.int64))] = data


def scatter_nd_sum(data: Any, indices: Any, out: Any) -> None:
    """Zeros with `data` added at the places: the gradient of `gather_nd`."""
    out.fill(0)
    np.add.at(out, tuple(indices.astype(np.int64)), data)


def order(x: Any, axis: int, ascending: bool) -> Any:
    """The places of the elements in ascending or descending order; ties keep theirs."""
    if ascending:
        return np.argsort(x, axis, kind="stable")
    back = np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
    return x.shape[axis] - 1 - back


def sort(axis: int, ascending: bool) -> Launch:
    """(x, out, places): in order along an axis, and where each element stood."""

    def launch(x: Any, out: Any, places: Any) -> None:
        np.copyto(places, order(x, axis, ascending))
        np.copyto(out, np.take_along_axis(x, places, axis))

    return launch


def argsort(axis: int, ascending: bool) -> Launch:
    """(x, out): where the elements in order stand."""
    return lambda x, out: np.copyto(out, order(x, axis, ascending), casting="unsafe")


def topk(axis: int, k: int, ascending: bool) -> Callable[[Any], Any]:
    """A function x -> the places of its k first elements in order."""
    first = (slice(None),) * axis + (slice(0, k),)
    return lambda x: np.ascontiguousarray(order(x, axis, ascending)[first])
