"""Parts of arrays that other arrays name by coordinates, on CUDA.

    key = columns((3, 4, 5), (2, 7))          gather_nd's: 7 positions, each 5 elements
    key = key_of(shape, ("array", 2), ...)    that of x[i, 2]
    key.fetch(x, *indices, out)               the part
    key.scatter(data, *indices, out)          zeros with data in the part

A kernel cannot raise errors. What does not exist reads as 0, and nothing is written
there; the CPU refuses it. What meets at one position is resolved by one thread, in
order: the positions are sorted, and the thread of the first (or for copies the last) of
a run of equal ones acts for all of them: the same to the bit in every run.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from minimx.core.shapes import Shape
from minimx.cuda.kernels import launching, scratch
from minimx.cuda.kernels.core.indexing import ordered
from minimx.cuda.kernels.launching import cuda
from minimx.cuda.kernels.pointwise import filler
from minimx.cuda.kernels.stretching import spots

Pairs = list[tuple[int, int]]


@launching.kernel
def _located(
    indices: Any, positions: Any, n: int, row: int, axes: Any, strides: Any, start: int,
    fresh: bool,
) -> None:  # fmt: skip
    """Add up where coordinates lead; -1 once one of them does not exist.

    axes: the length and the step of the axis that each row of indices is about, a row
    every `row` elements; strides: how indices stretch to the positions.
    """
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        at, rest = 0, i
        for k in range(0, len(strides), 2):
            at += rest % strides[k] * strides[k + 1]
            rest //= strides[k]
        total = start if fresh else positions[i]
        for k in range(0, len(axes), 2):
            found = int(indices[at + k // 2 * row])
            if found < 0:
                found += axes[k]
            exists = total >= 0 and found >= 0 and found < axes[k]
            total = total + found * axes[k + 1] if exists else -1
        positions[i] = total


@launching.kernel
def _fetched(x: Any, positions: Any, out: Any, n: int, strides: Any, zero: Any) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        away, which = spots(i, strides)
        position = positions[which]
        out[i] = x[position + away] if position >= 0 else zero


@launching.kernel
def _resolved(
    data: Any, positions: Any, order: Any, out: Any, n: int, many: int, inner: int,
    strides: Any, add: bool,
) -> None:  # fmt: skip
    """Data to its positions. order: of the positions; a thread has one element."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        away, rank = spots(i, strides)
        mine = i - rank * inner  # where the element lies in data, but for the position
        position = positions[order[rank]]
        other = rank - 1 if add else rank + 1
        alone = other < 0 or other >= many
        if position >= 0 and (alone or positions[order[other]] != position):
            total = data[mine + order[rank] * inner]
            if add:
                rank += 1
                while rank < many and positions[order[rank]] == position:
                    total += data[mine + order[rank] * inner]
                    rank += 1
            out[position + away] = total


