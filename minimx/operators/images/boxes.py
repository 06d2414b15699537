"""Data sheets for boxes in images: overlaps, choices, and offsets from anchors."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from minimx.core.errors import OperatorError, ShapeError
from minimx.core.kernels import find
from minimx.core.ops import GradContext, Kernel, Op, Value, bind, register
from minimx.core.ops.casting import WIDEST
from minimx.core.ops.checks import expect, same_reals
from minimx.core.ops.spec import Cost, Spec
from minimx.operators.rules import Gradients, like_first, with_half

FORMATS = ("corner", "center")


def _format(op: str, **given: str) -> None:
    for name, value in given.items():
        if value not in FORMATS:
            raise OperatorError(
                f"{op}: {name}={value!r}: choose corner (left, top, right, bottom) or "
                "center (x, y, width, height)."
            )


def to_corners(boxes: Any, form: str) -> Any:
    """Boxes (…, 4) as left, top, right, bottom."""
    if form == "corner":
        return np.ascontiguousarray(boxes)
    centre, half = boxes[..., :2], boxes[..., 2:] / 2
    return np.concatenate([centre - half, centre + half], -1)


def to_centers(boxes: Any) -> Any:
    """Boxes (…, 4) as x, y, width, height."""
    size = boxes[..., 2:] - boxes[..., :2]
    return np.concatenate([boxes[..., :2] + size / 2, size], -1)


@register("_contrib_box_iou")
class BoxIoU(Op):
    """The overlap of every box of lhs with every box of rhs: shared area / joint area.

    lhs (..., 4), rhs (..., 4): boxes; out: the axes of lhs but the last, then those of
    rhs

    format: 'corner', a box is left, top, right, bottom; 'center', it is x, y, width,
    height. Boxes that do not meet have 0. No gradient. Raises ShapeError if the last
    axis is not 4 long, OperatorError for another format.
    """

    format: str = "corner"

    casting = WIDEST
    inputs = ("lhs", "rhs")
    differentiable = False

    def infer(self, *specs: Spec) -> Spec:
        """Every pair."""
        _format("box_iou", format=self.format)
        same_reals("box_iou", self.inputs, *specs)
        _fours("box_iou", self.inputs, *specs)
        lhs, rhs = specs
        return lhs.with_shape((*lhs.shape[:-1], *rhs.shape[:-1]) or (1,))

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.operators.kernels.images.boxes`."""
        overlaps, form = find("boxes.overlaps"), self.format

        def run(lhs: Any, rhs: Any, out: Any) -> None:
            left, right = (to_corners(x.reshape(-1, 4), form) for x in (lhs, rhs))
            overlaps(left, right, out.reshape(len(left), len(right)))

        return with_half(run, specs)

    def cost(self, *specs: Spec) -> Cost:
        """About 16 operations for each pair."""
        out = self.infer(*specs)
        return Cost(16 * out.size, out.nbytes + specs[0].nbytes + specs[1].nbytes)


def _fours(op: str, names: Sequence[str], *specs: Spec) -> None:
    for name, spec in zip(names, specs, strict=False):
        if not spec.shape or spec.shape[-1] != 4:
            raise ShapeError(
                f"{op}: {name} {spec.shape} holds no boxes: its last axis must have "
                "the length 4."
            )


