"""Data sheets of regions with channels of their own, at an angle, or proposed.

And of the window that is the same for all images of a batch.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar

import numpy as np

from minimx.core.errors import OperatorError, ShapeError
from minimx.core.kernels import find
from minimx.core.kernels.half import computing
from minimx.core.operators.shape import Key, Part
from minimx.core.ops import GradContext, Kernel, Op, Value, bind, register
from minimx.core.ops.casting import SINGLE, WIDEST
from minimx.core.ops.checks import expect, same_reals
from minimx.core.ops.registry import with_settings
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Shape
from minimx.operators.images.multibox import floats
from minimx.operators.images.roi import (
    _RegionGradient,
    check_regions,
    check_sampling,
    grid_of,
)
from minimx.operators.rules import Gradients, with_half

# -- position-sensitive pooling --------------------------------------------------------


@with_settings
class _Cells(Op):
    """What the two directions of PSROIPooling share."""

    spatial_scale: float
    output_dim: int
    pooled_size: int
    group_size: int = 0

    inputs: ClassVar[Any] = ("data", "rois")
    saves = ("rois",)

    @property
    def groups(self) -> int:
        """How many groups of channels there are along each side."""
        return self.group_size or self.pooled_size

    def launch(self, dtype: Any, backward: bool) -> Any:
        """`run(images, rois, grids)`; backward writes to the images."""
        means, groups = find("regions.cell_means"), self.groups
        scale = computing(dtype).type(self.spatial_scale)

        def run(images: Any, rois: Any, grids: Any) -> None:
            means(images, rois, scale, groups, grids, backward)

        return run


@register("_contrib_PSROIPooling")
class PSROIPooling(_Cells):
    """Means over the cells of regions of images, each cell in channels of its own.

    data (N, output_dim · G · G, H, W), G being group_size or pooled_size; rois (R, 5):
    the image's number and the corners, which spatial_scale takes from the picture to
    data; out (R, output_dim, pooled_size, pooled_size)
    """

    casting = WIDEST

    def infer(self, *specs: Spec) -> Spec:
        """A grid for each region."""
        data, rois = specs
        check_regions("PSROIPooling", data, rois, (5,))
        wanted = self.output_dim * self.groups**2
        if data.shape[1] != wanted:
            raise ShapeError(
                f"PSROIPooling: data {data.shape} has {data.shape[1]} channels; "
                f"output_dim={self.output_dim} with {self.groups} by {self.groups} "
                f"groups asks for {wanted}."
            )
        side = self.pooled_size
        return data.with_shape((rois.shape[0], self.output_dim, side, side))

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.operators.kernels.images.regions`."""
        run = self.launch(specs[0].dtype, backward=False)
        return with_half(run, specs)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """Shared out over the cell."""
        op = PSROIPoolingGradient.of(shape=at.ins[0].shape, **self.settings)
        return bind(op, dout, *saved), None


@register("_backward_PSROIPooling")
class PSROIPoolingGradient(_RegionGradient, _Cells):
    """The gradient of the images of PSROIPooling; dout (R, C, h, w); out: `shape`."""

    forward = PSROIPooling


@with_settings
class _MovedCells(Op):
    """What the two directions of DeformablePSROIPooling share."""

    spatial_scale: float
    output_dim: int
    group_size: int
    pooled_size: int
    part_size: int = 0
    sample_per_part: int = 1
    trans_std: float = 0.0
    no_trans: bool = False

    @property
    def saves(self) -> tuple[str, ...]:
        """Where nothing moves, means are linear in the images."""
        return ("rois",) if self.no_trans else ("data", "rois", "trans")

    @property
    def parts(self) -> int:
        """How many moves there are along each side."""
        return self.part_size or self.pooled_size

    def run(
        self, data: Any, rois: Any, moves: Any, out: Any, gradients: Any = ()
    ) -> None:
        """Fill out, or the gradients of data and moves from out's."""
        if not moves:  # a class for each channel, which stays where it is
            shape = (len(rois), 2 * self.output_dim, self.parts, self.parts)
            moves = [np.zeros(shape, data.dtype)]
        ddata, dmoves = data, moves[0]  # which are not written to
        if gradients:
            ddata, dmoves = (*gradients, np.empty_like(dmoves))[:2]
        real = data.dtype.type
        scales = real(self.spatial_scale), real(self.trans_std)
        settings = (*scales, self.group_size, self.sample_per_part)
        find("regions.moved_means")(
            data, rois, moves[0], settings, out, ddata, dmoves, bool(gradients)
        )


