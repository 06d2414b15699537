"""Single-shot detection on CUDA: anchors, what they should learn, and what they say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.cuda.kernels.comparing import drawn, same
from tests.cuda.kernels.test_boxes import rows


@pytest.mark.parametrize(
    "settings",
    [
        {"sizes": (0.5, 0.2), "ratios": (1, 2, 0.5)},
        {"steps": (0.3, 0.2), "offsets": (0.4, 0.6), "clip": True},
    ],
)
def test_anchors_stand_around_every_pixel(settings: Any) -> None:
    (found,) = same("_contrib_MultiBoxPrior", drawn(1, 1, 2, 3), **settings)
    assert found.any()


def anchors(count: int) -> Any:
    return rows(1, count)[..., 2:] / 2


def labels() -> Any:
    """Three images: two boxes, none, and four."""
    found = rows(3, 4, seed=5)[..., [0, 2, 3, 4, 5]] / [1, 2, 2, 2, 2]
    found[0, 2:], found[1] = -1, -1
    return found.astype(np.float32)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"overlap_threshold": 0.2, "variances": (1, 2, 3, 4), "ignore_label": -2.0},
        {"negative_mining_ratio": 1.0, "negative_mining_thresh": 0.4},
        {"negative_mining_ratio": 0.5, "overlap_threshold": -1.0},
    ],
)
def test_anchors_learn_the_boxes_that_they_have(settings: Any) -> None:
    place, mask, target = same(
        "_contrib_MultiBoxTarget", anchors(9), labels(), drawn(3, 4, 9), **settings
    )
    assert place[0].any()
    assert mask[2].sum() >= 16
    assert not mask[1].any()
    assert (target[1] == settings.get("ignore_label", -1)).all()


@pytest.mark.parametrize(
    "settings",
    [
        {"threshold": 0.3}, {"threshold": 0.4, "nms_topk": 3, "clip": False},
        {"force_suppress": True, "nms_threshold": 0.3}, {"nms_threshold": -1.0},
    ],
)  # fmt: skip
def test_of_predictions_the_most_probable_stay(settings: Any) -> None:
    prob = np.round(np.abs(drawn(2, 4, 8)), 1)
    prob /= prob.sum(1, keepdims=True)
    moves = drawn(2, 32)
    (found,) = same("_contrib_MultiBoxDetection", prob, moves, anchors(8), **settings)
    assert (found[..., 0] >= 0).any()


@pytest.mark.parametrize(
    "settings",
    [
        {"output_score": True}, {"iou_loss": True, "threshold": 0.3},
        {"rpn_pre_nms_top_n": 6, "rpn_post_nms_top_n": 9, "output_score": True},
    ],
)  # fmt: skip
def test_regions_are_proposed(settings: Any) -> None:
    some = {
        "scales": (1, 2), "ratios": (0.5, 1), "rpn_min_size": 6, "feature_stride": 8,
        "threshold": 0.5, "rpn_post_nms_top_n": 5, **settings,
    }  # fmt: skip
    prob, moves = np.abs(drawn(2, 8, 3, 4)), drawn(2, 16, 3, 4, seed=1) / 4
    info = np.array([[24, 32, 1], [17, 25, 1.5]], np.float32)
    (found, *_) = same("_contrib_MultiProposal", prob, moves, info, near=1e-4, **some)
    assert found[:, 1:].any()
    same("_contrib_Proposal", prob[:1], moves[:1], info[:1], near=1e-4, **some)
