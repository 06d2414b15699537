"""Boxes in images on CUDA: what the CPU's file of this name promises, for many images.

Where one box after the other has to be looked at, a block of threads has an image, and
its threads have the other boxes. Nothing is chosen by which thread was first.

In pooling over boxes a thread owns a cell of a grid. What goes back to the images meets
there, and is added by atomic additions; with MXNET_ENFORCE_DETERMINISM one thread goes
through all cells of a channel, so that it is added in one order.
"""

from __future__ import annotations

from collections import namedtuple
from functools import cache
from typing import Any

import numpy as np

from minimx.core.knobs import knobs
from minimx.core.ops.spec import Spec
from minimx.cuda.kernels import launching, scratch
from minimx.cuda.kernels.core.indexing import ordered
from minimx.cuda.kernels.default_launch import real, runs
from minimx.cuda.kernels.launching import cuda
from minimx.cuda.kernels.mathematics import (
    ceil,
    floor,
    rounded_float32,
    rounded_float64,
)
from minimx.cuda.kernels.pointwise import filler

#: The threads of an image; a power of 2.
TEAM = 2 if launching.SIMULATED else 256


@launching.inner
def overlap(a: Any, i: int, b: Any, j: int) -> Any:
    """The area that two boxes, at i and at j, share, by that of both together."""
    width = min(a[i + 2], b[j + 2]) - max(a[i], b[j])
    height = min(a[i + 3], b[j + 3]) - max(a[i + 1], b[j + 1])
    if width <= 0 or height <= 0:
        return width * 0
    shared, zero = width * height, width * 0
    first = max(a[i + 2] - a[i], zero) * max(a[i + 3] - a[i + 1], zero)
    second = max(b[j + 2] - b[j], zero) * max(b[j + 3] - b[j + 1], zero)
    return shared / (first + second - shared)