@register("_contrib_box_nms", "_contrib_box_non_maximum_suppression")
class BoxNMS(Op):
    """Non-maximum suppression: of boxes that overlap, keep the one that scores best.

    data (..., boxes, width): each row is a box with its score
    out: the shape of data: the kept rows by falling score, then rows of -1

    overlap_thresh: a box goes if it shares more than this part of the joint area with a
    better one. valid_thresh: rows that score at most this do not take part. topk: only
    so many of the best take part; -1: all.
    coord_start, score_index, id_index: where in a row the four coordinates begin, the
    score is, and the class is. Boxes of different classes do not disturb each other,
    unless id_index is -1 or force_suppress is true. background_id: rows of this class
    do not take part.
    in_format, out_format: 'corner' (left, top, right, bottom) or 'center' (x, y, width,
    height).

    The gradient of a kept row goes to where it came from. Raises ShapeError if a row is
    too short, OperatorError for another format.
    """

    overlap_thresh: float = 0.5
    valid_thresh: float = 0.0
    topk: int = -1
    coord_start: int = 2
    score_index: int = 1
    id_index: int = -1
    background_id: int = -1
    force_suppress: bool = False
    in_format: str = "corner"
    out_format: str = "corner"

    casting = WIDEST
    saves = ("out1",)

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """The shape of data; and where each row comes from."""
        (data,) = specs
        same_reals("box_nms", ("data",), data)
        _format("box_nms", in_format=self.in_format, out_format=self.out_format)
        last = max(self.coord_start + 3, self.score_index, self.id_index)
        if data.ndim < 2 or data.shape[-1] <= last:
            raise ShapeError(
                f"box_nms: data {data.shape} must be (…, boxes, width) with a width "
                f"above {last}, for coord_start={self.coord_start}, score_index="
                f"{self.score_index} and id_index={self.id_index}."
            )
        return data, Spec.of(data.shape[:-1], np.dtype(np.int64))

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.operators.kernels.images.boxes`."""
        shape = (-1, *specs[0].shape[-2:])

        def run(data: Any, out: Any, record: Any) -> None:
            if not out.size:
                return
            many = zip(
                data.reshape(shape), out.reshape(shape), record.reshape(shape[:2]),
                strict=True,
            )  # fmt: skip
            for rows, found, places in many:
                self._choose(rows, found, places)

        return with_half(run, specs)

    def _choose(self, rows: Any, out: Any, record: Any) -> None:
        """One set of boxes."""
        at = self.coord_start
        if self.topk == 0:
            out[...], record[...] = rows, np.arange(len(rows))
            return
        scores, valid = rows[:, self.score_index], rows[:, self.score_index]
        valid = scores > self.valid_thresh
        classes = np.zeros(len(rows), rows.dtype)
        if self.id_index >= 0:
            valid = valid & (rows[:, self.id_index] != self.background_id)
            if not self.force_suppress:
                classes = rows[:, self.id_index]
        places = np.flatnonzero(valid)
        places = places[np.argsort(-scores[places], kind="stable")]
        if self.topk > 0:
            places = places[: self.topk]
        keep = np.ones(len(places), np.bool_)
        boxes = to_corners(rows[places, at : at + 4], self.in_format)
        threshold = float(self.overlap_thresh)
        find("boxes.suppress")(boxes, classes[places], threshold, False, keep)
        places = places[keep]
        out[...], record[...] = -1, -1
        record[: len(places)] = places
        kept = out[: len(places)]
        kept[...] = rows[places]
        if self.in_format != self.out_format:
            center = self.out_format == "center"
            new = to_centers(boxes[keep]) if center else boxes[keep]
            kept[:, at : at + 4] = new

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """Each kept row takes its gradient back to where it came from."""
        return (bind(UndoNMS.of(), dout, *saved),)

    def cost(self, *specs: Spec) -> Cost:
        """Every box is compared with every other, at worst."""
        (data,) = specs
        boxes = data.shape[-2]
        return Cost(8 * boxes * boxes * prod(data.shape[:-2]), 2 * data.nbytes)


@register("_backward_contrib_box_nms")
class UndoNMS(Op):
    """Rows back to the places they were chosen from, 0 elsewhere.

    dout (…, boxes, width), record (…, boxes): places, or -1; out: the shape of dout
    """

    inputs = ("dout", "record")
    differentiable = False

    infer = like_first

    def kernel(self, *specs: Spec) -> Kernel:
        """One copy for each row."""
        shape = (-1, *specs[0].shape[-2:])

        def run(dout: Any, record: Any, out: Any) -> None:
            out[...] = 0
            if not out.size:
                return
            many = dout.reshape(shape), record.reshape(shape[:2]), out.reshape(shape)
            for rows, places, found in zip(*many, strict=True):
                found[places[places >= 0]] = rows[places >= 0]

        return run


@register("_contrib_bipartite_matching")
class BipartiteMatching(Op):
    """Pair rows with columns, best scores first, each row and column once.

    data (…, rows, columns); out (…, rows): the column of each row, or -1; out1 (…,
    columns): the row of each column, or -1. Only scores above `threshold` count, with
    is_ascend only those below; topk: at most so many pairs.
    """

    is_ascend: bool = False
    threshold: float = 0.0
    topk: int = -1

    visible = 2
    differentiable = False

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """One number for each row, one for each column."""
        (data,) = specs
        same_reals("bipartite_matching", ("data",), data)
        if data.ndim < 2:
            raise ShapeError(
                f"bipartite_matching: data {data.shape} must be (…, rows, columns)."
            )
        *before, rows, columns = data.shape
        return data.with_shape((*before, rows)), data.with_shape((*before, columns))

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.operators.kernels.images.boxes`."""
        pair, shape = find("boxes.bipartite"), specs[0].shape[-2:]
        sign, limit, top = (1 if self.is_ascend else -1), self.threshold, self.topk

        def run(data: Any, rows: Any, columns: Any) -> None:
            rows[...], columns[...] = -1, -1
            sets = zip(
                data.reshape(-1, shape[0] * shape[1]), rows.reshape(-1, shape[0]),
                columns.reshape(-1, shape[1]), strict=True,
            )  # fmt: skip
            for scores, to_column, to_row in sets:
                order = np.argsort(sign * scores, kind="stable")
                order = order[sign * scores[order] < sign * limit]
                pair(order, shape[1], to_column, to_row, top)

        return with_half(run, specs)


@register("_contrib_box_encode")
class BoxEncode(Op):
    """What an anchor must learn to become its box: offset and log of the ratio of size.

    samples (B, N): above 0.5 for anchors that count; matches (B, N): which box; anchors
    (B, N, 4), refs (B, M, 4): corners; means, stds (4,). outs (B, N, 4): the targets,
    (x, y, log width, log height), less the mean and divided by std; and 1 where they
    count, else 0 in both
    """

    casting = WIDEST
    inputs = ("samples", "matches", "anchors", "refs", "means", "stds")
    visible = 2
    differentiable = False

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """The shape of anchors, twice."""
        samples, matches, anchors, refs, *scales = specs
        _fours("box_encode", ("anchors", "refs"), anchors, refs)
        for name, spec in (("samples", samples), ("matches", matches)):
            why = f"anchors {anchors.shape}"
            expect("box_encode", name, spec, anchors.shape[:2], why)
        for name, spec in zip(("means", "stds"), scales, strict=True):
            expect("box_encode", name, spec, (4,), "a box")
        return anchors, anchors

    def kernel(self, *specs: Spec) -> Kernel:
        """Whole arrays at a time."""

        def run(
            samples: Any, matches: Any, anchors: Any, refs: Any, means: Any, stds: Any,
            targets: Any, masks: Any,
        ) -> None:  # fmt: skip
            counts = (samples > 0.5)[..., None]
            which = np.where(counts[..., 0], matches, 0).astype(np.int64)
            boxes = to_centers(np.take_along_axis(refs, which[..., None], 1))
            own = to_centers(anchors)
            with np.errstate(divide="ignore", invalid="ignore"):
                offset = (boxes[..., :2] - own[..., :2]) / own[..., 2:]
                ratio = np.log(boxes[..., 2:] / own[..., 2:])
            found = (np.concatenate([offset, ratio], -1) - means) / stds
            targets[...] = np.where(counts, found, 0)
            masks[...] = counts

        return with_half(run, specs)


@register("_contrib_box_decode")
class BoxDecode(Op):
    """Boxes from what anchors learnt; the reverse of box_encode.

    data (B, N, 4), anchors (1, N, 4), as `format` says; out (B, N, 4): corners. std0 to
    std3 multiply the data; clip, if positive, bounds the logarithms of the sizes.
    """

    std0: float = 1.0
    std1: float = 1.0
    std2: float = 1.0
    std3: float = 1.0
    clip: float = -1.0
    format: str = "center"

    casting = WIDEST
    inputs = ("data", "anchors")
    differentiable = False

    def infer(self, *specs: Spec) -> Spec:
        """The shape of data."""
        data, anchors = specs
        _format("box_decode", format=self.format)
        same_reals("box_decode", self.inputs, *specs)
        _fours("box_decode", self.inputs, *specs)
        why = f"data {data.shape}"
        expect("box_decode", "anchors", anchors, (1, *data.shape[1:]), why)
        return data

    def kernel(self, *specs: Spec) -> Kernel:
        """Whole arrays at a time."""
        form, clip = self.format, self.clip
        scales = np.array([self.std0, self.std1, self.std2, self.std3])

        def run(data: Any, anchors: Any, out: Any) -> None:
            own = to_centers(anchors) if form == "corner" else anchors
            scaled = data * scales.astype(data.dtype)
            centre = scaled[..., :2] * own[..., 2:] + own[..., :2]
            logs = np.minimum(scaled[..., 2:], clip) if clip > 0 else scaled[..., 2:]
            half = np.exp(logs) * own[..., 2:] / 2
            np.concatenate([centre - half, centre + half], -1, out=out)

        return with_half(run, specs)
