"""Launches of what prepares images and resizes them, and of reading between pixels.

Random numbers are drawn on the host, as the CPU's kernels draw them, and travel with
the launch: from one state of a generator come the same changes on every device.
"""

from __future__ import annotations

from typing import Any

from minimx.core.dtypes import FLOAT32, NARROW
from minimx.core.kernels.formula import Formula
from minimx.core.kernels.half import computing
from minimx.core.ops.registry import Kernel, bind, lookup
from minimx.core.ops.spec import Spec
from minimx.cuda.kernels import launching, pointwise, scratch
from minimx.cuda.kernels.arrays import places
from minimx.cuda.kernels.arrays.places import held
from minimx.cuda.kernels.core import matmul
from minimx.cuda.kernels.core.shape import strides
from minimx.cuda.kernels.default_launch import real
from minimx.cuda.kernels.images import colours, images, resample, sampling
from minimx.cuda.kernels.pointwise import SAME
from minimx.cuda.launches import found, implements
from minimx.cuda.launches.composed import call, shaped
from minimx.cuda.launches.composing import composed, maker
from minimx.cuda.launches.core.shape import table
from minimx.operators.arrays.join import Pad
from minimx.operators.images.transformer import _corners, _scale
from minimx.operators.layers.deformable import DeformedPlaces
from minimx.operators.numpy.np_join import NumpyPad

_SHARE = Formula("x / most", ("x", "most"))
_CENTRED = Formula("(x - mean) / std", ("x", "mean", "std"))


def _read(spec: Spec) -> bool:
    """Whether kernels read such images as they are."""
    return spec.dtype.kind in "iuf" and spec.dtype not in NARROW


@implements("_image_to_tensor")
def tensor(op: Any, data: Spec) -> Kernel | None:
    """A transposition that converts, then a division."""
    if data.dtype.kind not in "iuf" and data.dtype not in NARROW:
        return None
    out = op.infer(data)
    *before, height, width, channels = data.shape
    steps = strides(data.shape)
    lengths = [width, height, channels, *before]
    ins = [steps[-2], steps[-3], steps[-1], *steps[:-3]]
    outs = [*reversed(strides(out.shape)[-3:]), *strides(out.shape)[:-3]]
    moves = list(zip(ins, outs, strict=True))
    turn = pointwise.over_strides(
        SAME, (data.dtype,), FLOAT32, "??", (0, 0), lengths, moves
    )
    share: Any = pointwise.elementwise(_SHARE, out.size, [FLOAT32], FLOAT32, 255.0)

    def run(x: Any, y: Any) -> None:
        turn(x, y)
        share(y, y)

    return run


@implements("_image_normalize")
def normalized(op: Any, data: Spec) -> Kernel | None:
    """A formula with a mean and a deviation for each channel."""
    kind = computing(data.dtype)
    columns = [column.astype(kind) for column in op._columns(data.shape[-3])]
    specs = [data, *(Spec.of(column.shape, kind) for column in columns)]
    move: Any = pointwise.broadcast(_CENTRED, specs, data)
    mean, std = map(held, columns)
    return lambda x, out: move(x, mean(), std(), out)


@implements("_image_random_flip_left_right", "_image_random_flip_top_bottom")
def flipped(op: Any, data: Spec) -> Kernel | None:
    """A coin, then a gather or a copy."""
    other = lookup(op.name.replace("random_", "")).of()
    flip = found(other, (data,), (data,))
    if flip is None:
        return None

    def run(x: Any, out: Any, rng: Any) -> None:
        change = launching.duplicate if rng.random() < 0.5 else flip
        change(x, out)

    return run


@implements("_image_resize", types=_read)
def resized(op: Any, data: Spec) -> Kernel | None:
    """Rows and columns, one after the other."""
    return images.resize(data.shape, op.infer(data).shape, op.interp, data.dtype)