@launching.kernel
def _overlaps(left: Any, right: Any, out: Any, many: int) -> None:
    for k in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[k] = overlap(left, k // many * 4, right, k % many * 4)


def overlaps(left: Any, right: Any, out: Any) -> None:
    """Fill out (m, n) from left (m, 4) and right (n, 4)."""
    arrays = launching.flat(left, right, out)
    launching.run(_overlaps, out.size, *arrays, right.shape[0])


@launching.kernel
def _suppress(
    boxes: Any, classes: Any, keep: Any, threshold: float, including: bool, images: int,
    n: int,
) -> None:  # fmt: skip
    for image in range(cuda.blockIdx.x, images, cuda.gridDim.x):
        base = image * n
        for i in range(base, base + n):
            if keep[i] < 0:
                break
            if keep[i] == 0:
                continue
            for j in range(i + 1 + cuda.threadIdx.x, base + n, TEAM):
                if keep[j] > 0 and classes[i] == classes[j]:
                    shared = float(overlap(boxes, 4 * i, boxes, 4 * j))
                    if shared > threshold or (including and shared == threshold):
                        keep[j] = 0
            cuda.syncthreads()


def suppress(
    boxes: Any, classes: Any, threshold: float, including: bool, keep: Any
) -> None:
    """In keep (images, n) put 0 for boxes that overlap an earlier one of their class.

    keep: 1 for those that take part, which come first, -1 for the others. boxes
    (images, n, 4); including: whether an overlap of exactly `threshold` counts.
    """
    images, n = keep.shape
    arrays, settings = launching.flat(boxes, classes, keep), (threshold, including)
    launching.by_teams(_suppress, images, TEAM, *arrays, *settings, images, n)


@launching.kernel
def _pack(keep: Any, order: Any, record: Any, images: int, n: int) -> None:
    for image in range(cuda.grid(1), images, cuda.gridsize(1)):
        rank = image * n
        for i in range(image * n, image * n + n):
            record[i] = -1
            if keep[i] > 0:
                record[rank] = order[i]
                rank += 1


def pack(keep: Any, order: Any, record: Any) -> None:
    """The places of order that are kept, then -1; all (images, n)."""
    images, n = keep.shape
    launching.over(_pack, images, (keep, order, record), n)


@launching.kernel
def _pair(
    scores: Any, order: Any, rows_to: Any, columns_to: Any, n: int, limit: Any,
    ascending: bool, top: int, rows: int, columns: int,
) -> None:  # fmt: skip
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        for k in range(i * rows, i * rows + rows):
            rows_to[k] = -1
        for k in range(i * columns, i * columns + columns):
            columns_to[k] = -1
        found = 0
        for k in range(i * rows * columns, (i + 1) * rows * columns):
            place = order[k]
            score = scores[i * rows * columns + place]
            row, column = i * rows + place // columns, i * columns + place % columns
            if score <= limit and not ascending or score >= limit and ascending:
                break
            if score == score and rows_to[row] == -1 and columns_to[column] == -1:
                rows_to[row], columns_to[column] = place % columns, place // columns
                found += 1
                if found == top:
                    break


@runs("_contrib_bipartite_matching", types=real)
def bipartite(
    scores: Any, threshold: float, is_ascend: bool, topk: int, rows_to: Any,
    columns_to: Any,
) -> None:  # fmt: skip
    """Pair rows with columns, each once, in the order of their scores (…, r, c).

    Only scores above `threshold` count, if ascending only those below; topk: so many
    pairs.
    """
    rows, columns = (int(length) for length in scores.shape[-2:])
    n, settings = scores.size // (rows * columns), (is_ascend, topk, rows, columns)
    with scratch.allocated((scores.size, np.int64)) as (order,):
        ordered(scores, (n, rows * columns), 1, is_ascend, order)
        arrays = scores, order, rows_to, columns_to
        limit = scores.dtype.type(threshold)
        launching.over(_pair, n, arrays, limit, *settings)


# -- pooling over boxes ----------------------------------------------------------------


#: Lengths of images and of the grids over them; each: channels for each grid's.
Grids = namedtuple(
    "Grids",
    "batch planes height width regions channels rows columns numbers each",
)


def grids(images: Any, rois: Any, cells: Any) -> Grids:
    """Of images (N, C, H, W), boxes (R, numbers) and grids (R, channels, h, w)."""
    each = images.shape[1] // cells.shape[1]
    return Grids._make((*images.shape, *cells.shape, rois.shape[1], each))


def cells_per_thread(at: Grids, images: Any) -> int:
    """Zeros in the images; the cells that one thread then walks through in order."""
    filler(images.dtype.type(0))(images)
    whole = at.regions * at.rows * at.columns
    return whole if knobs.get("MXNET_ENFORCE_DETERMINISM") else 1


@cache
def product(real: Any) -> Any:
    """A function `(a, b)`: their product in a type, rounded before all else.

    A device would fuse it with a sum that follows; an edge may then lie elsewhere.
    """
    exact = rounded_float32 if real is np.float32 else rounded_float64

    def call(a, b):  # type: ignore[no-untyped-def]
        return exact(real(a) * real(b))

    return launching.inner(call)


@launching.inner
def rounded(x: Any) -> int:
    """To the nearest integer, halves away from zero."""
    return int(floor(float(x) + 0.5)) if x >= 0 else int(ceil(float(x) - 0.5))


@launching.inner
def inside(number: Any, batch: int) -> int:
    """The image that a box names; -1 if there is none."""
    return int(number) if number > -1 and number < batch else -1


@cache
def _pool(real: Any) -> Any:
    times = product(real)

    @launching.kernel
    def kernel(
        data: Any, rois: Any, out: Any, places: Any, scale: Any, at: Any
    ) -> None:
        cells = at.rows * at.columns
        for k in range(cuda.grid(1), out.size, cuda.gridsize(1)):
            plane, i, j = k // cells, k % cells // at.columns, k % at.columns
            roi = plane // at.channels * at.numbers
            image = inside(rois[roi], at.batch)
            left, top = rounded(rois[roi + 1] * scale), rounded(rois[roi + 2] * scale)
            tall = rounded(rois[roi + 4] * scale) - top + 1
            wide = rounded(rois[roi + 3] * scale) - left + 1
            high, broad = real(max(tall, 1)) / real(at.rows), real(max(wide, 1))
            broad /= real(at.columns)
            first = min(max(int(floor(times(i, high))) + top, 0), at.height)
            last = min(max(int(ceil(times(i + 1, high))) + top, 0), at.height)
            begin = min(max(int(floor(times(j, broad))) + left, 0), at.width)
            end = min(max(int(ceil(times(j + 1, broad))) + left, 0), at.width)
            start = (image * at.planes + plane % at.channels) * at.height * at.width
            place, largest = -1, real(0)
            for y in range(first, last if image >= 0 else first):
                for x in range(begin, end):
                    value = data[start + y * at.width + x]
                    if place < 0 or value > largest:
                        place, largest = y * at.width + x, value
            out[k], places[k] = largest, place

    return kernel


@runs("ROIPooling", types=real)
def roi_pool(data: Any, rois: Any, spatial_scale: float, out: Any, places: Any) -> None:
    """Fill out (R, C, h, w) with maxima, places with their positions in the image."""
    at, kind = grids(data, rois, out), out.dtype.type
    arrays = launching.flat(data, rois, out, places)
    launching.run(_pool(kind), out.size, *arrays, kind(spatial_scale), at)


@launching.kernel
def _picked(
    images: Any, rois: Any, places: Any, out: Any, n: int, backward: bool, each: int,
    at: Any,
) -> None:  # fmt: skip
    cells = at.rows * at.columns
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        for k in range(i * each, i * each + each):
            r, c = k // cells % at.regions, k // (cells * at.regions)
            image = inside(rois[r * at.numbers], at.batch)
            cell = (r * at.channels + c) * cells + k % cells
            start = (image * at.planes + c) * at.height * at.width
            known = image >= 0 and places[cell] >= 0
            if not backward:
                out[cell] = images[start + places[cell]] if known else 0
            elif known:
                cuda.atomic.add(images, start + places[cell], out[cell])


def _pick(images: Any, rois: Any, places: Any, out: Any, backward: bool) -> None:
    at, arrays = grids(images, rois, out), (images, rois, places, out)
    each = cells_per_thread(at, images) if backward else 1
    launching.over(_picked, out.size // each, arrays, backward, each, at)


def _real_indexed(data: Spec, rois: Spec, places: Spec) -> bool:
    return real(data, rois)


@runs("_backward_ROIPooling", types=_real_indexed)
def roi_pool_gradient(dout: Any, rois: Any, places: Any, ddata: Any) -> None:
    """Add each gradient where its maximum was; ddata (N, C, H, W)."""
    _pick(ddata, rois, places, dout, backward=True)


@runs("_pick_ROIPooling", types=_real_indexed)
def roi_gather(ddata: Any, rois: Any, places: Any, out: Any) -> None:
    """The values at these positions; ddata (N, C, H, W)."""
    _pick(ddata, rois, places, out, backward=False)


@launching.inner
def corners(y: Any, x: Any, height: int, width: int) -> Any:
    """The pixels around a point and the point's place between them."""
    y, x = max(y, 0.0), max(x, 0.0)
    top, left = min(int(y), height - 1), min(int(x), width - 1)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    down = y - top if bottom > top else 0.0
    across = x - left if right > left else 0.0
    return top * width, left, bottom * width, right, down, across


@launching.inner
def _bin(
    rois: Any, r: int, cell: int, scale: Any, shift: Any, ratio: int, at: Any
) -> Any:
    """Top, left, height and width of a cell, and its points down and across."""
    roi = (r + 1) * at.numbers - 4
    left, top = rois[roi] * scale - shift, rois[roi + 1] * scale - shift
    wide = float(rois[roi + 2] * scale - shift - left)
    tall = float(rois[roi + 3] * scale - shift - top)
    if shift == 0:  # a box is at least one pixel large
        wide, tall = max(wide, 1.0), max(tall, 1.0)
    tall, wide = tall / at.rows, wide / at.columns
    down = ratio if ratio > 0 else int(ceil(tall))
    across = ratio if ratio > 0 else int(ceil(wide))
    y, x = top + cell // at.columns * tall, left + cell % at.columns * wide
    return y, x, tall, wide, down, across


@launching.kernel
def _align(
    data: Any, rois: Any, out: Any, n: int, scale: Any, shift: Any, ratio: int,
    sensitive: bool, backward: bool, each: int, at: Any,
) -> None:  # fmt: skip
    cells = at.rows * at.columns
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        for k in range(i * each, i * each + each):
            cell, r, c = k % cells, k // cells % at.regions, k // (cells * at.regions)
            image = inside(rois[r * at.numbers], at.batch) if at.numbers > 4 else 0
            plane = image * at.planes + c * at.each + (cell if sensitive else 0)
            start, mine = plane * at.height * at.width, (r * at.channels + c) * cells
            top, left, tall, wide, down, across = _bin(
                rois, r, cell, scale, shift, ratio, at
            )
            total, points = 0.0, max(down * across, 1)
            head = out[mine + cell] / points if backward else 0.0
            for a in range(down if image >= 0 else 0):
                y = top + (a + 0.5) * tall / down
                for b in range(across if y >= -1 and y <= at.height else 0):
                    x = left + (b + 0.5) * wide / across
                    if x >= -1 and x <= at.width:
                        t, m, u, q, v, h = corners(y, x, at.height, at.width)
                        for corner in range(4):
                            share = (h if corner % 2 else 1 - h) * (
                                v if corner > 1 else 1 - v
                            )
                            place = start + (u if corner > 1 else t)
                            place += q if corner % 2 else m
                            if backward:
                                cuda.atomic.add(data, place, head * share)
                            else:
                                total += share * data[place]
            if not backward:
                out[mine + cell] = total / points


def roi_align(
    data: Any, rois: Any, scale: Any, ratio: int, shift: Any, sensitive: bool,
    out: Any, backward: bool,
) -> None:  # fmt: skip
    """Fill out (R, C, h, w); or backward, fill data with the gradients from out.

    rois (R, 5): image and box, or (R, 4) for the first image. sensitive: every place of
    the grid has channels of its own, so data has C·h·w. shift: what is taken off all
    coordinates, 0 or 0.5.
    """
    at, settings = grids(data, rois, out), (scale, shift, ratio, sensitive, backward)
    each = cells_per_thread(at, data) if backward else 1
    launching.over(_align, out.size // each, (data, rois, out), *settings, each, at)
