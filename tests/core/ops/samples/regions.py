"""Rows for regions at an angle, in channels of their own, or proposed; and events."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.core.ops.sample import Sample, numbers
from tests.core.ops.samples.boxes import align, overlap

REALS = ("float32", "float64")
ONLY = (True, False)
DATA = numbers(2, 8, 6, 7)
ROIS = np.array([[0, 0.4, 1.6, 6.2, 6.9], [1, 3.7, 2.2, 15.1, 9.6]])


def half_up(x: float) -> int:
    return int(np.floor(x + 0.5))


def cells(data: Any, rois: Any) -> Any:
    """Two by two cells of regions whose picture is twice as large."""
    out = np.zeros((len(rois), 2, 2, 2))
    for r, (n, *box) in enumerate(rois):
        left, top = half_up(box[0]) / 2, half_up(box[1]) / 2
        right, bottom = (half_up(box[2]) + 1) / 2, (half_up(box[3]) + 1) / 2
        tall, wide = (bottom - top) / 2, (right - left) / 2
        for c, i, j in np.ndindex(2, 2, 2):
            y0, y1 = int(np.floor(top + i * tall)), int(np.ceil(top + (i + 1) * tall))
            x0, x1 = int(np.floor(left + j * wide)), int(np.ceil(left + (j + 1) * wide))
            part = data[int(n), 4 * c + 2 * i + j, max(y0, 0) : y1, max(x0, 0) : x1]
            out[r, c, i, j] = part.mean() if part.size else 0
    return out


def upright(data: Any, rois: Any) -> Any:
    """Regions at 0 degrees are those of ROIAlign."""
    n, x, y, w, h, _ = rois.T
    corners = np.stack([n, x - w / 2, y - h / 2, x + w / 2, y + h / 2], 1)
    return align(data, corners)


def turned_round(data: Any, rois: Any) -> Any:
    """At 180 degrees the grid is the other way round."""
    return upright(data, rois)[:, :, ::-1, ::-1]


PROB, PRED = numbers(1, 4, 2, 3, low=0, high=1), numbers(1, 8, 2, 3, low=-0.2, high=0.2)
INFO = np.array([[40.0, 30.0, 1.0]])


def proposed(prob: Any, pred: Any, info: Any) -> Any:
    """Two anchors of 16 and 32 pixels; the second row of pixels lies outside."""
    found = []
    for i, j, a in np.ndindex(2, 3, 2):
        size = 16.0 * (a + 1)
        x, y = 7.5 + 16 * j, 7.5 + 16 * i
        dx, dy, dw, dh = pred[0, 4 * a : 4 * a + 4, i, j]
        x, y = x + dx * size, y + dy * size
        w, h = (np.exp(dw) * size - 1) / 2, (np.exp(dh) * size - 1) / 2
        box = np.clip([x - w, y - h, x + w, y + h], 0, [29, 39, 29, 39])
        inside = i < int(info[0, 0] / 16) and j < int(info[0, 1] / 16)
        score = prob[0, 2 + a, i, j] if inside else -1
        if min(box[2] - box[0], box[3] - box[1]) + 1 < 12:
            box, score = box + [-6, -6, 6, 6], -1
        found.append((score, *box))
    found.sort(key=lambda row: -row[0])
    kept: list[Any] = []
    for row in found:
        new = np.array(row[1:]) + [0, 0, 1, 1]
        if all(overlap(np.array(k[1:]) + [0, 0, 1, 1], new) <= 0.4 for k in kept):
            kept.append(row)
    best = [kept[k % len(kept)] for k in range(5)]
    return np.array([(0, *row[1:]) for row in best]), np.array([[r[0]] for r in best])


MU, ALPHA = numbers(2, 3, low=1, high=2), numbers(3, low=0.2, high=0.5)
STATE, LAGS = numbers(2, 3, low=0, high=1), numbers(2, 4, low=0.5, high=2)
BETA = numbers(3, low=1, high=2)
MARKS = np.array([[0, 2, 0, 1], [1, 1, 0, 2]], np.int32)
LENGTHS, TIMES = np.array([4, 2], np.int32), np.array([9.0, 6.0])


def events(
    mu: Any, alpha: Any, beta: Any, state: Any, lags: Any, marks: Any, lengths: Any,
    times: Any,
) -> Any:  # fmt: skip
    """Rates at the events, and their integral, from all earlier events each time."""
    out, after = np.zeros(len(mu)), np.zeros_like(mu)
    for n in range(len(mu)):
        at = np.cumsum(lags[n])[: lengths[n]]
        for k in range(mu.shape[1]):
            own = at[marks[n, : lengths[n]] == k]

            def excited(t: Any, n: int = n, k: int = k, own: Any = own) -> Any:
                before = own[own < t]
                return (
                    state[n, k] * np.exp(-beta[k] * t)
                    + np.exp(-beta[k] * (t - before)).sum()
                )

            rates = [mu[n, k] + alpha[k] * beta[k] * excited(t) for t in own]
            whole = mu[n, k] * times[n] + alpha[k] * (
                state[n, k] + len(own) - excited(times[n])
            )
            out[n] += np.log(rates).sum() - whole
            after[n, k] = excited(times[n])
    return out, after


def _rows() -> list[Sample]:
    pool = {"spatial_scale": 0.5, "output_dim": 2, "pooled_size": 2}
    grid = {"pooled_size": (2, 2), "spatial_scale": 0.5}
    boxes = np.array([[0, 6.0, 5.0, 7.0, 6.0, 0.0], [1, 5.0, 7.0, 6.0, 5.0, 0.0]])
    round_ = boxes + np.array([0, 0, 0, 0, 0, 180.0])
    some = {
        "scales": (1, 2), "ratios": (1,), "rpn_min_size": 12, "threshold": 0.4,
        "rpn_post_nms_top_n": 5, "output_score": True,
    }  # fmt: skip
    history = (MU, ALPHA, BETA, STATE, LAGS, MARKS, LENGTHS, TIMES)
    zero = lambda mu, alpha, beta, *_: (0 * mu, 0 * alpha, 0 * beta)  # noqa: E731
    return [
        Sample("_contrib_PSROIPooling", (DATA, ROIS), pool, cells, REALS, ONLY, 32),
        Sample(
            "_backward_PSROIPooling", (numbers(2, 2, 2, 2), ROIS),
            {"shape": DATA.shape, **pool, "group_size": 0}, None, REALS, ONLY,
        ),
        Sample("Crop", (DATA,), {"h_w": (3, 4), "offset": (2, 1)},
               lambda x: x[:, :, 2:5, 1:5]),
        Sample("Crop", (DATA,), {"h_w": (3, 4), "center_crop": True},
               lambda x: x[:, :, 1:4, 1:5]),
        Sample("Crop", (DATA, numbers(1, 3, 5, 2)), {"offset": (0, 5)},
               lambda x, like: x[:, :, :5, 5:], smooth=ONLY),
        Sample("_contrib_RROIAlign", (DATA, boxes), grid, upright, REALS, tolerance=64),
        Sample(
            "_contrib_RROIAlign", (DATA, round_), grid, turned_round, REALS,
            tolerance=64, note="180",
        ),
        *(
            Sample(name, (PROB, PRED, INFO), some, proposed, REALS, tolerance=1024)
            for name in ("_contrib_Proposal", "_contrib_MultiProposal")
        ),
        Sample(
            "_contrib_hawkesll", history, {}, events, REALS, smooth=False, tolerance=64
        ),
        Sample("_contrib_backward_hawkesll", (*history, np.zeros(2)), {}, zero, REALS),
    ]  # fmt: skip


ROWS = _rows()
