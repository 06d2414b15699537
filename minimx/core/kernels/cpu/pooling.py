"""Pooling: every window of an image becomes one number.

data (N, C, D, H, W) to out (N, C, OD, OH, OW), where D is 1 for images. A window may
hang over the edge; what lies outside never wins a maximum, and counts in an average
only if it is asked to.

    max_pool       keeps, with every maximum, the number of the tap that won
    average_pool   the mean of a window, or its sum
    power_pool     a root of the sum of powers

Planes (one channel of one sample) are independent, so threads share them and every sum
is taken in the same order.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from minimx.core.kernels import threads
from minimx.core.kernels.cpu.conv_direct import stops
from minimx.core.kernels.native import select
from minimx.core.kernels.parts import copy, dealt
from minimx.core.kernels.windows import Windows

_unsigned = np.uintp


# -- maximum ---------------------------------------------------------------------------
#
# A number wins if it is greater than the best so far. So the first of equals wins, and
# a NaN never does, as in MXNet.


@threads.jit(inner=True)
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


@threads.jit(inner=True)
def _raise_slice(image: Any, best: Any, taps: Any, first: int, at: Any) -> None:
    """Let the pixels of one slice compete; the window's taps count from `first` on."""
    for kh in range(at.kernel_h):
        top, bottom = stops(at.height, at.out_h, kh - at.pad_h, at.stride_h)
        for h in range(top, bottom):
            line = image[h * at.stride_h + kh - at.pad_h]
            for kw in range(at.kernel_w):
                right = kw - at.pad_w
                lo, hi = stops(at.width, at.out_w, right, at.stride_w)
                row, won = best[h, lo:hi], taps[h, lo:hi]
                tap = first + kh * at.kernel_w + kw
                x = lo * at.stride_w + right
                _raise_row(line, x, at.stride_w, row, won, tap)


@threads.jit(parallel=True)
def _max_pool(part: Any, data: Any, out: Any, taps: Any, lowest: Any, at: Any) -> None:
    for plane in dealt(at.planes, part):
        size = at.kernel_h * at.kernel_w
        out[plane] = lowest
        taps[plane] = at.kernel_d * size  # no tap, until one wins
        for kd in range(at.kernel_d):
            front, back = stops(at.depth, at.out_d, kd - at.pad_d, at.stride_d)
            for d in range(front, back):
                image = data[plane, d * at.stride_d + kd - at.pad_d]
                _raise_slice(image, out[plane, d], taps[plane, d], kd * size, at)


@threads.jit(inner=True)
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
def _max_pool_2x2(part: Any, data: Any, out: Any, taps: Any, lowest: Any) -> None:
    """The commonest case, several times as fast."""
    for plane in dealt(data.shape[0], part):
        _best_of_four(data[plane], out[plane], taps[plane], lowest)


@threads.jit(inner=True)
def _corner(d: int, h: int, at: Any) -> Any:
    """The index in a flat plane of the corner of the first window of a row."""
    y = (d * at.stride_d - at.pad_d) * at.height + h * at.stride_h - at.pad_h
    return y * at.width - at.pad_w


@threads.jit(parallel=True)
def _max_spread(
    part: Any, dout: Any, taps: Any, ddata: Any, offsets: Any, at: Any
) -> None:
    """offsets[tap]: how far the tap lies from its window's corner, in a flat plane."""
    for plane in dealt(at.planes, part):
        target = ddata[plane]
        target[:] = 0
        no_tap = _unsigned(offsets.size)
        for d in range(at.out_d):
            for h in range(at.out_h):
                row, won, heads = (
                    _corner(d, h, at),
                    taps[plane, d, h],
                    dout[plane, d, h],
                )
                for w in range(_unsigned(at.out_w)):
                    tap = _unsigned(won[w])
                    if tap != no_tap:
                        pixel = row + np.intp(w) * at.stride_w + offsets[tap]
                        target[_unsigned(pixel)] += heads[w]