@implements(
    *("_image_random_brightness", "_image_random_contrast", "_image_random_saturation"),
    *("_image_random_hue", "_image_random_color_jitter", "_image_random_lighting"),
    "_image_adjust_lighting",
    types=_read,
)
def coloured(op: Any, data: Spec) -> Kernel | None:
    """One change after the other; each result is put into the type of data."""

    def run(x: Any, out: Any, rng: Any = None) -> None:
        changes = [(function.__name__, number) for function, number in op.steps(rng)]
        with scratch.allocated((data.shape, data.dtype)) as (buffer,):
            # The last change writes into `out`; those before it take turns.
            for k, (name, number) in enumerate(changes):
                target = buffer if (len(changes) - k) % 2 == 0 else out
                getattr(colours, name)(x, number, target)
                x = target
            if not changes:
                launching.duplicate(x, out)

    return run


_FLOW = Formula("x * scale + at", ("x", "scale", "at"))
_SCALED = Formula("x * scale", ("x", "scale"))


# -- another size ----------------------------------------------------------------------


@implements("_contrib_AdaptiveAvgPooling2D", "_contrib_BilinearResize2D", types=real)
def resampled(op: Any, data: Spec, *others: Spec) -> Kernel | None:
    """Rows, then columns."""
    tables = op.tables(data.shape[2:], op.infer(data, *others).shape[2:])
    launch = resample.gather(data.shape, tables, data.dtype)
    return lambda *arrays: launch(arrays[0], arrays[-1])


@implements("_backward_resample", types=real)
def resampled_gradient(op: Any, dout: Spec) -> Kernel | None:
    """Columns, then rows."""
    tables = op.forward.tables(op.shape[2:], dout.shape[2:])
    return resample.spread(op.shape, tables, dout.dtype)


@composed("UpSampling")
def larger(op: Any, *data: Any) -> Any:
    """Pixels that are stretched, side by side or added up; or a convolution."""
    if op.sample_type == "bilinear":
        return bind(op._spreading(data[0].spec), *data)
    samples, _, height, width = op.infer(*[x.spec for x in data]).shape
    parts = []
    for x in data:
        _, channels, rows, columns = x.spec.shape
        seen = shaped(x, (samples, channels, rows, 1, columns, 1))
        whole = samples, channels, rows, height // rows, columns, width // columns
        stretched = call("broadcast_to", seen, shape=whole)
        parts.append(shaped(stretched, (samples, channels, height, width)))
    if op.multi_input_mode == "concat":
        return call("Concat", *parts, dim=1) if len(parts) > 1 else parts[0]
    return call("add_n", *parts) if len(parts) > 1 else parts[0]


@implements("_backward_Pad", "_backward_npi_pad", types=real)
def unpadded(op: Any, dout: Spec) -> Kernel | None:
    """To every element what padding made of it, added up."""
    inside = op.infer(dout)
    forward: Any = Pad if op.name == "_backward_Pad" else NumpyPad
    pad = forward.of(mode=op.mode, pad_width=op.pad_width)
    found = table(pad, (inside,), dout)
    return None if found is None else places.added(found[0], inside.size)


# -- points between pixels -------------------------------------------------------------


@implements("GridGenerator", types=real)
def grid(op: Any, data: Spec) -> Kernel | None:
    """A product with the points of the pixels, or a sum with them."""
    whole = op.infer(data)
    pixels, corners, scales = _tables(whole, data)
    if op.is_affine:
        return lambda maps, out: matmul.product(
            maps.reshape(-1, 3), corners(), out.reshape(-1, pixels)
        )
    factor, first = data.with_shape((2, 1, 1)), data.with_shape((2, *whole.shape[2:]))
    move: Any = pointwise.broadcast(_FLOW, (whole, factor, first), whole)

    def warp(flow: Any, out: Any) -> None:
        move(flow, scales(), corners().reshape(-1)[: 2 * pixels], out)

    return warp


