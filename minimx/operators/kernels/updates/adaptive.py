"""How further optimizers change weights; see `updates.py` for how rules are written.

FTML, Ftrl, AdamW and LAMB are loops over numbers. What a whole row or a whole layer has
in common (LAMB's second half, the groups of AdaGrad) is left to NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minimx.core.kernels import threads
from minimx.core.kernels.native import select
from minimx.core.kernels.parts import dealt
from minimx.operators.kernels.updates.updates import scaled

Launch = Callable[..., None]


@threads.jit(parallel=True)
def ftml(
    part: Any, weight: Any, gradient: Any, d: Any, v: Any, z: Any,
    lr: Any, beta1: Any, beta2: Any, epsilon: Any, first: Any, second: Any, wd: Any,
    rescale: Any, clip: Any,
) -> None:  # fmt: skip
    """W = -z / d, with first = 1 - beta1^t and second = 1 - beta2^t."""
    one = weight.dtype.type(1)
    for i in dealt(weight.size, part):
        w = weight[i]
        g = scaled(gradient[i] * rescale + wd * w, one, clip)
        square = beta2 * v[i] + (one - beta2) * g * g
        slow = first / lr * (np.sqrt(square / second) + epsilon)
        follow = beta1 * z[i] + (one - beta1) * g - (slow - beta1 * d[i]) * w
        d[i], v[i], z[i] = slow, square, follow
        weight[i] = -follow / slow


@threads.jit(parallel=True)
def ftrl(
    part: Any, weight: Any, gradient: Any, z: Any, n: Any,
    lr: Any, lamda1: Any, beta: Any, wd: Any, rescale: Any, clip: Any,
) -> None:  # fmt: skip
    """Weights whose z is within lamda1 of 0 are 0."""
    zero, one = weight.dtype.type(0), weight.dtype.type(1)
    for i in dealt(weight.size, part):
        g = scaled(gradient[i], rescale, clip)
        square = n[i] + g * g
        root = np.sqrt(square)
        follow = z[i] + g - (root - np.sqrt(n[i])) * weight[i] / lr
        z[i], n[i] = follow, square
        sign = select(follow > zero, one, -one)
        moved = (sign * lamda1 - follow) / ((beta + root) / lr + wd)
        weight[i] = select(np.abs(follow) > lamda1, moved, zero)


@threads.jit(parallel=True)
def adamw(
    part: Any, weight: Any, gradient: Any, mean: Any, var: Any,
    lr: Any, beta1: Any, beta2: Any, epsilon: Any, wd: Any, eta: Any, clip: Any,
    rescale: Any,
) -> None:  # fmt: skip
    """W -= eta * (lr * mean / (sqrt(var) + epsilon) + wd * w)."""
    one = weight.dtype.type(1)
    for i in dealt(weight.size, part):
        w = weight[i]
        g = scaled(gradient[i], rescale, clip)
        m = beta1 * mean[i] + (one - beta1) * g
        v = beta2 * var[i] + (one - beta2) * g * g
        mean[i], var[i] = m, v
        weight[i] = w - eta * (lr * m / (np.sqrt(v) + epsilon) + wd * w)


@threads.jit(parallel=True)
def lamb(
    part: Any, weight: Any, gradient: Any, mean: Any, var: Any,
    beta1: Any, beta2: Any, epsilon: Any, first: Any, second: Any, wd: Any,
    rescale: Any, clip: Any,
) -> None:  # fmt: skip
    """The direction of a step, written over the weight; first and second correct it."""
    one = weight.dtype.type(1)
    for i in dealt(weight.size, part):
        g = scaled(gradient[i], rescale, clip)
        m = beta1 * mean[i] + (one - beta1) * g
        v = beta2 * var[i] + (one - beta2) * g * g
        mean[i], var[i] = m, v
        step = m / first / (np.sqrt(v / second) + epsilon)
        weight[i] = step + wd * weight[i]


def trust(lr: float, low: float, high: float, r1: float, r2: float) -> float:
    """LAMB's step length: lr times the ratio of the two lengths, where both are."""
    if low >= 0:
        r1 = max(r1, low)
    if high >= 0:
        r1 = min(r1, high)
    return lr if r1 == 0 or r2 == 0 else lr * r1 / r2


def group_adagrad(lr: float, epsilon: float, rescale: float, clip: float) -> Launch:
    """(weight, gradient, history, out): AdaGrad with one step length for each row."""

    def launch(weight: Any, gradient: Any, history: Any, out: Any) -> None:
        g = gradient * gradient.dtype.type(rescale)
        if clip >= 0:
            np.clip(g, -clip, clip, out=g)
        rows = g.reshape(len(g), -1)
        history += np.square(rows).mean(1).reshape(history.shape)
        length = lr / np.sqrt(history.reshape(-1) + epsilon)
        step = (rows * length[:, None]).reshape(g.shape)
        np.copyto(out, weight - step, casting="same_kind")

    return launch
