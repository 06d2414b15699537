"""Pooling: every window of an image becomes one number.

data (N, C, H, W) to out (N, C, OH, OW). A window may hang over the edge; what lies
outside never wins a maximum, and counts in an average only if it is told to.

    max_pool       keeps, with every maximum, the number of the tap that won
    average_pool   the mean of a window, or its sum

Planes (one channel of one image) are independent, so threads share them and every sum
is taken in the same order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from minimx.kernels import threads
from minimx.kernels.cpu.conv import stops
from minimx.kernels.native import select
from minimx.kernels.windows import Windows

threads.pin()
_unsigned = np.uintp


# -- maximum ---------------------------------------------------------------------------
#
# A number wins if it is greater than the best so far. So the first of equals wins, and
# a NaN never does, as in MXNet.


@threads.jit()
def _raise_row(line: Any, x: int, step: int, best: Any, taps: Any, tap: int) -> None:
    """best[o] = max(best[o], line[x + o * step]), and who won."""
    x_, step_, number = _unsigned(x), _unsigned(step), taps.dtype.type(tap)
    if step == 1:  # a constant lets the compiler look at many windows at once
        for o in range(_unsigned(best.size)):
            value = line[x_ + o]
            wins = value > best[o]
            best[o] = select(wins, value, best[o])
            taps[o] = select(wins, number, taps[o])
    else:
        for o in range(_unsigned(best.size)):
            value = line[x_ + o * step_]
            wins = value > best[o]
            best[o] = select(wins, value, best[o])
            taps[o] = select(wins, number, taps[o])


@threads.jit(parallel=True)
def _max_pool(data: Any, out: Any, taps: Any, lowest: Any, at: Any) -> None:
    for plane in prange(at.planes):
        out[plane] = lowest
        taps[plane] = at.kernel_h * at.kernel_w  # nobody, until somebody wins
        for kh in range(at.kernel_h):
            top, bottom = stops(at.height, at.out_h, kh - at.pad_h, at.stride_h)
            for h in range(top, bottom):
                line = data[plane, h * at.stride_h + kh - at.pad_h]
                for kw in range(at.kernel_w):
                    right = kw - at.pad_w
                    lo, hi = stops(at.width, at.out_w, right, at.stride_w)
                    best, won = out[plane, h, lo:hi], taps[plane, h, lo:hi]
                    tap = kh * at.kernel_w + kw
                    x = lo * at.stride_w + right
                    _raise_row(line, x, at.stride_w, best, won, tap)


@threads.jit()
def _best_of_four(data: Any, out: Any, taps: Any, lowest: Any) -> None:
    """One plane of windows of 2 by 2 that touch, a row at a time, without a jump."""
    kind, two, one = taps.dtype.type, _unsigned(2), _unsigned(1)
    for h in range(out.shape[0]):
        upper, lower, best, won = data[2 * h], data[2 * h + 1], out[h], taps[h]
        for o in range(_unsigned(best.size)):
            a, b = upper[two * o], upper[two * o + one]
            c, d = lower[two * o], lower[two * o + one]
            a, c = select(a > lowest, a, lowest), select(c > lowest, c, lowest)
            right, below_right = b > a, d > c
            first, second = select(right, b, a), select(below_right, d, c)
            below = second > first
            largest = select(below, second, first)
            above = select(right, kind(1), kind(0))
            tap = select(below, select(below_right, kind(3), kind(2)), above)
            best[o] = largest
            won[o] = select(largest > lowest, tap, kind(4))


@threads.jit(parallel=True)
def _max_pool_2x2(data: Any, out: Any, taps: Any, lowest: Any) -> None:
    """The commonest case, several times as fast."""
    for plane in prange(data.shape[0]):
        _best_of_four(data[plane], out[plane], taps[plane], lowest)


@threads.jit(parallel=True)
def _max_spread(dout: Any, taps: Any, ddata: Any, places: Any, at: Any) -> None:
    """places[tap]: how far the tap lies from its window's corner, in a flat plane."""
    for plane in prange(at.planes):
        target = ddata[plane]
        target[:] = 0
        nobody = _unsigned(places.size)
        for h in range(at.out_h):
            for w in range(_unsigned(at.out_w)):
                tap = _unsigned(taps[plane, h, w])
                if tap != nobody:
                    row = (h * at.stride_h - at.pad_h) * at.width - at.pad_w
                    place = row + np.intp(w) * at.stride_w + places[tap]
                    target[_unsigned(place)] += dout[plane, h, w]


@threads.jit(parallel=True)
def _max_pick(ddata: Any, taps: Any, out: Any, places: Any, at: Any) -> None:
    """The transpose of `_max_spread`: fetch what stands where each maximum was."""
    for plane in prange(at.planes):
        source = ddata[plane]
        nobody = _unsigned(places.size)
        for h in range(at.out_h):
            for w in range(_unsigned(at.out_w)):
                tap = _unsigned(taps[plane, h, w])
                out[plane, h, w] = 0
                if tap != nobody:
                    row = (h * at.stride_h - at.pad_h) * at.width - at.pad_w
                    place = row + np.intp(w) * at.stride_w + places[tap]
                    out[plane, h, w] = source[_unsigned(place)]


def _places(at: Windows) -> Any:
    rows = np.arange(at.kernel_h)[:, None] * at.width
    return (rows + np.arange(at.kernel_w)).ravel()