@implements("_backward_GridGenerator", types=real)
def grid_gradient(op: Any, dout: Spec) -> Kernel | None:
    """The transposed product, or the scales."""
    pixels, corners, scales = _tables(dout, dout)
    if op.affine:
        return lambda heads, out: matmul.product(
            heads.reshape(-1, pixels), corners(), out.reshape(-1, 3), tb=True
        )
    scale: Any = pointwise.broadcast(_SCALED, (dout, dout.with_shape((2, 1, 1))), dout)
    return lambda heads, out: scale(heads, scales(), out)


def _tables(whole: Spec, data: Spec) -> tuple[int, Any, Any]:
    """How many pixels a grid has, their points, and the scales of a flow."""
    image = whole.shape[2:]
    corners, scales = (
        held(make(*image).astype(data.dtype)) for make in (_corners, _scale)
    )
    return image[0] * image[1], corners, scales


def _looked(data: Any, seen: Any) -> Any:
    """The image at the points of a grid."""
    samples, channels, height, width = data.spec.shape
    rows, columns = seen.spec.shape[2:]
    count, half = rows * columns, ((width - 1) / 2, (height - 1) / 2)
    joined = shaped(seen, (samples, 2, count))

    def along(k: int) -> Any:
        part = call("slice_axis", joined, axis=1, begin=k, end=k + 1)
        return (shaped(part, (samples, count)) + 1) * half[k]

    found = call("_sample_pixels", data, along(1), along(0), sharp=False)
    return shaped(found, (samples, channels, rows, columns))


@composed("BilinearSampler")
def looked(op: Any, data: Any, seen: Any) -> Any:
    """Points in pixels, then what is there."""
    return _looked(data, seen)


@composed("SpatialTransformer")
def transformed(op: Any, data: Any, loc: Any) -> Any:
    """A grid, then the sampler."""
    return _looked(data, bind(op.generator, loc))


# -- taps that are moved ---------------------------------------------------------------


@implements("_deformed_places", types=real)
def moved_taps(op: Any, offset: Spec) -> Kernel | None:
    """A sum for each tap at each stop."""
    found = op.conv.lengths(offset.with_shape(op.data))
    _, kernel, stride, dilate, pad, stops = found
    settings = tuple(kernel), stops[1], (*stride, *dilate, *pad)
    return lambda *arrays: sampling.deform(*settings, *arrays)


def _bent(op: Any, data: Any, offset: Any, *rest: Any) -> Any:
    """What the moved taps see, then a convolution with windows of one pixel."""
    image, seen = data.spec, op.columns(data.spec)
    moved = DeformedPlaces.of(conv=op.conv(image), data=image.shape)
    y, x = bind(moved, offset)
    groups, count = y.spec.shape
    images = groups, image.shape[1] // op.num_deformable_group, *image.shape[2:]
    taps = call("_sample_pixels", shaped(data, images), y, x, sharp=op.sharp)
    if len(op.moving) > 1:
        taps = taps * shaped(rest[0], (groups, 1, count))
    weight, *bias = rest[len(op.moving) - 1 :]
    matrix = op.num_filter, seen.shape[1] // op.num_group, 1, 1
    inner = op.inner(op.no_bias)
    return bind(inner, shaped(taps, seen.shape), shaped(weight, matrix), *bias)


@implements("_contrib_DeformableConvolution", "_contrib_ModulatedDeformableConvolution")
def bent(op: Any, *specs: Spec) -> Kernel | None:
    """Sample by sample: what all taps of one see is a large array already."""
    own, samples = 1 + len(op.moving), specs[0].shape[0]
    ones = (spec.with_shape((1, *spec.shape[1:])) for spec in specs[:own])
    launch = maker(_bent)(op, *ones, *specs[own:])
    if launch is None:
        return None

    def run(*arrays: Any) -> None:
        *given, out = arrays
        for n in range(samples):
            one = [x[n : n + 1] for x in given[:own]]
            launch(*one, *given[own:], out[n : n + 1])

    return run
