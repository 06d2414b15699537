"""Data sheets of spatial transformers: where to look, and looking there.

A grid (N, 2, H', W') says for every pixel of the output at which x (first) and y it is
to be found, on a scale on which the image reaches from -1 to 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.errors import OperatorError, ShapeError
from minimx.core.kernels import find
from minimx.core.kernels.half import computing
from minimx.core.operators.views import reshaped
from minimx.core.ops import GradContext, Kernel, Op, Value, bind, lookup, register
from minimx.core.ops.checks import expect, same_reals
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Shape
from minimx.operators.images.sampling import SampleGradient, flat
from minimx.operators.rules import Gradients, one_of, per_element, with_half


def _corners(height: int, width: int) -> Any:
    """The places (3, H * W) of pixels: x and y from -1 to 1, and 1."""
    y, x = np.meshgrid(
        np.linspace(-1, 1, height), np.linspace(-1, 1, width), indexing="ij"
    )
    return np.stack([x.ravel(), y.ravel(), np.ones(height * width)])


@register("GridGenerator")
class GridGenerator(Op):
    """A grid of positions for BilinearSampler, from affine maps or from a flow.

    transform_type='affine': data (N, 6), for each sample a matrix (2, 3) that maps x,
    y, 1 of the output to x, y of the image; out (N, 2, *target_shape)
    transform_type='warp': data (N, 2, H, W), how many pixels further in x and in y to
    look than at the pixel itself; out: the same shape

    out holds x, then y, on a scale on which the image reaches from -1 to 1.
    target_shape: height and width of the output, for 'affine'. Raises OperatorError for
    another transform_type or target_shape, ShapeError for other shapes.
    """

    transform_type: str
    target_shape: Shape = (0, 0)

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self, "transform_type", "affine", "warp")

    @property
    def is_affine(self) -> bool:
        """Whether data are matrices."""
        return self.transform_type == "affine"

    def infer(self, *specs: Spec) -> Spec:
        """A place for each pixel."""
        (data,) = specs
        same_reals(self.name, ("data",), data)
        if not self.is_affine:
            if data.ndim != 4 or data.shape[1] != 2:
                raise ShapeError(
                    f"GridGenerator: data {data.shape} must be a flow (N, 2, H, W): "
                    "steps in x, then in y."
                )
            return data
        check_maps(self.name, "data", data)
        return data.with_shape(
            (data.shape[0], 2, *target(self.name, self.target_shape))
        )

    def kernel(self, *specs: Spec) -> Kernel:
        """A product with the places of the pixels, or a sum with them."""
        (data,) = specs
        _, _, height, width = self.infer(data).shape
        corners = _corners(height, width).astype(computing(data.dtype))
        scale = _scale(height, width).astype(computing(data.dtype))

        def affine(maps: Any, out: Any) -> None:
            np.matmul(maps.reshape(-1, 3), corners, out=out.reshape(-1, height * width))

        def warp(flow: Any, out: Any) -> None:
            np.multiply(flow, scale, out=out)
            out += corners[:2].reshape(2, height, width)

        run = affine if self.is_affine else warp
        return with_half(run, specs)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """The transposed product."""
        op = GridGradient.of(affine=self.is_affine, target_shape=at.outs[0].shape[2:])
        return (bind(op, dout),)

    def cost(self, *specs: Spec) -> Cost:
        """Three products for every number."""
        out = self.infer(*specs)
        return Cost(6 * out.size, specs[0].nbytes + out.nbytes)


def _scale(height: int, width: int) -> Any:
    """What a pixel is on the scale from -1 to 1, in x and in y: (2, 1, 1)."""
    lengths = np.maximum([width - 1, height - 1], 1)
    return (2 / lengths).reshape(2, 1, 1)


def check_maps(op: str, name: str, maps: Spec) -> None:
    """Refuse what is not a batch of affine maps."""
    if maps.ndim < 2 or maps.size != 6 * maps.shape[0]:
        raise ShapeError(
            f"{op}: {name} {maps.shape} must be (N, 6): the rows of a matrix (2, 3) "
            "for each sample. Reshape it."
        )


def target(op: str, shape: Shape) -> Shape:
    """The height and width that were asked for."""
    if len(shape) != 2 or min(shape) < 1:
        raise OperatorError(
            f"{op}: target_shape={shape} must be the height and width of the output, "
            "such as (28, 28)."
        )
    return shape


@register("_backward_GridGenerator")
class GridGradient(Op):
    """The transpose of the linear part of GridGenerator.

    dout (N, 2, *target_shape); out (N, 6) for affine maps, the same shape for flows
    """

    affine: bool
    target_shape: Shape

    inputs = ("dout",)

    def infer(self, *specs: Spec) -> Spec:
        """The shape of the maps, or of the flow."""
        (dout,) = specs
        return dout.with_shape((dout.shape[0], 6)) if self.affine else dout

    def kernel(self, *specs: Spec) -> Kernel:
        """See `GridGenerator`."""
        height, width = self.target_shape
        dtype = computing(specs[0].dtype)
        corners = _corners(height, width).astype(dtype)
        scale = _scale(height, width).astype(dtype)

        def run(dout: Any, out: Any) -> None:
            if self.affine:
                heads = dout.reshape(-1, height * width)
                np.matmul(heads, corners.T, out=out.reshape(-1, 3))
            else:
                np.multiply(dout, scale, out=out)

        return with_half(run, specs)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """The linear part; for flows, which are only scaled, this again."""
        if not self.affine:
            return (bind(self, dout),)
        op = GridGenerator.of(transform_type="affine", target_shape=self.target_shape)
        return (bind(op, dout),)

    cost = per_element(6, 1)


class Looking(Op):
    """What looks at places of an image that a grid tells."""

    def look(self, data: Spec, grid: Spec) -> Kernel:
        """`kernel(data, grid, out, places)`; places: as many numbers as the grid."""
        samples, channels, height, width = data.shape
        sample = find("sampling.sample")

        def kernel(data: Any, grid: Any, out: Any, places: Any) -> None:
            y, x = places.view(grid.dtype).reshape(2, samples, -1)
            seen = grid.reshape(samples, 2, -1)
            half = grid.dtype.type((height - 1) / 2), grid.dtype.type((width - 1) / 2)
            np.multiply(seen[:, 1] + 1, half[0], out=y)
            np.multiply(seen[:, 0] + 1, half[1], out=x)
            sample(data, y, x, False, out.reshape(samples, channels, -1))

        return kernel

    def gradients(
        self, data: Spec, grid: Spec, dout: Value, values: tuple[Value, Value]
    ) -> tuple[Value, Value]:
        """The gradients of the data and of the grid."""
        samples, channels, height, width = data.shape
        half = (width - 1) / 2, (height - 1) / 2  # of x, of y
        joined = flat(values[1], grid.shape)
        line = (samples, 2, grid.shape[2] * grid.shape[3])

        def places(k: int) -> Value:
            part = lookup("slice_axis").of(axis=1, begin=k, end=k + 1)
            one = reshaped(
                bind(part, joined), (samples, 1, line[2]), (samples, line[2])
            )
            return (one + 1) * half[k]

        x, y = places(0), places(1)
        op = SampleGradient.of(sharp=False, shape=data.shape)
        head = flat(dout, (samples, channels, *grid.shape[2:]))
        ddata, dy, dx = bind(op, head, values[0], y, x)
        dgrid = bind(lookup("stack").of(axis=1), dx * half[0], dy * half[1])
        return ddata, reshaped(dgrid, line, grid.shape)


@register("BilinearSampler")
class BilinearSampler(Looking):
    """Read an image at the positions that a grid names, between its pixels.

    data (N, C, H, W): images; grid (N, 2, H', W'): x, then y, on a scale on which the
    image reaches from -1 to 1; out (N, C, H', W')

    Each number is interpolated between four pixels; outside the image there is 0.
    Gradients flow to the pixels and to the grid. cudnn_off has no effect. Raises
    ShapeError for other shapes. PyTorch's `grid_sample` with align_corners=True, but
    for the order of axes.
    """

    cudnn_off: bool | None = None

    inputs = ("data", "grid")
    saves = ("data", "grid")

    def infer(self, *specs: Spec) -> Spec:
        """The channels of the data, in the shape of the grid."""
        data, grid = specs
        same_reals(self.name, self.inputs, *specs)
        fits = data.ndim == grid.ndim == 4 and grid.shape[1] == 2
        if not fits or data.shape[0] != grid.shape[0]:
            raise ShapeError(
                f"BilinearSampler: data {data.shape} must be (N, C, H, W), and grid "
                f"{grid.shape} (N, 2, H', W') with as many samples. GridGenerator "
                "makes such grids."
            )
        return data.with_shape((*data.shape[:2], *grid.shape[2:]))

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.operators.kernels.images.sampling`."""
        run = self.look(*specs)
        return with_half(run, specs)

    def workspace(self, *specs: Spec) -> int:
        """Room for the grid, counted in pixels."""
        return specs[1].size * computing(specs[1].dtype).itemsize

    def grad(self, at: GradContext, dout: Any, data: Value, grid: Value) -> Gradients:
        """One operator for both."""
        return self.gradients(at.ins[0], at.ins[1], dout, (data, grid))

    def cost(self, *specs: Spec) -> Cost:
        """A surface through four pixels for every number."""
        out = self.infer(*specs)
        return Cost(12 * out.size, 5 * out.nbytes + specs[1].nbytes)


