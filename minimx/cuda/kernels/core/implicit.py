"""Convolution on CUDA as a product of matrices that are never stored.

    answer = left · right,   by group (`minimx.fast.convolution.algorithms.tiles`)

                    left                right                       answer
    forward         weight (F, CK)      pixels (CK, stops)          out
    data gradient   weightᵀ (C, FK)     gradients (FK, pixels)      ddata
    weight gradient dout (F, stops)     pixels (stops, CK)          dweight

A block of TILE × TILE threads makes a square of REACH · TILE elements a side. For TILE
steps of the sum at a time it fetches both factors into shared memory, neighbours in a
warp side by side; then every thread multiplies REACH numbers of the left with REACH of
the right, so each that was fetched is used REACH · TILE times. Where an element of the
right factor lies follows from its number: that is the whole of im2col.

Sums are added up in one order, those of the weight in parts that shapes decide: the
same to the bit in every run.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from minimx.core.kernels.convolution import DATA, FORWARD, WEIGHT, Geometry
from minimx.cuda.driver import current_stream
from minimx.cuda.kernels import launching, scratch
from minimx.cuda.kernels.launching import cuda
from minimx.fast.convolution.algorithms import SIDE, tiles

#: Threads along a side of a block, and elements of a thread along it.
SHAPE = [2, 2] if launching.SIMULATED else [16, SIDE // 16]


@launching.inner
def pixel(data: Any, stop: int, tap: int, group: int, zero: Any, at: Any) -> Any:
    """What tap (channel, row, column) of the window meets at a stop."""
    kw, kh = tap % at.kernel_w, tap // at.kernel_w % at.kernel_h
    channel = tap // (at.kernel_w * at.kernel_h)
    w, h = stop % at.out_w, stop // at.out_w % at.out_h
    image = stop // (at.out_w * at.out_h)
    y = h * at.stride_h + kh * at.dilate_h - at.pad_h
    x = w * at.stride_w + kw * at.dilate_w - at.pad_w
    if y < 0 or y >= at.height or x < 0 or x >= at.width:
        return zero
    plane = image * at.channels + group * (at.channels // at.groups) + channel
    return data[(plane * at.height + y) * at.width + x]


@launching.inner
def forward_left(a: Any, row: int, k: int, group: int, zero: Any, at: Any) -> Any:
    """The weight of a filter."""
    depth = at.channels // at.groups * at.kernel_h * at.kernel_w
    return a[(group * (at.filters // at.groups) + row) * depth + k]


@launching.inner
def forward_right(b: Any, k: int, col: int, group: int, zero: Any, at: Any) -> Any:
    """A pixel of the data."""
    return pixel(b, col, k, group, zero, at)


@launching.inner
def forward_place(row: int, col: int, group: int, at: Any) -> Any:
    """Where an element of the output lies."""
    stops = at.out_h * at.out_w
    f = group * (at.filters // at.groups) + row
    return (col // stops * at.filters + f) * stops + col % stops


@launching.inner
def data_left(a: Any, row: int, k: int, group: int, zero: Any, at: Any) -> Any:
    """The weights that a channel has in all filters."""
    window, channels = at.kernel_h * at.kernel_w, at.channels // at.groups
    f = group * (at.filters // at.groups) + k // window
    return a[(f * channels + row) * window + k % window]


@launching.inner
def data_right(b: Any, k: int, col: int, group: int, zero: Any, at: Any) -> Any:
    """The gradient at the stop whose tap meets a pixel, if there is one."""
    kw, kh = k % at.kernel_w, k // at.kernel_w % at.kernel_h
    x, y = col % at.width, col // at.width % at.height
    down, right = y + at.pad_h - kh * at.dilate_h, x + at.pad_w - kw * at.dilate_w
    h, w = down // at.stride_h, right // at.stride_w
    if down < 0 or down % at.stride_h != 0 or h >= at.out_h:
        return zero
    if right < 0 or right % at.stride_w != 0 or w >= at.out_w:
        return zero
    f = group * (at.filters // at.groups) + k // (at.kernel_w * at.kernel_h)
    image = col // (at.width * at.height)
    return b[((image * at.filters + f) * at.out_h + h) * at.out_w + w]


@launching.inner
def data_place(row: int, col: int, group: int, at: Any) -> Any:
    """Where a pixel's gradient lies."""
    pixels = at.height * at.width
    c = group * (at.channels // at.groups) + row
    return (col // pixels * at.channels + c) * pixels + col % pixels


@launching.inner
def weight_left(a: Any, row: int, k: int, group: int, zero: Any, at: Any) -> Any:
    """The gradient of a filter's output at a stop."""
    return a[forward_place(row, k, group, at)]


@launching.inner
def weight_right(b: Any, k: int, col: int, group: int, zero: Any, at: Any) -> Any:
    """The pixel that a tap meets there."""
    return pixel(b, k, col, group, zero, at)


@launching.inner
def weight_place(row: int, col: int, group: int, at: Any) -> Any:
    """Where a weight's gradient lies."""
    depth = at.channels // at.groups * at.kernel_h * at.kernel_w
    return (group * (at.filters // at.groups) + row) * depth + col


_LOADS = {
    FORWARD: (forward_left, forward_right, forward_place),
    DATA: (data_left, data_right, data_place),
    WEIGHT: (weight_left, weight_right, weight_place),
}


@cache
def _product(direction: str, tile: int, reach: int, real: Any) -> Any:
    """The kernel of a direction."""
    left_of, right_of, place_of = _LOADS[direction]
    side, aligned = tile * reach, tile + 1  # no two threads of a warp in one bank

    @launching.kernel
    def kernel(
        a: Any, b: Any, bias: Any, out: Any, sizes: Any, biased: bool, zero: Any,
        at: Any,
    ) -> None:  # fmt: skip
        left = cuda.shared.array((side, aligned), real)
        right = cuda.shared.array((tile, side), real)
        sums = cuda.local.array((reach, reach), real)
        rows, cols, depth, chunk, weights = sizes
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        group, part = cuda.blockIdx.z % at.groups, cuda.blockIdx.z // at.groups
        row0, col0 = cuda.blockIdx.y * side, cuda.blockIdx.x * side
        for i in range(reach):
            for j in range(reach):
                sums[i, j] = zero
        end = min(part * chunk + chunk, depth)
        for first in range(part * chunk, end, tile):
            for i in range(reach):
                row, k = row0 + i * tile + y, first + x
                inside = row < rows and k < end
                left[i * tile + y, x] = (
                    left_of(a, row, k, group, zero, at) if inside else zero
                )
                col, k = col0 + i * tile + x, first + y
                inside = col < cols and k < end
                right[y, i * tile + x] = (
                    right_of(b, k, col, group, zero, at) if inside else zero
                )
            cuda.syncthreads()
            for k in range(tile):
                for i in range(reach):
                    number = left[i * tile + y, k]
                    for j in range(reach):
                        sums[i, j] += number * right[k, j * tile + x]
            cuda.syncthreads()
        for i in range(reach):
            for j in range(reach):
                row, col = row0 + i * tile + y, col0 + j * tile + x
                if row < rows and col < cols:
                    value = sums[i, j]
                    if biased:
                        value += bias[group * rows + row]
                    out[part * weights + place_of(row, col, group, at)] = value

    return kernel


@launching.kernel
def _joined(parts: Any, out: Any, n: int, count: int) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        total = parts[i]
        for part in range(1, count):
            total += parts[part * n + i]
        out[i] = total


def run(direction: str, at: Geometry, a: Any, b: Any, bias: Any, out: Any) -> None:
    """One direction; a, b: the two factors, flat; bias may be None."""
    way, (tile, reach) = tiles(direction, at), SHAPE
    side, real, n = tile * reach, np.dtype(out.dtype), out.size
    found, zero = _product(direction, tile, reach, real), real.type(0)
    blocks = -(-way.columns // side), -(-way.rows // side), at.groups * way.parts
    sizes = way.rows, way.columns, way.depth, -(-way.depth // way.parts), n
    biased, rest = bias is not None, (sizes, bias is not None, zero, at)
    config = blocks, (tile, tile), current_stream()
    if way.parts == 1:
        found[config](a, b, bias if biased else out, out, *rest)
        return
    with scratch.allocated((way.parts * n, real)) as (parts,):
        found[config](a, b, parts, parts, *rest)
        launching.over(_joined, n, (parts, out), way.parts)
