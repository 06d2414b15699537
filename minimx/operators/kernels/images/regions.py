"""Regions of images whose cells look at channels of their own, or that are turned.

cell_means(data, rois, ...)     the mean over every cell, each in its own channel
moved_means(data, rois, ...)    over points of cells that are moved; and back
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
def _inside(first: Any, step: Any, points: int, length: int) -> int:
    """How many of some points in a row are at most half a pixel outside."""
    count = 0
    for k in range(points):
        count += -0.5 <= first + k * step <= length - 0.5
    return count


@threads.jit(inner=True)
def _between(at: Any, length: int) -> Any:
    """The pixels before and after a point in a row, and its place between them."""
    at = min(max(at, at * 0), at * 0 + length - 1)
    first = int(math.floor(at))
    return first, int(math.ceil(at)), at - first


@threads.jit(inner=True)
def _moved_mean(
    plane: Any, top: Any, left: Any, down: Any, across: Any, points: int
) -> Any:
    """The mean over points · points from (top, left) that are inside."""
    height, width = plane.shape
    total = plane.dtype.type(0)
    for a in range(points):
        y = top + a * down
        if not -0.5 <= y <= height - 0.5:
            continue
        t, m, p = _between(y, height)
        for b in range(points):
            x = left + b * across
            if not -0.5 <= x <= width - 0.5:
                continue
            n, r, q = _between(x, width)
            upper = plane[t, n] * (1 - q) + plane[t, r] * q
            lower = plane[m, n] * (1 - q) + plane[m, r] * q
            total += upper * (1 - p) + lower * p
    inside = _inside(top, down, points, height) * _inside(left, across, points, width)
    return total / max(inside, 1)


@threads.jit(inner=True)
def _moved_back(
    dmean: Any, plane: Any, top: Any, left: Any, down: Any, across: Any, points: int,
    dplane: Any,
) -> Any:  # fmt: skip
    """Add the gradient of `_moved_mean` to dplane; returns those of top and left."""
    height, width = plane.shape
    dtop, dleft = plane.dtype.type(0), plane.dtype.type(0)
    inside = _inside(top, down, points, height) * _inside(left, across, points, width)
    each = dmean / max(inside, 1)
    for a in range(points):
        y = top + a * down
        if not -0.5 <= y <= height - 0.5:
            continue
        t, m, p = _between(y, height)
        for b in range(points):
            x = left + b * across
            if not -0.5 <= x <= width - 0.5:
                continue
            n, r, q = _between(x, width)
            dplane[t, n] += each * (1 - p) * (1 - q)
            dplane[t, r] += each * (1 - p) * q
            dplane[m, n] += each * p * (1 - q)
            dplane[m, r] += each * p * q
            on_left, on_right = plane[m, n] - plane[t, n], plane[m, r] - plane[t, r]
            dtop += each * (on_left * (1 - q) + on_right * q)
            above, below = plane[t, r] - plane[t, n], plane[m, r] - plane[m, n]
            dleft += each * (above * (1 - p) + below * p)
    return dtop, dleft


@threads.jit(inner=True)
def _side(low: Any, high: Any, scale: Any) -> Any:
    """Where a region begins along one side, and how long it is."""
    real = type(scale)
    begin = real(_rounded(low)) * scale - real(0.5)
    return begin, max(real(_rounded(high) + 1) * scale - real(0.5) - begin, real(0.1))


@threads.jit(parallel=True)
def moved_means(
    mine: Any, data: Any, rois: Any, moves: Any, settings: Any, out: Any,
    ddata: Any, dmoves: Any, backward: bool,
) -> None:  # fmt: skip
    """Fill out (R, C, k, k); or backward, ddata and dmoves from gradients in out.

    data (N, C·groups·groups, H, W), rois (R, 5), moves (R, 2·classes, parts, parts): to
    the right and down, in sides of the region. settings: the scales of rois and moves,
    groups, and points along a side of a cell. The channels of a class move alike.
    """
    scale, spread, groups, points = settings
    count, channels, cells, _ = out.shape
    classes, parts = moves.shape[1] // 2, moves.shape[2]
    each, square = channels // classes, groups * groups
    for kind in dealt(classes, mine):
        if backward:
            ddata[:, kind * each * square : (kind + 1) * each * square] = 0
            dmoves[:, 2 * kind : 2 * kind + 2] = 0
        for r in range(count):
            image = int(rois[r, 0])
            left, wide = _side(rois[r, 1], rois[r, 3], scale)
            top, tall = _side(rois[r, 2], rois[r, 4], scale)
            move, dmove = moves[r, 2 * kind :], dmoves[r, 2 * kind :]
            down, across = tall / cells / points, wide / cells / points
            for i, j in np.ndindex(cells, cells):
                k, m = i * parts // cells, j * parts // cells
                y = top + i * tall / cells + move[1, k, m] * spread * tall
                x = left + j * wide / cells + move[0, k, m] * spread * wide
                group = i * groups // cells * groups + j * groups // cells
                for c in range(kind * each, (kind + 1) * each):
                    if not 0 <= image < data.shape[0]:
                        if not backward:
                            out[r, c, i, j] = 0
                        continue
                    at = c * square + group
                    plane = data[image, at]
                    if not backward:
                        mean = _moved_mean(plane, y, x, down, across, points)
                        out[r, c, i, j] = mean
                        continue
                    dy, dx = _moved_back(
                        out[r, c, i, j], plane, y, x, down, across, points,
                        ddata[image, at],
                    )  # fmt: skip
                    dmove[1, k, m] += dy * spread * tall
                    dmove[0, k, m] += dx * spread * wide


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
