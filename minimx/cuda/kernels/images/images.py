"""Images (N, H, W, C) in another size, on CUDA: from the weights of the CPU's file.

A thread owns a number of the answer and adds up what belongs to it, in the order of the
CPU, rounding where that rounds: whole numbers come out the same to the bit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any

import numpy as np

from minimx.core.dtypes import FLOAT32, FLOAT64, DType
from minimx.core.shapes import Shape
from minimx.cuda.kernels import launching, mathematics, scratch
from minimx.cuda.kernels.arrays.places import held
from minimx.cuda.kernels.launching import cuda
from minimx.cuda.kernels.mathematics import floor, maximum, minimum, rint
from minimx.operators.kernels.images.images import (
    AREA,
    CUBIC,
    GROWN,
    LANCZOS,
    LINEAR,
    taps,
)

Launch = Callable[..., None]

_MIDDLE = np.dtype(np.int32)
_UNIT = np.float32(2.0**-22)
_rounded = mathematics.rounded_float32


@cache
def _summed(dtype: DType) -> Any:
    """The kernel that adds up in this type, along the middle axis of x."""
    real = dtype.type
    once = getattr(mathematics, f"rounded_{dtype.name}", None) or (lambda x: x)
    if dtype.kind == "i":
        once = launching.inner(once)

    @launching.kernel
    def kernel(
        x: Any, places: Any, weights: Any, out: Any, n: int, before: int, after: int,
        inner: int, count: int,
    ) -> None:  # fmt: skip
        """Out (groups, after, inner) from x (groups, before, inner), `count` each."""
        for i in range(cuda.grid(1), n, cuda.gridsize(1)):
            place, group = i // inner % after * count, i // (inner * after)
            base, total = group * before * inner + i % inner, real(0)
            for k in range(place, place + count):
                total += once(weights[k] * real(x[base + places[k] * inner]))
            out[i] = total

    return kernel


@launching.kernel
def _down_bytes(
    x: Any, places: Any, weights: Any, out: Any, n: int, before: int, after: int,
    inner: int, count: int, way: int,
) -> None:  # fmt: skip
    """The second direction of bytes: sums as each way of OpenCV has them."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        place, group = i // inner % after * count, i // (inner * after)
        base, whole, real = group * before * inner + i % inner, 0, np.float32(0)
        for k in range(place + count - 1, place - 1, -1):
            value, weight = int(x[base + places[k] * inner]), int(weights[k])
            if way == LANCZOS:
                whole += value * weight
            elif way == CUBIC:
                real += _rounded(np.float32(value) * (np.float32(weight) * _UNIT))
            else:
                whole += ((value >> 4) * weight) >> 16
        if way == CUBIC:
            whole = int(rint(real))
        elif way == LANCZOS:
            whole = (whole + (1 << 21)) >> 22
        else:
            whole = (whole + 2) >> 2
        out[i] = min(max(whole, 0), 255)


@launching.kernel
def _whole(x: Any, out: Any, n: int, low: Any, high: Any, up: bool) -> None:
    """The nearest whole numbers; up: halves go up rather than to the even one."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        value = floor(x[i] + np.float32(0.5)) if up else rint(x[i])
        out[i] = minimum(maximum(value, low), high)


class _Line:
    """One direction: how a length becomes another, on the device."""

    def __init__(self, old: int, new: int, way: int, dtype: DType, unit: int) -> None:
        places, weights = taps(old, new, way)
        if dtype.kind == "i":
            weights = np.rint(weights * unit)
        self.old, self.new, self.count = old, new, places.shape[1]
        self.places = held(np.ascontiguousarray(places.reshape(-1), np.int32))
        self.weights = held(weights.reshape(-1).astype(dtype))

    def run(self, kernel: Any, x: Any, out: Any, inner: int, *more: Any) -> None:
        """Out (..., new, inner) from x (..., old, inner), both flat."""
        sizes = self.old, self.new, inner, self.count
        arrays = x, self.places(), self.weights(), out
        launching.over(kernel, out.size, arrays, *sizes, *more)


def resize(old: Shape, new: Shape, way: int, dtype: DType) -> Launch:
    """(images (…, H, W, C), out (…, H', W', C)); whole numbers are rounded."""
    if way == AREA and any(n > m for m, n in zip(old[-3:-1], new[-3:-1], strict=True)):
        way = GROWN
    if dtype == np.uint8 and way in (LINEAR, CUBIC, LANCZOS, GROWN):
        return _resize_bytes(old, new, way)
    return _resize_real(old, new, way, dtype)


def _resize_bytes(old: Shape, new: Shape, way: int) -> Launch:
    """Columns first, weights in steps of 1 / 2048."""
    channels = old[-1]
    across = _Line(old[-2], new[-2], way, _MIDDLE, 2048)
    down = _Line(old[-3], new[-3], way, _MIDDLE, 2048)
    size = prod(old[:-2]) * new[-2] * channels

    def launch(x: Any, out: Any) -> None:
        with scratch.allocated((size, _MIDDLE)) as (middle,):
            across.run(_summed(_MIDDLE), x.reshape(-1), middle, channels)
            inner = new[-2] * channels
            down.run(_down_bytes, middle, out.reshape(-1), inner, way)

    return launch


def _resize_real(old: Shape, new: Shape, way: int, dtype: DType) -> Launch:
    """Rows first, in real numbers."""
    channels, real = old[-1], FLOAT64 if dtype == FLOAT64 else FLOAT32
    down = _Line(old[-3], new[-3], way, real, 1)
    across = _Line(old[-2], new[-2], way, real, 1)
    size = prod(old[:-3]) * new[-3] * old[-2] * channels
    whole = dtype.kind in "iu"
    up = way == AREA and old[-3:-1] == (2 * new[-3], 2 * new[-2])

    def launch(x: Any, out: Any) -> None:
        flat, buffers = out.reshape(-1), [(size, real), (out.size, real)]
        with scratch.allocated(*buffers[: 1 + whole]) as (middle, *more):
            found = more[0] if whole else flat
            down.run(_summed(real), x.reshape(-1), middle, old[-2] * channels)
            across.run(_summed(real), middle, found, channels)
            if whole:
                ends = np.iinfo(dtype)
                limits = real.type(ends.min), real.type(ends.max)
                launching.over(_whole, out.size, (found, out), *limits, up)

    return launch
