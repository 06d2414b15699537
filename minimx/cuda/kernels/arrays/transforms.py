"""Count sketches on CUDA."""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.cuda.kernels import launching, scratch
from minimx.cuda.kernels.core.indexing import ordered
from minimx.cuda.kernels.default_launch import real_first, runs
from minimx.cuda.kernels.launching import cuda


@launching.kernel
def _sent(h: Any, places: Any, n: int, width: int) -> None:
    """Where a hash sends each column; -1 if there is no such column."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        place = int(h[i])
        place = place + width if place < 0 else place
        places[i] = place if place >= 0 and place < width else -1


@launching.kernel
def _collected(
    x: Any, s: Any, places: Any, order: Any, out: Any, n: int, many: int, width: int,
    zero: Any,
) -> None:  # fmt: skip
    """A thread adds up what its element gets, found by bisection among the places."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        row, place = i // width, i % width
        low, high = 0, many
        while low < high:
            middle = (low + high) // 2
            if places[order[middle]] < place:
                low = middle + 1
            else:
                high = middle
        total = zero
        while low < many and places[order[low]] == place:
            column = order[low]
            total += s[column] * x[row * many + column]
            low += 1
        out[i] = total


@runs("_contrib_count_sketch", types=real_first)
def count_sketch(x: Any, h: Any, s: Any, out: Any) -> None:
    """Column j of x, times s[j], is added to column h[j] of out.

    Columns that come to one place are added up in their order. A kernel cannot raise
    errors: a column that is sent where there is none is left out.
    """
    many, width, zero = h.size, tuple(out.shape)[-1], out.dtype.type(0)
    with scratch.allocated((many, np.int64), (many, np.int64)) as (places, order):
        launching.over(_sent, many, (h, places), width)
        ordered(places, (many,), 0, True, order)
        arrays = x, s, places, order, out
        launching.over(_collected, out.size, arrays, many, width, zero)
