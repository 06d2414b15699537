"""Launches of what slides windows over images: convolution, pooling, columns.

They compute in float32 and float64; half precision goes through float32 (`half`).
"""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

from minimx.core.kernels.convolution import DATA, FORWARD, WEIGHT, Algorithm
from minimx.core.kernels.formula import Formula
from minimx.core.ops.registry import Kernel
from minimx.core.ops.spec import Spec
from minimx.cuda.kernels import pointwise, scratch
from minimx.cuda.kernels.core import conv, pooling, shape
from minimx.cuda.kernels.default_launch import real
from minimx.cuda.kernels.layers import columns, volumes
from minimx.cuda.launches import implements
from minimx.fast.convolution import tuner
from minimx.fast.convolution.choosing import decided

#: What pooling with p-th powers does before and after it adds up.
_POWERS = {2: Formula("x * x", ("x",)), 3: Formula("x * x * x", ("x",))}
_ROOTS = {2: Formula("sqrt(x)", ("x",)), 3: Formula("cbrt(x)", ("x",))}


def algorithm(conv: Any, direction: str, data: Spec) -> Algorithm:
    """The algorithm of CUDA devices that the knobs and the tuner choose."""
    rules, at, dtype = conv.for_device("gpu").question(direction, data)
    rules = tuner.as_on_cuda(rules)
    return decided(tuner.choose(direction, at, dtype, rules)).algorithm


def _runner(op: Any, direction: str, data: Spec) -> Kernel:
    """The launch of a direction, for volumes that of their slices."""
    found, at, depth = algorithm(op, direction, data), op.geometry(data), op.depth(data)
    kernels: Any = conv if depth is None else volumes
    names = {DATA: kernels.data_gradient, WEIGHT: kernels.weight_gradient}
    make = names.get(direction, kernels.forward)
    launch: Kernel = make(found, at) if depth is None else make(found, at, depth)
    return launch


@implements("Convolution", types=real)
def convolution(op: Any, data: Spec, *others: Spec) -> Kernel | None:
    """Lines, images and volumes."""
    run, biased = _runner(op, FORWARD, data), not op.no_bias

    def launch(data: Any, weight: Any, *rest: Any) -> None:
        run(data, weight, rest[0] if biased else None, rest[-1])

    return launch


@implements("_backward_Convolution_data", types=real)
def convolution_data(op: Any, dout: Spec, weight: Spec) -> Kernel | None:
    """The gradient of the data."""
    return _runner(op.conv, DATA, dout.with_shape(op.shape))


@implements("_backward_Convolution_weight", types=real)
def convolution_weight(op: Any, dout: Spec, data: Spec) -> Kernel | None:
    """The gradients of weight and bias."""
    run, biased = _runner(op.conv, WEIGHT, data), not op.conv.no_bias

    def launch(dout: Any, data: Any, dweight: Any, *rest: Any) -> None:
        run(dout, data, dweight, rest[0] if biased else None)

    return launch


# -- pooling ---------------------------------------------------------------------------


@implements("Pooling", types=real)
def pool(op: Any, data: Spec) -> Kernel | None:
    """Largest, mean, sum and norm; with channels last, between two transpositions."""
    seen = op.channels_second(data)
    p = op.p_value or 1
    pools: Any = pooling.max_pool if op.is_max else pooling.average_pool
    run: Kernel = partial(_before_windows, pools, op.windows(seen))
    if op.pool_type == "lp" and p > 1:
        run = _powered(run, seen, p)
    return _turned(run, op, seen) if op.is_last else run


def _before_windows(kernel: Any, at: Any, *arrays: Any) -> None:
    """Call a kernel whose last argument, behind the arrays, is its windows."""
    kernel(*arrays, at)


def _powered(run: Kernel, data: Spec, p: int) -> Kernel:
    """Powers first, and roots of what comes out."""
    dtype = data.dtype
    power: Any = pointwise.elementwise(_POWERS[p], data.size, [dtype], dtype)

    def launch(x: Any, out: Any) -> None:
        root: Any = pointwise.elementwise(_ROOTS[p], out.size, [dtype], dtype)
        with scratch.allocated((data.size, dtype)) as (powers,):
            power(x, powers)
            run(powers, out)
            root(out, out)

    return launch


def _turned(run: Kernel, op: Any, seen: Spec) -> Kernel:
    """For data with channels last, of which `seen` has them second."""
    samples, channels, *image = seen.shape
    stops = op.sizes(seen)[-1]
    axes, dtype = range(seen.ndim), seen.dtype
    forth = shape.transpose(
        (samples, *image, channels), (0, axes[-1], *axes[1:-1]), dtype
    )
    back = shape.transpose((samples, channels, *stops), (0, *axes[2:], 1), dtype)
    size = samples * channels * prod(stops)

    def launch(data: Any, out: Any, *taps: Any) -> None:
        with scratch.allocated((seen.size, dtype), (size, dtype)) as (x, y):
            forth(data, x)
            run(x, y, *taps)
            back(y, out)

    return launch


@implements("_backward_Pooling", "_backward_Pooling_avg")
def pool_gradient(op: Any, dout: Spec, *taps: Spec) -> Kernel | None:
    """To the pixel that won, or shared out."""
    if not real(dout):
        return None
    kernel: Any = pooling.max_spread if taps else pooling.average_spread
    return partial(_before_windows, kernel, op.pool.windows(op.image(dout)))


@implements("_pick_Pooling")
def pool_pick(op: Any, ddata: Spec, *taps: Spec) -> Kernel | None:
    """From the pixel that won."""
    if not real(ddata):
        return None
    return partial(_before_windows, pooling.max_pick, op.pool.windows(ddata))


# -- columns ---------------------------------------------------------------------------


@implements("im2col", types=real)
def unfolded(op: Any, data: Spec) -> Kernel | None:
    """A copy for each element of a column."""
    return _columns(op, columns.unfold, data.shape[2:])


@implements("col2im", types=real)
def folded(op: Any, data: Spec) -> Kernel | None:
    """A sum for each pixel."""
    return _columns(op, columns.fold, op.output_size)


def _columns(op: Any, make: Any, image: Any) -> Kernel:
    launch: Kernel = make(image, op.stops(image), op.steps(len(image)))
    return launch
