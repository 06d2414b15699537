"""Boxes in images on CUDA: what the CPU's file of this name promises.

In pooling over boxes a thread owns a cell of a grid. What goes back to the images meets
there, and is added by atomic additions; with MXNET_ENFORCE_DETERMINISM one thread walks
through all cells of a channel, so that it is added in one order.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from minimx.kernels.cuda import launching
from minimx.kernels.cuda.launching import cuda
from minimx.kernels.cuda.mathematics import (
    ceil,
    floor,
    rounded_float32,
    rounded_float64,
)
from minimx.kernels.cuda.pointwise import filler
from minimx.knobs import knobs

# -- pooling over boxes ----------------------------------------------------------------


class Grids(NamedTuple):
    """Lengths of images and of the grids over them; each: channels for each grid's."""

    batch: int
    planes: int
    height: int
    width: int
    regions: int
    channels: int
    rows: int
    columns: int
    numbers: int
    each: int


def grids(images: Any, rois: Any, cells: Any) -> Grids:
    """Of images (N, C, H, W), boxes (R, numbers) and grids (R, channels, h, w)."""
    each = images.shape[1] // cells.shape[1]
    return Grids._make((*images.shape, *cells.shape, rois.shape[1], each))


def walk(at: Grids) -> int:
    """The cells that one thread has to walk through, one after the other."""
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
        data: Any, rois: Any, scale: Any, out: Any, places: Any, at: Any
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


def roi_pool(data: Any, rois: Any, scale: Any, out: Any, places: Any) -> None:
    """Fill out (R, C, h, w) with maxima, places with where in the image they stand."""
    at, flat = grids(data, rois, out), (out.reshape(-1), places.reshape(-1))
    arrays = data.reshape(-1), rois.reshape(-1), scale, *flat
    launching.run(_pool(out.dtype.type), out.size, *arrays, at)


@launching.kernel
def _unpool(
    dout: Any, rois: Any, places: Any, ddata: Any, n: int, each: int, at: Any
) -> None:
    cells = at.rows * at.columns
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        for k in range(i * each, i * each + each):
            r, c = k // cells % at.regions, k // (cells * at.regions)
            image = inside(rois[r * at.numbers], at.batch)
            cell = (r * at.channels + c) * cells + k % cells
            if image >= 0 and places[cell] >= 0:
                start = (image * at.planes + c) * at.height * at.width
                cuda.atomic.add(ddata, start + places[cell], dout[cell])


def roi_pool_gradient(dout: Any, rois: Any, places: Any, ddata: Any) -> None:
    """Add each gradient where its maximum stands; ddata (N, C, H, W)."""
    at = grids(ddata, rois, dout)
    filler(ddata.dtype.type(0))(ddata)
    each = walk(at)
    n, arrays = dout.size // each, [x.reshape(-1) for x in (dout, rois, places, ddata)]
    launching.run(_unpool, n, *arrays, n, each, at)


@launching.kernel
def _gather(ddata: Any, rois: Any, places: Any, out: Any, zero: Any, at: Any) -> None:
    cells = at.rows * at.columns
    for k in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        r, c = k // (cells * at.channels), k // cells % at.channels
        image = inside(rois[r * at.numbers], at.batch)
        start = (image * at.planes + c) * at.height * at.width
        known = image >= 0 and places[k] >= 0
        out[k] = ddata[start + places[k]] if known else zero


def roi_gather(ddata: Any, rois: Any, places: Any, out: Any) -> None:
    """The values that stand at the places; ddata (N, C, H, W)."""
    arrays = [x.reshape(-1) for x in (ddata, rois, places, out)]
    zero, at = out.dtype.type(0), grids(ddata, rois, out)
    launching.run(_gather, out.size, *arrays, zero, at)


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


@launching.inner
def _image(rois: Any, r: int, at: Any) -> int:
    """The image of a box; a box of four numbers belongs to the first."""
    return inside(rois[r * at.numbers], at.batch) if at.numbers > 4 else 0


@launching.kernel
def _align(
    data: Any, rois: Any, out: Any, scale: Any, shift: Any, ratio: int,
    sensitive: bool, at: Any,
) -> None:  # fmt: skip
    cells = at.rows * at.columns
    for k in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        cell, c, r = k % cells, k // cells % at.channels, k // (cells * at.channels)
        image, total = _image(rois, r, at), 0.0
        plane = c * at.each + (cell if sensitive else 0)
        start = (image * at.planes + plane) * at.height * at.width
        top, left, tall, wide, down, across = _bin(
            rois, r, cell, scale, shift, ratio, at
        )
        for a in range(down if image >= 0 else 0):
            y = top + (a + 0.5) * tall / down
            for b in range(across if y >= -1 and y <= at.height else 0):
                x = left + (b + 0.5) * wide / across
                if x >= -1 and x <= at.width:
                    t, n, u, r_, v, h = corners(y, x, at.height, at.width)
                    total += (1 - v) * (1 - h) * data[start + t + n]
                    total += (1 - v) * h * data[start + t + r_]
                    total += v * (1 - h) * data[start + u + n]
                    total += v * h * data[start + u + r_]
        out[k] = total / max(down * across, 1)


@launching.kernel
def _unalign(
    ddata: Any, rois: Any, dout: Any, scale: Any, shift: Any, ratio: int,
    sensitive: bool, n: int, each: int, at: Any,
) -> None:  # fmt: skip
    cells = at.rows * at.columns
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        for k in range(i * each, i * each + each):
            cell, r, c = k % cells, k // cells % at.regions, k // (cells * at.regions)
            image = _image(rois, r, at)
            plane = c * at.each + (cell if sensitive else 0)
            start = (image * at.planes + plane) * at.height * at.width
            top, left, tall, wide, down, across = _bin(
                rois, r, cell, scale, shift, ratio, at
            )
            head = dout[(r * at.channels + c) * cells + cell] / max(down * across, 1)
            for a in range(down if image >= 0 else 0):
                y = top + (a + 0.5) * tall / down
                for b in range(across if y >= -1 and y <= at.height else 0):
                    x = left + (b + 0.5) * wide / across
                    if x >= -1 and x <= at.width:
                        t, m, u, q, v, h = corners(y, x, at.height, at.width)
                        one, two = head * (1 - v), head * v
                        cuda.atomic.add(ddata, start + t + m, one * (1 - h))
                        cuda.atomic.add(ddata, start + t + q, one * h)
                        cuda.atomic.add(ddata, start + u + m, two * (1 - h))
                        cuda.atomic.add(ddata, start + u + q, two * h)


def roi_align(
    data: Any, rois: Any, scale: Any, ratio: int, shift: Any, sensitive: bool,
    out: Any, backward: bool,
) -> None:  # fmt: skip
    """Fill out (R, C, h, w); or backward, fill data with the gradients from out.

    rois (R, 5): image and box, or (R, 4) for the first image. sensitive: every place of
    the grid has channels of its own, so data has C·h·w. shift: what is taken off all
    coordinates, 0 or 0.5.
    """
    at, arrays = grids(data, rois, out), [x.reshape(-1) for x in (data, rois, out)]
    settings = scale, shift, ratio, sensitive
    if not backward:
        launching.run(_align, out.size, *arrays, *settings, at)
        return
    filler(data.dtype.type(0))(data)
    each = walk(at)
    n = out.size // each
    launching.run(_unalign, n, *arrays, *settings, n, each, at)
