"""Regions of images that may hold something, on CUDA: see the data sheet of Proposal.

A thread has an anchor at a pixel; then the regions are sorted and thinned like boxes.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from minimx.cuda.kernels import launching, scratch
from minimx.cuda.kernels.images import boxes
from minimx.cuda.kernels.images.detection import Columns, sift
from minimx.cuda.kernels.launching import cuda
from minimx.cuda.kernels.mathematics import exp

#: How regions are proposed: see Proposal; anchors: how many stand at a pixel.
Moves = namedtuple("Moves", "anchors height width stride least corners")


@launching.kernel
def _moved(
    prob: Any, pred: Any, info: Any, first: Any, rows: Any, zero: Any, at: Any
) -> None:
    """Rows (score, corners) of every anchor at every pixel, moved as predicted."""
    pixels, one = at.height * at.width, zero + 1
    for i in range(cuda.grid(1), rows.size // 5, cuda.gridsize(1)):
        a, pixel, image = i % at.anchors, i // at.anchors % pixels, i // at.anchors
        image //= pixels
        tall, wide = info[3 * image], info[3 * image + 1]
        move = (image * 4 * at.anchors + 4 * a) * pixels + pixel
        small, least = False, at.least * info[3 * image + 2]
        for k in range(2):  # across, then down
            step = pixel // at.width if k else pixel % at.width
            low = float(first[4 * a + k] + step * at.stride)
            high = float(first[4 * a + k + 2] + step * at.stride)
            if at.corners:
                low += float(pred[move + k * pixels])
                high += float(pred[move + (k + 2) * pixels])
            else:
                size = high - low + 1
                centre = low + (size - 1) / 2 + float(pred[move + k * pixels]) * size
                half = (exp(float(pred[move + (k + 2) * pixels])) * size - 1) / 2
                low, high = centre - half, centre + half
            limit = (tall if k else wide) - one
            rows[5 * i + 1 + k] = min(max(low, 0.0), float(limit))
            rows[5 * i + 3 + k] = min(max(high, 0.0), float(limit))
            small = small or rows[5 * i + 3 + k] - rows[5 * i + 1 + k] + one < least
        outside = pixel // at.width >= int(tall / at.stride)
        outside = outside or pixel % at.width >= int(wide / at.stride)
        for k in range(4 if small else 0):
            rows[5 * i + 1 + k] += least / 2 if k > 1 else -least / 2
        score = prob[((2 * image + 1) * at.anchors + a) * pixels + pixel]
        rows[5 * i] = -one if small or outside or score != score else score


@launching.kernel
def _open(rows: Any, out: Any) -> None:
    """The same rows, for boxes whose last pixels belong to them."""
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = rows[i] + 1 if i % 5 > 2 else rows[i]


@launching.kernel
def _proposed(
    rows: Any, record: Any, out: Any, scores: Any, n: int, each: int, most: int
) -> None:
    for i in range(cuda.grid(1), scores.size, cuda.gridsize(1)):
        image, count = i // each, 0
        while count < most and record[image * n + count] >= 0:
            count += 1
        place = record[image * n + i % each % max(count, 1)]
        row = (image * n + max(place, 0)) * 5
        out[5 * i], scores[i] = image, rows[row]
        for k in range(1, 5):
            out[5 * i + k] = rows[row + k]


def propose(
    prob: Any, pred: Any, info: Any, out: Any, scores: Any, first: Any, at: Moves,
    most: int, threshold: float,
) -> None:  # fmt: skip
    """As Proposal; first (A, 4): the anchors at the first pixel.

    most: so many take part. A score that is no number is taken for -1, as that of a
    region that is too small.
    """
    images, real = int(prob.shape[0]), out.dtype.type
    n = at.anchors * at.height * at.width
    each = scores.size // images
    buffers, whole = [((images, n, 5), real)] * 2, (images, n)
    wholes = [(whole, np.int64), (whole, np.int64), (whole, np.int32)]
    with scratch.allocated(*buffers, *wholes) as (rows, wide, order, record, keep):
        given = launching.flat(prob, pred, info, first, rows)
        launching.run(_moved, images * n, *given, real(0), at)
        launching.run(_open, wide.size, given[-1], wide.reshape(-1))
        columns = Columns(5, 1, 0, -1, False, False)
        limits = real(-np.inf), real(0), threshold
        sift(wide, columns, limits, most, False, order, keep)
        boxes.pack(keep, order, record)
        outs = launching.flat(record, out, scores)
        launching.run(_proposed, scores.size, given[-1], *outs, n, each, min(each, n))
