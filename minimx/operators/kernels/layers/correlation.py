"""Comparing two images at several displacements.

data1, data2 (N, C, H, W), framed with `pad` zeros; out (N, D * D, OH, OW). At stop
(i, j) the window of data1 whose corner is (i, j) * stride1 + reach meets windows of
data2 that are displaced by up to `reach` pixels, in steps of stride2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from minimx.core.kernels import threads
from minimx.core.kernels.parts import dealt
from minimx.operators.kernels.images.sampling import add, pixel


class Comparison(NamedTuple):
    """The lengths; displacements counts those along one axis."""

    kernel: int
    reach: int
    stride1: int
    stride2: int
    pad: int
    displacements: int


@threads.jit(inner=True)
def _displaced(k: int, at: Any) -> tuple[int, int]:
    """By how much the k-th displacement goes down and right."""
    middle = at.displacements // 2
    down, right = k // at.displacements - middle, k % at.displacements - middle
    return down * at.stride2, right * at.stride2


@threads.jit(parallel=True)
def correlate(
    part: Any, data1: Any, data2: Any, multiply: bool, at: Any, out: Any
) -> None:
    """Fill out with the means of products, or of absolute differences."""
    channels, count = data1.shape[1], out.shape[1]
    scale = 1.0 / (at.kernel * at.kernel * channels)
    for plane in dealt(out.shape[0] * count, part):
        n, k = plane // count, plane % count
        down, right = _displaced(k, at)
        for i in range(out.shape[2]):
            for j in range(out.shape[3]):
                total = 0.0
                for tap in range(at.kernel * at.kernel):
                    y = i * at.stride1 + at.reach + tap // at.kernel - at.pad
                    x = j * at.stride1 + at.reach + tap % at.kernel - at.pad
                    for c in range(channels):
                        a = pixel(data1[n, c], y, x)
                        b = pixel(data2[n, c], y + down, x + right)
                        total += a * b if multiply else abs(a - b)
                out[n, k, i, j] = total * scale


@threads.jit(parallel=True)
def spread(part: Any, dout: Any, other: Any, first: bool, at: Any, found: Any) -> None:
    """The gradient of products for data1, if `first`, or data2; other: the other."""
    channels = found.shape[1]
    scale = 1.0 / (at.kernel * at.kernel * channels)
    for plane in dealt(found.shape[0] * channels, part):
        n, c = plane // channels, plane % channels
        found[n, c] = 0
        for k in range(dout.shape[1]):
            down, right = _displaced(k, at)
            for i in range(dout.shape[2]):
                for j in range(dout.shape[3]):
                    head = dout[n, k, i, j] * scale
                    for tap in range(at.kernel * at.kernel):
                        y = i * at.stride1 + at.reach + tap // at.kernel - at.pad
                        x = j * at.stride1 + at.reach + tap % at.kernel - at.pad
                        if first:
                            b = pixel(other[n, c], y + down, x + right)
                            add(found[n, c], y, x, head * b)
                        else:
                            a = pixel(other[n, c], y, x)
                            add(found[n, c], y + down, x + right, head * a)


@threads.jit(parallel=True)
def spread_signs(
    part: Any, dout: Any, data1: Any, data2: Any, at: Any, found1: Any, found2: Any
) -> None:
    """The gradients of absolute differences; of equal numbers, the first is larger."""
    channels = data1.shape[1]
    scale = 1.0 / (at.kernel * at.kernel * channels)
    for plane in dealt(data1.shape[0] * channels, part):
        n, c = plane // channels, plane % channels
        found1[n, c] = 0
        found2[n, c] = 0
        for k in range(dout.shape[1]):
            down, right = _displaced(k, at)
            for i in range(dout.shape[2]):
                for j in range(dout.shape[3]):
                    head = dout[n, k, i, j] * scale
                    for tap in range(at.kernel * at.kernel):
                        y = i * at.stride1 + at.reach + tap // at.kernel - at.pad
                        x = j * at.stride1 + at.reach + tap % at.kernel - at.pad
                        a = pixel(data1[n, c], y, x)
                        b = pixel(data2[n, c], y + down, x + right)
                        step = head if a >= b else -head
                        add(found1[n, c], y, x, step)
                        add(found2[n, c], y + down, x + right, -step)
