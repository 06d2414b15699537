"""How layers run on CUDA: products, convolution, pooling, normalization, losses.

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
from minimx.cuda.kernels import pointwise
from minimx.cuda.kernels.core import dropout, matmul, norm, softmax
from minimx.cuda.launches import implements

_SUM = Formula("a + b", ("a", "b"))
_SAME = Formula("x", ("x",))
_AWAY = Formula("(y - label) * scale", ("label", "y", "scale"))


def real(*specs: Spec) -> bool:
    """Whether all are of one of the two types that the kernels compute in."""
    return all(spec.dtype.kind == "f" and spec.dtype.itemsize >= 4 for spec in specs)


def known(*specs: Spec) -> bool:
    """Whether kernels can read all of these: whole numbers, or real ones of a word."""
    return all(spec.dtype.kind in "iu" or real(spec) for spec in specs)


@implements("dot", "batch_dot")
def product(op: Any, *specs: Spec) -> Kernel | None:
    """A product of two matrices, or of two stacks of them."""
    if not known(*specs):
        return None
    a, b, out, _ = op.matrices(*specs)
    ta, tb = op.transpose_a, op.transpose_b
    return lambda x, y, z: matmul.product(
        x.reshape(*a), y.reshape(*b), z.reshape(*out), ta, tb
    )


@implements("FullyConnected")
def dense(op: Any, *specs: Spec) -> Kernel | None:
    """A product with the transposed weight, then the bias on every row."""
    if not real(*specs):
        return None
    (rows, features), hidden = op.rows(specs[0]), op.num_hidden
    flat, dtype = (rows, hidden), specs[0].dtype
    add = pointwise.kernel(_SUM, [flat, (hidden,)], [dtype] * 2, flat, dtype)

    def run(data: Any, weight: Any, *rest: Any) -> None:
        *bias, out = rest
        out = out.reshape(rows, hidden)
        x, w = data.reshape(rows, features), weight.reshape(hidden, features)
        matmul.product(x, w, out, False, True)
        if bias and add is not None:
            add(out, bias[0], out)

    return run


# -- normalization and dropout ---------------------------------------------------------


@implements("BatchNorm")
def batch_norm(op: Any, *specs: Spec) -> Kernel | None:
    """The batch's statistics or the moving ones, then one pass."""
    if not real(*specs):
        return None
    shape, batch, fixed = grouped(specs[0], op.axis), op.batch, op.fix_gamma
    one = pointwise.filler(specs[1].dtype.type(1))

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


@implements("_batch_norm_again")
def batch_norm_again(op: Any, *specs: Spec) -> Kernel | None:
    """The second half of BatchNorm."""
    if not real(*specs):
        return None
    shape, fixed, relu = grouped(specs[0], op.axis), op.fix_gamma, op.relu
    apply: Any = norm.batch_apply
    return lambda data, *rest: apply(data, shape, *rest, fixed, relu)


@implements("_backward_BatchNorm")
def batch_norm_gradient(op: Any, *specs: Spec) -> Kernel | None:
    """Sums over each channel, then one pass."""
    if not real(*specs):
        return None
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


@implements("Dropout")
def drop(op: Any, *specs: Spec) -> Kernel | None:
    """A bit for every element, then a product."""
    (data,) = specs
    if not real(data):
        return None
    if not op.drops:
        flat = (prod(data.shape),)
        return pointwise.kernel(_SAME, [flat], [data.dtype], flat, data.dtype)
    apply, keep = _masking(data, op), 1 - op.p

    def run(data: Any, out: Any, bits: Any, rng: Any) -> None:
        dropout.draw(rng, bits, keep)
        apply(data, bits, out)

    return run


@implements("_mask_Dropout")
def mask(op: Any, *specs: Spec) -> Kernel | None:
    """The same product again."""
    return _masking(specs[0], op) if real(specs[0]) else None