class Coordinates:
    """Where the elements of a part lie.

    given: for each array of indices its strides over the positions, how far apart its
    rows are, and the lengths and steps of the axes they are about. positions: the shape
    of the arrays together. dims: the length and the step of the axes of the part that
    no array is about, before and behind those of the positions. start: the first
    element of all.
    """

    def __init__(
        self, given: list[tuple[Any, int, Any]], positions: Shape,
        dims: tuple[Pairs, Pairs], start: int = 0,
    ) -> None:  # fmt: skip
        before, behind = dims
        self.given, self.start, self.many = given, start, prod(positions)
        self.inner = prod(length for length, _ in behind)
        self.shape = (*(n for n, _ in before), *positions, *(n for n, _ in behind))
        axes = [
            *((length, step, 0) for length, step in reversed(behind)),
            (self.many, 0, 1),
            *((length, step, 0) for length, step in reversed(before)),
        ]
        self.strides = tuple(number for axis in axes for number in axis)

    def locate(self, indices: Any, positions: Any) -> None:
        """Fill positions (int64) from the arrays of indices."""
        for k, (array, given) in enumerate(zip(indices, self.given, strict=True)):
            strides, row, axes = given
            settings = row, axes, strides, self.start, k == 0
            launching.over(_located, self.many, (array, positions), *settings)

    def fetch(self, x: Any, *rest: Any) -> None:
        """(x, *indices, out): the part; 0 where a position does not exist."""
        *indices, out = rest
        with scratch.allocated((self.many, np.int64)) as (positions,):
            self.locate(indices, positions)
            arrays, zero = (x, positions, out), out.dtype.type(0)
            launching.over(_fetched, out.size, arrays, self.strides, zero)

    def put(self, data: Any, *rest: Any, add: bool = False) -> None:
        """(data, *indices, out): data into the part, or the sum of what comes there."""
        *indices, out = rest
        many, settings = self.many, (self.many, self.inner, self.strides, add)
        with scratch.allocated((many, np.int64), (many, np.int64)) as (
            positions,
            order,
        ):
            self.locate(indices, positions)
            ordered(positions, (many,), 0, True, order)
            arrays = data, positions, order, out
            launching.over(_resolved, data.size, arrays, *settings)

    def scatter(self, data: Any, *rest: Any) -> None:
        """(data, *indices, out): zeros with data in the part, the last one stays."""
        filler(rest[-1].dtype.type(0))(rest[-1])
        self.put(data, *rest)

    def add(self, data: Any, *rest: Any) -> None:
        """(data, *indices, out): zeros with data added up in the part."""
        filler(rest[-1].dtype.type(0))(rest[-1])
        self.put(data, *rest, add=True)

    def replace(self, x: Any, data: Any, *rest: Any) -> None:
        """(x, data, *indices, out): a copy of x with data in the part."""
        launching.duplicate(x, rest[-1])
        self.put(data, *rest)


def columns(shape: Shape, indices: Shape) -> Coordinates:
    """The part that indices (m, ...) name: every column is a position in this shape."""
    m, positions = indices[0], indices[1:]
    inner, many = prod(shape[m:]), prod(positions)
    axes = tuple(x for c in range(m) for x in (shape[c], prod(shape[c + 1 :])))
    return Coordinates([((many, 1), many, axes)], positions, ([], [(inner, 1)]))


def key_of(shape: Shape, pattern: Any, given: list[Shape]) -> Coordinates | None:
    """The part x[pattern], for index arrays of these shapes; None for rarer patterns.

    Integers beside arrays are arrays without axes. All together they give axes where
    the first of them stands, or, where something else is in between, in front.
    """
    if {"true", "false"} & set(pattern):
        return None
    named = len([item for item in pattern if item not in (None, "...")])
    if "..." not in pattern:
        pattern = (*pattern, "...")
    steps = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    start, dims = 0, []
    axes: Pairs = []
    stops: list[tuple[int, int]] = []
    rest = iter(zip(shape, steps, strict=True))
    for position, item in enumerate(pattern):
        if item is None:
            dims.append((1, 0))
        elif item == "...":
            dims += [next(rest) for _ in range(len(shape) - named)]
        else:
            length, step = next(rest)
            if isinstance(item, tuple):
                part = range(*slice(*item).indices(length))
                dims.append((len(part), part.step * step))
                start += part.start * step
                continue
            stops.append((position, len(dims)))
            if item == "array":
                axes.append((length, step))
            else:
                start += item % length * step
    together = stops[-1][0] - stops[0][0] == len(stops) - 1
    cut = stops[0][1] if together else 0
    positions = np.broadcast_shapes(*given)
    arrays = [
        (_stretching(one, positions), 0, axis)
        for one, axis in zip(given, axes, strict=True)
    ]
    return Coordinates(arrays, positions, (dims[:cut], dims[cut:]), start)


def _stretching(shape: Shape, positions: Shape) -> tuple[int, ...]:
    """(length, step) of each axis of the positions in an array, innermost first."""
    numbers, step = [], 1
    lengths = (1,) * (len(positions) - len(shape)) + shape
    for length, wanted in zip(reversed(lengths), reversed(positions), strict=True):
        numbers += [wanted, step if length > 1 else 0]
        step *= length
    return tuple(numbers) or (1, 0)
