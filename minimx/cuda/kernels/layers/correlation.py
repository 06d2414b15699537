"""Comparing two images at several displacements on CUDA; the CPU's file says the rest.

A thread owns a number of the answer. For a gradient that is a pixel, which looks up the
windows that met there, in one order: the same to the bit in every run.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from minimx.cuda.kernels import launching
from minimx.cuda.kernels.launching import cuda

#: What `kernels.cpu.correlation.Comparison` has, and the shapes.
Lengths = namedtuple(
    "Lengths",
    "kernel reach stride1 stride2 pad displacements channels height width out_h out_w",
)


@launching.inner
def _displaced(k: int, at: Any) -> Any:
    """By how much the k-th displacement goes down and right."""
    middle = at.displacements // 2
    down, right = k // at.displacements - middle, k % at.displacements - middle
    return down * at.stride2, right * at.stride2


@launching.inner
def _pixel(data: Any, plane: int, y: int, x: int, zero: Any, at: Any) -> Any:
    """A pixel of a plane, 0 outside."""
    if y < 0 or y >= at.height or x < 0 or x >= at.width:
        return zero
    return data[(plane * at.height + y) * at.width + x]


@launching.kernel
def _correlate(
    data1: Any, data2: Any, out: Any, multiply: bool, zero: Any, at: Any
) -> None:
    count = at.displacements * at.displacements
    scale = 1.0 / (at.kernel * at.kernel * at.channels)
    for place in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        j, i = place % at.out_w, place // at.out_w % at.out_h
        k = place // (at.out_w * at.out_h)
        n, k = k // count, k % count
        down, right = _displaced(k, at)
        total = 0.0
        for tap in range(at.kernel * at.kernel):
            y = i * at.stride1 + at.reach + tap // at.kernel - at.pad
            x = j * at.stride1 + at.reach + tap % at.kernel - at.pad
            for c in range(n * at.channels, (n + 1) * at.channels):
                a = _pixel(data1, c, y, x, zero, at)
                b = _pixel(data2, c, y + down, x + right, zero, at)
                total += a * b if multiply else abs(a - b)
        out[place] = total * scale


@launching.inner
def _stop(place: int, tap: int, stops: int, at: Any) -> int:
    """The stop at which a tap of the first image's window is at a place, or -1."""
    way = place + at.pad - at.reach - tap
    stop = way // at.stride1
    return stop if way >= 0 and way % at.stride1 == 0 and stop < stops else -1


@launching.inner
def _heads(dout: Any, plane: int, y: int, x: int, at: Any) -> Any:
    """The sum of what windows of the first image say that have a pixel."""
    total = 0.0
    for down in range(at.kernel):
        i = _stop(y, down, at.out_h, at)
        for right in range(at.kernel if i >= 0 else 0):
            j = _stop(x, right, at.out_w, at)
            if j >= 0:
                total += dout[(plane * at.out_h + i) * at.out_w + j]
    return total


@launching.kernel
def _spread(
    dout: Any, data1: Any, data2: Any, found: Any, first: bool, multiply: bool,
    zero: Any, at: Any,
) -> None:  # fmt: skip
    """The gradient of data1, if `first`, or data2."""
    count = at.displacements * at.displacements
    scale = 1.0 / (at.kernel * at.kernel * at.channels)
    for place in range(cuda.grid(1), found.size, cuda.gridsize(1)):
        x, y = place % at.width, place // at.width % at.height
        plane, total = place // (at.width * at.height), 0.0
        for k in range(count):
            down, right = _displaced(k, at)
            up, left = (y, x) if first else (y - down, x - right)
            head = _heads(dout, plane // at.channels * count + k, up, left, at)
            a = _pixel(data1, plane, up, left, zero, at)
            b = _pixel(data2, plane, up + down, left + right, zero, at)
            if multiply:
                total += head * (b if first else a)
            else:
                total += head if (a >= b) == first else -head
        found[place] = total * scale


def _lengths(data: Any, stops: Any, at: Any) -> Lengths:
    return Lengths._make((*at, *data.shape[1:], *stops.shape[2:]))


def correlate(data1: Any, data2: Any, multiply: bool, at: Any, out: Any) -> None:
    """Fill out with the means of products, or of absolute differences."""
    arrays, at = (data1, data2, out), _lengths(data1, out, at)
    settings = multiply, out.dtype.type(0), at
    launching.run(_correlate, out.size, *launching.flat(*arrays), *settings)


def spread(dout: Any, other: Any, first: bool, at: Any, found: Any) -> None:
    """The gradient of products for data1, if `first`, or data2; other: the other."""
    _spread_to(found, (dout, other, other), first, True, at)


def spread_signs(
    dout: Any, data1: Any, data2: Any, at: Any, found1: Any, found2: Any
) -> None:
    """The gradients of absolute differences; of equal numbers, the first is larger."""
    for first, found in ((True, found1), (False, found2)):
        _spread_to(found, (dout, data1, data2), first, False, at)


def _spread_to(found: Any, given: Any, first: bool, multiply: bool, at: Any) -> None:
    arrays, sizes = launching.flat(*given, found), _lengths(found, given[0], at)
    settings = first, multiply, found.dtype.type(0), sizes
    launching.run(_spread, found.size, *arrays, *settings)
