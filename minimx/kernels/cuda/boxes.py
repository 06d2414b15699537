"""Boxes in images on CUDA: what the CPU's file of this name promises, for many images.

Where one box after the other has to be looked at, a block of threads has an image, and
its threads have the other boxes. Nothing is chosen by which thread was first.

In pooling over boxes a thread owns a cell of a grid. What goes back to the images meets
there, and is added by atomic additions; with MXNET_ENFORCE_DETERMINISM one thread walks
through all cells of a channel, so that it is added in one order.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from minimx.drivers.cuda import current_stream
from minimx.kernels.cuda import launching, scratch
from minimx.kernels.cuda.indexing import ordered
from minimx.kernels.cuda.launching import cuda
from minimx.kernels.cuda.mathematics import (
    ceil,
    floor,
    rounded_float32,
    rounded_float64,
)
from minimx.kernels.cuda.pointwise import filler
from minimx.knobs import knobs

#: The threads of an image; a power of 2.
TEAM = 2 if launching.PLAYING else 256


def by_teams(kernel: Any, images: int, *args: Any) -> None:
    """Launch a kernel in which a block of threads has an image."""
    kernel[min(images, launching.MOST_BLOCKS), TEAM, current_stream()](*args)


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
    arrays = left.reshape(-1), right.reshape(-1), out.reshape(-1)
    launching.run(_overlaps, out.size, *arrays, right.shape[0])


@launching.kernel
def _suppress(
    boxes: Any, classes: Any, threshold: float, including: bool, keep: Any, images: int,
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
    flat = boxes.reshape(-1), classes.reshape(-1), threshold, including
    by_teams(_suppress, images, *flat, keep.reshape(-1), images, n)


@launching.kernel
def _pack(keep: Any, order: Any, record: Any, images: int, n: int, size: int) -> None:
    part = cuda.shared.array(TEAM, np.int64)
    t, chunk = cuda.threadIdx.x, (n + TEAM - 1) // TEAM
    for image in range(cuda.blockIdx.x, images, cuda.gridDim.x):
        base, mine = image * n, 0
        begin, end = base + t * chunk, base + min(t * chunk + chunk, n)
        for i in range(begin, end):
            mine += 1 if keep[i] > 0 else 0
        part[t] = mine
        cuda.syncthreads()
        rank, total = 0, 0
        for other in range(TEAM):
            rank += part[other] if other < t else 0
            total += part[other]
        for i in range(begin, end):
            if keep[i] > 0:
                if rank < size:
                    record[image * size + rank] = order[i]
                rank += 1
        for i in range(total + t, size, TEAM):
            record[image * size + i] = -1
        cuda.syncthreads()


def pack(keep: Any, order: Any, record: Any) -> None:
    """The places (images, n) of order that are kept, then -1; record (images, size)."""
    (images, n), size = keep.shape, int(record.shape[1])
    arrays = [x.reshape(-1) for x in (keep, order, record)]
    by_teams(_pack, images, *arrays, images, n, size)


@launching.kernel
def _pair(
    scores: Any, order: Any, limit: Any, ascending: bool, top: int, rows_to: Any,
    columns_to: Any, n: int, rows: int, columns: int,
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
            counts = score < limit if ascending else score > limit
            if counts and rows_to[row] == -1 and columns_to[column] == -1:
                rows_to[row], columns_to[column] = place % columns, place // columns
                found += 1
                if found == top:
                    break


def bipartite(
    scores: Any, limit: Any, ascending: bool, top: int, rows_to: Any, columns_to: Any
) -> None:
    """Pair rows with columns, each once, in the order of their scores (n, r, c).

    Only scores above `limit` count, if ascending only those below; top: so many pairs.
    """
    n, rows, columns = scores.shape
    with scratch.lent((scores.size, np.int64)) as (order,):
        ordered(scores, (n, rows * columns), 1, ascending, order)
        flat = scores.reshape(-1), order, limit, ascending, top
        outs = rows_to.reshape(-1), columns_to.reshape(-1)
        launching.run(_pair, n, *flat, *outs, n, rows, columns)


@launching.kernel
def _match(
    shared: Any, counts: Any, threshold: float, owner: Any, best: Any, taken: Any,
    owned: Any, images: int, anchors: int, boxes: int,
) -> None:  # fmt: skip
    part = cuda.shared.array(TEAM, np.float64)
    where = cuda.shared.array(TEAM, np.int64)
    t = cuda.threadIdx.x
    for n in range(cuda.blockIdx.x, images, cuda.gridDim.x):
        base = n * anchors
        for j in range(t, anchors, TEAM):
            owner[base + j] = -1
        for k in range(t, boxes, TEAM):
            taken[n * boxes + k] = 0
        owned[n] = 0
        cuda.syncthreads()
        for _ in range(counts[n]):
            largest, place = 1e-6, -1
            for j in range(t, anchors, TEAM):
                for k in range(counts[n] if owner[base + j] < 0 else 0):
                    value = float(shared[(base + j) * boxes + k])
                    if value > largest and taken[n * boxes + k] == 0:
                        largest, place = value, j * boxes + k
            part[t], where[t] = largest, place
            cuda.syncthreads()
            half = TEAM // 2
            while half > 0:
                if t < half and where[t + half] >= 0:
                    ahead = part[t + half] > part[t] or where[t] < 0
                    tie = part[t + half] == part[t] and where[t + half] < where[t]
                    if ahead or tie:
                        part[t], where[t] = part[t + half], where[t + half]
                cuda.syncthreads()
                half //= 2
            place = where[0]
            cuda.syncthreads()
            if place < 0:
                break
            if t == 0:
                owner[base + place // boxes] = place % boxes
                taken[n * boxes + place % boxes] = 1
            cuda.syncthreads()
        for j in range(t, anchors, TEAM):
            row, k = (base + j) * boxes, 0
            for other in range(1, counts[n]):
                k = other if shared[row + other] > shared[row + k] else k
            best[base + j] = shared[row + k]
            if owner[base + j] < 0 and threshold > 0 and best[base + j] > threshold:
                owner[base + j] = k
            if owner[base + j] >= 0:
                cuda.atomic.add(owned, n, 1)  # whole numbers: in any order the same
        cuda.syncthreads()


def match(
    shared: Any, counts: Any, threshold: float, owner: Any, best: Any, owned: Any
) -> None:
    """Give anchors to labelled boxes: owner (images, anchors) is a box, or -1.

    shared (images, anchors, boxes): overlaps, of which those of the first counts
    (images,) boxes count. First every box takes the anchor it overlaps most, the
    largest overlaps first; then anchors that overlap some box by more than `threshold`
    go to the one they overlap most. best (images, anchors), float64: that overlap;
    owned (images,): how many anchors have a box.
    """
    images, anchors, boxes = shared.shape
    arrays = [x.reshape(-1) for x in (owner, best)]
    with scratch.lent((images * boxes, np.int32)) as (taken,):
        given = shared.reshape(-1), counts, threshold, *arrays, taken, owned
        by_teams(_match, images, *given, images, anchors, boxes)


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
