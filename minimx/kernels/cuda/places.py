"""Running sums and products on CUDA, and moving elements by a table of places.

A line is cut into chunks. A thread adds each of them up; then a thread for each line
adds up what the chunks before have; then the chunks are walked again, from there. How
a line is cut depends on its length only: the same to the bit in every run.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from minimx.kernels.cuda import launching, scratch
from minimx.kernels.cuda.launching import cuda
from minimx.shapes import Shape

Launch = Callable[..., None]

#: The elements of a chunk at least, and the chunks of a line at most.
LEAST, MOST = (64, 1024) if not launching.PLAYING else (2, 4)


@launching.kernel
def _totals(
    x: Any, sums: Any, n: int, length: int, inner: int, chunk: int, parts: int,
    times: bool, empty: Any,
) -> None:  # fmt: skip
    """The sum or product of every chunk; n: lines times chunks."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        line, part = i // (inner * parts) * inner + i % inner, i // inner % parts
        start = line // inner * length * inner + line % inner
        total = empty
        for k in range(part * chunk, min(part * chunk + chunk, length)):
            value = x[start + k * inner]
            total = total * value if times else total + value
        sums[i] = total


@launching.kernel
def _before(sums: Any, n: int, inner: int, parts: int, times: bool, empty: Any) -> None:
    """What all chunks before have, in place of what a chunk has; n: lines."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        start = i // inner * parts * inner + i % inner
        total = empty
        for part in range(parts):
            value = sums[start + part * inner]
            sums[start + part * inner] = total
            total = total * value if times else total + value


@launching.kernel
def _walked(
    x: Any, sums: Any, out: Any, n: int, length: int, inner: int, chunk: int,
    parts: int, times: bool,
) -> None:  # fmt: skip
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        line, part = i // (inner * parts) * inner + i % inner, i // inner % parts
        start = line // inner * length * inner + line % inner
        total = sums[i]
        for k in range(part * chunk, min(part * chunk + chunk, length)):
            value = x[start + k * inner]
            total = total * value if times else total + value
            out[start + k * inner] = total


def cumsum(shape: Shape, axis: int | None, wide: Any, times: bool = False) -> Launch:
    """(x, out): running sums along an axis, or products; None: of the flat array.

    wide: the element type of the sums.
    """
    if axis is None:
        shape, axis = (prod(shape),), 0
    length, inner = shape[axis], prod(shape[axis + 1 :])
    lines = prod(shape) // length
    chunk = max(LEAST, -(-length // MOST))
    parts, empty = -(-length // chunk), np.dtype(wide).type(int(times))

    def launch(x: Any, out: Any) -> None:
        flat, place, n = x.reshape(-1), out.reshape(-1), lines * parts
        with scratch.lent((n, wide)) as (sums,):
            sizes = n, length, inner, chunk, parts, times
            launching.run(_totals, n, flat, sums, *sizes, empty)
            launching.run(_before, lines, sums, lines, inner, parts, times, empty)
            launching.run(_walked, n, flat, sums, place, *sizes)

    return launch


@launching.kernel
def _gathered(x: Any, table: Any, out: Any, n: int, fill: Any) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        place = table[i]
        out[i] = x[place] if place >= 0 else fill


def gathered(table: Any, fill: float) -> Launch:
    """(x, out): the element at the place that a NumPy table names, `fill` at -1.

    The table goes to the device with the first launch, and stays there.
    """
    there: list[Any] = []

    def launch(x: Any, out: Any) -> None:
        if not there:
            there.append(cuda.to_device(table))
        n, number = out.size, np.array(fill).astype(out.dtype)[()]
        launching.run(_gathered, n, x.reshape(-1), there[0], out.reshape(-1), n, number)

    return launch