@register("SpatialTransformer")
class SpatialTransformer(Looking):
    """Look at an image through affine maps: GridGenerator, then BilinearSampler.

    data (N, C, H, W): images; loc (N, 6): for each sample a matrix (2, 3) that maps x,
    y, 1 of the output to x, y of the image, both on a scale from -1 to 1
    out (N, C, *target_shape)

    target_shape: height and width of the output. transform_type must be 'affine' and
    sampler_type 'bilinear'; cudnn_off has no effect. Gradients flow to data and loc.
    Raises OperatorError for other settings, ShapeError for other shapes.
    """

    target_shape: Shape = (0, 0)
    transform_type: str = "affine"
    sampler_type: str = "bilinear"
    cudnn_off: bool | None = None

    inputs = ("data", "loc")
    saves = ("data", "loc")

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.transform_type, self.sampler_type) != ("affine", "bilinear"):
            raise OperatorError(
                f"SpatialTransformer: transform_type={self.transform_type!r} and "
                f"sampler_type={self.sampler_type!r}: only 'affine' and 'bilinear' "
                "exist. GridGenerator and BilinearSampler do more."
            )

    def complete(self, data: Spec) -> dict[str, Shape]:
        """Six numbers for each sample."""
        return {"loc": (data.shape[0], 6)}

    @property
    def generator(self) -> GridGenerator:
        """What makes the grid."""
        return GridGenerator.of(transform_type="affine", target_shape=self.target_shape)

    def infer(self, *specs: Spec) -> Spec:
        """The channels of the data, in the wanted shape."""
        data, loc = specs
        same_reals(self.name, self.inputs, *specs)
        if data.ndim != 4:
            raise ShapeError(
                f"SpatialTransformer: data {data.shape} must be (N, C, H, W)."
            )
        why = f"data {data.shape}"
        expect(self.name, "loc", loc, self.complete(data)["loc"], why)
        wanted = target(self.name, self.target_shape)
        return data.with_shape((*data.shape[:2], *wanted))

    def kernel(self, *specs: Spec) -> Kernel:
        """The kernels of both, one after the other."""
        data, loc = (spec.with_dtype(computing(spec.dtype)) for spec in specs)
        grid = self.generator.infer(loc)
        generate, look = self.generator.kernel(loc), self.look(data, grid)

        def run(data: Any, loc: Any, out: Any, workspace: Any) -> None:
            made = workspace[: grid.nbytes].view(data.dtype).reshape(grid.shape)
            generate(loc, made)
            look(data, made, out, workspace[grid.nbytes :])

        return with_half(run, specs)

    def workspace(self, *specs: Spec) -> int:
        """Room for the grid, twice."""
        grid = self.generator.infer(specs[1])
        return 2 * grid.size * computing(grid.dtype).itemsize

    def grad(self, at: GradContext, dout: Any, data: Value, loc: Value) -> Gradients:
        """Through the sampler, then through the generator."""
        grid = self.generator.infer(at.ins[1])
        values = data, bind(self.generator, loc)
        ddata, dgrid = self.gradients(at.ins[0], grid, dout, values)
        op = GridGradient.of(affine=True, target_shape=self.target_shape)
        return ddata, bind(op, dgrid)

    def cost(self, *specs: Spec) -> Cost:
        """That of both."""
        out = self.infer(*specs)
        return Cost(12 * out.size, 5 * out.nbytes) + self.generator.cost(specs[1])
