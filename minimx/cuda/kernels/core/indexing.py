"""Gathering by index on CUDA, and its gradient: adding up what came from one place.

Indices are cut off to integers, then clipped or counted round. What meets in one place
is added up by one thread, in order: the same to the bit in every run.

Sorting merges runs twice as long with every launch. A thread owns an element and counts
by bisection how many of the other run come before it: that, and its place in its own
run, is where it goes. Ties keep their order, and no two threads write to one place.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from minimx.core.shapes import Shape
from minimx.cuda.kernels import launching, scratch
from minimx.cuda.kernels.launching import cuda
from minimx.cuda.kernels.pointwise import filler

Launch = Callable[..., None]


@launching.inner
def place(index: Any, length: int, wrap: bool) -> int:
    """An index between 0 and length - 1."""
    found = int(index)
    if wrap:
        return found % length
    return min(max(found, 0), length - 1)


@launching.kernel
def _take(
    x: Any, indices: Any, out: Any, n: int, many: int, length: int, inner: int,
    wrap: bool,
) -> None:  # fmt: skip
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        k, j, pre = i % inner, i // inner % many, i // (inner * many)
        row = place(indices[j], length, wrap)
        out[i] = x[(pre * length + row) * inner + k]


@launching.kernel
def _untake(
    dout: Any, indices: Any, out: Any, n: int, many: int, length: int, inner: int,
    wrap: bool, zero: Any,
) -> None:  # fmt: skip
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        k, pre = i % inner, i // inner
        for row in range(length):
            out[(pre * length + row) * inner + k] = zero
        for j in range(many):
            row = place(indices[j], length, wrap)
            at = (pre * length + row) * inner + k
            out[at] += dout[(pre * many + j) * inner + k]


@launching.kernel
def _along(
    x: Any, indices: Any, out: Any, n: int, many: int, length: int, inner: int,
    wrap: bool,
) -> None:  # fmt: skip
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        k, pre = i % inner, i // (inner * many)
        out[i] = x[(pre * length + place(indices[i], length, wrap)) * inner + k]


@launching.kernel
def _unalong(
    dout: Any, indices: Any, out: Any, n: int, many: int, length: int, inner: int,
    wrap: bool, zero: Any,
) -> None:  # fmt: skip
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        k, pre = i % inner, i // inner
        for row in range(length):
            out[(pre * length + row) * inner + k] = zero
        for j in range(many):
            at = (pre * many + j) * inner + k
            row = place(indices[at], length, wrap)
            out[(pre * length + row) * inner + k] += dout[at]


@launching.kernel
def _one_hot(indices: Any, out: Any, n: int, depth: int, on: Any, off: Any) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        out[i] = on if int(indices[i // depth]) == i % depth else off


def _split(shape: Shape, axis: int) -> tuple[int, int]:
    """The number of elements before and after an axis."""
    return prod(shape[:axis]), prod(shape[axis + 1 :])


def take(shape: Shape, axis: int, mode: str) -> Launch:
    """(x, indices, out): whole slices of x along an axis, in the order of indices."""
    settings = shape[axis], _split(shape, axis)[1], mode == "wrap"

    def launch(x: Any, indices: Any, out: Any) -> None:
        arrays = x, indices, out
        launching.over(_take, out.size, arrays, indices.size, *settings)

    return launch


def untake(shape: Shape, axis: int, mode: str) -> Launch:
    """(dout, indices, out): the gradient of `take` for x of this shape."""
    pre, inner = _split(shape, axis)
    settings = shape[axis], inner, mode == "wrap"

    def launch(dout: Any, indices: Any, out: Any) -> None:
        arrays, zero = (dout, indices, out), out.dtype.type(0)
        launching.over(_untake, pre * inner, arrays, indices.size, *settings, zero)

    return launch


def along(shape: Shape, axis: int, many: int, mode: str) -> Launch:
    """(x, indices, out): one element of x for each of `many` indices of an axis."""
    settings = many, shape[axis], _split(shape, axis)[1], mode == "wrap"
    return lambda *arrays: launching.over(_along, arrays[2].size, arrays, *settings)


def unalong(shape: Shape, axis: int, length: int, mode: str) -> Launch:
    """(dout, indices, out): the gradient of `along`; shape: that of the indices."""
    pre, inner = _split(shape, axis)
    settings = shape[axis], length, inner, mode == "wrap"

    def launch(*arrays: Any) -> None:
        zero = arrays[2].dtype.type(0)
        launching.over(_unalong, pre * inner, arrays, *settings, zero)

    return launch


def one_hot(depth: int, on: float, off: float) -> Launch:
    """(indices, out): `on` at the index along a new last axis, `off` elsewhere."""

    def launch(indices: Any, out: Any) -> None:
        numbers = out.dtype.type(on), out.dtype.type(off)
        launching.over(_one_hot, out.size, (indices, out), depth, *numbers)

    return launch


# -- order -----------------------------------------------------------------------------


@launching.inner
def earlier(a: Any, b: Any, ascending: bool) -> Any:
    """Whether a comes before b; NaN is larger than everything."""
    if ascending:
        return a < b or (b != b and a == a)
    return a > b or (a != a and b == b)


@launching.kernel
def _merged(
    x: Any, before: Any, after: Any, n: int, length: int, inner: int, width: int,
    ascending: bool, fresh: bool,
) -> None:  # fmt: skip
    """Places in order in runs of `width`, to such in runs of twice that.

    fresh: nothing is in order yet, so that an element is at its own place.
    """
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        k = i // inner % length
        line = i - k * inner
        own = k if fresh else before[i]
        value = x[line + own * inner]
        first = k // (2 * width) * (2 * width)
        middle = min(first + width, length)
        left = k < middle
        low = middle if left else first
        high = min(middle + width, length) if left else middle
        begin = low
        while low < high:
            half = (low + high) // 2
            there = half if fresh else before[line + half * inner]
            other = x[line + there * inner]
            # Of equal ones those of the left run come first.
            if left:
                passed = earlier(other, value, ascending)
            else:
                passed = not earlier(value, other, ascending)
            if passed:
                low = half + 1
            else:
                high = half
        rank = k - (first if left else middle) + (low - begin)
        after[line + (first + rank) * inner] = own


@launching.kernel
def _chosen(
    x: Any, places: Any, out: Any, n: int, length: int, inner: int, k: int, how: int
) -> None:
    """The first k of each line. how: 0 places, 1 elements, 2 a 1 where they stood."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        group, rest = i // (k * inner), i % (k * inner)
        line = group * length * inner + rest % inner
        place = places[group * length * inner + rest]
        if how == 0:
            out[i] = place
        elif how == 1:
            out[i] = x[line + place * inner]
        else:
            out[line + place * inner] = 1