def max_pool(data: Any, out: Any, taps: Any, at: Windows) -> None:
    """out: the maxima; taps: the number kh * kernel_w + kw of the first that won."""
    shape = (at.planes, at.out_h, at.out_w)
    data, out = data.reshape(at.planes, at.height, at.width), out.reshape(shape)
    taps, lowest = taps.reshape(shape), np.finfo(data.dtype).min
    window = at.kernel_h, at.kernel_w, at.stride_h, at.stride_w, at.pad_h, at.pad_w
    inside = 2 * at.out_h <= at.height and 2 * at.out_w <= at.width
    if window == (2, 2, 2, 2, 0, 0) and inside:
        _max_pool_2x2(data, out, taps, lowest)
    else:
        _max_pool(data, out, taps, lowest, at)


def max_spread(dout: Any, taps: Any, ddata: Any, at: Windows) -> None:
    """ddata: every gradient goes to the pixel that had won its window."""
    shape, flat = (at.planes, at.out_h, at.out_w), (at.planes, at.height * at.width)
    taps = taps.reshape(shape)
    _max_spread(dout.reshape(shape), taps, ddata.reshape(flat), _places(at), at)


def max_pick(ddata: Any, taps: Any, out: Any, at: Windows) -> None:
    """out: for every window, the element of ddata at the pixel that had won it."""
    shape, flat = (at.planes, at.out_h, at.out_w), (at.planes, at.height * at.width)
    taps = taps.reshape(shape)
    _max_pick(ddata.reshape(flat), taps, out.reshape(shape), _places(at), at)


# -- average and sum -------------------------------------------------------------------


@threads.jit()
def _count(o: int, length: int, kernel: int, stride: int, pad: int, all_: bool) -> int:
    """How many taps of stop `o` count along one axis."""
    first = o * stride - pad
    last = min(first + kernel, length + pad)
    return last - first if all_ else min(last, length) - max(first, 0)


@threads.jit()
def _divide(row: Any, h: int, at: Any) -> None:
    """Divide a row of window sums by the number of taps that count in each."""
    if at.divide:
        pad = at.count_pad
        tall = _count(h, at.height, at.kernel_h, at.stride_h, at.pad_h, pad)
        for w in range(at.out_w):
            wide = _count(w, at.width, at.kernel_w, at.stride_w, at.pad_w, pad)
            row[w] /= max(tall * wide, 1)


@threads.jit(parallel=True)
def _average(data: Any, out: Any, at: Any) -> None:
    for plane in prange(at.planes):
        out[plane] = 0
        for kh in range(at.kernel_h):
            top, bottom = stops(at.height, at.out_h, kh - at.pad_h, at.stride_h)
            for h in range(top, bottom):
                line = data[plane, h * at.stride_h + kh - at.pad_h]
                for kw in range(at.kernel_w):
                    right = kw - at.pad_w
                    lo, hi = stops(at.width, at.out_w, right, at.stride_w)
                    x, step = (
                        _unsigned(lo * at.stride_w + right),
                        _unsigned(at.stride_w),
                    )
                    row = out[plane, h, lo:hi]
                    for w in range(_unsigned(hi - lo)):
                        row[w] += line[x + w * step]
        for h in range(at.out_h):
            _divide(out[plane, h], h, at)


@threads.jit(parallel=True, fastmath={"reassoc"})
def _whole(data: Any, out: Any, scale: Any) -> None:
    """One window as large as the image."""
    for plane in prange(data.shape[0]):
        total = np.float64(0)
        for i in range(data.shape[1]):
            total += data[plane, i]
        out[plane] = total * scale


@threads.jit(parallel=True)
def _average_spread(dout: Any, ddata: Any, at: Any) -> None:
    for plane in prange(at.planes):
        ddata[plane] = 0
        share = np.empty(at.out_w, dout.dtype)
        for h in range(at.out_h):
            share[:] = dout[plane, h]
            _divide(share, h, at)
            for kh in range(at.kernel_h):
                y = h * at.stride_h + kh - at.pad_h
                if y < 0 or y >= at.height:
                    continue
                line = ddata[plane, y]
                for kw in range(at.kernel_w):
                    right = kw - at.pad_w
                    lo, hi = stops(at.width, at.out_w, right, at.stride_w)
                    x, step = (
                        _unsigned(lo * at.stride_w + right),
                        _unsigned(at.stride_w),
                    )
                    mine = share[lo:hi]
                    for w in range(_unsigned(hi - lo)):
                        line[x + w * step] += mine[w]


def average_pool(data: Any, out: Any, at: Windows) -> None:
    """out: the mean of each window, or its sum if `at.divide` is false."""
    whole = (at.kernel_h, at.kernel_w, at.pad_h, at.pad_w)
    if at.out_h == at.out_w == 1 and whole == (at.height, at.width, 0, 0):
        scale = 1 / (at.height * at.width) if at.divide else 1.0
        _whole(data.reshape(at.planes, -1), out.reshape(-1), scale)
        return
    shape = (at.planes, at.out_h, at.out_w)
    _average(data.reshape(at.planes, at.height, at.width), out.reshape(shape), at)


def average_spread(dout: Any, ddata: Any, at: Windows) -> None:
    """ddata: every gradient is shared out over the taps of its window."""
    image = ddata.reshape(at.planes, at.height, at.width)
    _average_spread(dout.reshape(at.planes, at.out_h, at.out_w), image, at)
