"""How layers run on CUDA: products, normalization, dropout, softmax and losses.

They compute in float32 and float64; half precision goes through float32 (`half`).
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from minimx.core.kernels.formula import Formula
from minimx.core.operators.nn import decisions_of
from minimx.core.operators.norm import grouped
from minimx.core.ops.registry import Kernel
from minimx.core.ops.spec import Spec
from minimx.core.shapes import split_at
from minimx.cuda.kernels import pointwise, scratch
from minimx.cuda.kernels.core import dropout, matmul, norm, random, reduce, softmax
from minimx.cuda.kernels.default_launch import numeric, real, real_first
from minimx.cuda.launches import implements
from minimx.cuda.launches.core.elementwise import cast, chosen

_SUM = Formula("a + b", ("a", "b"))
_AWAY = Formula("(y - label) * scale", ("label", "y", "scale"))


@implements("dot", "batch_dot", types=numeric)
def product(op: Any, *specs: Spec) -> Kernel | None:
    """A product of two matrices, or of two stacks of them."""
    a, b, out, _ = op.matrices(*specs)
    ta, tb = op.transpose_a, op.transpose_b
    return lambda x, y, z: matmul.product(
        x.reshape(*a), y.reshape(*b), z.reshape(*out), ta, tb
    )


@implements("FullyConnected", types=real)
def dense(op: Any, data: Spec, *others: Spec) -> Kernel | None:
    """A product with the transposed weight, then the bias on every row."""
    (rows, features), hidden = op.rows(data), op.num_hidden
    whole, dtype = (rows, hidden), data.dtype
    add = pointwise.kernel(_SUM, [whole, (hidden,)], [dtype] * 2, whole, dtype)

    def run(data: Any, weight: Any, *rest: Any) -> None:
        *bias, out = rest
        out = out.reshape(rows, hidden)
        x, w = data.reshape(rows, features), weight.reshape(hidden, features)
        matmul.product(x, w, out, False, True)
        if bias and add is not None:
            add(out, bias[0], out)

    return run


# -- normalization and dropout ---------------------------------------------------------


@implements("BatchNorm", types=real)
def batch_norm(op: Any, data: Spec, gamma: Spec, *others: Spec) -> Kernel | None:
    """The batch's statistics or the moving ones, then one pass."""
    shape, batch, fixed = grouped(data, op.axis), op.batch, op.fix_gamma
    one = pointwise.filler(gamma.dtype.type(1))

    def run(
        data: Any, gamma: Any, beta: Any, moving_mean: Any, moving_var: Any,
        out: Any, mean: Any, invstd: Any,
    ) -> None:  # fmt: skip
        if fixed:
            one(gamma)
        moving = moving_mean, moving_var
        if batch:
            numbers = op.eps, op.momentum
            norm.batch_moments(data, shape, *numbers, mean, invstd, *moving)
        else:
            norm.statistics(*moving, op.eps, mean, invstd)
        norm.batch_apply(data, shape, gamma, beta, mean, invstd, out, fixed)

    return run


@implements("_batch_norm_again", types=real)
def batch_norm_again(op: Any, data: Spec, *others: Spec) -> Kernel | None:
    """The second half of BatchNorm."""
    shape, fixed, relu = grouped(data, op.axis), op.fix_gamma, op.relu
    apply: Any = norm.batch_apply
    return lambda data, *rest: apply(data, shape, *rest, fixed, relu)


@implements("_backward_BatchNorm", types=real)
def batch_norm_gradient(op: Any, *specs: Spec) -> Kernel | None:
    """Sums over each channel, then one pass."""
    shape, fixed, batch = grouped(specs[1], op.axis), op.fix_gamma, op.batch
    zero = pointwise.filler(specs[2].dtype.type(0))

    def run(dout: Any, data: Any, *rest: Any) -> None:
        *gammas, mean, invstd, ddata, dgamma, dbeta = rest
        gamma = mean if fixed else gammas[0]
        statistics = gamma, mean, invstd, batch, fixed
        norm.batch_gradient(dout, data, shape, *statistics, ddata, dgamma, dbeta)
        if fixed:
            zero(dgamma)

    return run


