"""Pooling on CUDA; see the CPU's file of this name for what is promised.

A thread owns one stop of the window, or in a gradient one pixel, for which it visits
the stops that cover it: nothing is added up by two threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.kernels.windows import Windows
from minimx.cuda.kernels import launching
from minimx.cuda.kernels.launching import cuda


@launching.kernel
def _max(data: Any, out: Any, taps: Any, n: int, lowest: Any, at: Any) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        w, h, d = i % at.out_w, i // at.out_w % at.out_h, i // (at.out_w * at.out_h)
        plane, d = d // at.out_d * at.depth, d % at.out_d
        best, won = lowest, at.kernel_d * at.kernel_h * at.kernel_w
        tap = 0
        for kd in range(at.kernel_d):
            z = d * at.stride_d + kd - at.pad_d
            for kh in range(at.kernel_h):
                y = h * at.stride_h + kh - at.pad_h
                for kw in range(at.kernel_w):
                    x = w * at.stride_w + kw - at.pad_w
                    inside = z >= 0 and z < at.depth and y >= 0 and y < at.height
                    if inside and x >= 0 and x < at.width:
                        value = data[((plane + z) * at.height + y) * at.width + x]
                        if value > best:
                            best, won = value, tap
                    tap += 1
        out[i], taps[i] = best, won


@launching.inner
def span(x: int, kernel: int, stride: int, pad: int, out: int) -> Any:
    """The first and one past the last stop whose window covers `x`."""
    reach = x + pad - kernel
    first = reach // stride + 1 if reach >= 0 else 0
    return first, min(out, (x + pad) // stride + 1)


@launching.inner
def counted(
    o: int, length: int, kernel: int, stride: int, pad: int, every: bool
) -> int:
    """How many taps of stop `o` count along one axis."""
    first = o * stride - pad
    last = min(first + kernel, length + pad)
    return last - first if every else min(last, length) - max(first, 0)


@launching.kernel
def _max_spread(dout: Any, taps: Any, ddata: Any, n: int, zero: Any, at: Any) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        x, y, z = i % at.width, i // at.width % at.height, i // (at.width * at.height)
        plane, z = z // at.depth * at.out_d, z % at.depth
        total = zero
        d0, d1 = span(z, at.kernel_d, at.stride_d, at.pad_d, at.out_d)
        h0, h1 = span(y, at.kernel_h, at.stride_h, at.pad_h, at.out_h)
        w0, w1 = span(x, at.kernel_w, at.stride_w, at.pad_w, at.out_w)
        for d in range(d0, d1):
            kd = z + at.pad_d - d * at.stride_d
            for h in range(h0, h1):
                kh = y + at.pad_h - h * at.stride_h
                for w in range(w0, w1):
                    kw = x + at.pad_w - w * at.stride_w
                    stop = ((plane + d) * at.out_h + h) * at.out_w + w
                    if taps[stop] == (kd * at.kernel_h + kh) * at.kernel_w + kw:
                        total += dout[stop]
        ddata[i] = total


@launching.kernel
def _max_pick(ddata: Any, taps: Any, out: Any, n: int, zero: Any, at: Any) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        w, h, d = i % at.out_w, i // at.out_w % at.out_h, i // (at.out_w * at.out_h)
        plane, d = d // at.out_d * at.depth, d % at.out_d
        tap = int(taps[i])
        kw, kh = tap % at.kernel_w, tap // at.kernel_w % at.kernel_h
        kd = tap // (at.kernel_w * at.kernel_h)
        z = plane + d * at.stride_d + kd - at.pad_d
        y, x = h * at.stride_h + kh - at.pad_h, w * at.stride_w + kw - at.pad_w
        no_winner = kd == at.kernel_d
        out[i] = zero if no_winner else ddata[(z * at.height + y) * at.width + x]


@launching.kernel
def _average(data: Any, out: Any, n: int, at: Any) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        w, h, d = i % at.out_w, i // at.out_w % at.out_h, i // (at.out_w * at.out_h)
        plane, d = d // at.out_d * at.depth, d % at.out_d
        z0, y0 = d * at.stride_d - at.pad_d, h * at.stride_h - at.pad_h
        x0 = w * at.stride_w - at.pad_w
        total = 0.0
        for z in range(max(z0, 0), min(z0 + at.kernel_d, at.depth)):
            for y in range(max(y0, 0), min(y0 + at.kernel_h, at.height)):
                for x in range(max(x0, 0), min(x0 + at.kernel_w, at.width)):
                    total += data[((plane + z) * at.height + y) * at.width + x]
        if at.divide:
            every = at.count_pad
            size = counted(d, at.depth, at.kernel_d, at.stride_d, at.pad_d, every)
            size *= counted(h, at.height, at.kernel_h, at.stride_h, at.pad_h, every)
            size *= counted(w, at.width, at.kernel_w, at.stride_w, at.pad_w, every)
            total /= size
        out[i] = total


@launching.kernel
def _average_spread(dout: Any, ddata: Any, n: int, at: Any) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        x, y, z = i % at.width, i // at.width % at.height, i // (at.width * at.height)
        plane, z = z // at.depth * at.out_d, z % at.depth
        total, every = 0.0, at.count_pad
        d0, d1 = span(z, at.kernel_d, at.stride_d, at.pad_d, at.out_d)
        h0, h1 = span(y, at.kernel_h, at.stride_h, at.pad_h, at.out_h)
        w0, w1 = span(x, at.kernel_w, at.stride_w, at.pad_w, at.out_w)
        for d in range(d0, d1):
            deep = counted(d, at.depth, at.kernel_d, at.stride_d, at.pad_d, every)
            for h in range(h0, h1):
                high = counted(h, at.height, at.kernel_h, at.stride_h, at.pad_h, every)
                for w in range(w0, w1):
                    wide = counted(
                        w, at.width, at.kernel_w, at.stride_w, at.pad_w, every
                    )
                    size = deep * high * wide if at.divide else 1
                    total += dout[((plane + d) * at.out_h + h) * at.out_w + w] / size
        ddata[i] = total


def max_pool(data: Any, out: Any, taps: Any, at: Windows) -> None:
    """out: the maxima; taps: the number of the first tap that won, in C order."""
    lowest = out.dtype.type(np.finfo(out.dtype).min)
    launching.over(_max, out.size, (data, out, taps), lowest, at)


def max_spread(dout: Any, taps: Any, ddata: Any, at: Windows) -> None:
    """ddata: every gradient goes to the pixel that had won its window."""
    zero = ddata.dtype.type(0)
    launching.over(_max_spread, ddata.size, (dout, taps, ddata), zero, at)


def max_pick(ddata: Any, taps: Any, out: Any, at: Windows) -> None:
    """out: for every window, the element of ddata at the pixel that had won it."""
    zero = out.dtype.type(0)
    launching.over(_max_pick, out.size, (ddata, taps, out), zero, at)


def average_pool(data: Any, out: Any, at: Windows) -> None:
    """out: the mean of every window, or its sum."""
    launching.over(_average, out.size, (data, out), at)


def average_spread(dout: Any, ddata: Any, at: Windows) -> None:
    """ddata: every pixel gets its share of every window that it was in."""
    launching.over(_average_spread, ddata.size, (dout, ddata), at)