@threads.jit(parallel=True)
def _max_pick(
    part: Any, ddata: Any, taps: Any, out: Any, offsets: Any, at: Any
) -> None:
    """The transpose of `_max_spread`: fetch the element where each maximum was."""
    for plane in dealt(at.planes, part):
        source = ddata[plane]
        no_tap = _unsigned(offsets.size)
        for d in range(at.out_d):
            for h in range(at.out_h):
                row, won, found = _corner(d, h, at), taps[plane, d, h], out[plane, d, h]
                for w in range(_unsigned(at.out_w)):
                    tap = _unsigned(won[w])
                    found[w] = 0
                    if tap != no_tap:
                        pixel = row + np.intp(w) * at.stride_w + offsets[tap]
                        found[w] = source[_unsigned(pixel)]


@lru_cache(maxsize=256)
def _offsets(at: Windows) -> Any:
    slices = np.arange(at.kernel_d)[:, None, None] * (at.height * at.width)
    rows = slices + np.arange(at.kernel_h)[:, None] * at.width
    return (rows + np.arange(at.kernel_w)).ravel()


def max_pool(data: Any, out: Any, taps: Any, at: Windows) -> None:
    """out: the maxima; taps: the number of the first tap that won, in C order.

    data (N, C, D, H, W), out and taps (N, C, D', H', W'); at: the window, its stride
    and padding. A NaN never wins.
    """
    data, out, taps = data.reshape(at.data), out.reshape(at.out), taps.reshape(at.out)
    lowest = np.finfo(data.dtype).min
    if at.is_pairs:
        slices = (-1, at.height, at.width), (-1, at.out_h, at.out_w)
        images, (best, won) = data.reshape(slices[0]), (out, taps)
        best, won = best.reshape(slices[1]), won.reshape(slices[1])
        _max_pool_2x2(images, best, won, lowest)
    else:
        _max_pool(data, out, taps, lowest, at)


def max_spread(dout: Any, taps: Any, ddata: Any, at: Windows) -> None:
    """Every gradient goes to the pixel that had won its window.

    dout: of the output's shape; taps: which tap of each window had won, as `max_pool`
    has noted; ddata: of the input's shape, set to 0 first.
    """
    dout, taps = dout.reshape(at.out), taps.reshape(at.out)
    _max_spread(dout, taps, ddata.reshape(at.planes, -1), _offsets(at), at)


def max_pick(ddata: Any, taps: Any, out: Any, at: Windows) -> None:
    """Fetch, for every window, the element of ddata at the pixel that had won it.

    The transpose of `max_spread`, for second derivatives; out has the output's shape.
    """
    out, taps = out.reshape(at.out), taps.reshape(at.out)
    _max_pick(ddata.reshape(at.planes, -1), taps, out, _offsets(at), at)


# -- average and sum -------------------------------------------------------------------


@threads.jit(inner=True)
def _count(o: int, length: int, kernel: int, stride: int, pad: int, all_: bool) -> int:
    """How many taps of stop `o` count along one axis."""
    first = o * stride - pad
    last = min(first + kernel, length + pad)
    return last - first if all_ else min(last, length) - max(first, 0)


@threads.jit(inner=True)
def _divide(row: Any, d: int, h: int, at: Any) -> None:
    """Divide a row of window sums by the number of taps that count in each."""
    if at.divide:
        pad = at.count_pad
        deep = _count(d, at.depth, at.kernel_d, at.stride_d, at.pad_d, pad)
        tall = _count(h, at.height, at.kernel_h, at.stride_h, at.pad_h, pad)
        for w in range(at.out_w):
            wide = _count(w, at.width, at.kernel_w, at.stride_w, at.pad_w, pad)
            row[w] /= max(deep * tall * wide, 1)


@threads.jit(inner=True)
def _add_slice(image: Any, out: Any, at: Any) -> None:
    """Add the pixels of one slice to the sums of its windows."""
    for kh in range(at.kernel_h):
        top, bottom = stops(at.height, at.out_h, kh - at.pad_h, at.stride_h)
        for h in range(top, bottom):
            line = image[h * at.stride_h + kh - at.pad_h]
            for kw in range(at.kernel_w):
                right = kw - at.pad_w
                lo, hi = stops(at.width, at.out_w, right, at.stride_w)
                x, step = _unsigned(lo * at.stride_w + right), _unsigned(at.stride_w)
                row = out[h, lo:hi]
                for w in range(_unsigned(hi - lo)):
                    row[w] += line[x + w * step]


