"""Launches of normalization within samples, and of layers beside the main ones."""

from __future__ import annotations

from math import prod
from typing import Any

from minimx.core.kernels.formula import Formula
from minimx.core.ops.registry import Kernel
from minimx.core.ops.spec import Spec
from minimx.cuda.kernels import pointwise, scratch
from minimx.cuda.kernels.core import norm, random, reduce
from minimx.cuda.kernels.default_launch import real
from minimx.cuda.launches import implements
from minimx.cuda.launches.core.elementwise import cast, chosen
from minimx.cuda.launches.core.nn import batch_norm

_SLOPED = Formula("where(x > 0, x, x * slope)", ("x", "slope"))
_POSITIVE = Formula("maximum(x, 0)", ("x",))
_VARIANCE = Formula("1 / (x * x) - eps", ("x", "eps"))
_AVERAGE = Formula("share * a + rest * b", ("a", "b", "share", "rest"))


@implements("GroupNorm", "InstanceNorm", types=real)
def group_norm(op: Any, data: Spec, *others: Spec) -> Kernel | None:
    """A block for every group of every sample."""
    samples, groups, length = op.seen(data)
    shape, normalize = (samples * groups, length), norm.group_norm
    return lambda data, gamma, beta, *outs: normalize(
        data.reshape(*shape), gamma, beta, op.eps, *outs
    )


@implements("L2Normalization", types=real)
def length(op: Any, data: Spec) -> Kernel | None:
    """A block for every vector."""
    shape = op.vectors(data)
    return lambda data, out, sizes: norm.l2_normalize(
        data.reshape(*shape), op.eps, out, sizes
    )


# -- batches, and what comes after -----------------------------------------------------


@implements("_contrib_BatchNormWithReLU")
def batch_norm_relu(op: Any, data: Spec, *others: Spec) -> Kernel | None:
    """Batch normalization, then what is positive."""
    normalize, dtype = batch_norm(op, data, *others), data.dtype
    cut = pointwise.elementwise(_POSITIVE, data.size, [dtype], dtype)
    if normalize is None or cut is None:
        return None

    def run(*arrays: Any) -> None:
        normalize(*arrays)
        cut(arrays[5], arrays[5])

    return run


@implements("_contrib_SyncBatchNorm")
def batch_norm_sync(op: Any, data: Spec, gamma: Spec, *others: Spec) -> Kernel | None:
    """Batch normalization, then the variances."""
    normalize = batch_norm(op, data, gamma, *others)
    undo = pointwise.broadcast(_VARIANCE, (gamma,), gamma, op.eps)
    if normalize is None or undo is None:
        return None

    def run(*arrays: Any) -> None:
        *most, variance, invstd = arrays
        normalize(*most, invstd)
        undo(invstd, variance)

    return run


@implements("LeakyReLU")
def leaky(op: Any, data: Spec, *others: Spec) -> Kernel | None:
    """The formula that a setting chooses; rrelu draws a slope for each element."""
    if not op.masked:
        return chosen(op, data, *others)
    if not real(data):
        return None
    dtype = data.dtype
    apply: Any = pointwise.elementwise(_SLOPED, data.size, [dtype] * 2, dtype)
    draw = random.uniform(op.lower_bound, op.upper_bound)
    fill = pointwise.filler(dtype.type((op.lower_bound + op.upper_bound) / 2))

    def run(data: Any, out: Any, slopes: Any, *rng: Any) -> None:
        draw(slopes, *rng) if rng else fill(slopes)
        apply(data, slopes, out)

    return run


@implements("IdentityAttachKLSparseReg", types=real)
def sparse(op: Any, data: Spec, average: Spec) -> Kernel | None:
    """A copy; while training, an average over the batch."""
    copy, size, own = cast(op, data, average), prod(data.shape[1:]), average.dtype
    mean = reduce.reduction("mean", (data.shape[0], size), (0,), data.dtype)
    numbers = op.momentum, 1 - op.momentum
    move = pointwise.elementwise(_AVERAGE, size, [own, data.dtype], own, *numbers)
    if copy is None or mean is None or move is None:
        return None

    def run(x: Any, average: Any, out: Any) -> None:
        if op.training:
            with scratch.allocated((size, data.dtype)) as (now,):
                mean(x, now)
                move(average, now, average)
        copy(x, average, out)

    return run
