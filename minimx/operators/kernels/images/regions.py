"""Regions of images whose cells look at channels of their own, or that are turned.

cell_means(data, rois, ...)     the mean over every cell, each in its own channel
turned(data, rois, ...)         means over points of a rectangle at an angle
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minimx.core.kernels import threads
from minimx.core.kernels.parts import dealt
from minimx.operators.kernels.images.boxes import _corners, _rounded


@threads.jit()
def _edges(low: Any, high: Any, scale: Any, cells: int, length: int, out: Any) -> None:
    """First and last pixel of each cell along one side; out (cells, 2)."""
    real = type(scale)
    begin, end = real(_rounded(low)) * scale, real(_rounded(high) + 1) * scale
    each = max(end - begin, real(0.1)) / real(cells)
    for k in range(cells):
        out[k, 0] = min(max(int(math.floor(real(k) * each + begin)), 0), length)
        out[k, 1] = min(max(int(math.ceil(real(k + 1) * each + begin)), 0), length)


@threads.jit(parallel=True)
def cell_means(
    mine: Any, data: Any, rois: Any, scale: Any, groups: int, out: Any, backward: bool
) -> None:
    """Fill out (R, C, h, w); or backward, add gradients from out to data.

    data (N, C·groups·groups, H, W), rois (R, 5). A cell of the grid has the channel of
    the group that it lies in.
    """
    batch, _, height, width = data.shape
    count, channels, rows, columns = out.shape
    for c in dealt(channels, mine):
        down, across = np.empty((rows, 2), np.int64), np.empty((columns, 2), np.int64)
        if backward:
            data[:, c * groups * groups : (c + 1) * groups * groups] = 0
        for r in range(count):
            image = int(rois[r, 0])
            _edges(rois[r, 2], rois[r, 4], scale, rows, height, down)
            _edges(rois[r, 1], rois[r, 3], scale, columns, width, across)
            for i in range(rows):
                for j in range(columns):
                    area = (down[i, 1] - down[i, 0]) * (across[j, 1] - across[j, 0])
                    empty = down[i, 1] <= down[i, 0] or across[j, 1] <= across[j, 0]
                    if not backward:
                        out[r, c, i, j] = 0
                    if empty or image < 0 or image >= batch:
                        continue
                    group = i * groups // rows * groups + j * groups // columns
                    plane = data[image, c * groups * groups + group]
                    part = plane[down[i, 0] : down[i, 1], across[j, 0] : across[j, 1]]
                    if backward:
                        part += out[r, c, i, j] / area
                    else:
                        out[r, c, i, j] = part.sum() / area


@threads.jit(inner=True)
def _mean_at(
    plane: Any, top: Any, left: Any, tall: Any, wide: Any, down: int, across: int,
    angle: Any, middle: Any,
) -> Any:  # fmt: skip
    """The mean over down · across points of a cell, turned around `middle` (y, x)."""
    height, width = plane.shape
    cosine, sine = math.cos(angle), math.sin(angle)
    total = plane.dtype.type(0)
    for a in range(down):
        v = top + (a + 0.5) * tall / down
        for b in range(across):
            u = left + (b + 0.5) * wide / across
            x = u * cosine + v * sine + middle[1]
            y = v * cosine - u * sine + middle[0]
            if not (-1 <= y <= height and -1 <= x <= width):
                continue
            t, n, m, r, p, q = _corners(y, x, height, width)
            upper = plane[t, n] * (1 - q) + plane[t, r] * q
            lower = plane[m, n] * (1 - q) + plane[m, r] * q
            total += upper * (1 - p) + lower * p
    return total / max(down * across, 1)


@threads.jit(parallel=True)
def turned(part: Any, data: Any, rois: Any, scale: float, ratio: int, out: Any) -> None:
    """Fill out (R, C, h, w); rois (R, 6): image, x, y, width, height, degrees."""
    batch = data.shape[0]
    count, channels, rows, columns = out.shape
    for task in dealt(count * channels, part):
        r, c = task // channels, task % channels
        image = int(rois[r, 0])
        out[r, c] = 0
        if image < 0 or image >= batch:
            continue
        middle = (rois[r, 2] * scale, rois[r, 1] * scale)
        wide, tall = max(rois[r, 3] * scale, 1.0), max(rois[r, 4] * scale, 1.0)
        down = ratio if ratio > 0 else int(math.ceil(tall / rows))
        across = ratio if ratio > 0 else int(math.ceil(wide / columns))
        angle = rois[r, 5] * math.pi / 180
        for i in range(rows):
            for j in range(columns):
                top, left = tall * (i / rows - 0.5), wide * (j / columns - 0.5)
                out[r, c, i, j] = _mean_at(
                    data[image, c], top, left, tall / rows, wide / columns,
                    down, across, angle, middle,
                )  # fmt: skip
