"""Running sums on CUDA, counting, positions by number, and copies with new parts.

A running sum or product: a line is cut into chunks. A thread adds each of them up; then
a thread for each line adds up what the chunks before have; then the chunks are walked
again, from there. How a line is cut depends on its length only: the same to the bit in
every run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from minimx.core.drivers import copies
from minimx.core.dtypes import DType
from minimx.core.shapes import Shape
from minimx.cuda.driver import current_device
from minimx.cuda.kernels import launching, pointwise, scratch
from minimx.cuda.kernels.core.shape import copy, strides, view
from minimx.cuda.kernels.default_launch import builtin, runs, wide
from minimx.cuda.kernels.launching import cuda

Launch = Callable[..., None]

#: The elements of a chunk at least, and the chunks of a line at most.
LEAST, MOST = (64, 1024) if not launching.SIMULATED else (2, 4)


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


def cumsum(shape: Shape, axis: int | None, real: Any, times: bool = False) -> Launch:
    """(x, out): running sums along an axis, or products; None: of the flat array.

    real: the element type of the sums.
    """
    if axis is None:
        shape, axis = (prod(shape),), 0
    length, inner = shape[axis], prod(shape[axis + 1 :])
    lines = prod(shape) // length
    chunk = max(LEAST, -(-length // MOST))
    parts, empty = -(-length // chunk), np.dtype(real).type(int(times))

    def launch(x: Any, out: Any) -> None:
        n, sizes = lines * parts, (length, inner, chunk, parts, times)
        with scratch.allocated((n, real)) as (sums,):
            launching.over(_totals, n, (x, sums), *sizes, empty)
            launching.over(_before, lines, (sums,), inner, parts, times, empty)
            launching.over(_walked, n, (x, sums, out), *sizes)

    return launch


@launching.kernel
def _gathered(x: Any, table: Any, out: Any, n: int, fill: Any) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        place = table[i]
        out[i] = x[place] if place >= 0 else fill


def gathered(table: Any, fill: float) -> Launch:
    """(x, out): the element at the place that a NumPy table names, `fill` at -1.

    The table goes to a device with the first launch there, and stays.
    """
    there = held(table)

    def launch(x: Any, out: Any) -> None:
        number = np.array(fill).astype(out.dtype)[()]
        launching.over(_gathered, out.size, (x, there(), out), number)

    return launch


def held(table: Any) -> Callable[[], Any]:
    """What gives a NumPy array on the device of the moment, copied there once."""
    there: dict[Any, Any] = {}

    def here() -> Any:
        device = current_device()
        if device not in there:
            there[device] = cuda.to_device(table)
        return there[device]

    return here


@launching.kernel
def _added(x: Any, starts: Any, sources: Any, out: Any, n: int, zero: Any) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        total = zero
        for k in range(starts[i], starts[i + 1]):
            total += x[sources[k]]
        out[i] = total


def added(table: Any, size: int) -> Launch:
    """(x, out): the transpose of `gathered`, out having `size` elements.

    A thread adds up all that goes to its place, in their order.
    """
    places = np.flatnonzero(table >= 0)
    order = places[np.argsort(table[places], kind="stable")]
    counts = np.bincount(table[places], minlength=size)
    starts, sources = held(np.append(0, np.cumsum(counts))), held(order)

    def launch(x: Any, out: Any) -> None:
        arrays = x, starts(), sources(), out
        launching.over(_added, out.size, arrays, out.dtype.type(0))

    return launch


# -- numbers of positions --------------------------------------------------------------


@launching.kernel
def _ravelled(indices: Any, out: Any, n: int, steps: Any) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        total = 0
        for axis in range(len(steps)):
            total += int(indices[axis * n + i]) * steps[axis]
        out[i] = total


@launching.kernel
def _unravelled(numbers: Any, out: Any, n: int, shape: Any) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        rest = int(numbers[i])
        for axis in range(len(shape) - 1, 0, -1):
            out[axis * n + i] = rest % shape[axis]
            rest //= shape[axis]
        out[i] = rest


@runs("_ravel_multi_index", types=wide)
def ravel(indices: Any, shape: Shape, out: Any) -> None:
    """Indices (ndim, ...): the number of each position in a flat array."""
    launching.over(_ravelled, out.size, (indices, out), tuple(strides(shape)))


@runs("_unravel_index", "_np_unravel_index", types=wide)
def unravel(numbers: Any, shape: Shape, out: Any) -> None:
    """Out (ndim, ...): the position of each number; the first axis is open."""
    launching.over(_unravelled, numbers.size, (numbers, out), shape)


@launching.kernel
def _indexed(out: Any, n: int, steps: Any, lengths: Any) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        element, k = i // len(steps), i % len(steps)
        out[i] = element // steps[k] % lengths[k]


def indexed(shape: Shape, axes: Shape) -> Launch:
    """(x, out): the index of each element along some axes; x is not read."""
    steps = tuple(strides(shape)[axis] for axis in axes)
    lengths = tuple(shape[axis] for axis in axes)
    return lambda x, out: launching.over(_indexed, out.size, (out,), steps, lengths)


@launching.kernel
def _counted(x: Any, edges: Any, counts: Any, n: int, bins: int) -> None:
    """Additions of whole numbers: in whichever order, the sum is the same."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        value = x[i]
        if value >= edges[0] and value <= edges[bins]:
            low, high = 0, bins - 1  # the last edge belongs to the last bin
            while low < high:
                half = (low + high + 1) // 2
                if value >= edges[half]:
                    low = half
                else:
                    high = half - 1
            cuda.atomic.add(counts, low, 1)


