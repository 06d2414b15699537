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

from minimx.core.kernels import threads
from minimx.core.kernels.mathematics import exp
from minimx.core.kernels.parts import dealt
from minimx.core.shapes import Shape

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
def norm1(part: Any, rows: Any, out: Any) -> None:
    """out[r] = the sum of |rows[r]|."""
    for r in dealt(rows.shape[0], part):
        total = np.float32(0)
        for k in range(rows.shape[1]):
            total = half(total + abs(rows[r, k]))
        out[r] = total


@threads.jit(parallel=True)
def norm2(part: Any, rows: Any, out: Any) -> None:
    """out[r] = Euclid's length of rows[r].

    Elements are divided by the largest so far, so that squares do not overflow.
    """
    for r in dealt(rows.shape[0], part):
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
def product(part: Any, a: Any, b: Any, out: Any) -> None:
    """Fill out (stack, m, n) with a (stack, m, k) · b (stack, k, n)."""
    stack, m, n = out.shape
    for row in dealt(stack * m, part):
        s, i = row // m, row % m
        for j in range(n):
            out[s, i, j] = 0
        for k in range(a.shape[2]):
            factor = a[s, i, k]
            for j in range(n):
                out[s, i, j] = half(out[s, i, j] + factor * b[s, k, j])


@threads.jit(parallel=True)
def softmax(part: Any, data: Any, scale: Any, log: bool, out: Any) -> None:
    """Fill out (groups, length, inner) with softmax(data * scale), or its logarithm."""
    groups, length, inner = data.shape
    for place in dealt(groups * inner, part):
        g, i = place // inner, place % inner
        largest = half(data[g, 0, i] * scale)
        for k in range(1, length):
            largest = max(largest, half(data[g, k, i] * scale))
        total = np.float32(0)
        for k in range(length):
            out[g, k, i] = half(exp(half(half(data[g, k, i] * scale) - largest)))
            total = half(total + out[g, k, i])
        base = half(np.log(total))
        for k in range(length):
            if log:
                off = half(half(data[g, k, i] * scale) - largest)
                out[g, k, i] = half(off - base)
            else:
                out[g, k, i] = half(out[g, k, i] / total)


@threads.jit(parallel=True)
def softmax_gradient(
    part: Any, dout: Any, out: Any, scale: Any, log: bool, ddata: Any
) -> None:
    """The gradient of the data, from that of the output and the output."""
    groups, length, inner = out.shape
    for place in dealt(groups * inner, part):
        g, i = place // inner, place % inner
        total = np.float32(0)
        for k in range(length):
            dy = dout[g, k, i]
            total = half(total + (dy if log else half(dy * out[g, k, i])))
        for k in range(length):
            dy, y = dout[g, k, i], out[g, k, i]
            if log:
                step = half(dy - half(half(exp(y)) * total))
            else:
                step = half(y * half(dy - total))
            ddata[g, k, i] = half(step * scale)


@threads.jit(parallel=True)
def layer_norm(
    part: Any, data: Any, gamma: Any, beta: Any, eps: float, out: Any, mean: Any,
    std: Any,
) -> None:  # fmt: skip
    """Every row of data (rows, length) to mean 0, variance 1, then gamma and beta."""
    rows, length = data.shape
    count = half(length)
    for r in dealt(rows, part):
        total = np.float32(0)
        for k in range(length):
            total = half(total + data[r, k])
        mean[r] = half(total / count)
        total = np.float32(0)
        for k in range(length):
            off = half(data[r, k] - mean[r])
            total = half(total + half(off * off))
        std[r] = half(np.sqrt(half(half(total / count) + np.float32(eps))))
        invstd = half(1 / std[r])
        for k in range(length):
            off = half(half(data[r, k] - mean[r]) * invstd)
            out[r, k] = half(half(off * gamma[k]) + beta[k])


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