def _masking(data: Spec, op: Any) -> Kernel:
    """The launch (data, bits, out), for a bit each or shared ones."""
    shape, decisions = data.shape, decisions_of(data.shape, op.axes)
    scale = data.dtype.type(op.scale)
    if np.isinf(op.scale):  # nothing is kept: 0 times an infinite scale
        fill = pointwise.filler(data.dtype.type(np.nan))
        return lambda data, bits, out: fill(out)
    if decisions == shape:
        return lambda data, bits, out: dropout.apply(data, bits, scale, out)
    ways = shape, decisions
    return lambda data, bits, out: dropout.apply_shared(data, bits, scale, out, *ways)


# -- softmax and losses ----------------------------------------------------------------


@implements("softmax", "log_softmax", "softmin")
def soft(op: Any, *specs: Spec) -> Kernel | None:
    """Along one axis, whole or up to a length; in another type, converted first."""
    data, out = specs[0], op.infer(*specs)
    if not real(out) or not known(*specs):
        return None
    shape, scale = split_at(data.shape, op.axis % data.ndim), out.dtype.type(op.scale)
    flat, other = (data.size,), out.dtype != data.dtype
    cast = pointwise.kernel(_SAME, [flat], [data.dtype], flat, out.dtype)
    if cast is None:
        return None

    def run(data: Any, *rest: Any) -> None:
        *limits, out = rest
        if other:
            cast(data, out)
        x = (out if other else data).reshape(*shape)
        softmax.softmax(x, scale, op.log, out.reshape(*shape), *limits)

    return run


@implements("_backward_softmax")
def soft_gradient(op: Any, *specs: Spec) -> Kernel | None:
    """From the output and its gradient."""
    if not real(*specs):
        return None
    shape = split_at(specs[0].shape, op.axis % specs[0].ndim)
    scale = specs[0].dtype.type(op.scale)

    def run(dout: Any, y: Any, out: Any) -> None:
        arrays = dout.reshape(*shape), y.reshape(*shape)
        softmax.softmax_gradient(*arrays, scale, op.log, out.reshape(*shape))

    return run


@implements("SoftmaxOutput")
def output(op: Any, *specs: Spec) -> Kernel | None:
    """Softmax; the label is for the gradient."""
    data = specs[0]
    if not real(data):
        return None
    shape, one = op.groups(data), data.dtype.type(1)

    def run(data: Any, label: Any, out: Any) -> None:
        softmax.softmax(data.reshape(*shape), one, False, out.reshape(*shape))

    return run


@implements("_backward_SoftmaxOutput")
def output_gradient(op: Any, *specs: Spec) -> Kernel | None:
    """Softmax minus label."""
    label, y = specs
    if not real(y) or not known(label):
        return None
    if label.shape == y.shape:
        return _of_probabilities(op.forward, label, y)
    settings, skipped = op.forward, None
    shape = groups, _, inner = settings.groups(y)
    scale = float(settings.grad_scale)
    if settings.normalization == "valid":
        skipped = int(settings.ignore_label)
    elif settings.multi_output:
        scale /= inner
    if settings.normalization == "batch":
        scale /= groups
    ignored = float(settings.ignore_label if settings.use_ignore else np.nan)
    smooth = 0.0 if settings.multi_output else float(settings.smooth_alpha)
    numbers = ignored, smooth

    def run(label: Any, y: Any, out: Any) -> None:
        labels, place = label.reshape(-1), out.reshape(*shape)
        probabilities = y.reshape(*shape)
        arrays = probabilities, labels
        softmax.output_gradient(*arrays, *numbers, place, scale, skipped)

    return run


def _of_probabilities(settings: Any, label: Spec, y: Spec) -> Kernel | None:
    shapes, dtypes = [label.shape, y.shape], [label.dtype, y.dtype]
    numbers = (float(settings.grad_scale),)
    return pointwise.kernel(_AWAY, shapes, dtypes, y.shape, y.dtype, numbers)


@implements("softmax_cross_entropy")
def cross_entropy(op: Any, *specs: Spec) -> Kernel | None:
    """The sum over the rows."""
    data, label = specs
    return softmax.cross_entropy if real(data) and known(label) else None
