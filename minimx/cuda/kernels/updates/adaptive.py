"""Rules that adapt the length of a step, on CUDA: those of the CPU's file of this name.

A rule is a kernel `(out, weight, gradient, *states, n, numbers)`; `out` may be
`weight` itself. What a rule needs to know of other arrays (a scale, a length) it reads
on the device: nothing waits for a number.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.ops.spec import Spec
from minimx.cuda.kernels import launching, scratch
from minimx.cuda.kernels.core.reduce import reduction
from minimx.cuda.kernels.default_launch import real, runs
from minimx.cuda.kernels.launching import cuda
from minimx.cuda.kernels.mathematics import isfinite, sqrt
from minimx.cuda.kernels.updates.updates import scaled


@launching.kernel
def ftml(
    out: Any, weight: Any, gradient: Any, d: Any, v: Any, z: Any, n: int, numbers: Any
) -> None:
    """W = -z / d, with first = 1 - beta1^t and second = 1 - beta2^t."""
    lr, beta1, beta2, epsilon, first, second, wd, rescale, clip = numbers
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        w = weight[i]
        g = scaled(gradient[i] * rescale + wd * w, 1, clip)
        square = beta2 * v[i] + (1 - beta2) * g * g
        slow = first / lr * (sqrt(square / second) + epsilon)
        follow = beta1 * z[i] + (1 - beta1) * g - (slow - beta1 * d[i]) * w
        d[i], v[i], z[i] = slow, square, follow
        out[i] = -follow / slow


@launching.kernel
def ftrl(
    out: Any, weight: Any, gradient: Any, z: Any, count: Any, n: int, numbers: Any
) -> None:
    """Weights whose z is within lamda1 of 0 are 0."""
    lr, lamda1, beta, wd, rescale, clip = numbers
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        g = scaled(gradient[i], rescale, clip)
        square = count[i] + g * g
        root = sqrt(square)
        follow = z[i] + g - (root - sqrt(count[i])) * weight[i] / lr
        z[i], count[i] = follow, square
        sign = 1 if follow > 0 else -1
        moved = (sign * lamda1 - follow) / ((beta + root) / lr + wd)
        out[i] = moved if abs(follow) > lamda1 else follow * 0


@launching.kernel
def adamw(
    out: Any, weight: Any, gradient: Any, mean: Any, var: Any, scale: Any, n: int,
    numbers: Any,
) -> None:  # fmt: skip
    """W -= eta * (lr * mean / (sqrt(var) + epsilon) + wd * w); scale is one number.

    Where that is 0 or not finite, a gradient overflowed: nothing changes.
    """
    lr, beta1, beta2, epsilon, wd, eta, clip = numbers
    rescale = scale[0]
    fine = isfinite(rescale) and rescale != 0
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        w = weight[i]
        out[i] = w
        if fine:
            g = scaled(gradient[i], rescale, clip)
            m = beta1 * mean[i] + (1 - beta1) * g
            v = beta2 * var[i] + (1 - beta2) * g * g
            mean[i], var[i] = m, v
            out[i] = w - eta * (lr * m / (sqrt(v) + epsilon) + wd * w)


@launching.kernel
def lamb(
    out: Any, weight: Any, gradient: Any, mean: Any, var: Any, n: int, numbers: Any
) -> None:
    """The direction of a step; first and second correct it."""
    beta1, beta2, epsilon, first, second, wd, rescale, clip = numbers
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        g = scaled(gradient[i], rescale, clip)
        m = beta1 * mean[i] + (1 - beta1) * g
        v = beta2 * var[i] + (1 - beta2) * g * g
        mean[i], var[i] = m, v
        out[i] = m / first / (sqrt(v / second) + epsilon) + wd * weight[i]


@launching.kernel
def _trusted(
    out: Any, weight: Any, direction: Any, r1: Any, r2: Any, n: int, numbers: Any
) -> None:
    lr, low, high = numbers
    one, two = r1[0], r2[0]
    if low >= 0:
        one = max(one, low)
    if high >= 0:
        one = min(one, high)
    rate = lr if one == 0 or two == 0 else lr * one / two
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        out[i] = weight[i] - rate * direction[i]


@runs("lamb_update_phase2", types=real)
def trust(
    weight: Any, direction: Any, r1: Any, r2: Any, lr: float, lower_bound: float,
    upper_bound: float, out: Any,
) -> None:  # fmt: skip
    """A step of LAMB: out = weight - rate * direction, with r1 and r2 on the device."""
    numbers = tuple(map(out.dtype.type, (lr, lower_bound, upper_bound)))
    launching.over(_trusted, out.size, (out, weight, direction, r1, r2), numbers)


@launching.kernel
def adagrad(
    out: Any, weight: Any, gradient: Any, history: Any, n: int, numbers: Any
) -> None:
    """H += g * g; w -= lr * g / sqrt(h + epsilon)."""
    lr, epsilon, rescale, clip = numbers
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        g = scaled(gradient[i], rescale, clip)
        h = history[i] + g * g
        history[i] = h
        out[i] = weight[i] - lr * g / sqrt(h + epsilon)


@launching.kernel
def _squared(gradient: Any, out: Any, n: int, rescale: Any, clip: Any) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        g = scaled(gradient[i], rescale, clip)
        out[i] = g * g


@launching.kernel
def _grown(history: Any, means: Any, n: int) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        history[i] += means[i]


@launching.kernel
def _grouped(
    out: Any, weight: Any, gradient: Any, history: Any, n: int, width: int,
    numbers: Any,
) -> None:  # fmt: skip
    lr, epsilon, rescale, clip = numbers
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        g = scaled(gradient[i], rescale, clip)
        out[i] = weight[i] - g * (lr / sqrt(history[i // width] + epsilon))


def _real_alike(*specs: Spec) -> bool:
    return real(*specs) and len({spec.dtype for spec in specs}) == 1


@runs("_contrib_group_adagrad_update", types=_real_alike)
def group_adagrad(
    weight: Any, gradient: Any, history: Any, lr: float, epsilon: float,
    rescale_grad: float, clip_gradient: float, out: Any,
) -> None:  # fmt: skip
    """AdaGrad with one step length for each row; weight (n, m), history (n, 1)."""
    n, rows, dtype = out.size, history.size, np.dtype(out.dtype)
    scale = [dtype.type(number) for number in (rescale_grad, clip_gradient)]
    step = dtype.type(lr), dtype.type(epsilon), *scale
    total: Any = reduction("mean", (rows, n // rows), (1,), dtype)
    with scratch.allocated((n, dtype), (rows, dtype)) as (squares, means):
        launching.over(_squared, n, (gradient, squares), *scale)
        total(squares, means)
        launching.over(_grown, rows, (history, means))
    arrays = out, weight, gradient, history
    launching.over(_grouped, n, arrays, n // rows, step)
