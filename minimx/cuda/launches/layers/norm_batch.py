"""Launches that draw slopes, or change what they were given.

The gradient of a scaled loss has none: a recorded launch would keep its scale.
"""

from __future__ import annotations

from math import prod
from typing import Any

from minimx.core.kernels.formula import Formula
from minimx.core.ops.registry import Kernel
from minimx.core.ops.spec import Spec
from minimx.cuda.kernels import pointwise, scratch
from minimx.cuda.kernels.core import random, reduce
from minimx.cuda.launches import implements
from minimx.cuda.launches.core.elementwise import cast, chosen
from minimx.cuda.launches.core.nn import batch_norm, real

_SLOPED = Formula("where(x > 0, x, x * slope)", ("x", "slope"))
_POSITIVE = Formula("maximum(x, 0)", ("x",))
_VARIANCE = Formula("1 / (x * x) - eps", ("x", "eps"))
_AVERAGE = Formula("share * a + rest * b", ("a", "b", "share", "rest"))

implements("_amp_scaled_loss")(cast)


@implements("LeakyReLU")
def leaky(op: Any, *specs: Spec) -> Kernel | None:
    """The formula that a setting chooses; rrelu draws a slope for each element."""
    if not op.masked:
        return chosen(op, *specs)
    (data,) = specs
    if not real(data):
        return None
    flat, dtype = (data.size,), data.dtype
    apply = pointwise.kernel(_SLOPED, [flat] * 2, [dtype] * 2, flat, dtype)
    draw = random.uniform(op.lower_bound, op.upper_bound)
    fill = pointwise.filler(dtype.type((op.lower_bound + op.upper_bound) / 2))

    def run(data: Any, out: Any, slopes: Any, *rng: Any) -> None:
        draw(slopes, *rng) if rng else fill(slopes)
        apply(data, slopes, out)  # type: ignore[misc]

    return run


@implements("_contrib_BatchNormWithReLU")
def batch_norm_relu(op: Any, *specs: Spec) -> Kernel | None:
    """Batch normalization, then what is positive."""
    normalize, flat, dtype = batch_norm(op, *specs), (specs[0].size,), specs[0].dtype
    cut = pointwise.kernel(_POSITIVE, [flat], [dtype], flat, dtype)
    if normalize is None or cut is None:
        return None

    def run(*arrays: Any) -> None:
        normalize(*arrays)
        cut(arrays[5], arrays[5])

    return run


@implements("_contrib_SyncBatchNorm")
def batch_norm_sync(op: Any, *specs: Spec) -> Kernel | None:
    """Batch normalization, then the variances."""
    normalize, shape, dtype = batch_norm(op, *specs), specs[1].shape, specs[1].dtype
    undo = pointwise.kernel(_VARIANCE, [shape], [dtype], shape, dtype, (op.eps,))
    if normalize is None or undo is None:
        return None

    def run(*arrays: Any) -> None:
        *most, variance, invstd = arrays
        normalize(*most, invstd)
        undo(invstd, variance)

    return run


@implements("IdentityAttachKLSparseReg")
def sparse(op: Any, *specs: Spec) -> Kernel | None:
    """A copy; while training, an average over the batch."""
    data, average = specs
    if not real(*specs):
        return None
    copy = cast(op, *specs)
    count, flat = data.shape[0], (prod(data.shape[1:]),)
    mean = reduce.reduction("mean", (count, *flat), (0,), data.dtype)
    dtypes, numbers = [average.dtype, data.dtype], (op.momentum, 1 - op.momentum)
    move = pointwise.kernel(_AVERAGE, [flat] * 2, dtypes, flat, average.dtype, numbers)
    if copy is None or mean is None or move is None:
        return None

    def run(data: Any, average: Any, out: Any) -> None:
        if op.training:
            with scratch.allocated((flat, specs[0].dtype)) as (now,):
                mean(data, now)
                move(average, now, average)
        copy(data, average, out)

    return run