@implements("Dropout", types=real)
def drop(op: Any, data: Spec) -> Kernel | None:
    """A bit for every element, then a product."""
    if not op.drops:
        return pointwise.converted(data.size, data.dtype, data.dtype)
    apply: Any = masked(op, data)
    keep = 1 - op.p

    def run(data: Any, out: Any, bits: Any, rng: Any) -> None:
        dropout.draw(rng, bits, keep)
        apply(data, bits, out)

    return run


@implements("_mask_Dropout")
def masked(op: Any, data: Spec, *bits: Spec) -> Kernel | None:
    """The launch (data, bits, out), for a bit each or shared ones."""
    if not real(data):
        return None
    shape, decisions = data.shape, decisions_of(data.shape, op.axes)
    scale = data.dtype.type(op.scale)
    if np.isinf(op.scale):  # nothing is kept: 0 times an infinite scale
        fill = pointwise.filler(data.dtype.type(np.nan))
        return lambda data, bits, out: fill(out)
    if decisions == shape:
        return lambda data, bits, out: dropout.apply(data, bits, scale, out)
    sizes = shape, decisions
    return lambda data, bits, out: dropout.apply_shared(data, bits, scale, out, *sizes)


# -- softmax and losses ----------------------------------------------------------------


@implements("softmax", "log_softmax", "softmin", types=numeric)
def soft(op: Any, *specs: Spec) -> Kernel | None:
    """Along one axis, whole or up to a length; in another type, converted first."""
    data, out = specs[0], op.infer(*specs)
    cast: Any = pointwise.converted(data.size, data.dtype, out.dtype)
    if not real(out) or cast is None:
        return None
    shape, scale = split_at(data.shape, op.axis % data.ndim), out.dtype.type(op.scale)
    other = out.dtype != data.dtype

    def run(data: Any, *rest: Any) -> None:
        *limits, out = rest
        if other:
            cast(data, out)
        x = (out if other else data).reshape(*shape)
        softmax.softmax(x, scale, op.log, out.reshape(*shape), *limits)

    return run


@implements("_backward_softmax", types=real)
def soft_gradient(op: Any, dout: Spec, *others: Spec) -> Kernel | None:
    """From the output and its gradient."""
    shape = split_at(dout.shape, op.axis % dout.ndim)
    scale = dout.dtype.type(op.scale)

    def run(dout: Any, y: Any, out: Any) -> None:
        arrays = dout.reshape(*shape), y.reshape(*shape)
        softmax.softmax_gradient(*arrays, scale, op.log, out.reshape(*shape))

    return run


@implements("SoftmaxOutput")
def output(op: Any, data: Spec, *label: Spec) -> Kernel | None:
    """Softmax; the label is for the gradient."""
    if not real(data):
        return None
    shape, one = op.groups(data), data.dtype.type(1)

    def run(data: Any, label: Any, out: Any) -> None:
        softmax.softmax(data.reshape(*shape), one, False, out.reshape(*shape))

    return run


@implements("_backward_SoftmaxOutput")
def output_gradient(op: Any, label: Spec, y: Spec) -> Kernel | None:
    """Softmax minus label."""
    settings, skipped = op.forward, None
    scale = float(settings.grad_scale)
    if not real_first(y, label):
        return None
    if label.shape == y.shape:
        return pointwise.broadcast(_AWAY, (label, y), y, scale)
    shape = groups, _, inner = settings.groups(y)
    if settings.normalization == "valid":
        skipped = int(settings.ignore_label)
    elif settings.multi_output:
        scale /= inner
    if settings.normalization == "batch":
        scale /= groups
    ignored = float(settings.ignore_label if settings.use_ignore else np.nan)
    smooth = 0.0 if settings.multi_output else float(settings.smooth_alpha)

    def run(label: Any, y: Any, out: Any) -> None:
        arrays = y.reshape(*shape), label.reshape(-1)
        target = out.reshape(*shape)
        softmax.output_gradient(*arrays, ignored, smooth, target, scale, skipped)

    return run


# -- normalization within samples ------------------------------------------------------


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
