"""Normalization: shift and scale groups of numbers to mean 0 and variance 1.

Batch normalization groups by channel: data is (outer, channels, inner), and a group is
one channel over everything else. What groups by row (layer and group normalization) is
in `operators/kernels/layers/norm.py`. Sums are taken in double precision, in an order
that depends on shapes only.

    invstd = 1 / sqrt(variance + eps),   x_hat = (x - mean) * invstd
    dx = gamma * invstd * (dy - mean(dy) - x_hat * mean(dy * x_hat))
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.kernels import threads
from minimx.core.kernels.parts import dealt

# Channels that one piece of work takes when they lie side by side in memory.
SIDE = 16


# -- batch normalization ---------------------------------------------------------------


@threads.jit(inner=True, fastmath={"reassoc"})
def _channel_sums(data: Any, c: int, shift: Any) -> tuple[float, float]:
    """The sums of x - shift and of its square over channel `c`."""
    total, squares = 0.0, 0.0
    for n in range(data.shape[0]):
        line = data[n, c]
        for i in range(line.size):
            off = np.float64(line[i]) - shift
            total += off
            squares += off * off
    return total, squares


@threads.jit(parallel=True)
def batch_moments(
    part: Any, data: Any, eps: float, mean: Any, invstd: Any, variance: Any
) -> None:
    """Mean, 1 / sqrt(variance + eps) and variance of each channel.

    The first element of a channel is taken off before squaring, so that a large mean
    does not swallow a small variance.
    """
    count = data.shape[0] * data.shape[2]
    for c in dealt(data.shape[1], part):
        shift = np.float64(data[0, c, 0])
        total, squares = _channel_sums(data, c, shift)
        off = total / count
        spread = max(squares / count - off * off, 0.0)
        mean[c] = shift + off
        variance[c] = spread
        invstd[c] = 1 / np.sqrt(spread + eps)


@threads.jit(parallel=True)
def batch_apply(part: Any, data: Any, scale: Any, shift: Any, out: Any) -> None:
    """Fill out with data * scale + shift, one number of each for every channel.

    data, out: (outer, channels, inner); scale, shift: (channels,).
    """
    outer, channels, inner = data.shape
    for n in dealt(outer, part):
        if inner == 1:
            row, target = data[n, :, 0], out[n, :, 0]
            for c in range(channels):
                target[c] = row[c] * scale[c] + shift[c]
        else:
            for c in range(channels):
                line, place, a, b = data[n, c], out[n, c], scale[c], shift[c]
                for i in range(inner):
                    place[i] = line[i] * a + b


@threads.jit(inner=True, fastmath={"reassoc"})
def _gradient_sums(
    dout: Any, data: Any, c: int, mean: Any, invstd: Any
) -> tuple[float, float]:
    """The sums of dy and of dy * x_hat over channel `c`."""
    total, along = 0.0, 0.0
    for n in range(data.shape[0]):
        line, gradient = data[n, c], dout[n, c]
        for i in range(line.size):
            dy = np.float64(gradient[i])
            total += dy
            along += dy * ((line[i] - mean) * invstd)
    return total, along


@threads.jit(parallel=True)
def batch_gradient(
    part: Any, dout: Any, data: Any, gamma: Any, mean: Any, invstd: Any, batch: bool,
    ddata: Any, dgamma: Any, dbeta: Any,
) -> None:  # fmt: skip
    """The three gradients; batch: the statistics were the batch's own.

    dout, data, ddata (outer, channels, inner); the others (channels,). Where the
    statistics were running ones, they are constants, and ddata is dout times gamma *
    invstd.
    """
    count = data.shape[0] * data.shape[2]
    for c in dealt(data.shape[1], part):
        total, along = _gradient_sums(dout, data, c, mean[c], invstd[c])
        dgamma[c], dbeta[c] = along, total
        # dx = a * dy + b * x + d, with the terms gathered
        a = np.float64(gamma[c]) * invstd[c]
        b, d = 0.0, 0.0
        if batch:
            b = -a * invstd[c] * along / count
            d = -a * total / count - b * mean[c]
        real = ddata.dtype.type
        a_, b_, d_ = real(a), real(b), real(d)
        for n in range(data.shape[0]):
            line, gradient, place = data[n, c], dout[n, c], ddata[n, c]
            for i in range(line.size):
                place[i] = a_ * gradient[i] + b_ * line[i] + d_


def moved(running: Any, fresh: Any, momentum: float) -> None:
    """In place: running = momentum * running + (1 - momentum) * fresh.

    Both (channels,); the moving mean or variance, and that of this batch.
    """
    running *= momentum
    running += ((1 - momentum) * fresh).astype(running.dtype)
