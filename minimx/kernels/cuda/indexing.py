"""Gathering by index on CUDA, and its gradient: adding up what came from one place.

Indices are cut off to integers, then clipped or counted round. What meets in one place
is added up by one thread, in order: the same to the bit in every run.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from minimx.kernels.cuda import launching
from minimx.kernels.cuda.launching import cuda
from minimx.shapes import Shape

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
    x: Any,
    indices: Any,
    out: Any,
    n: int,
    many: int,
    length: int,
    inner: int,
    wrap: bool,
) -> None:
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
    x: Any,
    indices: Any,
    out: Any,
    n: int,
    many: int,
    length: int,
    inner: int,
    wrap: bool,
) -> None:
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
    inner, length = _split(shape, axis)[1], shape[axis]

    def launch(x: Any, indices: Any, out: Any) -> None:
        flat = x.reshape(-1), indices.reshape(-1), out.reshape(-1)
        sizes = indices.size, length, inner, mode == "wrap"
        launching.run(_take, out.size, *flat, out.size, *sizes)

    return launch


def untake(shape: Shape, axis: int, mode: str) -> Launch:
    """(dout, indices, out): the gradient of `take` for x of this shape."""
    (pre, inner), length = _split(shape, axis), shape[axis]

    def launch(dout: Any, indices: Any, out: Any) -> None:
        flat = dout.reshape(-1), indices.reshape(-1), out.reshape(-1)
        sizes = indices.size, length, inner, mode == "wrap", out.dtype.type(0)
        launching.run(_untake, pre * inner, *flat, pre * inner, *sizes)

    return launch


def along(shape: Shape, axis: int, many: int, mode: str) -> Launch:
    """(x, indices, out): one element of x for each of `many` indices of an axis."""
    inner, length = _split(shape, axis)[1], shape[axis]

    def launch(x: Any, indices: Any, out: Any) -> None:
        flat = x.reshape(-1), indices.reshape(-1), out.reshape(-1)
        sizes = many, length, inner, mode == "wrap"
        launching.run(_along, out.size, *flat, out.size, *sizes)

    return launch


def unalong(shape: Shape, axis: int, length: int, mode: str) -> Launch:
    """(dout, indices, out): the gradient of `along`; shape: that of the indices."""
    (pre, inner), many = _split(shape, axis), shape[axis]

    def launch(dout: Any, indices: Any, out: Any) -> None:
        flat = dout.reshape(-1), indices.reshape(-1), out.reshape(-1)
        sizes = many, length, inner, mode == "wrap", out.dtype.type(0)
        launching.run(_unalong, pre * inner, *flat, pre * inner, *sizes)

    return launch


def one_hot(depth: int, on: float, off: float) -> Launch:
    """(indices, out): `on` at the index along a new last axis, `off` elsewhere."""

    def launch(indices: Any, out: Any) -> None:
        real, n = out.dtype.type, out.size
        flat = indices.reshape(-1), out.reshape(-1)
        launching.run(_one_hot, n, *flat, n, depth, real(on), real(off))

    return launch
