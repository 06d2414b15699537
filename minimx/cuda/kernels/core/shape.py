"""Copies that put elements into another order, on CUDA.

Every one is the identity over operands that are walked in different ways: where an
operand begins, and how far it advances along each axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from math import prod
from typing import Any

from minimx.core.dtypes import DType
from minimx.core.kernels.formula import Formula
from minimx.core.shapes import Shape
from minimx.cuda.kernels import pointwise

Launch = Callable[..., None]

_SAME = Formula("x", ("x",))


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
    steps = strides(shape)
    lengths = [shape[axis] for axis in axes]
    turned = [steps[axis] for axis in axes]
    return copy(dtype, lengths, (0, turned), (0, strides(tuple(lengths))))


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
