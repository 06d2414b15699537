"""Data sheets that look at regions of images, each through a grid of the same size."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar

import numpy as np

from minimx.core.errors import OperatorError, ShapeError
from minimx.core.kernels import find
from minimx.core.kernels.half import computing
from minimx.core.ops import GradContext, Kernel, Op, Value, bind, register
from minimx.core.ops.casting import WIDEST
from minimx.core.ops.checks import same_reals
from minimx.core.ops.registry import with_settings
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Shape
from minimx.operators.rules import Gradients, given_shape, with_half


def check_regions(op: str, data: Spec, rois: Spec, columns: tuple[int, ...]) -> None:
    """Refuse what is no stack of images with regions of so many numbers."""
    same_reals(op, ("data", "rois"), data, rois)
    if data.ndim != 4 or rois.ndim != 2 or rois.shape[1] not in columns:
        wanted = " or ".join(str(n) for n in columns)
        raise ShapeError(
            f"{op}: data {data.shape} must be (N, C, H, W), and rois {rois.shape} "
            f"(regions, {wanted}): the image's number and the box."
        )


def grid_of(op: str, size: Shape) -> tuple[int, int]:
    """The setting pooled_size as two numbers."""
    if len(size) != 2 or min(size) < 1:
        raise OperatorError(
            f"{op}: pooled_size={size} must be the height and width of the grid."
        )
    return size[0], size[1]


def check_sampling(op: str, points: int, scale: float) -> None:
    """Refuse more points in a cell than any detector reads: each costs a step."""
    if points > 256 or not 0 < scale <= 16:
        raise OperatorError(
            f"{op}: {points} points across a cell, or spatial_scale={scale}, is not "
            "plausible; at most 256, and a scale above 0, up to 16."
        )


@register("ROIPooling")
class ROIPooling(Op):
    """The largest numbers of regions of images, each region cut into a grid.

    data (N, C, H, W): images
    rois (R, 5): for each region the number of its image, then left, top, right, bottom,
    in pixels of the picture, both ends included
    out (R, C, h, w) for pooled_size=(h, w)

    spatial_scale: what coordinates are multiplied by to get to data, 1/16 if data are
    16 times smaller than the picture. Scaled corners are rounded to whole pixels.

    A cell without pixels and a region of no image give 0. Gradients flow to where the
    largest numbers were, none to rois. Raises ShapeError for other shapes.
    """

    pooled_size: Shape
    spatial_scale: float

    inputs = ("data", "rois")
    saves = ("rois", "out1")

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """A grid for each region; and where each number stands."""
        data, rois = specs
        check_regions(self.name, data, rois, (5,))
        grid = grid_of(self.name, self.pooled_size)
        shape = (rois.shape[0], data.shape[1], *grid)
        return data.with_shape(shape), Spec.of(shape, np.dtype(np.int64))

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.operators.kernels.images.boxes`."""
        pool, scale = find("boxes.roi_pool"), self.spatial_scale

        def run(data: Any, rois: Any, out: Any, places: Any) -> None:
            pool(data, rois, data.dtype.type(scale), out, places)

        return with_half(run, specs)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """To where the largest numbers stand."""
        return bind(ROIPoolingGradient.of(shape=at.ins[0].shape), dout, *saved), None

    def cost(self, *specs: Spec) -> Cost:
        """A comparison for each pixel of each region, at most all of an image."""
        data, rois = specs
        each = data.size // max(data.shape[0], 1)
        return Cost(each * rois.shape[0], data.nbytes + rois.nbytes)


