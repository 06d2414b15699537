"""Resampling of images on CUDA, one axis after the other, from the CPU's tables.

    gather(shape, tables)    (old, new): every new pixel from a few old ones
    spread(shape, tables)    (new, old): its transpose

A table is a sparse matrix: for the transpose, which old pixel goes where is turned
round on the host, once. So a thread owns a pixel of the answer in both directions, and
adds up what belongs to it in one order.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from minimx.core.shapes import Shape
from minimx.cuda.kernels import launching, scratch
from minimx.cuda.kernels.arrays import places
from minimx.cuda.kernels.launching import cuda

Launch = Callable[..., None]
Table = tuple[Any, Any]


@launching.kernel
def _along(
    x: Any, starts: Any, sources: Any, weights: Any, out: Any, n: int, before: int,
    after: int, inner: int, zero: Any,
) -> None:  # fmt: skip
    """Along the middle axis of x (groups, before, inner), which becomes `after`."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        place, group = i // inner % after, i // (inner * after)
        base, total = group * before * inner + i % inner, zero
        for k in range(starts[place], starts[place + 1]):
            total += weights[k] * x[base + sources[k] * inner]
        out[i] = total


class _Matrix:
    """A table as rows of (source, weight), or as columns, on the device."""

    def __init__(self, table: Table, before: int, real: Any, turned: bool) -> None:
        first, weights = table
        rows, taps = np.nonzero(weights)
        ins, values = first[rows] + taps, weights[rows, taps].astype(real)
        self.before, self.after = before, len(first)
        if turned:
            order = np.argsort(ins, kind="stable")
            rows, ins, values = ins[order], rows[order], values[order]
            self.before, self.after = self.after, self.before
        counts = np.bincount(rows, minlength=self.after)
        self.starts = places.held(np.append(0, np.cumsum(counts)))
        self.sources, self.weights = places.held(ins), places.held(values)

    def run(self, x: Any, out: Any, n: int, inner: int) -> None:
        """Out (..., after, inner) from x (..., before, inner)."""
        arrays = x, self.starts(), self.sources(), self.weights(), out
        sizes = self.before, self.after, inner
        launching.over(_along, n, arrays, *sizes, out.dtype.type(0))


def gather(old: Shape, tables: tuple[Table, Table], real: Any) -> Launch:
    """(old, new), for images of this shape and element type: rows, then columns."""
    *planes, height, width = old
    rows = _Matrix(tables[0], height, real, turned=False)
    columns = _Matrix(tables[1], width, real, turned=False)
    half = prod(planes) * rows.after * width

    def launch(x: Any, new: Any) -> None:
        with scratch.allocated((half, real)) as (between,):
            rows.run(x, between, half, width)
            columns.run(between, new, new.size, 1)

    return launch


def spread(old: Shape, tables: tuple[Table, Table], real: Any) -> Launch:
    """(new, old), the transpose: columns, then rows."""
    *planes, height, width = old
    rows = _Matrix(tables[0], height, real, turned=True)
    columns = _Matrix(tables[1], width, real, turned=True)
    half = prod(planes) * rows.before * width

    def launch(new: Any, x: Any) -> None:
        with scratch.allocated((half, real)) as (between,):
            columns.run(new, between, half, 1)
            rows.run(between, x, x.size, width)

    return launch
