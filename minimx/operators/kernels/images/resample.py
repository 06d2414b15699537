"""Resampling of images, one axis after the other.

Along an axis every new pixel is a weighted sum of a few neighbouring old ones:

    new[i] = sum over t of weights[i, t] * old[first[i] + t]

so that two small tables describe a resampling, `first` (out,) and `weights` (out,
taps). Weights of 0 stand for taps outside the image.

    gather(old, tables, new, between)     as above, along both image axes
    spread(new, tables, old, between)     its transpose: every new pixel goes back
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.kernels import threads
from minimx.core.kernels.parts import dealt

Table = tuple[Any, Any]


def averages(length: int, out: int) -> Table:
    """The table of means over `out` pieces of an axis, which may overlap by one."""
    place = np.arange(out)
    first = place * length // out
    last = -(-(place + 1) * length // out)
    taps = int((last - first).max())
    inside = np.arange(taps) < (last - first)[:, None]
    return first, inside / (last - first)[:, None]


def lines(length: int, out: int, align_corners: bool) -> Table:
    """The table of linear interpolation between neighbours.

    align_corners: the first and last pixels stay where they are; otherwise the edges
    of the image do, a pixel being a square around its place.
    """
    place = np.arange(out)
    at: Any = np.zeros(1)
    if out > 1 and align_corners:
        at = place * ((length - 1) / (out - 1))
    elif out > 1:
        at = np.maximum((place + 0.5) * (length / out) - 0.5, 0)
    first = np.clip(at.astype(int), 0, max(length - 2, 0))
    right = np.clip(at - first, 0, 1) if length > 1 else np.zeros(out)
    return first, np.stack([1 - right, right], 1)[:, : min(length, 2)]


@threads.jit(parallel=True)
def _gather_rows(part: Any, old: Any, first: Any, weights: Any, new: Any) -> None:
    """Along the middle axis of old (planes, length, inner)."""
    for plane in dealt(new.shape[0], part):
        for i in range(new.shape[1]):
            row = new[plane, i]
            row[:] = 0
            for t in range(weights.shape[1]):
                weight = weights[i, t]
                if weight != 0:
                    line = old[plane, first[i] + t]
                    for k in range(row.size):
                        row[k] += weight * line[k]


@threads.jit(parallel=True)
def _gather_columns(part: Any, old: Any, first: Any, weights: Any, new: Any) -> None:
    """Along the last axis of old (rows, length)."""
    for r in dealt(new.shape[0], part):
        line, row = old[r], new[r]
        for i in range(row.size):
            total = new.dtype.type(0)
            for t in range(weights.shape[1]):
                weight = weights[i, t]
                if weight != 0:
                    total += weight * line[first[i] + t]
            row[i] = total


@threads.jit(parallel=True)
def _spread_rows(part: Any, new: Any, first: Any, weights: Any, old: Any) -> None:
    for plane in dealt(new.shape[0], part):
        old[plane] = 0
        for i in range(new.shape[1]):
            row = new[plane, i]
            for t in range(weights.shape[1]):
                weight = weights[i, t]
                if weight != 0:
                    line = old[plane, first[i] + t]
                    for k in range(row.size):
                        line[k] += weight * row[k]


@threads.jit(parallel=True)
def _spread_columns(part: Any, new: Any, first: Any, weights: Any, old: Any) -> None:
    for r in dealt(new.shape[0], part):
        line, row = old[r], new[r]
        line[:] = 0
        for i in range(row.size):
            for t in range(weights.shape[1]):
                weight = weights[i, t]
                if weight != 0:
                    line[first[i] + t] += weight * row[i]


def _shapes(old: Any, new: Any, between: Any) -> tuple[Any, Any, Any]:
    """The three as planes; between has new rows and old columns."""
    height, width = old.shape[-2:]
    rows, columns = new.shape[-2:]
    half = between.view(old.dtype).reshape(-1, rows, width)
    return old.reshape(-1, height, width), new.reshape(-1, rows, columns), half


def _as(table: Table, dtype: Any) -> Table:
    return table[0], table[1].astype(dtype)


def gather(old: Any, tables: tuple[Table, Table], new: Any, between: Any) -> None:
    """New (..., H', W') from old (..., H, W); between: room for (..., H', W)."""
    old, new, half = _shapes(old, new, between)
    rows, columns = (_as(table, old.dtype) for table in tables)
    _gather_rows(old, *rows, half)
    flat = half.reshape(-1, half.shape[2]), new.reshape(-1, new.shape[2])
    _gather_columns(flat[0], *columns, flat[1])


def spread(new: Any, tables: tuple[Table, Table], old: Any, between: Any) -> None:
    """The transpose: old (..., H, W) from new (..., H', W')."""
    old, new, half = _shapes(old, new, between)
    rows, columns = (_as(table, old.dtype) for table in tables)
    flat = new.reshape(-1, new.shape[2]), half.reshape(-1, half.shape[2])
    _spread_columns(flat[0], *columns, flat[1])
    _spread_rows(half, *rows, old)
