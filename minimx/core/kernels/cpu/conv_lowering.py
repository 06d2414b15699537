"""Lowering: rows of images copied so that a matrix product can do the rest.

    lower(data, n, c0, first, rows, at)   the taps of a band of output rows
    fold(rows, ddata, n, c0, at)          its transpose: copies are added up
    pack(weight, matrices, at, low)       the weight as mec's matrices

For one channel of 4 × 4 pixels and a window of 3 × 3, so that out is 2 × 2:

im2col copies each of the 9 taps of the window. Line (tap, kw) has the four pixels
image[tap + r, kw + o], for r, o in 0, 1. The weight (F, 9) times these lines (9, 4) is
out (F, 4): 36 copies, one product.

mec copies horizontal taps only. Line kw has the eight pixels image[r, kw + o], for r in
0 … 3. For vertical tap p the four elements from 2p on of each line (`start`) are a
matrix (3, 4) whose rows are 8 elements apart, and out is the sum over p of weight_p
(F, 3) times that: 24 copies, three products. With a vertical stride s, the rows that
one p needs are s apart; so they are kept sorted by r mod s, the *phase*.

at: the `Geometry`; low: the `Lowering`, both in `core/kernels/convolution.py`.
"""

from __future__ import annotations

from typing import Any

from minimx.core.kernels import threads
from minimx.core.kernels.cpu.conv_direct import stops
from minimx.core.kernels.native import load, pointer, store
from minimx.core.kernels.parts import dealt


@threads.jit(inner=True)
def lower(data: Any, n: int, c0: int, first: int, rows: Any, at: Any) -> None:
    """Copy the taps of a band of output rows that starts at row `first`.

    data (N, C, H, W), from channel `c0` of image `n`
    rows (channels, taps, KW, phases, rows, OW): row `r` of phase `p` under vertical tap
    `t` is the padded image's row (first + r) * stride + p + t * dilate, moved left by
    the horizontal tap, every `stride`-th pixel.
    """
    channels, taps, kernel_w, phases, height, out_w = rows.shape
    for c in range(channels):
        image = data[n, c0 + c]
        for tap in range(taps):
            for phase in range(phases):
                down = first * at.stride_h + phase + tap * at.dilate_h - at.pad_h
                top, bottom = stops(at.height, height, down, at.stride_h)
                for kw in range(kernel_w):
                    right = kw * at.dilate_w - at.pad_w
                    lo, hi = stops(at.width, out_w, right, at.stride_w)
                    target = rows[c, tap, kw, phase]
                    if lo > 0 or hi < out_w or top > 0 or bottom < height:
                        target[:] = 0
                    inside = target[top:bottom, lo:hi]
                    _copy(image, down + top * at.stride_h, right, lo, inside, at)


@threads.jit(inner=True)
def _copy(image: Any, y: int, right: int, lo: int, rows: Any, at: Any) -> None:
    """rows[r, o] = image[y + r * stride_h, right + (lo + o) * stride_w]."""
    x, step = right + lo * at.stride_w, at.stride_w
    for r in range(rows.shape[0]):
        source, target = pointer(image[y + r * at.stride_h, x:]), pointer(rows[r])
        if step == 1:  # a loop of its own, so that the compiler copies many at once
            for o in range(rows.shape[1]):
                store(target, o, load(source, o))
        else:
            for o in range(rows.shape[1]):
                store(target, o, load(source, o * step))


@threads.jit(inner=True)
def fold(rows: Any, ddata: Any, n: int, c0: int, at: Any) -> None:
    """The transpose of `lower`: add every copied row back to where it came from.

    rows (channels, taps, KW, phases, rows, W'); ddata (N, C, H, W), of which image n
    gets the channels from c0 on.
    """
    channels, taps, kernel_w, phases, height, out_w = rows.shape
    for c in range(channels):
        image = ddata[n, c0 + c]
        image[:] = 0
        for tap in range(taps):
            for phase in range(phases):
                down = phase + tap * at.dilate_h - at.pad_h
                top, bottom = stops(at.height, height, down, at.stride_h)
                for kw in range(kernel_w):
                    right = kw * at.dilate_w - at.pad_w
                    lo, hi = stops(at.width, out_w, right, at.stride_w)
                    inside = rows[c, tap, kw, phase, top:bottom, lo:hi]
                    _add(inside, image, down + top * at.stride_h, right, lo, at)


@threads.jit(inner=True)
def _add(rows: Any, image: Any, y: int, right: int, lo: int, at: Any) -> None:
    """image[y + r * stride_h, right + (lo + o) * stride_w] += rows[r, o]."""
    x, step = right + lo * at.stride_w, at.stride_w
    for r in range(rows.shape[0]):
        target, source = pointer(image[y + r * at.stride_h, x:]), pointer(rows[r])
        if step == 1:
            for o in range(rows.shape[1]):
                store(target, o, load(target, o) + load(source, o))
        else:
            for o in range(rows.shape[1]):
                store(target, o * step, load(target, o * step) + load(source, o))


@threads.jit(inner=True)
def start(product: int, at: Any, low: Any) -> Any:
    """Where, in the buffer of `lower`, the rows of a vertical tap begin, in elements.

    product: the number of the tap, from 0; there is one matrix product for each.
    """
    down = product * at.dilate_h if low.products > 1 else 0
    phase, row = down % at.stride_h, down // at.stride_h
    return (phase * low.rows + row) * at.out_w


@threads.jit(parallel=True)
def pack(part: Any, weight: Any, matrices: Any, at: Any, low: Any) -> None:
    """Turn weight (F, C, KH, KW) into one matrix (F, C * KW) for each vertical tap.

    matrices: flat, of the size of weight; it gets them one after another. C: of one
    group.
    """
    channels = at.channels // at.groups
    shape = (low.products, at.filters, channels, at.kernel_w)
    packed = matrices.reshape(shape)
    for f in dealt(at.filters, part):
        for product in range(low.products):
            for c in range(channels):
                for kw in range(at.kernel_w):
                    packed[product, f, c, kw] = weight[f, c, product, kw]