def ordered(x: Any, shape: Shape, axis: int, ascending: bool, places: Any) -> None:
    """Fill places (int64, of the shape) with where the elements in order stand."""
    (_, inner), length, n = _split(shape, axis), shape[axis], x.size
    flat, width, fresh = x.reshape(-1), 1, True
    with scratch.allocated((n, np.int64)) as (spare,):
        passes = max(1, (length - 1).bit_length())
        buffers = [places.reshape(-1), spare]
        target = passes % 2  # the last pass writes to `places`
        for _ in range(passes):
            target = 1 - target
            now, then = buffers[target], buffers[1 - target]
            settings = length, inner, width, ascending, fresh
            launching.over(_merged, n, (flat, then, now), *settings)
            width, fresh = 2 * width, False


def _choose(
    x: Any, places: Any, out: Any, shape: Shape, axis: int, k: int, how: int
) -> None:
    (pre, inner), length = _split(shape, axis), shape[axis]
    arrays, settings = (x, places, out), (length, inner, k, how)
    launching.over(_chosen, pre * k * inner, arrays, *settings)


def sort(shape: Shape, axis: int, ascending: bool) -> Launch:
    """(x, out, places): in order along an axis, and where each element was."""

    def launch(x: Any, out: Any, places: Any) -> None:
        ordered(x, shape, axis, ascending, places)
        _choose(x, places, out, shape, axis, shape[axis], 1)

    return launch


def argsort(shape: Shape, axis: int, ascending: bool) -> Launch:
    """(x, out): the indices of the elements in order."""
    return topk(shape, axis, shape[axis], ascending, "indices")


def topk(shape: Shape, axis: int, k: int, ascending: bool, kind: str) -> Launch:
    """(x, *outs): the first k along an axis; kind: indices, mask, value or both."""

    def launch(x: Any, *outs: Any) -> None:
        with scratch.allocated((x.size, np.int64)) as (places,):
            ordered(x, shape, axis, ascending, places)
            if kind == "mask":
                filler(outs[0].dtype.type(0))(outs[0])
            how = {"indices": 0, "mask": 2}.get(kind, 1)
            for out in outs:
                _choose(x, places, out, shape, axis, k, how)
                how = 0

    return launch
