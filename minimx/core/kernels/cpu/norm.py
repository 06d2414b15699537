"""Normalization: shift and scale groups of numbers to mean 0 and variance 1.

Batch normalization groups by channel: data is (outer, channels, inner), and a group is
one channel over everything else. Layer normalization groups by row: data is (rows,
length). So does group normalization, with one gamma and beta for all of a row. Sums
are taken in double precision, in an order that depends on shapes only.

    invstd = 1 / sqrt(variance + eps),   x_hat = (x - mean) * invstd
    dx = gamma * invstd * (dy - mean(dy) - x_hat * mean(dy * x_hat))
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from minimx.core.kernels import threads

threads.pin()

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
def batch_moments(data: Any, eps: float, mean: Any, invstd: Any, variance: Any) -> None:
    """Mean, 1 / sqrt(variance + eps) and variance of each channel.

    The first element of a channel is taken off before squaring, so that a large mean
    does not swallow a small variance.
    """
    count = data.shape[0] * data.shape[2]
    for c in prange(data.shape[1]):
        shift = np.float64(data[0, c, 0])
        total, squares = _channel_sums(data, c, shift)
        off = total / count
        spread = max(squares / count - off * off, 0.0)
        mean[c] = shift + off
        variance[c] = spread
        invstd[c] = 1 / np.sqrt(spread + eps)


@threads.jit(parallel=True)
def batch_apply(data: Any, scale: Any, shift: Any, out: Any) -> None:
    """Fill out with data * scale + shift, one number of each for every channel."""
    outer, channels, inner = data.shape
    for n in prange(outer):
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
    dout: Any, data: Any, gamma: Any, mean: Any, invstd: Any, batch: bool,
    ddata: Any, dgamma: Any, dbeta: Any,
) -> None:  # fmt: skip
    """The three gradients; batch: the statistics were the batch's own."""
    count = data.shape[0] * data.shape[2]
    for c in prange(data.shape[1]):
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
    """In place: running = momentum * running + (1 - momentum) * fresh."""
    running *= momentum
    running += ((1 - momentum) * fresh).astype(running.dtype)


# -- layer normalization ---------------------------------------------------------------


@threads.jit(inner=True, fastmath={"reassoc"})
def _row_moments(row: Any) -> tuple[float, float]:
    shift = np.float64(row[0])
    total, squares = 0.0, 0.0
    for i in range(row.size):
        off = np.float64(row[i]) - shift
        total += off
        squares += off * off
    off = total / row.size
    return shift + off, max(squares / row.size - off * off, 0.0)


@threads.jit(parallel=True)
def layer_norm(
    data: Any, gamma: Any, beta: Any, eps: float, out: Any, mean: Any, std: Any
) -> None:
    """Every row of data (rows, length) to mean 0, variance 1, then gamma and beta."""
    real = out.dtype.type
    for r in prange(data.shape[0]):
        center, variance = _row_moments(data[r])
        mean[r], std[r] = center, np.sqrt(variance + eps)
        m, s = real(center), real(1 / np.sqrt(variance + eps))
        for i in range(data.shape[1]):
            out[r, i] = (data[r, i] - m) * s * gamma[i] + beta[i]


@threads.jit(inner=True, fastmath={"reassoc"})
def _row_sums(
    dout: Any, data: Any, gamma: Any, mean: Any, invstd: Any
) -> tuple[float, float]:
    """The sums of dy * gamma, and of that times x_hat, over a row."""
    total, along = 0.0, 0.0
    for i in range(dout.size):
        dy = np.float64(dout[i]) * gamma[i]
        total += dy
        along += dy * ((data[i] - mean) * invstd)
    return total, along


@threads.jit(parallel=True)
def layer_norm_gradient(
    dout: Any, data: Any, gamma: Any, mean: Any, std: Any, ddata: Any
) -> None:
    """The gradient of the data."""
    length, real = data.shape[1], ddata.dtype.type
    for r in prange(data.shape[0]):
        m, s = mean[r], real(1 / std[r])
        total, along = _row_sums(dout[r], data[r], gamma, m, s)
        center, slope = real(total / length), real(along / length)
        for i in range(length):
            x_hat = (data[r, i] - m) * s
            ddata[r, i] = s * (dout[r, i] * gamma[i] - center - x_hat * slope)


