"""Twins of what looks at regions of images."""

from __future__ import annotations

from typing import Any

from minimx.kernels.cuda import boxes, regions
from minimx.ops.registry import Kernel
from minimx.ops.spec import Spec
from minimx.ops.twins import twin
from minimx.ops.twins.layers import real

# -- grids over regions ----------------------------------------------------------------


@twin("ROIPooling")
def pooled(op: Any, *specs: Spec) -> Kernel | None:
    """A thread for each cell."""
    if not real(*specs):
        return None
    scale = specs[0].dtype.type(op.spatial_scale)
    return lambda data, rois, *outs: boxes.roi_pool(data, rois, scale, *outs)


@twin("_backward_ROIPooling")
def pooled_gradient(op: Any, *specs: Spec) -> Kernel | None:
    """A thread for each cell, or for each channel."""
    return boxes.roi_pool_gradient if real(*specs[:2]) else None


@twin("_pick_ROIPooling")
def picked(op: Any, *specs: Spec) -> Kernel | None:
    """A gather."""
    return boxes.roi_gather if real(*specs[:2]) else None


@twin("_contrib_ROIAlign", "_backward_ROIAlign")
def aligned(op: Any, *specs: Spec) -> Kernel | None:
    """Both directions."""
    if not real(*specs):
        return None
    kind, backward = specs[0].dtype.type, op.name == "_backward_ROIAlign"
    scale, shift = kind(op.spatial_scale), kind(0.5 if op.aligned else 0)
    settings = scale, op.sample_ratio, shift, op.position_sensitive

    def run(first: Any, rois: Any, out: Any) -> None:
        images, cells = (out, first) if backward else (first, out)
        boxes.roi_align(images, rois, *settings, cells, backward)

    return run


@twin("_contrib_PSROIPooling", "_backward_PSROIPooling")
def celled(op: Any, *specs: Spec) -> Kernel | None:
    """Both directions."""
    if not real(*specs):
        return None
    scale, groups = specs[0].dtype.type(op.spatial_scale), op.groups
    backward = op.name == "_backward_PSROIPooling"

    def run(first: Any, rois: Any, out: Any) -> None:
        images, cells = (out, first) if backward else (first, out)
        regions.cell_means(images, rois, scale, groups, cells, backward)

    return run


@twin("_contrib_RROIAlign")
def turned(op: Any, *specs: Spec) -> Kernel | None:
    """A thread for each cell."""
    if not real(*specs):
        return None
    scale, ratio = float(op.spatial_scale), op.sampling_ratio
    return lambda data, rois, out: regions.turned(data, rois, scale, ratio, out)
