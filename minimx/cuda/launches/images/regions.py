"""Launches of what looks at regions of images."""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.ops.registry import Kernel
from minimx.core.ops.spec import Spec
from minimx.cuda.kernels import launching
from minimx.cuda.kernels.arrays import places
from minimx.cuda.kernels.images import boxes, detection, proposals, regions
from minimx.cuda.kernels.layers import correlation
from minimx.cuda.launches import implements
from minimx.cuda.launches.core.nn import known, real
from minimx.operators.images.multibox import floats

# -- grids over regions ----------------------------------------------------------------


@implements("ROIPooling")
def pooled(op: Any, *specs: Spec) -> Kernel | None:
    """A thread for each cell."""
    if not real(*specs):
        return None
    scale = specs[0].dtype.type(op.spatial_scale)
    return lambda data, rois, *outs: boxes.roi_pool(data, rois, scale, *outs)


@implements("_backward_ROIPooling")
def pooled_gradient(op: Any, *specs: Spec) -> Kernel | None:
    """A thread for each cell, or for each channel."""
    return boxes.roi_pool_gradient if real(*specs[:2]) else None


@implements("_pick_ROIPooling")
def picked(op: Any, *specs: Spec) -> Kernel | None:
    """A gather."""
    return boxes.roi_gather if real(*specs[:2]) else None


@implements("_contrib_ROIAlign", "_backward_ROIAlign")
@implements("_contrib_PSROIPooling", "_backward_PSROIPooling")
def means(op: Any, *specs: Spec) -> Kernel | None:
    """Both directions."""
    if not real(*specs):
        return None
    kind, backward = specs[0].dtype.type, op.name.startswith("_backward")
    launch: Any = boxes.roi_align if "Align" in op.name else regions.cell_means
    settings = [kind(op.spatial_scale)]
    if launch is boxes.roi_align:
        shift = kind(0.5 if op.aligned else 0)
        settings += [op.sample_ratio, shift, op.position_sensitive]
    else:
        settings += [op.groups]

    def run(first: Any, rois: Any, out: Any) -> None:
        images, cells = (out, first) if backward else (first, out)
        launch(images, rois, *settings, cells, backward)

    return run


@implements("_contrib_RROIAlign")
def turned(op: Any, *specs: Spec) -> Kernel | None:
    """A thread for each cell."""
    if not real(*specs):
        return None
    scale, ratio = float(op.spatial_scale), op.sampling_ratio
    return lambda data, rois, out: regions.turned(data, rois, scale, ratio, out)


# -- boxes -----------------------------------------------------------------------------


@implements("_contrib_box_iou")
def overlaps(op: Any, *specs: Spec) -> Kernel | None:
    """A thread for each pair."""
    center = op.format == "center"
    if not real(*specs):
        return None
    return lambda lhs, rhs, out: detection.overlaps(lhs, rhs, out, center)


@implements("_contrib_box_nms")
def kept(op: Any, *specs: Spec) -> Kernel | None:
    """Sorted by the scores, then one after the other; a block of threads has a set."""
    (data,) = specs
    if not real(data):
        return None
    kind, width = data.dtype.type, data.shape[-1]
    if op.topk == 0:
        number = places.indexed(data.shape[:-1], (data.ndim - 2,))

        def same(rows: Any, out: Any, record: Any) -> None:
            launching.duplicate(rows, out)
            number(rows, record)

        return same
    apart, center = op.id_index >= 0 and not op.force_suppress, op.in_format == "center"
    at = detection.Columns(
        width, op.coord_start, op.score_index, op.id_index, apart, center
    )
    limits = kind(op.valid_thresh), kind(op.background_id), float(op.overlap_thresh)
    most = op.topk if op.topk > 0 else data.shape[-2]
    other = op.in_format != op.out_format
    turn = other and not center, other and center
    settings: Any = at, limits, most, turn
    return lambda *arrays: detection.keep_best(*arrays, *settings)


@implements("_backward_contrib_box_nms")
def kept_gradient(op: Any, *specs: Spec) -> Kernel | None:
    """A copy for each row."""
    return detection.back if real(specs[0]) else None


@implements("_contrib_bipartite_matching")
def paired(op: Any, *specs: Spec) -> Kernel | None:
    """Sorted, then a thread for each matrix."""
    (data,) = specs
    if not real(data):
        return None
    limit, shape = data.dtype.type(op.threshold), (-1, *data.shape[-2:])
    settings = limit, op.is_ascend, op.topk
    return lambda x, *outs: boxes.bipartite(x.reshape(*shape), *settings, *outs)


