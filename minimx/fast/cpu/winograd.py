"""Convolution by Winograd's minimal filtering: fewer multiplications, more additions.

Two neighbouring outputs of a window with three weights, y0 = d0 g0 + d1 g1 + d2 g2 and
y1 = d1 g0 + d2 g1 + d3 g2, are six multiplications. Four are enough:

    m0 = (d0 - d2) g0                    m1 = (d1 + d2) (g0 + g1 + g2) / 2
    m3 = (d1 - d3) g2                    m2 = (d2 - d1) (g0 - g1 + g2) / 2
    y0 = m0 + m1 + m2                    y1 = m1 - m2 - m3

That is F(2, 3), in matrices y = Aᵀ [(G g) · (Bᵀ d)]. Used along both axes of an image
it makes 2×2 outputs from a tile of 4×4 with 16 multiplications for 36: F(2×2, 3×3).
F(4×4, 3×3) takes tiles of 6×6 and 36 for 144. Its matrices evaluate polynomials at 0,
±1, ±2 and infinity; numbers such as 4, 5 and 8 in them make rounding errors larger.

The weight is transformed once, an input tile once for all filters, and sums over
channels are taken between the transforms. So the multiplications are one matrix product
(filters, channels) · (channels, tiles) for each of the 16 or 36 elements of a tile.

All is linear, so gradients go through the transposed matrices: that of the weight is
Gᵀ [(A dy) · (Bᵀ d)], summed over tiles. That of the data is a convolution again.

Lavin and Gray, "Fast algorithms for convolutional neural networks", 2016.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.kernels import threads
from minimx.core.kernels.cpu.blas import gemm
from minimx.core.kernels.parts import copy, dealt
from minimx.fast.cpu.winograd_lines import (
    gather_lines,
    input_lines,
    output_lines,
    spread_lines,
    weigh_lines,
)


@threads.jit(parallel=True)
def transform_weight(
    part: Any, weight: Any, turn: bool, matrices: Any, tile: Any
) -> None:
    """G g Gᵀ of every window, as matrices (points, filters, channels).

    weight (F, C / groups, 3, 3); turn: rotate windows, and give a group's filters the
    place of its channels, as the data gradient wants them.
    matrices (points, groups, filters of a group, channels of a group)
    """
    groups, filters, channels = matrices.shape[1:]
    flat, lead = weight.reshape(-1), groups * filters * channels
    step, down, right = (9 * filters, -3, -1) if turn else (9, 3, 1)
    for f in dealt(groups * filters, part):
        group, of_group = f // filters, f % filters
        first = 9 * f * channels
        if turn:
            first = 9 * (group * channels * filters + of_group) + 8
        half = np.empty((tile.span, 3, channels), weight.dtype)
        for k in range(3):
            weigh_lines(
                flat[first + k * right :], down, step, half[:, k], 3 * channels,
                channels, tile,
            )  # fmt: skip
        for i in range(tile.span):
            points = matrices[i * tile.span :, group, of_group]
            weigh_lines(half[i], channels, 1, points, lead, channels, tile)


@threads.jit(inner=True)
def take_tiles(
    image: Any, plane: int, first: int, rows: int, target: Any, at: Any, tile: Any
) -> None:
    """Bᵀ d B for `rows` rows of tiles of one channel, as target (points, tiles).

    image (N, C, H, W); first: the first row of tiles, counted through all images.
    """
    width = tile.cols * tile.size + 2
    lines = np.zeros((tile.span, width), image.dtype)
    halves = np.empty((tile.span, width), image.dtype)
    low = max(0, at.pad_w)
    high = min(width, at.width + at.pad_w)
    for row in range(first, first + rows):
        n, top = row // tile.rows, row % tile.rows * tile.size - at.pad_h
        for i in range(tile.span):
            if 0 <= top + i < at.height:
                source = image[n, plane, top + i]
                copy(source[low - at.pad_w : high - at.pad_w], lines[i, low:high])
            else:
                lines[i, :] = 0
        input_lines(lines.reshape(-1), width, 1, halves.reshape(-1), width, width, tile)
        spot = (row - first) * tile.cols
        for i in range(tile.span):
            points = target[i * tile.span :, spot:]
            lead = target.strides[0] // target.itemsize
            input_lines(halves[i], 1, tile.size, points, lead, tile.cols, tile)


@threads.jit(inner=True)
def give_tiles(
    products: Any, first: int, rows: int, bias: Any, out: Any, f: int, at: Any,
    tile: Any,
) -> None:  # fmt: skip
    """Aᵀ m A for `rows` rows of tiles of one filter: products (points, tiles)."""
    lead = products.strides[0] // products.itemsize
    halves = np.empty((tile.size, tile.span, tile.cols), out.dtype)
    line = np.empty((tile.size, tile.cols), out.dtype)
    for row in range(first, first + rows):
        n, top = row // tile.rows, row % tile.rows * tile.size
        spot = (row - first) * tile.cols
        for j in range(tile.span):
            points, half = products[j:, spot:], halves[:, j]
            gap = tile.span * tile.cols
            output_lines(points, lead * tile.span, half, gap, tile.cols, tile)
        for i in range(min(tile.size, at.out_h - top)):
            output_lines(halves[i], tile.cols, line, tile.cols, tile.cols, tile)
            result = out[n, f, top + i]
            for j in range(tile.size):
                count = (at.out_w - j + tile.size - 1) // tile.size
                for t in range(count):
                    result[t * tile.size + j] = line[j, t] + bias


@threads.jit(inner=True)
def spread_tiles(
    dout: Any, plane: int, first: int, rows: int, target: Any, at: Any, tile: Any
) -> None:
    """A dy Aᵀ for `rows` rows of tiles of one filter, as target (points, tiles)."""
    width = tile.cols * tile.size
    lines = np.zeros((tile.size, width), dout.dtype)
    halves = np.empty((tile.span, width), dout.dtype)
    lead = target.strides[0] // target.itemsize
    for row in range(first, first + rows):
        n, top = row // tile.rows, row % tile.rows * tile.size
        for i in range(tile.size):
            if top + i < at.out_h:
                copy(dout[n, plane, top + i], lines[i, : at.out_w])
            else:
                lines[i, :] = 0
        flat = lines.reshape(-1)
        spread_lines(flat, width, 1, halves.reshape(-1), width, width, tile)
        spot = (row - first) * tile.cols
        for i in range(tile.span):
            points = target[i * tile.span :, spot:]
            spread_lines(halves[i], 1, tile.size, points, lead, tile.cols, tile)


def steps(at: Any, tile: Any) -> int:
    """How many steps `forward_tiled` and `weight_tiled` have: three for each band."""
    return 3 * int(at.groups * -(-at.images * tile.rows // tile.band))


@threads.jit(parallel=True, steps=True)
def forward_tiled(
    part: Any, step: int, data: Any, matrices: Any, bias: Any, out: Any, inputs: Any,
    products: Any, at: Any, tile: Any,
) -> None:  # fmt: skip
    """All bands of tiles, one after the other; threads share each."""
    channels, filters = at.channels // at.groups, at.filters // at.groups
    every, lead = at.images * tile.rows, tile.band * tile.cols
    g, first = step // 3 % at.groups, step // 3 // at.groups * tile.band
    rows = min(tile.band, every - first)
    if step % 3 == 0:
        for c in dealt(channels, part):
            take_tiles(data, g * channels + c, first, rows, inputs[:, c], at, tile)
    elif step % 3 == 1:
        for e in dealt(tile.span * tile.span, part):
            gemm(
                False, False, filters, rows * tile.cols, channels,
                matrices, (e * at.groups + g) * filters * channels, channels,
                inputs, e * channels * lead, lead,
                0.0, products, e * filters * lead, lead,
            )  # fmt: skip
    else:
        for f in dealt(filters, part):
            plane = g * filters + f
            parts = products[:, f]
            give_tiles(parts, first, rows, bias[plane], out, plane, at, tile)


@threads.jit(parallel=True, steps=True)
def weight_tiled(
    part: Any, step: int, dout: Any, data: Any, sums: Any, inputs: Any, heads: Any,
    at: Any, tile: Any,
) -> None:  # fmt: skip
    """Sums (points, groups, filters, channels) over all tiles, in their order."""
    channels, filters = at.channels // at.groups, at.filters // at.groups
    every, lead = at.images * tile.rows, tile.band * tile.cols
    g, first = step // 3 % at.groups, step // 3 // at.groups * tile.band
    rows = min(tile.band, every - first)
    if step % 3 == 0:
        for c in dealt(channels, part):
            take_tiles(data, g * channels + c, first, rows, inputs[:, c], at, tile)
    elif step % 3 == 1:
        for f in dealt(filters, part):
            spread_tiles(dout, g * filters + f, first, rows, heads[:, f], at, tile)
    else:
        for e in dealt(tile.span * tile.span, part):
            gemm(
                False, True, filters, channels, rows * tile.cols,
                heads, e * filters * lead, lead,
                inputs, e * channels * lead, lead,
                0.0 if first == 0 else 1.0,
                sums, (e * at.groups + g) * filters * channels, channels,
            )  # fmt: skip


@threads.jit(parallel=True)
def gather_weight(part: Any, sums: Any, dweight: Any, tile: Any) -> None:
    """Gᵀ s G of every window: dweight (F, C / groups, 3, 3)."""
    _, groups, filters, channels = sums.shape
    lead = groups * filters * channels
    for f in dealt(groups * filters, part):
        half = np.empty((3, tile.span, channels), sums.dtype)
        for j in range(tile.span):
            points = sums[j:, f // filters, f % filters]
            gap = tile.span * channels
            gather_lines(points, tile.span * lead, half[:, j], gap, 1, channels, tile)
        for i in range(3):
            gather_lines(half[i], channels, dweight[f, 0, i], 1, 9, channels, tile)
