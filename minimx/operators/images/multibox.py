"""Data sheets of single-shot detection: anchors, and what they should and do say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minimx.core.errors import OperatorError, ShapeError
from minimx.core.kernels import find
from minimx.core.ops import Kernel, Op, register
from minimx.core.ops.casting import Casting
from minimx.core.ops.checks import same_reals
from minimx.core.ops.spec import Spec
from minimx.operators.images.boxes import to_centers
from minimx.operators.rules import with_half

Floats = tuple[float, ...]


def floats(op: str, name: str, value: Any, count: int | None = None) -> Floats:
    """A setting as a tuple of numbers, as many as asked for."""
    given = value if isinstance(value, Sequence) else (value,)
    found = tuple(float(number) for number in given)
    if not found or (count is not None and len(found) != count):
        wanted = "at least one number" if count is None else f"{count} numbers"
        raise OperatorError(f"{op}: {name}={value!r} must hold {wanted}.")
    return found


@register("_contrib_MultiBoxPrior")
class MultiBoxPrior(Op):
    """Anchor boxes around every pixel of a feature map, for single-shot detection.

    data (N, C, H, W), of which only H and W count
    out (1, H·W·K, 4): left, top, right, bottom, as parts of the image

    sizes: sides of boxes of ratio 1, as parts of the image's height; ratios: widths to
    heights. K is sizes + ratios - 1: all sizes with the first ratio, then the first
    size with the other ratios.
    clip: cut boxes off at the image.
    steps (y, x): the distance from pixel to pixel; -1 for 1 / H and 1 / W.
    offsets (y, x): where in a pixel the centre is; 0.5 is its middle.

    Raises ShapeError for data without pixels. No gradient.
    """

    sizes: Any = (1.0,)
    ratios: Any = (1.0,)
    clip: bool = False
    steps: Any = (-1.0, -1.0)
    offsets: Any = (0.5, 0.5)

    casting = Casting("float32", "widest")
    differentiable = False

    def infer(self, *specs: Spec) -> Spec:
        """Some boxes for each pixel."""
        (data,) = specs
        same_reals("MultiBoxPrior", ("data",), data)
        if data.ndim < 4 or not data.shape[2] * data.shape[3]:
            raise ShapeError(
                f"MultiBoxPrior: data {data.shape} must be (N, C, H, W), with pixels."
            )
        sizes = floats("MultiBoxPrior", "sizes", self.sizes)
        ratios = floats("MultiBoxPrior", "ratios", self.ratios)
        each = len(sizes) + len(ratios) - 1
        return data.with_shape((1, data.shape[2] * data.shape[3] * each, 4))

    def kernel(self, *specs: Spec) -> Kernel:
        """Whole arrays at a time."""
        height, width = specs[0].shape[2:4]
        sizes = np.array(floats("MultiBoxPrior", "sizes", self.sizes))
        roots = np.sqrt(floats("MultiBoxPrior", "ratios", self.ratios))
        steps = floats("MultiBoxPrior", "steps", self.steps, 2)
        offsets = floats("MultiBoxPrior", "offsets", self.offsets, 2)
        lengths = np.concatenate([sizes, np.full(len(roots) - 1, sizes[0])])
        curves = np.concatenate([np.full(len(sizes), roots[0]), roots[1:]])
        wide, tall = lengths * curves * height / width / 2, lengths / curves / 2
        step_y = steps[0] if steps[0] > 0 else 1 / height
        step_x = steps[1] if steps[1] > 0 else 1 / width
        clip = self.clip

        def run(data: Any, out: Any) -> None:
            y = ((np.arange(height) + offsets[0]) * step_y)[:, None, None]
            x = ((np.arange(width) + offsets[1]) * step_x)[:, None]
            edges = np.broadcast_arrays(x - wide, y - tall, x + wide, y + tall)
            boxes = np.stack(edges, -1).reshape(out.shape)
            out[...] = np.clip(boxes, 0, 1) if clip else boxes

        return run


@register("_contrib_MultiBoxTarget")
class MultiBoxTarget(Op):
    """What each anchor should learn, from the labelled boxes of each image.

    anchor (1, A, 4): corners, see MultiBoxPrior
    label (N, boxes, 5 or more): class, left, top, right, bottom; after the last box
    rows whose class is -1
    cls_pred (N, classes, A): predictions, for negative mining only
    outs: loc_target (N, 4·A), offsets (x, y, log width, log height) from anchor to box,
    divided by `variances`; loc_mask (N, 4·A), 1 for anchors that have a box; cls_target
    (N, A), the class + 1, 0 for background, ignore_label for anchors that do not count

    Every box takes the anchor that it overlaps most; any other anchor has the box that
    it overlaps most, if by more than overlap_threshold.
    negative_mining_ratio, if positive: so many background anchors count for each one
    with a box: those with the worst prediction, among the anchors that overlap every
    box by less than negative_mining_thresh.

    Raises ShapeError for other shapes. No gradient.
    """

    overlap_threshold: float = 0.5
    ignore_label: float = -1.0
    negative_mining_ratio: float = -1.0
    negative_mining_thresh: float = 0.5
    minimum_negative_samples: int = 0
    variances: Any = (0.1, 0.1, 0.2, 0.2)

    casting = Casting("float32", "widest")
    inputs = ("anchor", "label", "cls_pred")
    visible = 3
    differentiable = False

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """Four numbers for each anchor, twice, and one."""
        anchor, label, pred = specs
        same_reals("MultiBoxTarget", self.inputs, *specs)
        if (
            anchor.ndim != 3 or anchor.shape[0] != 1 or anchor.shape[2] != 4
            or label.ndim != 3 or label.shape[2] < 5
            or pred.ndim != 3 or pred.shape[2] != anchor.shape[1]
        ):  # fmt: skip
            raise ShapeError(
                f"MultiBoxTarget: anchor {anchor.shape}, label {label.shape}, cls_pred "
                f"{pred.shape}: they must be (1, A, 4), (N, boxes, 5 or more) and "
                "(N, classes, A)."
            )
        count, batch = anchor.shape[1], label.shape[0]
        wide = anchor.with_shape((batch, 4 * count))
        return wide, wide, anchor.with_shape((batch, count))

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.operators.kernels.images.boxes`."""
        variances = floats("MultiBoxTarget", "variances", self.variances, 4)

        def run(anchor: Any, label: Any, pred: Any, *outs: Any) -> None:
            place, mask, target = outs
            place[...], mask[...], target[...] = 0, 0, self.ignore_label
            for n, rows in enumerate(label):
                ends = np.flatnonzero(rows[:, 0] == -1)
                boxes = rows[: ends[0]] if len(ends) else rows
                if len(boxes):
                    outs_n = [out[n] for out in outs]
                    self._one(anchor[0], boxes, pred[n], variances, *outs_n)

        return with_half(run, specs)

    def _one(
        self, anchor: Any, boxes: Any, pred: Any, variances: Floats,
        place: Any, mask: Any, target: Any,
    ) -> None:  # fmt: skip
        """One image with at least one box."""
        shared = np.empty((len(anchor), len(boxes)), anchor.dtype)
        find("boxes.overlaps")(anchor, np.ascontiguousarray(boxes[:, 1:5]), shared)
        owner, best = np.empty(len(anchor), np.int64), np.empty(len(anchor))
        find("boxes.match")(shared, float(self.overlap_threshold), owner, best)
        owned = owner >= 0
        target[self._background(owned, best, pred)] = 0
        target[owned] = boxes[owner[owned], 0] + 1
        mask.reshape(-1, 4)[owned] = 1
        own = to_centers(anchor[owned])
        wanted = to_centers(boxes[owner[owned], 1:5])
        offset = (wanted[:, :2] - own[:, :2]) / own[:, 2:]
        ratio = np.log(wanted[:, 2:] / own[:, 2:])
        place.reshape(-1, 4)[owned] = np.concatenate([offset, ratio], -1) / variances

    def _background(self, owned: Any, best: Any, pred: Any) -> Any:
        """The anchors that should say: nothing here."""
        if self.negative_mining_ratio <= 0:
            return np.flatnonzero(~owned)
        free = int((~owned).sum())
        count = min(int(owned.sum() * self.negative_mining_ratio), free)
        far = np.flatnonzero(~owned & (best < self.negative_mining_thresh))
        scores = np.exp(pred - pred.max(0))
        says_nothing = (scores[0] / scores.sum(0))[far]
        return far[np.argsort(says_nothing, kind="stable")[:count]]


