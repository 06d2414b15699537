"""Boxes in images: how much they overlap, and which of several to keep.

A box is four numbers, left, top, right, bottom ("corners").

    suppress(boxes, classes, threshold, keep)     of boxes that overlap, keep the first
    match(overlaps, threshold, owner)             which labelled box each anchor is for
    roi_pool, roi_align                           a grid of numbers for each box
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minimx.core.kernels import threads
from minimx.core.kernels.parts import dealt


@threads.jit(inner=True)
def _overlap(a: Any, b: Any) -> Any:
    """The area that two boxes share, divided by the area of both together."""
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return a[0] * 0
    shared = width * height
    first = max(a[2] - a[0], a[0] * 0) * max(a[3] - a[1], a[0] * 0)
    second = max(b[2] - b[0], a[0] * 0) * max(b[3] - b[1], a[0] * 0)
    return shared / (first + second - shared)


@threads.jit(parallel=True)
def overlaps(part: Any, left: Any, right: Any, out: Any) -> None:
    """Fill out (m, n) from left (m, 4) and right (n, 4)."""
    for i in dealt(left.shape[0], part):
        for j in range(right.shape[0]):
            out[i, j] = _overlap(left[i], right[j])


@threads.jit()
def suppress(
    boxes: Any, classes: Any, threshold: float, including: bool, keep: Any
) -> None:
    """Unset keep (n,) for boxes (n, 4) that overlap an earlier one of their class.

    including: whether an overlap of exactly `threshold` counts.
    """
    for i in range(keep.size):
        if not keep[i]:
            continue
        for j in range(i + 1, keep.size):
            if keep[j] and classes[i] == classes[j]:
                shared = _overlap(boxes[i], boxes[j])
                if shared > threshold or (including and shared == threshold):
                    keep[j] = False


@threads.jit()
def bipartite(
    order: Any, columns: int, rows_to: Any, columns_to: Any, top: int
) -> None:
    """Pair rows with columns, each once, in the order of places in their matrix."""
    found = 0
    for place in order:
        row, column = place // columns, place % columns
        if rows_to[row] == -1 and columns_to[column] == -1:
            rows_to[row], columns_to[column] = column, row
            found += 1
            if found == top:
                return


@threads.jit()
def match(shared: Any, threshold: float, owner: Any, best: Any) -> None:
    """Give anchors to labelled boxes: owner (anchors,) is a box where one is owned.

    shared (anchors, boxes): overlaps. First every box takes the anchor it overlaps
    most, the largest overlaps first; then anchors that overlap some box by more than
    `threshold` go to the one they overlap most. best (anchors,): that overlap.
    """
    anchors, boxes = shared.shape
    taken = np.zeros(boxes, np.bool_)
    owner[:] = -1
    for _ in range(boxes):
        at, box, largest = -1, -1, 1e-6
        for j in range(anchors):
            for k in range(boxes):
                if owner[j] < 0 and not taken[k] and shared[j, k] > largest:
                    at, box, largest = j, k, np.float64(shared[j, k])
        if at < 0:
            break
        owner[at] = box
        taken[box] = True
    for j in range(anchors):
        k = shared[j].argmax()
        best[j] = shared[j, k]
        if owner[j] < 0 and threshold > 0 and best[j] > threshold:
            owner[j] = k


# -- pooling over boxes ----------------------------------------------------------------


@threads.jit(inner=True)
def _rounded(x: Any) -> int:
    """To the nearest integer, halves away from zero."""
    return int(math.floor(x + 0.5)) if x >= 0 else int(math.ceil(x - 0.5))


@threads.jit(parallel=True)
def roi_pool(
    part: Any, data: Any, rois: Any, scale: float, out: Any, places: Any
) -> None:
    """Fill out (R, C, h, w) with maxima, places with where in the image they stand."""
    batch, channels, height, width = data.shape
    _, _, rows, columns = out.shape
    real = out.dtype.type
    for task in dealt(rois.shape[0] * channels, part):
        r, c = task // channels, task % channels
        image = int(rois[r, 0])
        left, top = _rounded(rois[r, 1] * scale), _rounded(rois[r, 2] * scale)
        right, bottom = _rounded(rois[r, 3] * scale), _rounded(rois[r, 4] * scale)
        tall = real(max(bottom - top + 1, 1)) / real(rows)
        wide = real(max(right - left + 1, 1)) / real(columns)
        for i in range(rows):
            first = min(max(int(math.floor(real(i) * tall)) + top, 0), height)
            last = min(max(int(math.ceil(real(i + 1) * tall)) + top, 0), height)
            for j in range(columns):
                begin = min(max(int(math.floor(real(j) * wide)) + left, 0), width)
                end = min(max(int(math.ceil(real(j + 1) * wide)) + left, 0), width)
                out[r, c, i, j] = 0
                places[r, c, i, j] = -1
                if image < 0 or image >= batch:
                    continue
                for y in range(first, last):
                    for x in range(begin, end):
                        new = places[r, c, i, j] < 0
                        if new or data[image, c, y, x] > out[r, c, i, j]:
                            out[r, c, i, j] = data[image, c, y, x]
                            places[r, c, i, j] = y * width + x


@threads.jit(parallel=True)
def roi_pool_gradient(part: Any, dout: Any, rois: Any, places: Any, ddata: Any) -> None:
    """Add each gradient where its maximum stands; ddata (N, C, H·W)."""
    batch, channels, _ = ddata.shape
    for c in dealt(channels, part):
        ddata[:, c] = 0
        for r in range(rois.shape[0]):
            image = int(rois[r, 0])
            if not 0 <= image < batch:
                continue
            for i in range(dout.shape[2]):
                for j in range(dout.shape[3]):
                    place = places[r, c, i, j]
                    if place >= 0:
                        ddata[image, c, place] += dout[r, c, i, j]


@threads.jit(parallel=True)
def roi_gather(part: Any, ddata: Any, rois: Any, places: Any, out: Any) -> None:
    """The values that stand at the places; ddata (N, C, H·W)."""
    batch, channels, _ = ddata.shape
    for c in dealt(channels, part):
        for r in range(rois.shape[0]):
            image = int(rois[r, 0])
            inside = 0 <= image < batch
            for i in range(out.shape[2]):
                for j in range(out.shape[3]):
                    place = places[r, c, i, j]
                    known = inside and place >= 0
                    out[r, c, i, j] = ddata[image, c, place] if known else 0


@threads.jit(inner=True)
def _corners(y: Any, x: Any, height: int, width: int) -> Any:
    """The pixels around a point and the point's place between them."""
    y, x = max(y, y * 0), max(x, x * 0)
    top, left = min(int(y), height - 1), min(int(x), width - 1)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    down = y - top if bottom > top else y * 0
    across = x - left if right > left else x * 0
    return top, left, bottom, right, down, across


