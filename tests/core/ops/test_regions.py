"""Means over regions of images are of the pixels they look at, and of no others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minimx.core.ops.registry import lookup
from minimx.core.ops.spec import Spec

UPRIGHT, TURNED = [0, 1, 1, 5, 5], [0, 3, 3, 2, 2, 0]


@pytest.mark.parametrize(
    ("name", "region"), [("_contrib_ROIAlign", UPRIGHT), ("_contrib_RROIAlign", TURNED)]
)
def test_neither_other_pixels_nor_what_was_in_the_memory_count(
    name: str, region: Any
) -> None:
    data, rois = np.ones((1, 1, 6, 6), np.float32), np.array([region], np.float32)
    data[0, 0, 0, 0] = np.nan
    out = np.full((1, 1, 2, 2), np.nan, np.float32)
    op = lookup(name).of(pooled_size=(2, 2), spatial_scale=1.0)
    specs = tuple(Spec.of(x.shape, x.dtype) for x in (data, rois))
    op.plan(specs).kernel(data, rois, out)
    assert (out == 1).all()
