"""Launches of what looks at regions of images."""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.ops.registry import Kernel
from minimx.core.ops.spec import Spec
from minimx.cuda.kernels import launching
from minimx.cuda.kernels.arrays import places
from minimx.cuda.kernels.default_launch import real
from minimx.cuda.kernels.images import boxes, detection, proposals, regions
from minimx.cuda.kernels.layers import correlation
from minimx.cuda.launches import implements
from minimx.operators.images.multibox import floats


@implements("_contrib_ROIAlign", "_backward_ROIAlign", types=real)
@implements("_contrib_PSROIPooling", "_backward_PSROIPooling", types=real)
def means(op: Any, first: Spec, rois: Spec) -> Kernel | None:
    """Both directions."""
    kind, backward = first.dtype.type, op.name.startswith("_backward")
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


# -- boxes -----------------------------------------------------------------------------


@implements("_contrib_box_nms", types=real)
def kept(op: Any, data: Spec) -> Kernel | None:
    """Sorted by the scores, then one after the other; a block of threads has a set."""
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


# -- single-shot detection -------------------------------------------------------------


@implements("_contrib_MultiBoxPrior")
def priors(op: Any, data: Spec) -> Kernel | None:
    """They depend on shapes only: what the CPU's kernel makes of these, once."""
    found = op.infer(data)
    if not real(found):
        return None
    anchors = np.empty(found.shape, found.dtype)
    op.compute(data)(None, anchors)
    there = places.held(anchors)
    return lambda data, out: launching.duplicate(there(), out)


@implements("_contrib_MultiBoxTarget", types=real)
def targets(op: Any, *specs: Spec) -> Kernel | None:
    """Overlaps, which box each anchor has, which background counts, the offsets."""
    limits = op.overlap_threshold, op.ignore_label
    mining = op.negative_mining_ratio, op.negative_mining_thresh
    numbers = tuple(map(float, (*limits, *mining)))
    variances = floats("MultiBoxTarget", "variances", op.variances, 4)
    return lambda anchor, label, pred, *outs: detection.targets(
        anchor, label, pred, outs, numbers, variances
    )


@implements("_contrib_MultiBoxDetection", types=real)
def detected(op: Any, prob: Spec, *others: Spec) -> Kernel | None:
    """Sorted by probability, then one after the other, as in box_nms."""
    if prob.shape[1] < 2:
        return None
    kind, thinned = prob.dtype.type, 0 < op.nms_threshold <= 1
    most = op.nms_topk if thinned and op.nms_topk > 0 else prob.shape[2]
    variances = floats("MultiBoxDetection", "variances", op.variances, 4)
    settings: Any = (
        kind(op.threshold), tuple(map(kind, variances)), bool(op.clip),
        not op.force_suppress, float(op.nms_threshold) if thinned else 2.0, most,
    )  # fmt: skip
    return lambda *arrays: detection.detect(*arrays, *settings)


# -- windows that are displaced --------------------------------------------------------


@implements("Correlation", types=real)
def correlated(op: Any, *specs: Spec) -> Kernel | None:
    """A thread for each displacement at each stop."""
    at, multiply = op.comparison(), bool(op.is_multiply)
    return lambda one, two, out: correlation.correlate(one, two, multiply, at, out)


@implements("_backward_Correlation", types=real)
def correlated_gradient(op: Any, *specs: Spec) -> Kernel | None:
    """A thread for each pixel."""
    at, first = op.forward.comparison(), bool(op.first)
    return lambda dout, other, out: correlation.spread(dout, other, first, at, out)


@implements("_backward_Correlation_difference", types=real)
def correlated_signs(op: Any, *specs: Spec) -> Kernel | None:
    """A thread for each pixel, twice."""
    at, spread = op.forward.comparison(), correlation.spread_signs
    return lambda dout, one, two, *outs: spread(dout, one, two, at, *outs)


# -- regions that are proposed ---------------------------------------------------------


@implements("_contrib_Proposal", "_contrib_MultiProposal", types=real)
def proposed(op: Any, prob: Spec, *others: Spec) -> Kernel | None:
    """Anchors that are moved, then sorted and thinned as in box_nms."""
    first, (height, width) = op._anchors(), prob.shape[2:]
    there = places.held(first)
    settings = op.feature_stride, op.rpn_min_size, bool(op.iou_loss)
    at = proposals.Moves(len(first), height, width, *settings)
    most = op.rpn_pre_nms_top_n
    most = most if most > 0 else len(first) * height * width
    limits = at, most, float(op.threshold)
    propose: Any = proposals.propose
    return lambda *arrays: propose(*arrays, there(), *limits)