@register("_backward_ROIPooling")
class ROIPoolingGradient(Op):
    """Gradients back to where the largest numbers of their regions stood.

    dout, places (R, C, h, w), rois (R, 5); out: `shape`
    """

    shape: Shape

    inputs = ("dout", "rois", "places")
    saves = ("rois", "places")

    infer = given_shape

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.operators.kernels.images.boxes`."""
        gradient, flat = find("boxes.roi_pool_gradient"), (*self.shape[:2], -1)

        def run(dout: Any, rois: Any, places: Any, out: Any) -> None:
            gradient(dout, rois, places, out.reshape(flat))

        return with_half(run, specs)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """Each gradient was copied from one place."""
        return bind(ROIPicked.of(), dout, *saved), None, None


@register("_pick_ROIPooling")
class ROIPicked(Op):
    """What stands at the places where regions had their largest numbers.

    data (N, C, H, W), rois (R, 5), places (R, C, h, w); out (R, C, h, w)
    """

    inputs = ("data", "rois", "places")
    saves = ("rois", "places")

    def infer(self, *specs: Spec) -> Spec:
        """A grid for each region."""
        return specs[0].with_shape(specs[2].shape)

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.operators.kernels.images.boxes`."""
        gather, flat = find("boxes.roi_gather"), (*specs[0].shape[:2], -1)

        def run(data: Any, rois: Any, places: Any, out: Any) -> None:
            gather(data.reshape(flat), rois, places, out)

        return with_half(run, specs)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """Back again."""
        op = ROIPoolingGradient.of(shape=at.ins[0].shape)
        return bind(op, dout, *saved), None, None


@with_settings
class _RegionGradient(Op):
    """The gradient of the images of an operator that is linear in them.

    dout (R, C, h, w), rois; out: `shape`. It stands before the base of that operator,
    whose `launch` fills grids from images, or images backward.
    """

    shape: Shape = field(kw_only=True)

    inputs = ("dout", "rois")
    forward: ClassVar[type[Op]]
    launch: ClassVar[Any]

    infer = given_shape

    def kernel(self, *specs: Spec) -> Kernel:
        """That of the operator, backward."""
        launch = self.launch(specs[0].dtype, backward=True)

        def run(dout: Any, rois: Any, out: Any) -> None:
            launch(out, rois, dout)

        return with_half(run, specs)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """The operator itself, as it is linear."""
        settings = {k: v for k, v in self.settings.items() if k != "shape"}
        return bind(self.forward.of(**settings), dout, *saved), None


@with_settings
class Aligned(Op):
    """What the two directions of ROIAlign share."""

    pooled_size: Shape
    spatial_scale: float
    sample_ratio: int = -1
    position_sensitive: bool = False
    aligned: bool = False

    saves = ("rois",)

    def launch(self, dtype: Any, backward: bool) -> Any:
        """`run(images, rois, grids)`; backward writes to the images."""
        align, real = find("boxes.roi_align"), computing(dtype).type
        scale, shift = real(self.spatial_scale), real(0.5 if self.aligned else 0)
        ratio, sensitive = self.sample_ratio, self.position_sensitive

        def run(images: Any, rois: Any, grids: Any) -> None:
            if rois.shape[1] == 4:
                zeros = np.zeros((len(rois), 1), rois.dtype)
                rois = np.concatenate([zeros, rois], 1)
            align(images, rois, scale, ratio, shift, sensitive, grids, backward)

        return run


@register("_contrib_ROIAlign")
class ROIAlign(Aligned):
    """Means over regions of images, taken at points between pixels.

    data (N, C, H, W): images
    rois (R, 5): for each region the number of its image, then left, top, right, bottom,
    in pixels of the picture; or (R, 4) for a single image
    out (R, C, h, w) for pooled_size=(h, w)

    spatial_scale: what coordinates are multiplied by to get to data, without rounding.
    sample_ratio: how many points in a cell, down and across; by default (-1) as many as
    it has pixels.
    position_sensitive: every cell has its own channels, so out has C / (h·w).
    aligned: the centres of pixels are at half numbers, which takes half a pixel off.

    A point more than a pixel outside the image counts as 0. Gradients flow to the four
    pixels around each point, none to rois. Raises ShapeError for other shapes.
    """

    casting = WIDEST
    inputs = ("data", "rois")

    def infer(self, *specs: Spec) -> Spec:
        """A grid for each region."""
        data, rois = specs
        check_regions("ROIAlign", data, rois, (5, 4))
        check_sampling("ROIAlign", self.sample_ratio, self.spatial_scale)
        rows, columns = grid_of("ROIAlign", self.pooled_size)
        channels = data.shape[1]
        if self.position_sensitive:
            if channels % (rows * columns):
                raise ShapeError(
                    f"ROIAlign: the {channels} channels of data {data.shape} cannot be "
                    f"shared out over {rows} times {columns} cells."
                )
            channels //= rows * columns
        return data.with_shape((rois.shape[0], channels, rows, columns))

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.operators.kernels.images.boxes`."""
        run = self.launch(specs[0].dtype, backward=False)
        return with_half(run, specs)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """To the pixels around each point."""
        op = ROIAlignGradient.of(shape=at.ins[0].shape, **self.settings)
        return bind(op, dout, *saved), None

    def cost(self, *specs: Spec) -> Cost:
        """Four products for each point, taking four points in a cell."""
        out = self.infer(*specs)
        return Cost(32 * out.size, out.nbytes + specs[0].nbytes)


@register("_backward_ROIAlign")
class ROIAlignGradient(_RegionGradient, Aligned):
    """The gradient of the images of ROIAlign; dout (R, C, h, w); out: `shape`."""

    forward = ROIAlign
