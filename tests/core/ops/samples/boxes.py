"""Rows for boxes: overlaps, choices, anchors, regions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.core.ops.sample import Sample, numbers

REALS = ("float32", "float64")
LEFT = np.array([[0, 0, 2, 2], [1, 1, 4, 3], [5, 5, 6, 7]], float)
RIGHT = np.array([[[1, 0, 3, 2]], [[0, 0, 6, 7]]], float)


def corners(box: Any, form: str) -> Any:
    if form == "corner":
        return box
    x, y, w, h = box
    return x - w / 2, y - h / 2, x + w / 2, y + h / 2


def overlap(a: Any, b: Any) -> Any:
    wide = max(0.0, min(a[2], b[2]) - max(a[0], b[0]))
    tall = max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
    both = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1])
    return wide * tall / (both - wide * tall)


def iou(left: Any, right: Any, form: str = "corner") -> Any:
    pairs = [
        [overlap(corners(a, form), corners(b, form)) for b in right.reshape(-1, 4)]
        for a in left.reshape(-1, 4)
    ]
    return np.array(pairs).reshape(*left.shape[:-1], *right.shape[:-1])


ROWS_OF_BOXES = np.array(
    [
        [0, 0.5, 0.1, 0.1, 0.5, 0.5],
        [1, 0.8, 0.1, 0.1, 0.5, 0.6],
        [0, 0.9, 0.12, 0.1, 0.5, 0.5],
        [0, 0.1, 0.7, 0.7, 0.9, 0.9],
        [1, 0.7, 0.6, 0.1, 0.9, 0.4],
    ]
)


def kept(data: Any, *places: int) -> Any:
    out = np.full_like(data, -1)
    out[: len(places)] = data[list(places)]
    return out


def in_centers(data: Any) -> Any:
    out = data.copy()
    some = data[:, 0] >= 0
    low, high = data[some, 2:4], data[some, 4:6]
    out[some, 2:6] = np.concatenate([(low + high) / 2, high - low], 1)
    return out


def _choices() -> list[Sample]:
    x = ROWS_OF_BOXES
    record = np.array([2, 4, -1, -1, -1], np.int64)
    back = np.zeros((5, 6))
    back[[2, 4]] = numbers(5, 6)[:2]
    classes = {"id_index": 0}

    def row(settings: Any, *places: int) -> Sample:
        oracle = lambda d: kept(d, *places)  # noqa: E731
        smooth = "id_index" not in settings  # a class has no slope
        return Sample("_contrib_box_nms", (x,), settings, oracle, smooth=smooth)

    scores = np.array([[0.5, 0.6, 0.1], [0.9, 0.8, 0.3]])
    pairs = np.array([1, 0.0]), np.array([1, 0, -1.0])
    low = np.array([2, -1.0]), np.array([-1, -1, 0.0])
    return [
        row({}, 2, 4, 3),
        row(classes, 2, 1, 4, 3),
        row({**classes, "force_suppress": True, "valid_thresh": 0.2}, 2, 4),
        row({**classes, "background_id": 0}, 1, 4),
        row({"topk": 2}, 2),
        Sample(
            "_contrib_box_nms", (x,), {"out_format": "center"},
            lambda d: in_centers(kept(d, 2, 4, 3)), note="center", smooth=False,
        ),
        Sample(
            "_backward_contrib_box_nms", (numbers(5, 6), record), {}, lambda d, r: back
        ),
        Sample("_contrib_box_iou", (LEFT, RIGHT), {}, iou, REALS),
        Sample(
            "_contrib_box_iou", (LEFT + 1, LEFT + 2), {"format": "center"},
            lambda a, b: iou(a, b, "center"), REALS,
        ),
        Sample(
            "_contrib_bipartite_matching", (scores,), {"threshold": 0.4},
            lambda s: pairs,
        ),
        Sample(
            "_contrib_bipartite_matching", (scores,),
            {"threshold": 0.2, "is_ascend": True}, lambda s: low,
        ),
    ]  # fmt: skip


def encoded(s: Any, m: Any, anchors: Any, refs: Any, mean: Any, std: Any) -> Any:
    out, mask = np.zeros_like(anchors), np.zeros_like(anchors)
    for b, n in np.ndindex(*s.shape):
        if s[b, n] > 0.5:
            a, r = in_xywh(anchors[b, n]), in_xywh(refs[b, int(m[b, n])])
            moved = [(r[0] - a[0]) / a[2], (r[1] - a[1]) / a[3]]
            logs = [np.log(r[2] / a[2]), np.log(r[3] / a[3])]
            out[b, n] = (np.array([*moved, *logs]) - mean) / std
            mask[b, n] = 1
    return out, mask


def in_xywh(box: Any) -> Any:
    left, top, right, bottom = box
    return (left + right) / 2, (top + bottom) / 2, right - left, bottom - top


def decoded(data: Any, anchors: Any, form: str = "corner", clip: float = -1) -> Any:
    out = np.zeros_like(data)
    for b, n in np.ndindex(*data.shape[:2]):
        a = in_xywh(anchors[0, n]) if form == "corner" else anchors[0, n]
        x, y, u, v = data[b, n] * [0.1, 0.2, 0.3, 0.4]
        if clip > 0:
            u, v = min(u, clip), min(v, clip)
        box = (x * a[2] + a[0], y * a[3] + a[1], np.exp(u) * a[2], np.exp(v) * a[3])
        out[b, n] = corners(box, "center")
    return out


def _codes() -> list[Sample]:
    anchors = np.stack([LEFT, LEFT[::-1] + 0.3])
    refs = np.stack([LEFT[1:] + 0.4, LEFT[:2] + 0.1])
    samples, matches = np.array([[1, 0, 1], [0, 1, 1.0]]), np.array([[1, 0, 0.0]] * 2)
    scale = numbers(4), numbers(4) + 3
    std = {"std0": 0.1, "std1": 0.2, "std2": 0.3, "std3": 0.4}
    codes = numbers(2, 3, 4)
    return [
        Sample(
            "_contrib_box_encode", (samples, matches, anchors, refs, *scale), {},
            encoded, REALS, tolerance=32,
        ),
        Sample(
            "_contrib_box_decode", (codes, LEFT[None]), {**std, "format": "corner"},
            decoded, REALS, tolerance=32,
        ),
        Sample(
            "_contrib_box_decode", (codes, LEFT[None] + 1), {**std, "clip": 0.2},
            lambda d, a: decoded(d, a, "center", 0.2), REALS, tolerance=32,
        ),
    ]  # fmt: skip


def priors(x: Any) -> Any:
    rows, columns = x.shape[2:]
    found = []
    for i, j in np.ndindex(rows, columns):
        for size, ratio in ((0.5, 4), (0.2, 4), (0.5, 1)):
            w, h = size * np.sqrt(ratio) * rows / columns, size / np.sqrt(ratio)
            centre = (j + 0.5) / columns, (i + 0.5) / rows
            found.append(corners((*centre, w, h), "center"))
    return np.array(found)[None]


ANCHORS = np.array(
    [[[0, 0, 0.4, 0.4], [0.1, 0, 0.5, 0.4], [0.5, 0.5, 1, 1], [0, 0.6, 0.3, 1]]]
)
LABEL = np.array([[[2, 0.05, 0, 0.45, 0.4], [-1] * 5], [[-1] * 5, [-1] * 5]])


def targets(anchor: Any, label: Any, pred: Any, background: Any = (2, 3)) -> Any:
    """The labelled box lies between the first two anchors, nearer to neither."""
    place, mask = np.zeros((2, 4, 4)), np.zeros((2, 4, 4))
    kinds = np.full((2, 4), -1.0)
    kinds[0, list(background)], kinds[0, :2], mask[0, :2] = 0, 3, 1
    for n in (0, 1):
        a, r = in_xywh(anchor[0, n]), in_xywh(label[0, 0, 1:])
        place[0, n] = [
            (r[0] - a[0]) / a[2] / 0.1, (r[1] - a[1]) / a[3] / 0.1,
            np.log(r[2] / a[2]) / 0.2, np.log(r[3] / a[3]) / 0.2,
        ]  # fmt: skip
    return place.reshape(2, 16), mask.reshape(2, 16), kinds


def _multibox() -> list[Sample]:
    pred = np.zeros((2, 3, 4))
    pred[0, 0] = [5, 5, 3, -3]  # the last anchor says least that nothing is there
    prob = np.array(
        [[[0.1, 0.2, 0.8, 0.3], [0.2, 0.5, 0.1, 0.1], [0.7, 0.3, 0.1, 0.6]]]
    )
    rows = np.full((1, 4, 6), -1.0)
    rows[0, :3, 0], rows[0, :3, 1] = [1, 1, 0], [0.7, 0.6, 0.5]
    rows[0, :3, 2:] = ANCHORS[0, [0, 3, 1]]
    mined = {"negative_mining_ratio": 0.5, "negative_mining_thresh": 0.5}
    return [
        Sample(
            "_contrib_MultiBoxPrior", (numbers(1, 1, 2, 3),),
            {"sizes": (0.5, 0.2), "ratios": (4, 1)}, priors,
        ),
        Sample(
            "_contrib_MultiBoxTarget", (ANCHORS, LABEL, pred), {}, targets, REALS,
            tolerance=64,
        ),
        Sample(
            "_contrib_MultiBoxTarget", (ANCHORS, LABEL, pred), mined,
            lambda a, b, c: targets(a, b, c, background=(3,)), REALS, tolerance=64,
        ),
        Sample(
            "_contrib_MultiBoxDetection", (prob, np.zeros((1, 16)), ANCHORS),
            {"threshold": 0.2}, lambda p, m, a: rows, REALS,
        ),
    ]  # fmt: skip


IMAGES = numbers(2, 4, 5, 6)
ROIS = np.array([[0, 0, 0, 8, 6], [1, 3, 2, 20, 4], [1, 9, 9, 8, 8]], float)


def pooled(data: Any, rois: Any) -> Any:
    """A grid of 2 by 3 over regions whose picture is twice as large."""
    out = np.zeros((len(rois), data.shape[1], 2, 3))
    for r, (n, *box) in enumerate(rois):
        left, top, right, bottom = (int(np.floor(b / 2 + 0.5)) for b in box)
        tall, wide = max(bottom - top + 1, 1), max(right - left + 1, 1)
        for i, j in np.ndindex(2, 3):
            y = slice(top + i * tall // 2, top - (-(i + 1) * tall // 2))
            x = slice(left + j * wide // 3, left - (-(j + 1) * wide // 3))
            part = data[int(n), :, y, x].reshape(data.shape[1], -1)
            out[r, :, i, j] = part.max(1) if part.size else 0
    return out


def point(plane: Any, y: float, x: float) -> Any:
    """Between four pixels; beyond the border, the border."""
    rows, columns = plane.shape[-2:]
    if not (-1 <= y <= rows and -1 <= x <= columns):
        return np.zeros(plane.shape[:-2])
    y, x = np.clip(y, 0, rows - 1), np.clip(x, 0, columns - 1)
    i, j = int(min(y, rows - 2)), int(min(x, columns - 2))
    v, h = y - i, x - j
    upper = plane[..., i, j] * (1 - h) + plane[..., i, j + 1] * h
    lower = plane[..., i + 1, j] * (1 - h) + plane[..., i + 1, j + 1] * h
    return upper * (1 - v) + lower * v


def align(data: Any, rois: Any, ratio: int = -1, shift: float = 0) -> Any:
    out = np.zeros((len(rois), data.shape[1], 2, 2))
    for r, (n, *box) in enumerate(rois):
        left, top, right, bottom = (b / 2 - shift for b in box)
        wide, tall = right - left, bottom - top
        if not shift:
            wide, tall = max(wide, 1), max(tall, 1)
        down, across = (ratio or -1,) * 2
        if ratio < 0:
            down, across = int(np.ceil(tall / 2)), int(np.ceil(wide / 2))
        for i, j in np.ndindex(2, 2):
            for a, b in np.ndindex(down, across):
                y = top + (i + (a + 0.5) / down) * tall / 2
                x = left + (j + (b + 0.5) / across) * wide / 2
                out[r, :, i, j] += point(data[int(n)], y, x) / (down * across)
    return out


def _regions() -> list[Sample]:
    grid = {"pooled_size": (2, 2), "spatial_scale": 0.5}
    pool = {"pooled_size": (2, 3), "spatial_scale": 0.5}
    only = (True, False)
    rest = {"sample_ratio": 2, "position_sensitive": False, "aligned": True}
    boxes = np.array([[0, 0.3, 0.2, 7.1, 6.3], [1, 3.1, 2.4, 9.7, 8.9]])
    places = np.array([[[[3, -1], [0, 3]]], [[[1, 2], [-1, 3]]]], np.int64)
    where = np.array([[1, 0, 0, 0, 0], [0, 0, 0, 0, 0]], float)
    small = numbers(2, 1, 2, 2)

    def picked(data: Any, rois: Any, at: Any) -> Any:
        planes = [data[1, 0].ravel(), data[0, 0].ravel()]
        found = [np.where(p >= 0, x[p], 0) for x, p in zip(planes, at, strict=True)]
        return np.stack(found).reshape(2, 1, 2, 2)

    def spread(d: Any, rois: Any, at: Any) -> Any:
        out = np.zeros((2, 4))
        for r, i, j in np.ndindex(2, 2, 2):
            if at[r, 0, i, j] >= 0:
                out[1 - r, at[r, 0, i, j]] += d[r, 0, i, j]
        return out.reshape(2, 1, 2, 2)

    def sensitive(data: Any, rois: Any) -> Any:
        whole = align(data, rois)
        cells = [whole[:, k, k // 2, k % 2] for k in range(4)]
        return np.stack(cells, 1).reshape(-1, 1, 2, 2)

    return [
        Sample("ROIPooling", (IMAGES, ROIS), pool, pooled, REALS, only),
        Sample(
            "_backward_ROIPooling", (small, where, places), {"shape": (2, 1, 2, 2)},
            spread, smooth=(True, False, False),
        ),
        Sample(
            "_pick_ROIPooling", (small, where, places), {}, picked,
            smooth=(True, False, False),
        ),
        Sample(
            "_contrib_ROIAlign", (IMAGES, boxes), grid, align, REALS, only, 32
        ),
        Sample(
            "_contrib_ROIAlign", (IMAGES, boxes),
            {**grid, "sample_ratio": 2, "aligned": True},
            lambda x, r: align(x, r, 2, 0.5), REALS, only, 32,
        ),
        Sample(
            "_contrib_ROIAlign", (IMAGES, boxes), {**grid, "position_sensitive": True},
            sensitive, REALS, only, 32,
        ),
        Sample(
            "_backward_ROIAlign", (numbers(2, 1, 2, 2), boxes),
            {"shape": (2, 1, 4, 4), **grid, **rest}, None, REALS, only,
        ),
    ]  # fmt: skip


ROWS = [*_choices(), *_codes(), *_multibox(), *_regions()]
