"""Sums in float16: every addition is rounded, as where no wider accumulator is used.

This is what MXNET_SAFE_ACCUMULATION=0 means for float16. A running sum grows until one
more element is less than half a unit in its last place, and then stands still: ones add
up to 2048 and no further. So these kernels add one after the other, in the order of the
elements; adding in many lanes would hide what they are there to show.

Numbers of float16 travel in float32, where `half` rounds them after each step.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from minimx.kernels import threads
from minimx.kernels.mathematics import exp
from minimx.shapes import Shape

threads.pin()

LARGEST = np.float32(65504)
SMALLEST_NORMAL = np.float32(2.0**-14)
# Adding and subtracting these leaves what a float16 has room for: 11 bits of a number,
# and in the subnormal range multiples of 2 ** -24, the unit of a float32 near 0.75.
SPLIT = np.float32(2.0**13 + 1)
SUBNORMAL = np.float32(0.75)


@threads.jit()
def half(x: Any) -> Any:
    """The float16 nearest to a number, as a float32."""
    x = np.float32(x)
    if abs(x) < SMALLEST_NORMAL:
        return (x + SUBNORMAL) - SUBNORMAL
    if abs(x) >= LARGEST + np.float32(16):
        return np.float32(np.inf) if x > 0 else np.float32(-np.inf)
    far = x * SPLIT
    return far - (far - x)


@threads.jit(parallel=True)
def norm1(rows: Any, out: Any) -> None:
    """out[r] = the sum of |rows[r]|."""
    for r in prange(rows.shape[0]):
        total = np.float32(0)
        for k in range(rows.shape[1]):
            total = half(total + abs(rows[r, k]))
        out[r] = total


@threads.jit(parallel=True)
def norm2(rows: Any, out: Any) -> None:
    """out[r] = Euclid's length of rows[r].

    Elements are divided by the largest so far, so that squares do not overflow.
    """
    for r in prange(rows.shape[0]):
        scale, total = np.float32(0), np.float32(1)
        for k in range(rows.shape[1]):
            size = abs(rows[r, k])
            if size != size or size == np.inf:
                scale = size
                break
            if size == 0:
                continue
            if scale < size:
                ratio = half(scale / size)
                total = half(np.float32(1) + half(total * half(ratio * ratio)))
                scale = size
            else:
                ratio = half(size / scale)
                total = half(total + half(ratio * ratio))
        out[r] = half(scale * half(np.sqrt(total)))


@threads.jit(parallel=True)
def softmax(rows: Any, scale: Any, log: bool, out: Any) -> None:
    """out[r] = softmax(rows[r] * scale), or its logarithm."""
    for r in prange(rows.shape[0]):
        largest = half(rows[r, 0] * scale)
        for k in range(1, rows.shape[1]):
            largest = max(largest, half(rows[r, k] * scale))
        total = np.float32(0)
        for k in range(rows.shape[1]):
            out[r, k] = half(exp(half(half(rows[r, k] * scale) - largest)))
            total = half(total + out[r, k])
        base = half(np.float32(np.log(total)))
        for k in range(rows.shape[1]):
            if log:
                out[r, k] = half(half(half(rows[r, k] * scale) - largest) - base)
            else:
                out[r, k] = half(out[r, k] / total)


@threads.jit(parallel=True)
def softmax_gradient(dout: Any, out: Any, scale: Any, log: bool, ddata: Any) -> None:
    """The gradient of the rows, from that of the output and the output."""
    for r in prange(out.shape[0]):
        total = np.float32(0)
        for k in range(out.shape[1]):
            share = dout[r, k] if log else half(dout[r, k] * out[r, k])
            total = half(total + share)
        for k in range(out.shape[1]):
            if log:
                step = half(dout[r, k] - half(half(exp(out[r, k])) * total))
            else:
                step = half(out[r, k] * half(dout[r, k] - total))
            ddata[r, k] = half(step * scale)


@threads.jit(parallel=True)
def moments(rows: Any, mean: Any, variance: Any) -> None:
    """The mean and the variance of each row."""
    for r in prange(rows.shape[0]):
        count = half(np.float32(rows.shape[1]))
        total = np.float32(0)
        for k in range(rows.shape[1]):
            total = half(total + rows[r, k])
        mean[r] = half(total / count)
        total = np.float32(0)
        for k in range(rows.shape[1]):
            off = half(rows[r, k] - mean[r])
            total = half(total + half(off * off))
        variance[r] = half(total / count)


def as_rows(x: Any, axes: Shape) -> Any:
    """The reduced axes together, behind the others: float32 (kept, reduced)."""
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    wide = x.transpose(*kept, *axes).astype(np.float32)
    count = int(np.prod([x.shape[axis] for axis in axes], dtype=np.int64))
    return wide.reshape(-1, count)


def norm(order: int, axes: Shape) -> Any:
    """A callable (x, out): the norms of float16 vectors along `axes`."""
    rule = norm1 if order == 1 else norm2

    def launch(x: Any, out: Any) -> None:
        found = np.empty(out.size, np.float32)
        rule(as_rows(x, axes), found)
        out[...] = found.reshape(out.shape)

    return launch