@register("_contrib_MultiBoxDetection")
class MultiBoxDetection(Op):
    """Boxes from predictions; of boxes that overlap, the most probable one.

    cls_prob (N, classes, A): probabilities, class 0 being background
    loc_pred (N, 4·A): offsets from the anchors, see MultiBoxTarget
    anchor (1, A, 4): corners
    out (N, A, 6): class - 1, or -1 for no box; probability; left, top, right, bottom.
    Boxes come first, by falling probability

    threshold: the least probability of a box. clip: cut boxes off at the image.
    variances: what loc_pred is multiplied by.
    nms_threshold: the overlap at which the less probable box of a class goes, or of any
    class with force_suppress; outside (0, 1] nothing goes. nms_topk: at most so many
    boxes take part; -1: all. background_id has no effect: it is 0.

    Raises ShapeError for other shapes. No gradient.
    """

    clip: bool = True
    threshold: float = 0.01
    background_id: int = 0
    nms_threshold: float = 0.5
    force_suppress: bool = False
    variances: Any = (0.1, 0.1, 0.2, 0.2)
    nms_topk: int = -1

    casting = Casting("float32", "widest")
    inputs = ("cls_prob", "loc_pred", "anchor")
    differentiable = False

    def infer(self, *specs: Spec) -> Spec:
        """Six numbers for each anchor."""
        prob, place, anchor = specs
        same_reals("MultiBoxDetection", self.inputs, *specs)
        if (
            prob.ndim != 3 or anchor.shape != (1, prob.shape[2], 4)
            or place.shape != (prob.shape[0], 4 * prob.shape[2])
        ):  # fmt: skip
            raise ShapeError(
                f"MultiBoxDetection: cls_prob {prob.shape}, loc_pred {place.shape}, "
                f"anchor {anchor.shape}: they must be (N, classes, A), (N, 4·A) and "
                "(1, A, 4)."
            )
        return prob.with_shape((prob.shape[0], prob.shape[2], 6))

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.operators.kernels.images.boxes`."""
        given = floats("MultiBoxDetection", "variances", self.variances, 4)
        clip, variances = self.clip, np.array(given)

        def run(prob: Any, place: Any, anchor: Any, out: Any) -> None:
            own = to_centers(anchor)
            moves = place.reshape(len(prob), -1, 4) * variances.astype(place.dtype)
            centre = moves[..., :2] * own[..., 2:] + own[..., :2]
            half = np.exp(moves[..., 2:]) * own[..., 2:] / 2
            boxes = np.concatenate([centre - half, centre + half], -1)
            boxes = np.clip(boxes, 0, 1) if clip else boxes
            out[...] = -1
            for n in range(len(prob)):
                self._one(prob[n], boxes[n], out[n])

        return with_half(run, specs)

    def _one(self, prob: Any, boxes: Any, out: Any) -> None:
        """One image."""
        kinds = prob[1:].argmax(0)
        scores = prob[1:].max(0)
        places = np.flatnonzero(scores >= self.threshold)
        thinned = 0 < self.nms_threshold <= 1
        if thinned:
            places = places[np.argsort(-scores[places], kind="stable")]
        out[: len(places), 0] = kinds[places]
        out[: len(places), 1] = scores[places]
        out[: len(places), 2:] = boxes[places]
        if not thinned:
            return
        if 0 < self.nms_topk < len(places):
            out[self.nms_topk : len(places), 0] = -1
            places = places[: self.nms_topk]
        classes = kinds[places] * (not self.force_suppress)
        keep = np.ones(len(places), np.bool_)
        limit = float(self.nms_threshold)
        find("boxes.suppress")(boxes[places], classes, limit, True, keep)
        out[np.flatnonzero(~keep), 0] = -1
