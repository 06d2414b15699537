"""How optimizers change weights: one pass over the arrays for each.

Arrays are flat and of one length; `weight` and the states are changed in place. The
numbers (learning rate, weight decay, ...) are arguments of the compiled code, so a new
learning rate compiles nothing.

    g = clip(rescale * gradient, -clip, clip)      clip < 0 means: no clipping

As in MXNet, Adam and RMSProp add the weight decay before they clip, the others after.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.dtypes import NARROW
from minimx.core.kernels import threads
from minimx.core.kernels.native import select
from minimx.core.kernels.parts import dealt


@threads.jit(forceinline=True)
def scaled(gradient: Any, rescale: Any, clip: Any) -> Any:
    """The gradient as the rules want it: rescaled, then clipped."""
    g = gradient * rescale
    clipped = select(g > clip, clip, select(g < -clip, -clip, g))
    return select(clip >= 0, clipped, g)


@threads.jit(parallel=True)
def sgd(
    part: Any, weight: Any, gradient: Any, lr: Any, wd: Any, rescale: Any, clip: Any
) -> None:
    """W -= lr * (g + wd * w)."""
    for i in dealt(weight.size, part):
        w = weight[i]
        weight[i] = w - lr * (scaled(gradient[i], rescale, clip) + wd * w)


@threads.jit(parallel=True)
def sgd_mom(
    part: Any, weight: Any, gradient: Any, mom: Any,
    lr: Any, momentum: Any, wd: Any, rescale: Any, clip: Any,
) -> None:  # fmt: skip
    """M = momentum * m - lr * (g + wd * w); w += m."""
    for i in dealt(weight.size, part):
        w = weight[i]
        g = scaled(gradient[i], rescale, clip) + wd * w
        m = momentum * mom[i] - lr * g
        mom[i] = m
        weight[i] = w + m


@threads.jit(parallel=True)
def nag_mom(
    part: Any, weight: Any, gradient: Any, mom: Any,
    lr: Any, momentum: Any, wd: Any, rescale: Any, clip: Any,
) -> None:  # fmt: skip
    """Like sgd_mom, from where the momentum will have carried the weight to."""
    for i in dealt(weight.size, part):
        w = weight[i]
        g = scaled(gradient[i], rescale, clip)
        step = lr * (g + wd * w)
        m = momentum * mom[i]
        w += momentum * (m - step) - step
        weight[i] = w
        mom[i] = m - lr * (g + wd * w)  # decayed by the new weight, as in MXNet


@threads.jit(parallel=True)
def signsgd(
    part: Any, weight: Any, gradient: Any, lr: Any, wd: Any, rescale: Any, clip: Any
) -> None:
    """W = (1 - lr * wd) * w - lr * sign(g)."""
    one = weight.dtype.type(1)
    for i in dealt(weight.size, part):
        g = scaled(gradient[i], rescale, clip)
        sign = select(g > 0, one, select(g < 0, -one, g))
        weight[i] = (one - lr * wd) * weight[i] - lr * sign


@threads.jit(parallel=True)
def signum(
    part: Any, weight: Any, gradient: Any, mom: Any,
    lr: Any, momentum: Any, wd: Any, rescale: Any, clip: Any, wd_lh: Any,
) -> None:  # fmt: skip
    """M averages -(g + wd * w); w follows the sign of m."""
    one = weight.dtype.type(1)
    for i in dealt(weight.size, part):
        w = weight[i]
        g = scaled(gradient[i], rescale, clip) + wd * w
        m = momentum * mom[i] - (one - momentum) * g
        mom[i] = m
        sign = select(m > 0, one, select(m < 0, -one, m))
        weight[i] = (one - lr * wd_lh) * w + lr * sign


@threads.jit(parallel=True)
def adam(
    part: Any, weight: Any, gradient: Any, mean: Any, var: Any,
    lr: Any, beta1: Any, beta2: Any, epsilon: Any, wd: Any, rescale: Any, clip: Any,
) -> None:  # fmt: skip
    """Running mean and square of the gradient; w -= lr * mean / (sqrt(var) + eps)."""
    one = weight.dtype.type(1)
    for i in dealt(weight.size, part):
        w = weight[i]
        g = scaled(gradient[i] * rescale + wd * w, one, clip)
        m = beta1 * mean[i] + (one - beta1) * g
        v = beta2 * var[i] + (one - beta2) * g * g
        mean[i], var[i] = m, v
        weight[i] = w - lr * m / (np.sqrt(v) + epsilon)


@threads.jit(parallel=True)
def rmsprop(
    part: Any, weight: Any, gradient: Any, n: Any,
    lr: Any, gamma1: Any, epsilon: Any, wd: Any, rescale: Any, clip: Any,
    clip_weights: Any,
) -> None:  # fmt: skip
    """N averages g * g; w -= lr * g / sqrt(n + epsilon)."""
    one = weight.dtype.type(1)
    for i in dealt(weight.size, part):
        w = weight[i]
        g = scaled(gradient[i] * rescale + wd * w, one, clip)
        square = gamma1 * n[i] + (one - gamma1) * g * g
        n[i] = square
        weight[i] = scaled(w - lr * g / np.sqrt(square + epsilon), one, clip_weights)


@threads.jit(parallel=True)
def rmspropalex(
    part: Any, weight: Any, gradient: Any, n: Any, mean: Any, delta: Any,
    lr: Any, gamma1: Any, gamma2: Any, epsilon: Any, wd: Any, rescale: Any, clip: Any,
    clip_weights: Any,
) -> None:  # fmt: skip
    """Like rmsprop, about the mean gradient, with a momentum `delta`."""
    one = weight.dtype.type(1)
    for i in dealt(weight.size, part):
        w = weight[i]
        g = scaled(gradient[i] * rescale + wd * w, one, clip)
        square = gamma1 * n[i] + (one - gamma1) * g * g
        m = gamma1 * mean[i] + (one - gamma1) * g
        d = gamma2 * delta[i] - lr * g / np.sqrt(square - m * m + epsilon)
        n[i], mean[i], delta[i] = square, m, d
        weight[i] = scaled(w + d, one, clip_weights)


def step(
    rule: Any, weight: Any, gradient: Any, states: tuple[Any, ...], out: Any,
    numbers: tuple[float, ...],
) -> None:  # fmt: skip
    """Apply a rule of this file to arrays of any shape; out may be `weight` itself."""
    if out.size == 0:
        return
    if out is not weight and out.ctypes.data != weight.ctypes.data:
        np.copyto(out, weight)
    real = np.float64 if out.dtype == np.float64 else np.float32
    arrays = [array.reshape(-1) for array in (out, gradient, *states)]
    scalars = [real(number) for number in numbers]
    if out.dtype in NARROW:
        _in_single(rule, arrays, scalars)
        return
    rule(*arrays, *scalars)


def _in_single(rule: Any, arrays: list[Any], scalars: list[Any]) -> None:
    """Half precision: compute in single precision, round at the end."""
    wide = [array.astype(np.float32) for array in arrays]
    rule.serial(*wide, *scalars)
    for narrow, array in zip(arrays, wide, strict=True):
        narrow[...] = array


def mixed(
    rule: Any, gradient: Any, states: tuple[Any, ...], master: Any, out: Any,
    numbers: tuple[float, ...],
) -> None:  # fmt: skip
    """Apply a rule to the single-precision `master`, and round it into `out`."""
    step(rule, master, gradient.astype(np.float32), states, master, numbers)
    out[...] = master


def lars(eta: float, eps: float, rescale: float) -> Any:
    """(lrs, weights_sum_sq, grads_sum_sq, wds, out): a learning rate for each."""

    def launch(lrs: Any, weights: Any, grads: Any, wds: Any, out: Any) -> None:
        w, g = np.sqrt(weights), np.sqrt(grads)
        ratio = eta * w / (g * rescale + wds * w + eps)
        np.copyto(out, np.where((w > 0) & (g > 0), lrs * ratio, lrs))

    return launch