@register("_contrib_DeformablePSROIPooling")
class DeformablePSROIPooling(_MovedCells):
    """Means over the cells of regions, each in channels of its own, and each moved.

    data (N, output_dim · G · G, H, W), G being group_size
    rois (R, 5): the image's number and the corners, both ends included, which
    spatial_scale takes from the picture to data
    trans (R, 2 · classes, P, P), P being part_size or pooled_size: how far cells move
    to the right and down, times trans_std, in widths and heights of the region; a class
    is output_dim / classes channels. Without it if no_trans.
    out (R, output_dim, pooled_size, pooled_size): means over sample_per_part by
    sample_per_part points of the bilinear surface; points more than half a pixel
    outside do not count, and without any the mean is 0

    Gradients flow to data and trans, none to rois. Raises ShapeError for other shapes,
    OperatorError for settings that cannot be. In MXNet it runs on GPUs only. Deformable
    Convolutional Networks, Dai et al., 2017.
    """

    casting = SINGLE
    all_inputs = ("data", "rois", "trans")

    @property
    def inputs(self) -> tuple[str, ...]:
        """Moves only where there are any."""
        return ("data", "rois") if self.no_trans else ("data", "rois", "trans")

    def infer(self, *specs: Spec) -> Spec:
        """A grid for each region."""
        data, rois, *moves = specs
        check_regions("DeformablePSROIPooling", data, rois, (5,))
        check_sampling(self.name, self.sample_per_part, self.spatial_scale)
        sizes = (self.output_dim, self.group_size, self.pooled_size, self.parts)
        if min(*sizes, self.sample_per_part) < 1:
            raise OperatorError(
                f"DeformablePSROIPooling: output_dim={self.output_dim}, group_size="
                f"{self.group_size}, pooled_size={self.pooled_size}, part_size="
                f"{self.part_size} and sample_per_part={self.sample_per_part} count "
                "things, and must be positive (part_size may be 0)."
            )
        wanted = (data.shape[0], self.output_dim * self.group_size**2, *data.shape[2:])
        why = f"output_dim={self.output_dim} with group_size={self.group_size}"
        expect(self.name, "data", data, wanted, why)
        for trans in moves:
            same_reals(self.name, ("data", "trans"), data, trans)
            classes = trans.shape[1] // 2 if trans.ndim == 4 else 1
            if not classes or self.output_dim % classes:
                raise ShapeError(
                    f"DeformablePSROIPooling: trans {trans.shape} has {classes} "
                    f"classes, which do not share out the {self.output_dim} channels "
                    "of output_dim evenly."
                )
            wanted = (rois.shape[0], 2 * classes, self.parts, self.parts)
            expect(self.name, "trans", trans, wanted, f"rois {rois.shape}")
        side = self.pooled_size
        return data.with_shape((rois.shape[0], self.output_dim, side, side))

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.operators.kernels.images.regions`."""

        def run(data: Any, rois: Any, *rest: Any) -> None:
            self.run(data, rois, rest[:-1], rest[-1])

        return with_half(run, specs)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """To the pixels around each point, and to what moved it."""
        settings = {"shape": at.ins[0].shape, **self.settings}
        found = bind(DeformablePSROIPoolingGradient.of(**settings), dout, *saved)
        if self.no_trans:
            return found, None
        return found[0], None, found[1]

    def cost(self, *specs: Spec) -> Cost:
        """Four products for each point."""
        out = self.infer(*specs)
        return Cost(8 * out.size * self.sample_per_part**2, out.nbytes * 2)


@register("_backward_DeformablePSROIPooling")
class DeformablePSROIPoolingGradient(_MovedCells):
    """The gradients of the images and of the moves.

    dout (R, output_dim, k, k), data and trans unless no_trans, rois; outs: `shape`, and
    the shape of trans
    """

    shape: Shape = field(kw_only=True)

    differentiable = False
    all_inputs = ("dout", "data", "rois", "trans")

    @property
    def inputs(self) -> tuple[str, ...]:
        """The gradient comes first."""
        return ("dout", *self.saves)

    @property
    def visible(self) -> int:  # type: ignore[override]
        """One for each input with a gradient."""
        return 1 if self.no_trans else 2

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """Those of the inputs."""
        return specs[0].with_shape(self.shape), *specs[3:]

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.operators.kernels.images.regions`."""

        def still(dout: Any, rois: Any, ddata: Any) -> None:
            self.run(ddata, rois, (), dout, (ddata,))

        def run(dout: Any, data: Any, rois: Any, trans: Any, *outs: Any) -> None:
            self.run(data, rois, (trans,), dout, outs)

        return with_half(still if self.no_trans else run, specs)


@register("_contrib_RROIAlign")
class RROIAlign(Op):
    """Means over regions of images that lie at an angle.

    data (N, C, H, W); rois (R, 6): the image's number, the centre x and y, width,
    height, and the angle in degrees; spatial_scale takes them from the picture to data.
    out (R, C, h, w) for pooled_size (h, w). sampling_ratio: points in a cell, down and
    across; by default as many as it has pixels. No gradient flows through.
    """

    pooled_size: Shape
    spatial_scale: float
    sampling_ratio: int = -1

    casting = WIDEST
    inputs = ("data", "rois")
    differentiable = False

    def infer(self, *specs: Spec) -> Spec:
        """A grid for each region."""
        data, rois = specs
        check_regions("RROIAlign", data, rois, (6,))
        check_sampling("RROIAlign", self.sampling_ratio, self.spatial_scale)
        grid = grid_of("RROIAlign", self.pooled_size)
        return data.with_shape((rois.shape[0], data.shape[1], *grid))

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.operators.kernels.images.regions`."""
        turned, ratio = find("regions.turned"), self.sampling_ratio
        scale = float(self.spatial_scale)

        def run(data: Any, rois: Any, out: Any) -> None:
            turned(data, rois, scale, ratio, out)

        return with_half(run, specs)