def histogram(x: Any, edges: Any, counts: Any, out: Any) -> None:
    """How many numbers lie between each two neighbouring edges; and the edges."""
    launching.duplicate(edges, out)
    _count(x, edges, counts)


def _count(x: Any, edges: Any, counts: Any) -> None:
    pointwise.filler(counts.dtype.type(0))(counts)
    launching.run(_counted, x.size, x.reshape(-1), edges, counts, x.size, counts.size)


def even_histogram(count: int, low: float, high: float, dtype: DType) -> Launch:
    """(x, counts, edges): `count` bins of equal width, for x of this element type."""
    edges = np.histogram_bin_edges(np.empty(0, dtype), count, (low, high))
    there = held(edges)

    def launch(x: Any, counts: Any, out: Any) -> None:
        copies.copyto(out, there())
        _count(x, there(), counts)

    return launch


# -- copies with a part replaced -------------------------------------------------------


@launching.kernel
def _one_of_each(
    lhs: Any, values: Any, indices: Any, out: Any, n: int, length: int
) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        row, column = i // length, int(indices[i // length])
        here = i % length == (column + length if column < 0 else column)
        out[i] = values[row] if here else lhs[i]


@runs("fill_element_0index", types=builtin)
def fill_element(lhs: Any, values: Any, indices: Any, out: Any) -> None:
    """A copy, with one element of each row replaced."""
    arrays, length = (lhs, values, indices, out), out.size // indices.size
    launching.over(_one_of_each, out.size, arrays, length)


def slice_assign(shape: Shape, key: Sequence[Any], dtype: DType) -> Launch:
    """(lhs, rhs, out): a copy of lhs with rhs in the part that a key names."""
    start, lengths, steps = view(shape, key)
    put = copy(dtype, lengths, (0, strides(tuple(lengths))), (start, steps))

    def launch(lhs: Any, rhs: Any, out: Any) -> None:
        launching.duplicate(lhs, out)
        put(rhs, out)

    return launch


def slice_fill(shape: Shape, key: Sequence[Any], value: float, dtype: DType) -> Launch:
    """(x, out): a copy with one value in the part that a key names."""
    start, lengths, steps = view(shape, key)
    put = copy(dtype, lengths, (0, [0] * len(steps)), (start, steps))

    def launch(x: Any, out: Any) -> None:
        launching.duplicate(x, out)
        with scratch.allocated((1, dtype)) as (number,):
            pointwise.filler(np.array(value).astype(dtype)[()])(number)
            put(number, out)

    return launch