@threads.jit()
def _grid(roi: Any, scale: Any, rows: int, columns: int, ratio: int, shift: Any) -> Any:
    """Top, left, height and width of the first bin; points in it, down and across."""
    left, top = roi[0] * scale - shift, roi[1] * scale - shift
    wide, tall = roi[2] * scale - shift - left, roi[3] * scale - shift - top
    if shift == 0:  # a box is at least one pixel large
        wide, tall = max(wide, wide * 0 + 1), max(tall, tall * 0 + 1)
    down = ratio if ratio > 0 else int(math.ceil(tall / rows))
    across = ratio if ratio > 0 else int(math.ceil(wide / columns))
    return top, left, tall / rows, wide / columns, down, across


@threads.jit(inner=True)
def _align_one(
    plane: Any, grid: Any, i: int, j: int, dout: Any, backward: bool
) -> Any:  # fmt: skip
    """The mean of the samples of a bin; or their share of dout, added to the plane."""
    top, left, tall, wide, down, across = grid
    height, width = plane.shape
    real = type(dout)  # which is no number yet when forward
    total, share = real(0), dout / max(down * across, 1)
    for a in range(down):
        y = top + i * tall + (a + real(0.5)) * tall / down
        for b in range(across):
            x = left + j * wide + (b + real(0.5)) * wide / across
            if not (-1 <= y <= height and -1 <= x <= width):
                continue
            t, n, u, r, v, h = _corners(y, x, height, width)
            w1, w2, w3, w4 = (1 - v) * (1 - h), (1 - v) * h, v * (1 - h), v * h
            if backward:
                plane[t, n] += w1 * share
                plane[t, r] += w2 * share
                plane[u, n] += w3 * share
                plane[u, r] += w4 * share
            else:
                total += w1 * plane[t, n] + w2 * plane[t, r]
                total += w3 * plane[u, n] + w4 * plane[u, r]
    return total / max(down * across, 1)


@threads.jit(parallel=True)
def roi_align(
    part: Any, data: Any, rois: Any, scale: Any, ratio: int, shift: Any,
    sensitive: bool, out: Any, backward: bool,
) -> None:  # fmt: skip
    """Fill out (R, C, h, w); or backward, fill data with the gradients from out.

    rois (R, 5): image and box. sensitive: every place of the grid has channels of its
    own, so data has C·h·w. shift: what is taken off all coordinates, 0 or 0.5.
    """
    batch, planes = data.shape[:2]
    count, channels, rows, columns = out.shape
    each = planes // channels
    for c in dealt(channels, part):
        if backward:
            data[:, c * each : (c + 1) * each] = 0
        for r in range(count):
            image = int(rois[r, 0])
            inside = 0 <= image < batch
            grid = _grid(rois[r, 1:], scale, rows, columns, ratio, shift)
            for i in range(rows):
                for j in range(columns):
                    plane = c * each + (i * columns + j if sensitive else 0)
                    if not inside:
                        if not backward:
                            out[r, c, i, j] = 0
                        continue
                    found = _align_one(
                        data[image, plane], grid, i, j, out[r, c, i, j], backward
                    )
                    if not backward:
                        out[r, c, i, j] = found