# -- proposals -------------------------------------------------------------------------


@with_settings
class _Proposing(Op):
    """What the two operators share; see Proposal."""

    rpn_pre_nms_top_n: int = 6000
    rpn_post_nms_top_n: int = 300
    threshold: float = 0.7
    rpn_min_size: int = 16
    scales: Any = (4.0, 8.0, 16.0, 32.0)
    ratios: Any = (0.5, 1.0, 2.0)
    feature_stride: int = 16
    output_score: bool = False
    iou_loss: bool = False

    casting = WIDEST
    inputs = ("cls_prob", "bbox_pred", "im_info")
    differentiable = False

    @property
    def visible(self) -> int:  # type: ignore[override]
        """The regions, and their scores if they are asked for."""
        return 1 + self.output_score

    def _anchors(self) -> Any:
        """The boxes (A, 4) around the first pixel, both ends included."""
        stride = self.feature_stride
        centre, found = (stride - 1) / 2, []
        for ratio in floats(self.name, "ratios", self.ratios):
            wide = np.floor(np.sqrt(np.floor(stride * stride / ratio)) + 0.5)
            tall = np.floor(wide * ratio + 0.5)
            for scale in floats(self.name, "scales", self.scales):
                x, y = (wide * scale - 1) / 2, (tall * scale - 1) / 2
                found.append((centre - x, centre - y, centre + x, centre + y))
        return np.array(found, np.float32)

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """Some regions for each image, and a score for each."""
        prob, pred, info = specs
        same_reals(self.name, self.inputs, *specs)
        if prob.ndim != 4:
            raise ShapeError(
                f"{self.name}: cls_prob {prob.shape} must be (N, 2A, H, W)."
            )
        images, _, *place = prob.shape
        anchors = len(self._anchors())
        why = f"{anchors} anchors (scales times ratios)"
        expect(self.name, "cls_prob", prob, (images, 2 * anchors, *place), why)
        expect(self.name, "bbox_pred", pred, (images, 4 * anchors, *place), why)
        expect(self.name, "im_info", info, (images, 3), f"cls_prob {prob.shape}")
        count = images * self.rpn_post_nms_top_n
        return prob.with_shape((count, 5)), prob.with_shape((count, 1))

    def kernel(self, *specs: Spec) -> Kernel:
        """Image by image."""
        images, each = specs[0].shape[0], self.rpn_post_nms_top_n

        def run(prob: Any, pred: Any, info: Any, out: Any, scores: Any) -> None:
            for n in range(images):
                rows = slice(n * each, (n + 1) * each)
                boxes, found = self._of_image(prob[n], pred[n], info[n])
                places = np.arange(each) % len(found)
                out[rows, 0], out[rows, 1:] = n, boxes[places]
                scores[rows, 0] = found[places]

        return with_half(run, specs)

    def _of_image(self, prob: Any, pred: Any, info: Any) -> tuple[Any, Any]:
        """The best regions of an image, and their scores."""
        anchors = self._anchors()
        _, height, width = prob.shape
        rows, columns = np.mgrid[:height, :width] * self.feature_stride
        steps = np.stack([columns, rows, columns, rows], -1)[:, :, None]
        moves = pred.reshape(len(anchors), 4, height, width).transpose(2, 3, 0, 1)
        scores = prob[len(anchors) :].transpose(1, 2, 0).copy()
        boxes = self._moved(steps + anchors, moves)
        limits = np.array([info[1], info[0]] * 2) - 1
        boxes = np.clip(boxes, 0, limits)
        scores[int(info[0] / self.feature_stride) :] = -1
        scores[:, int(info[1] / self.feature_stride) :] = -1
        boxes, scores = boxes.reshape(-1, 4).astype(prob.dtype), scores.ravel()
        least = self.rpn_min_size * info[2]
        small = ((boxes[:, 2:] - boxes[:, :2] + 1) < least).any(1)
        boxes[small] += np.array([-1, -1, 1, 1], prob.dtype) * (least / 2)
        scores[small] = -1
        return self._best(boxes, scores)

    def _moved(self, boxes: Any, moves: Any) -> Any:
        """Anchors moved by what was predicted for them."""
        if self.iou_loss:
            return boxes + moves
        size = boxes[..., 2:] - boxes[..., :2] + 1
        centre = boxes[..., :2] + (size - 1) / 2 + moves[..., :2] * size
        half = (np.exp(moves[..., 2:]) * size - 1) / 2
        return np.concatenate([centre - half, centre + half], -1)

    def _best(self, boxes: Any, scores: Any) -> tuple[Any, Any]:
        """By falling score, without those that overlap a better one."""
        order = np.argsort(-scores, kind="stable")
        if self.rpn_pre_nms_top_n > 0:
            order = order[: self.rpn_pre_nms_top_n]
        boxes, scores = boxes[order], scores[order]
        open_ended = boxes + np.array([0, 0, 1, 1], boxes.dtype)
        keep = np.ones(len(order), np.bool_)
        classes, limit = np.zeros(len(order)), float(self.threshold)
        find("boxes.suppress")(open_ended, classes, limit, False, keep)
        most = min(self.rpn_post_nms_top_n, len(order))
        return boxes[keep][:most], scores[keep][:most]