@threads.jit(parallel=True)
def layer_norm_parameters(
    dout: Any, data: Any, mean: Any, std: Any, dgamma: Any, dbeta: Any
) -> None:
    """The gradients of gamma and beta: sums over rows, a block of columns at a time."""
    rows, length = data.shape
    for block in prange(-(-length // SIDE)):
        first, last = block * SIDE, min((block + 1) * SIDE, length)
        along = np.zeros(SIDE, np.float64)
        total = np.zeros(SIDE, np.float64)
        for r in range(rows):
            m, s = mean[r], 1 / std[r]
            for i in range(last - first):
                dy = np.float64(dout[r, first + i])
                total[i] += dy
                along[i] += dy * ((data[r, first + i] - m) * s)
        for i in range(last - first):
            dgamma[first + i] = along[i]
            dbeta[first + i] = total[i]


# -- groups ----------------------------------------------------------------------------


@threads.jit(parallel=True)
def group_norm(
    data: Any, gamma: Any, beta: Any, eps: float, out: Any, mean: Any, std: Any
) -> None:
    """As `layer_norm`, but gamma and beta hold one number for each row of a sample.

    data (samples * groups, length), gamma and beta (groups,)
    """
    real = out.dtype.type
    for r in prange(data.shape[0]):
        center, variance = _row_moments(data[r])
        mean[r], std[r] = center, np.sqrt(variance + eps)
        g = r % gamma.size
        scale, m, shift = real(gamma[g] / std[r]), real(center), beta[g]
        for i in range(data.shape[1]):
            out[r, i] = (data[r, i] - m) * scale + shift


@threads.jit(inner=True, fastmath={"reassoc"})
def _plain_sums(dout: Any, data: Any, mean: Any, std: Any) -> tuple[float, float]:
    """The sums of dy, and of that times x_hat, over a row."""
    total, along = 0.0, 0.0
    for i in range(dout.size):
        dy = np.float64(dout[i])
        total += dy
        along += dy * (data[i] - mean)
    return total, along / std


@threads.jit(parallel=True)
def _group_rows(
    dout: Any, data: Any, gamma: Any, mean: Any, std: Any, ddata: Any, sums: Any
) -> None:
    length, real = data.shape[1], ddata.dtype.type
    for r in prange(data.shape[0]):
        m, s = mean[r], std[r]
        total, along = _plain_sums(dout[r], data[r], m, s)
        sums[r, 0], sums[r, 1] = along, total
        scale = real(gamma[r % gamma.size] / s)
        center, slope = real(total / length), real(along / length / s)
        for i in range(length):
            ddata[r, i] = scale * (dout[r, i] - center - (data[r, i] - m) * slope)


def group_norm_gradient(
    dout: Any, data: Any, gamma: Any, mean: Any, std: Any,
    ddata: Any, dgamma: Any, dbeta: Any,
) -> None:  # fmt: skip
    """The three gradients."""
    sums = np.empty((data.shape[0], 2))
    _group_rows(dout, data, gamma, mean, std, ddata, sums)
    dgamma[...], dbeta[...] = sums.reshape(-1, gamma.size, 2).sum(0).T


# -- neighbouring channels -------------------------------------------------------------


@threads.jit(parallel=True)
def neighbours(
    data: Any, half: int, scale: float, knorm: float, beta: float, out: Any
) -> None:
    """Out = data / (knorm + scale * sum of squares of channels c - half … c + half).

    data (samples, channels, inner); the divisor is taken to the power beta.
    """
    samples, channels, inner = data.shape
    real = out.dtype.type
    for plane in prange(samples * channels):
        n, c = plane // channels, plane % channels
        line, place = data[n, c], out[n, c]
        place[:] = 0
        for k in range(max(c - half, 0), min(c + half + 1, channels)):
            other = data[n, k]
            for i in range(inner):
                place[i] += other[i] * other[i]
        for i in range(inner):
            energy = real(knorm) + real(scale) * place[i]
            place[i] = line[i] * energy ** real(-beta)


# -- L2 normalization ------------------------------------------------------------------


@threads.jit(parallel=True, fastmath={"reassoc"})
def l2_normalize(data: Any, eps: float, out: Any, norm: Any) -> None:
    """Vectors along the middle axis of (groups, length, inner), divided by norm.

    norm (groups, inner): sqrt(sum of squares + eps).
    """
    groups, length, inner = data.shape
    for place in prange(groups * inner):
        g, i = place // inner, place % inner
        total = np.float64(eps)
        for k in range(length):
            total += np.float64(data[g, k, i]) * data[g, k, i]
        norm[g, i] = np.sqrt(total)
        for k in range(length):
            out[g, k, i] = data[g, k, i] / norm[g, i]


@threads.jit(parallel=True, fastmath={"reassoc"})
def l2_gradient(dout: Any, data: Any, norm: Any, ddata: Any) -> None:
    """The gradient (dy - y * sum(dy * y)) / norm, with y = x / norm."""
    groups, length, inner = data.shape
    for place in prange(groups * inner):
        g, i = place // inner, place % inner
        along = 0.0
        for k in range(length):
            along += np.float64(dout[g, k, i]) * data[g, k, i]
        size = norm[g, i]
        slope = ddata.dtype.type(along / (np.float64(size) * size))
        for k in range(length):
            ddata[g, k, i] = (dout[g, k, i] - data[g, k, i] * slope) / size
