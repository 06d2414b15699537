"""Choosing among boxes, and offsets from anchors, on CUDA."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.cuda.kernels.comparing import drawn, same


def rows(*shape: int, seed: int = 3) -> Any:
    """Rows (class, score, corners) with equal scores and much overlap."""
    found = np.random.default_rng(seed).uniform(0, 1, (*shape, 6)).astype(np.float32)
    found[..., 0] = np.floor(found[..., 0] * 3)
    found[..., 1] = np.round(found[..., 1] * 8) / 8
    found[..., 4:] = found[..., 2:4] + 0.2 + found[..., 4:]
    return found


@pytest.mark.parametrize(
    "settings",
    [
        {}, {"id_index": 0}, {"id_index": 0, "background_id": 1, "valid_thresh": 0.3},
        {"id_index": 0, "force_suppress": True}, {"topk": 0}, {"topk": 3},
        {"overlap_thresh": 0.2, "in_format": "center"},
        {"overlap_thresh": 0.7, "out_format": "center"},
        {"in_format": "center", "out_format": "center"}, {"valid_thresh": 2.0},
    ],
)  # fmt: skip
def test_of_boxes_that_overlap_the_best_stays(settings: Any) -> None:
    found, gradient = same("_contrib_box_nms", rows(2, 7), **settings)
    kept = (found[..., 1] >= 0).sum()
    assert kept == (0 if settings.get("valid_thresh") == 2 else kept)
    assert bool(np.abs(gradient).sum()) == bool(kept)


@pytest.mark.parametrize("ascending", [False, True])
@pytest.mark.parametrize("topk", [-1, 2])
def test_rows_and_columns_are_paired(ascending: bool, topk: int) -> None:
    scores = np.round(drawn(2, 3, 4), 1)
    scores[0, 1, 1] = np.nan
    rows, _ = same(
        "_contrib_bipartite_matching", scores, is_ascend=ascending, topk=topk
    )
    assert (rows >= 0).any()


def test_overlaps_of_both_kinds_of_boxes() -> None:
    left, right = rows(2, 3)[..., 2:], rows(5)[..., 2:]
    for form in ("corner", "center"):
        (found,) = same("_contrib_box_iou", left, right, format=form)
        assert found.shape == (2, 3, 5)
        assert found.any()


def test_what_anchors_learn_and_what_they_say() -> None:
    samples = np.array([[1, 0, 1], [-1, 1, 1]], np.float32)
    matches = np.array([[1, 0, -1], [0, 3, 2]], np.float32)
    anchors, refs = rows(2, 3)[..., 2:], rows(2, 4)[..., 2:]
    scales = np.array([0.1, 0, 0.1, 0], np.float32), np.full(4, 0.2, np.float32)
    targets, masks = same(
        "_contrib_box_encode", samples, matches, anchors, refs, *scales
    )
    assert masks[0, 0].all()
    assert targets[0, 0].any()
    some: list[dict[str, Any]] = [{}, {"clip": 0.1, "std2": 0.3, "format": "corner"}]
    for settings in some:
        same("_contrib_box_decode", targets, anchors[:1], **settings)
