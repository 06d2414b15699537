"""Regions whose cells have channels of their own, or are turned, on CUDA.

The CPU's file has the rules, `boxes` says how the threads share the work.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from minimx.cuda.kernels import launching
from minimx.cuda.kernels.default_launch import real, runs
from minimx.cuda.kernels.images.boxes import (
    cells_per_thread,
    corners,
    grids,
    inside,
    product,
    rounded,
)
from minimx.cuda.kernels.launching import cuda
from minimx.cuda.kernels.mathematics import ceil, cos, floor, sin


@cache
def _edges(real: Any) -> Any:
    """A function: the first and last pixel of the k-th cell along one side."""
    times = product(real)

    def edges(low, high, scale, k, cells, length):  # type: ignore[no-untyped-def]
        begin, end = times(rounded(low), scale), times(rounded(high) + 1, scale)
        each = max(end - begin, real(0.1)) / real(cells)
        first, last = floor(times(k, each) + begin), ceil(times(k + 1, each) + begin)
        return min(max(int(first), 0), length), min(max(int(last), 0), length)

    return launching.inner(edges)


@cache
def _cells(real: Any, backward: bool) -> Any:
    edges = _edges(real)

    @launching.kernel
    def kernel(
        data: Any, rois: Any, out: Any, n: int, scale: Any, groups: int, each: int,
        at: Any,
    ) -> None:  # fmt: skip
        cells = at.rows * at.columns
        for work in range(cuda.grid(1), n, cuda.gridsize(1)):
            for k in range(work * each, work * each + each):
                r, c = k // cells % at.regions, k // (cells * at.regions)
                i, j, roi = k % cells // at.columns, k % at.columns, r * at.numbers
                image = inside(rois[roi], at.batch)
                low, high = rois[roi + 2], rois[roi + 4]
                first, last = edges(low, high, scale, i, at.rows, at.height)
                low, high = rois[roi + 1], rois[roi + 3]
                begin, end = edges(low, high, scale, j, at.columns, at.width)
                group = i * groups // at.rows * groups + j * groups // at.columns
                plane = image * at.planes + c * at.each + group
                cell = (r * at.channels + c) * cells + k % cells
                total, area = 0.0, float(max((last - first) * (end - begin), 1))
                for y in range(first, last if image >= 0 else first):
                    row = (plane * at.height + y) * at.width
                    for x in range(begin, end):
                        if backward:
                            cuda.atomic.add(data, row + x, out[cell] / area)
                        else:
                            total += data[row + x]
                if not backward:
                    out[cell] = total / area

    return kernel


def cell_means(
    data: Any, rois: Any, scale: Any, groups: int, out: Any, backward: bool
) -> None:
    """Fill out (R, C, h, w); or backward, fill data with the gradients from out.

    data (N, C·groups·groups, H, W), rois (R, 5). A cell of the grid has the channel of
    the group that it lies in.
    """
    at, kernel = grids(data, rois, out), _cells(out.dtype.type, backward)
    each = cells_per_thread(at, data) if backward else 1
    launching.over(kernel, out.size // each, (data, rois, out), scale, groups, each, at)


@launching.kernel
def _turned(data: Any, rois: Any, out: Any, scale: float, ratio: int, at: Any) -> None:
    for k in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        j, i = k % at.columns, k // at.columns % at.rows
        plane = k // (at.columns * at.rows)
        roi = plane // at.channels * at.numbers
        image, total = inside(rois[roi], at.batch), 0.0
        start = (image * at.planes + plane % at.channels) * at.height * at.width
        wide = max(float(rois[roi + 3]) * scale, 1.0) / at.columns
        tall = max(float(rois[roi + 4]) * scale, 1.0) / at.rows
        down = ratio if ratio > 0 else int(ceil(tall))
        across = ratio if ratio > 0 else int(ceil(wide))
        angle = float(rois[roi + 5]) * math.pi / 180
        cosine, sine = cos(angle), sin(angle)
        for tap in range(down * across if image >= 0 else 0):
            v = (i - at.rows / 2 + (tap // across + 0.5) / down) * tall
            u = (j - at.columns / 2 + (tap % across + 0.5) / across) * wide
            x = u * cosine + v * sine + float(rois[roi + 1]) * scale
            y = v * cosine - u * sine + float(rois[roi + 2]) * scale
            if y >= -1 and y <= at.height and x >= -1 and x <= at.width:
                t, n, m, r, p, q = corners(y, x, at.height, at.width)
                upper = data[start + t + n] * (1 - q) + data[start + t + r] * q
                lower = data[start + m + n] * (1 - q) + data[start + m + r] * q
                total += upper * (1 - p) + lower * p
        out[k] = total / max(down * across, 1)


@runs("_contrib_RROIAlign", types=real)
def turned(
    data: Any, rois: Any, spatial_scale: float, sampling_ratio: int, out: Any
) -> None:
    """Fill out (R, C, h, w); rois (R, 6): image, x, y, width, height, degrees."""
    at, arrays = grids(data, rois, out), launching.flat(data, rois, out)
    settings = float(spatial_scale), sampling_ratio, at
    launching.run(_turned, out.size, *arrays, *settings)
