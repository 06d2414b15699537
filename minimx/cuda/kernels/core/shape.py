"""Copies that put elements into another order, on CUDA.

Every one is the identity over operands that are walked in different ways: where an
operand begins, and how far it advances along each axis. Where neighbours in what is
read are not neighbours in what is written, a square of SIDE × SIDE elements goes
through shared memory, so that both are walked side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np

from minimx.core.dtypes import DType
from minimx.core.kernels.formula import Formula
from minimx.core.shapes import Shape
from minimx.cuda.kernels import launching, packed, pointwise
from minimx.cuda.kernels.launching import cuda

Launch = Callable[..., None]

_SAME = Formula("x", ("x",))

#: The side of a square that goes through shared memory, and how many of its rows the
#: threads of a block take at a time.
SIDE, ROWS = (2, 1) if launching.SIMULATED else (32, 8)


def strides(shape: Shape) -> list[int]:
    """Elements to advance along each axis of a contiguous array.

    >>> strides((2, 3, 4))
    [12, 4, 1]
    """
    return [prod(shape[axis + 1 :]) for axis in range(len(shape))]


def view(shape: Shape, key: Sequence[Any]) -> tuple[int, list[int], list[int]]:
    """Start, lengths and steps of the part that a key of ranges and integers names.

    >>> view((4, 6), ((1, 4, 2), 5))
    (11, [2], [12])
    """
    start, lengths, steps = 0, [], []
    walked = iter(zip(shape, strides(shape), strict=True))
    for part in key:
        if part is None:
            continue
        length, step = next(walked)
        if isinstance(part, tuple):
            start += part[0] * step
            lengths.append(len(range(*part)))
            steps.append(part[2] * step)
        else:
            start += (part % length) * step
    for length, step in walked:
        lengths.append(length)
        steps.append(step)
    return start, lengths, steps


def copy(
    dtype: DType, lengths: Sequence[int], source: tuple[int, Any],
    target: tuple[int, Any],
) -> Launch:  # fmt: skip
    """(x, out): both walked along the same axes, each from a start by steps."""
    moves = [list(pair) for pair in zip(source[1], target[1], strict=True)]
    starts = source[0], target[0]
    order = list(reversed(range(len(lengths))))
    along, moves = [lengths[axis] for axis in order], [moves[axis] for axis in order]
    along, moves = along or [1], moves or [[0, 0]]
    return pointwise.over_strides(_SAME, (dtype,), dtype, "??", starts, along, moves)


def transpose(shape: Shape, axes: Shape, dtype: DType) -> Launch:
    """(x, out): the axes of x in the order `axes`."""
    lengths, sources = merged(shape, axes)
    targets = strides(tuple(lengths))
    inner = sources.index(1) if 1 in sources else -1
    last = len(lengths) - 1
    if inner not in (-1, last) and min(lengths[inner], lengths[last]) >= SIDE // 2:
        return _by_squares(lengths, sources, targets, inner, np.dtype(dtype).itemsize)
    return copy(dtype, lengths, (0, sources), (0, targets))


def merged(shape: Shape, axes: Shape) -> tuple[list[int], list[int]]:
    """Lengths, and steps in what is read, of the axes of what is written.

    Axes that stay neighbours are one; those of one element are left out.

    >>> merged((2, 3, 1, 4, 5), (3, 4, 0, 2, 1))
    ([20, 6], [1, 20])
    """
    steps = strides(shape)
    lengths: list[int] = []
    sources: list[int] = []
    for axis in axes:
        length, step = shape[axis], steps[axis]
        if length == 1:
            continue
        if sources and sources[-1] == length * step:
            lengths[-1], sources[-1] = lengths[-1] * length, step
        else:
            lengths.append(length)
            sources.append(step)
    return lengths, sources


@cache
def _turned(side: int, rows: int, word: str) -> Any:
    """The kernel that turns squares of elements of one size.

    wide, high: elements along what is read, and along what is written. far_in, far_out:
    steps across. rest: length, step in x and step in out of every other axis.
    """
    kind, padded = np.dtype(word), side + 1  # no two threads of a warp in one bank

    @launching.kernel
    def kernel(
        x: Any, out: Any, wide: int, high: int, far_in: int, far_out: int, rest: Any
    ) -> None:
        square = cuda.shared.array((side, padded), kind)
        across, down = -(-wide // side), -(-high // side)
        block = cuda.blockIdx.x
        i0, block = block % across * side, block // across
        j0, block = block % down * side, block // down
        here = there = 0
        for axis in range(0, len(rest), 3):
            here += block % rest[axis] * rest[axis + 1]
            there += block % rest[axis] * rest[axis + 2]
            block //= rest[axis]
        t, first = cuda.threadIdx.x, cuda.threadIdx.y
        for row in range(first, side, rows):
            i, j = i0 + t, j0 + row
            if i < wide and j < high:
                square[row, t] = x[here + i + j * far_in]
        cuda.syncthreads()
        for row in range(first, side, rows):
            i, j = i0 + row, j0 + t
            if i < wide and j < high:
                out[there + i * far_out + j] = square[t, row]

    return kernel


def _by_squares(
    lengths: list[int], sources: list[int], targets: list[int], inner: int, size: int
) -> Launch:
    """(x, out): axis `inner` is that of neighbours in x, the last one in out."""
    word, last = f"uint{8 * size}", len(lengths) - 1
    others = [axis for axis in range(last) if axis != inner]
    rest = [n for a in others for n in (lengths[a], sources[a], targets[a])]
    sizes = lengths[inner], lengths[last], sources[last], targets[inner]
    blocks = prod(-(-n // SIDE) for n in sizes[:2]) * prod(lengths[a] for a in others)
    settings = *sizes, tuple(rest) or (1, 0, 0)

    def launch(x: Any, out: Any) -> None:
        arrays = (array.view(word) for array in launching.flat(x, out))
        turned = _turned(SIDE, ROWS, word)
        packed.launch(turned, blocks, (SIDE, ROWS), *arrays, *settings)

    return launch


def pick(shape: Shape, key: Sequence[Any], dtype: DType) -> Launch:
    """(x, out): the part of x that a key of ranges and integers names."""
    start, lengths, steps = view(shape, key)
    return copy(dtype, lengths, (start, steps), (0, strides(tuple(lengths))))


def place(shape: Shape, key: Sequence[Any], dtype: DType) -> Launch:
    """(part, out): zeros, with `part` where the key says; the gradient of `pick`."""
    start, lengths, steps = view(shape, key)
    fill = pointwise.filler(dtype.type(0))
    put = copy(dtype, lengths, (0, strides(tuple(lengths))), (start, steps))

    def launch(part: Any, out: Any) -> None:
        fill(out)
        put(part, out)

    return launch


def _pieces(
    shape: Shape, axis: int, lengths: Sequence[int]
) -> list[tuple[int, tuple[int, ...]]]:
    """Where the pieces of an axis begin, in elements, and their shapes."""
    starts = [end - n for n, end in zip(lengths, accumulate(lengths), strict=True)]
    step = strides(shape)[axis]
    return [
        (start * step, (*shape[:axis], n, *shape[axis + 1 :]))
        for start, n in zip(starts, lengths, strict=True)
    ]


def concatenate(
    shape: Shape, axis: int, lengths: Sequence[int], dtype: DType
) -> Launch:
    """(*xs, out): pieces of these lengths one after another along an axis of out."""
    puts = [
        copy(dtype, piece, (0, strides(piece)), (start, strides(shape)))
        for start, piece in _pieces(shape, axis, lengths)
    ]

    def launch(*arrays: Any) -> None:
        for put, x in zip(puts, arrays[:-1], strict=True):
            put(x, arrays[-1])

    return launch


def split(shape: Shape, axis: int, lengths: Sequence[int], dtype: DType) -> Launch:
    """(x, *outs): pieces of x along an axis."""
    gets = [
        copy(dtype, piece, (start, strides(shape)), (0, strides(piece)))
        for start, piece in _pieces(shape, axis, lengths)
    ]

    def launch(x: Any, *outs: Any) -> None:
        for get, out in zip(gets, outs, strict=True):
            get(x, out)

    return launch


def tile(shape: Shape, reps: Shape, dtype: DType) -> Launch:
    """(x, out): x, `reps[k]` times along axis k; both as long as out has axes."""
    steps = strides(shape)
    lengths = [n for pair in zip(reps, shape, strict=True) for n in pair]
    moves = [move for step in steps for move in (0, step)]
    return copy(dtype, lengths, (0, moves), (0, strides(tuple(lengths))))


def repeat(shape: Shape, axis: int, times: int, dtype: DType) -> Launch:
    """(x, out): every element `times` times in a row along an axis."""
    steps = strides(shape)
    lengths = (*shape[: axis + 1], times, *shape[axis + 1 :])
    moves = [*steps[: axis + 1], 0, *steps[axis + 1 :]]
    return copy(dtype, lengths, (0, moves), (0, strides(lengths)))
