"""Pooling over regions of images, and its gradients, on CUDA."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minimx as mx
from tests.cuda.kernels.comparing import drawn, same

#: The third has no image, the fourth lies outside, the others meet.
ROIS = np.array(
    [[0, 0.3, 0.2, 7.1, 6.3], [1, 3.1, 2.4, 9.7, 8.9], [2, 1, 1, 5, 5],
     [1, 40, 40, 50, 60], [1, 2, 3, 7.5, 7.5], [-1, 0, 0, 4, 4]],
    np.float32,
)  # fmt: skip
GRID: dict[str, Any] = {"pooled_size": (2, 3), "spatial_scale": 0.5}
ALIGN: list[dict[str, Any]] = [
    {},
    {"sample_ratio": 2, "aligned": True},
    {"position_sensitive": True},
]


@pytest.fixture(params=[0, 1], ids=["atomic", "in one order"])
def determined(request: Any) -> Any:
    with mx.knobs(MXNET_ENFORCE_DETERMINISM=request.param):
        yield


@pytest.mark.usefixtures("determined")
def test_the_largest_numbers_and_where_they_stand() -> None:
    found, gradient, _ = same("ROIPooling", drawn(2, 2, 5, 6), ROIS, **GRID)
    assert found[0].all()
    assert not found[2].any()
    assert gradient[1].any()


@pytest.mark.usefixtures("determined")
@pytest.mark.parametrize("settings", ALIGN)
def test_means_at_points(settings: Any) -> None:
    found, gradient, _ = same(
        "_contrib_ROIAlign", drawn(2, 6, 5, 6), ROIS, **GRID, **settings
    )
    assert found[0].all()
    assert not found[2].any()
    assert gradient[1].any()


def test_a_box_of_four_numbers_belongs_to_the_first_image() -> None:
    data = drawn(1, 2, 5, 6)
    found = same("_contrib_ROIAlign", data, ROIS[:2, 1:], **GRID)
    assert found[1].any()


@pytest.mark.usefixtures("determined")
@pytest.mark.parametrize("groups", [0, 2])
def test_cells_with_channels_of_their_own(groups: int) -> None:
    settings: dict[str, Any] = {"spatial_scale": 0.5, "output_dim": 2, "pooled_size": 3}
    each = groups or 3
    data = drawn(2, 2 * each * each, 5, 6)
    found, gradient, _ = same(
        "_contrib_PSROIPooling", data, ROIS, group_size=groups, **settings
    )
    assert found[0].all()
    assert not found[2].any()
    assert gradient[1].any()


@pytest.mark.parametrize("ratio", [-1, 2])
def test_regions_at_an_angle(ratio: int) -> None:
    rois = np.array([[0, 6, 5, 7, 6, 30], [1, 5, 7, 6, 5, -75], [4, 5, 5, 5, 5, 0]])
    found = same(
        "_contrib_RROIAlign", drawn(2, 2, 5, 6), rois.astype(np.float32),
        sampling_ratio=ratio, **GRID,
    )  # fmt: skip
    assert found[0][0].all()
    assert not found[0][2].any()