@register("_contrib_Proposal")
class Proposal(_Proposing):
    """Regions of one image that may hold something, best first.

    cls_prob (1, 2A, H, W): background scores of A anchors, then foreground scores;
    bbox_pred (1, 4A, H, W): moves (x, y, log width, log height), or of the corners with
    iou_loss; im_info (1, 3): height, width and scale of the picture. out
    (rpn_post_nms_top_n, 5): the image's number and corners, repeated if there are too
    few; with output_score also (rpn_post_nms_top_n, 1).

    Around every pixel, feature_stride apart, stands an anchor for each of the scales
    and ratios. Regions smaller than rpn_min_size come last; the rpn_pre_nms_top_n best
    take part; of regions that overlap by more than threshold the best one stays.
    """

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """One image only."""
        if specs[0].shape[:1] != (1,):
            raise ShapeError(
                f"Proposal: cls_prob {specs[0].shape} holds several images. Use "
                "MultiProposal."
            )
        return super().infer(*specs)


@register("_contrib_MultiProposal")
class MultiProposal(_Proposing):
    """Regions of several images that may hold something; see Proposal.

    cls_prob (N, 2A, H, W), bbox_pred (N, 4A, H, W), im_info (N, 3); out
    (N · rpn_post_nms_top_n, 5), with output_score also (N · rpn_post_nms_top_n, 1)
    """


# -- the same window for all -----------------------------------------------------------


@register("Crop")
class Crop(Part):
    """A window of every image: as large as a second array's images, or as h_w says.

    data (N, C, H, W), and perhaps crop_like (…, …, h, w); out (N, C, h, w). offset:
    where its upper left corner is, (y, x); center_crop: in the middle instead.
    """

    offset: Shape = (0, 0)
    h_w: Shape = (0, 0)
    center_crop: bool = False

    variadic = True

    def key(self, *specs: Spec) -> Key:
        """All images and channels, and a range of rows and of columns."""
        if not 1 <= len(specs) <= 2 or any(spec.ndim != 4 for spec in specs):
            raise ShapeError(
                "Crop takes images (N, C, H, W) and perhaps a second array of images "
                f"that says how large; it was given {[spec.shape for spec in specs]}."
            )
        data = specs[0].shape
        size = self.h_w if len(specs) == 1 else specs[1].shape[2:]
        start = self.offset
        if self.center_crop and len(size) == 2:
            start = ((data[2] - size[0]) // 2, (data[3] - size[1]) // 2)
        window = [(at, at + n, 1) for at, n in zip(start, size, strict=False)]
        inside = [
            0 <= at < stop <= n
            for (at, stop, _), n in zip(window, data[2:], strict=False)
        ]
        if inside != [True, True]:
            raise ShapeError(
                f"Crop: a window of {size} at {start} does not lie in images of "
                f"{data[2:]}. Give h_w and offset, two numbers each, or a second array."
            )
        return ((0, data[0], 1), (0, data[1], 1), *window)