@implements("_contrib_box_encode")
def encoded(op: Any, *specs: Spec) -> Kernel | None:
    """A thread for each number."""
    return detection.encode if known(*specs) and real(specs[2]) else None


@implements("_contrib_box_decode")
def decoded(op: Any, *specs: Spec) -> Kernel | None:
    """A thread for each number."""
    if not real(*specs):
        return None
    kind = specs[0].dtype.type
    scales = tuple(map(kind, (op.std0, op.std1, op.std2, op.std3)))
    settings: Any = scales, kind(op.clip), op.format == "corner"
    return lambda *arrays: detection.decode(*arrays, *settings)


# -- single-shot detection -------------------------------------------------------------


@implements("_contrib_MultiBoxPrior")
def priors(op: Any, *specs: Spec) -> Kernel | None:
    """They depend on shapes only: what the CPU's kernel makes of these, once."""
    found = op.infer(*specs)
    if not real(found):
        return None
    anchors = np.empty(found.shape, found.dtype)
    op.compute(*specs)(None, anchors)
    there = places.held(anchors)
    return lambda data, out: launching.duplicate(there(), out)


@implements("_contrib_MultiBoxTarget")
def targets(op: Any, *specs: Spec) -> Kernel | None:
    """Overlaps, who has which box, which background counts, and the offsets."""
    if not real(*specs):
        return None
    limits = op.overlap_threshold, op.ignore_label
    mining = op.negative_mining_ratio, op.negative_mining_thresh
    numbers = tuple(map(float, (*limits, *mining)))
    variances = floats("MultiBoxTarget", "variances", op.variances, 4)
    return lambda anchor, label, pred, *outs: detection.targets(
        anchor, label, pred, outs, numbers, variances
    )


@implements("_contrib_MultiBoxDetection")
def detected(op: Any, *specs: Spec) -> Kernel | None:
    """Sorted by probability, then one after the other, as in box_nms."""
    if not real(*specs) or specs[0].shape[1] < 2:
        return None
    kind, thinned = specs[0].dtype.type, 0 < op.nms_threshold <= 1
    most = op.nms_topk if thinned and op.nms_topk > 0 else specs[0].shape[2]
    variances = floats("MultiBoxDetection", "variances", op.variances, 4)
    settings: Any = (
        kind(op.threshold), tuple(map(kind, variances)), bool(op.clip),
        not op.force_suppress, float(op.nms_threshold) if thinned else 2.0, most,
    )  # fmt: skip
    return lambda *arrays: detection.detect(*arrays, *settings)


# -- windows that are displaced --------------------------------------------------------


@implements("Correlation")
def correlated(op: Any, *specs: Spec) -> Kernel | None:
    """A thread for each displacement at each stop."""
    at, multiply = op.comparison(), bool(op.is_multiply)
    if not real(*specs):
        return None
    return lambda one, two, out: correlation.correlate(one, two, multiply, at, out)


@implements("_backward_Correlation")
def correlated_gradient(op: Any, *specs: Spec) -> Kernel | None:
    """A thread for each pixel."""
    at, first = op.forward.comparison(), bool(op.first)
    if not real(*specs):
        return None
    return lambda dout, other, out: correlation.spread(dout, other, first, at, out)


@implements("_backward_Correlation_difference")
def correlated_signs(op: Any, *specs: Spec) -> Kernel | None:
    """A thread for each pixel, twice."""
    at = op.forward.comparison()
    if not real(*specs):
        return None

    def run(dout: Any, one: Any, two: Any, *outs: Any) -> None:
        correlation.spread_signs(dout, one, two, at, *outs)

    return run


# -- regions that are proposed ---------------------------------------------------------


@implements("_contrib_Proposal", "_contrib_MultiProposal")
def proposed(op: Any, *specs: Spec) -> Kernel | None:
    """Anchors that are moved, then sorted and thinned as in box_nms."""
    if not real(*specs):
        return None
    first, (height, width) = op._anchors(), specs[0].shape[2:]
    there, ways = places.held(first), (op.rpn_min_size, bool(op.iou_loss))
    at = proposals.Moves(len(first), height, width, op.feature_stride, *ways)
    most = op.rpn_pre_nms_top_n
    most = most if most > 0 else len(first) * height * width
    settings = at, most, float(op.threshold)

    def run(prob: Any, pred: Any, info: Any, *outs: Any) -> None:
        out, scores = outs
        proposals.propose(prob, pred, info, out, scores, there(), *settings)

    return run
