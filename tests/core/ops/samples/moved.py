"""Rows for the cells of regions that are moved, each in channels of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.core.ops.sample import Sample, numbers
from tests.core.ops.samples.regions import half_up

REALS = ("float32", "float64")
SCALE, SPREAD, POINTS, CELLS, GROUPS, CHANNELS = 0.5, 0.3, 2, 3, 2, 4
DATA = numbers(2, CHANNELS * GROUPS**2, 6, 7)
#: The third reaches far outside, the last belongs to no image.
ROIS = np.array(
    [[0, 0.4, 1.6, 6.2, 6.9], [1, 3.7, 2.2, 9.1, 9.6], [1, 9.2, 8.1, 30.3, 29.4],
     [2, 0, 0, 5, 5]]
)  # fmt: skip
SETTINGS = {
    "spatial_scale": SCALE, "output_dim": CHANNELS, "group_size": GROUPS,
    "pooled_size": CELLS, "sample_per_part": POINTS, "trans_std": SPREAD,
}  # fmt: skip
ONE_CLASS = numbers(4, 2, 3, 3, seed=1)
TWO_CLASSES = numbers(4, 4, 2, 2, seed=2)
DOUT = numbers(4, CHANNELS, CELLS, CELLS, seed=3)

Reads = list[tuple[tuple[int, ...], float, float, float]]


def read(place: float, length: int) -> list[tuple[int, float, float]]:
    """The two pixels that a point in a row reads: which, how much, and its slope."""
    inside = min(max(place, 0), length - 1)
    first = min(int(inside), length - 2)
    slope = float(0 <= place <= length - 1)
    rest = inside - first
    return [(first, 1 - rest, -slope), (first + 1, rest, slope)]


def cells(
    data: Any, rois: Any, trans: Any
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], float, float, Reads]]:
    """Of each mean: its place and its move's, the region's sides, and the pixels.

    A pixel comes with its weight, and with the slopes of the weight down and right.
    """
    images, _, height, width = data.shape
    classes, parts = trans.shape[1] // 2, trans.shape[2]
    for r, c, i, j in np.ndindex(len(rois), CHANNELS, CELLS, CELLS):
        image, left, top, right, bottom = (half_up(x) for x in rois[r])
        if not 0 <= image < images:
            continue
        wide, tall = (right + 1 - left) * SCALE, (bottom + 1 - top) * SCALE
        kind = c // (CHANNELS // classes)
        move = (r, kind, i * parts // CELLS, j * parts // CELLS)
        right_by = trans[r, 2 * kind, *move[2:]] * SPREAD
        down_by = trans[r, 2 * kind + 1, *move[2:]] * SPREAD
        channel = (c * GROUPS + i * GROUPS // CELLS) * GROUPS + j * GROUPS // CELLS
        found: list[Reads] = []
        for a, b in np.ndindex(POINTS, POINTS):
            y = top * SCALE - 0.5 + ((i + a / POINTS) / CELLS + down_by) * tall
            x = left * SCALE - 0.5 + ((j + b / POINTS) / CELLS + right_by) * wide
            if -0.5 <= y <= height - 0.5 and -0.5 <= x <= width - 0.5:
                found.append(
                    [
                        ((image, channel, v, u), p * q, dp * q, p * dq)
                        for v, p, dp in read(y, height)
                        for u, q, dq in read(x, width)
                    ]
                )
        share = 1 / max(1, len(found))
        reads = [
            (at, w * share, down * share, along * share)
            for four in found
            for at, w, down, along in four
        ]
        yield (r, c, i, j), move, tall, wide, reads


def means(data: Any, rois: Any, trans: Any) -> Any:
    out = np.zeros((len(rois), CHANNELS, CELLS, CELLS))
    for place, _, _, _, reads in cells(data, rois, trans):
        out[place] = sum(data[at] * weight for at, weight, _, _ in reads)
    return out


def still(data: Any, rois: Any) -> Any:
    return means(data, rois, np.zeros((len(rois), 2, 1, 1)))


def backward(dout: Any, data: Any, rois: Any, trans: Any) -> Any:
    ddata, dtrans = np.zeros_like(data), np.zeros_like(trans)
    for place, (r, kind, k, m), tall, wide, reads in cells(data, rois, trans):
        for at, weight, down, along in reads:
            ddata[at] += dout[place] * weight
            slope = dout[place] * data[at] * SPREAD
            dtrans[r, 2 * kind, k, m] += slope * along * wide
            dtrans[r, 2 * kind + 1, k, m] += slope * down * tall
    return ddata, dtrans


_NAME = "_contrib_DeformablePSROIPooling"
ROWS = [
    Sample(
        _NAME, (DATA, ROIS, ONE_CLASS), SETTINGS, means, REALS, (True, False, True), 64
    ),
    Sample(
        _NAME, (DATA, ROIS, TWO_CLASSES), {**SETTINGS, "part_size": 2}, means, REALS,
        (True, False, True), 64, "2 classes",
    ),
    Sample(
        _NAME, (DATA, ROIS), {**SETTINGS, "no_trans": True}, still, REALS,
        (True, False), 64,
    ),
    Sample(
        f"_backward{_NAME[8:]}", (DOUT, DATA, ROIS, ONE_CLASS),
        {"shape": DATA.shape, **SETTINGS}, backward, REALS, False, 256,
    ),
]  # fmt: skip