@threads.jit(parallel=True)
def _average(part: Any, data: Any, out: Any, at: Any) -> None:
    for plane in dealt(at.planes, part):
        out[plane] = 0
        for kd in range(at.kernel_d):
            front, back = stops(at.depth, at.out_d, kd - at.pad_d, at.stride_d)
            for d in range(front, back):
                image = data[plane, d * at.stride_d + kd - at.pad_d]
                _add_slice(image, out[plane, d], at)
        for d in range(at.out_d):
            for h in range(at.out_h):
                _divide(out[plane, d, h], d, h, at)


@threads.jit(parallel=True, fastmath={"reassoc"})
def _whole(part: Any, data: Any, out: Any, scale: Any) -> None:
    """One window as large as the image."""
    for plane in dealt(data.shape[0], part):
        total = np.float64(0)
        for i in range(data.shape[1]):
            total += data[plane, i]
        out[plane] = total * scale


@threads.jit(inner=True)
def _share_row(share: Any, h: int, image: Any, at: Any) -> None:
    """Add the shares of a row of windows to the pixels of one slice."""
    for kh in range(at.kernel_h):
        y = h * at.stride_h + kh - at.pad_h
        if y < 0 or y >= at.height:
            continue
        line = image[y]
        for kw in range(at.kernel_w):
            right = kw - at.pad_w
            lo, hi = stops(at.width, at.out_w, right, at.stride_w)
            x, step = _unsigned(lo * at.stride_w + right), _unsigned(at.stride_w)
            mine = share[lo:hi]
            for w in range(_unsigned(hi - lo)):
                line[x + w * step] += mine[w]


@threads.jit(parallel=True)
def _average_spread(part: Any, dout: Any, ddata: Any, at: Any) -> None:
    for plane in dealt(at.planes, part):
        ddata[plane] = 0
        share = np.empty(at.out_w, dout.dtype)
        for d in range(at.out_d):
            for h in range(at.out_h):
                copy(dout[plane, d, h], share)
                _divide(share, d, h, at)
                for kd in range(at.kernel_d):
                    z = d * at.stride_d + kd - at.pad_d
                    if z >= 0 and z < at.depth:
                        _share_row(share, h, ddata[plane, z], at)


def average_pool(data: Any, out: Any, at: Windows) -> None:
    """out: the mean of each window, or its sum if `at.divide` is false.

    data (N, C, D, H, W), out (N, C, D', H', W'). at.count_pad: whether padding counts
    as elements of the window.
    """
    if at.is_whole:
        scale = 1 / np.prod(at.kernel) if at.divide else 1.0
        _whole(data.reshape(at.planes, -1), out.reshape(-1), float(scale))
        return
    _average(data.reshape(at.data), out.reshape(at.out), at)


def average_spread(dout: Any, ddata: Any, at: Windows) -> None:
    """Share every gradient out over the taps of its window.

    dout: of the output's shape; ddata: of the input's shape.
    """
    if at.is_whole:  # 0 is added to every share, as below: -0.0 becomes 0.0
        count = dout.dtype.type(np.prod(at.kernel) if at.divide else 1)
        np.add(dout.reshape(-1, 1) / count, 0, out=ddata.reshape(at.planes, -1))
        return
    _average_spread(dout.reshape(at.out), ddata.reshape(at.data), at)


def power_pool(data: Any, out: Any, powers: Any, p: int, at: Windows) -> None:
    """out: the p-th root of the sum of p-th powers; powers: scratch, as large as data.

    p is 1, 2 or 3. Signs are kept: of odd powers the negative numbers take away.
    """
    if p == 1:
        average_pool(data, out, at)
        return
    powers = powers.reshape(data.shape)
    np.multiply(data, data, out=powers)
    if p == 3:
        powers *= data
    average_pool(powers, out, at)
    (np.sqrt if p == 2 else np.cbrt)(out, out=out)
