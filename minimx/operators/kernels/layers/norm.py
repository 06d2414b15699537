"""Layer, group and L2 normalization: each row by its own moments."""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.kernels import threads
from minimx.core.kernels.cpu.norm import SIDE
from minimx.core.kernels.parts import dealt


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
    part: Any, data: Any, gamma: Any, beta: Any, eps: float, out: Any, mean: Any,
    std: Any,
) -> None:  # fmt: skip
    """Every row of data (rows, length) to mean 0, variance 1, then gamma and beta."""
    real = out.dtype.type
    for r in dealt(data.shape[0], part):
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
    part: Any, dout: Any, data: Any, gamma: Any, mean: Any, std: Any, ddata: Any
) -> None:
    """The gradient of the data."""
    length, real = data.shape[1], ddata.dtype.type
    for r in dealt(data.shape[0], part):
        m, s = mean[r], real(1 / std[r])
        total, along = _row_sums(dout[r], data[r], gamma, m, s)
        center, slope = real(total / length), real(along / length)
        for i in range(length):
            x_hat = (data[r, i] - m) * s
            ddata[r, i] = s * (dout[r, i] * gamma[i] - center - x_hat * slope)


@threads.jit(parallel=True)
def layer_norm_parameters(
    part: Any, dout: Any, data: Any, mean: Any, std: Any, dgamma: Any, dbeta: Any
) -> None:
    """The gradients of gamma and beta: sums over rows, a block of columns at a time."""
    rows, length = data.shape
    for block in dealt(-(-length // SIDE), part):
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


@threads.jit(parallel=True)
def group_norm(
    part: Any, data: Any, gamma: Any, beta: Any, eps: float, out: Any, mean: Any,
    std: Any,
) -> None:  # fmt: skip
    """As `layer_norm`, but gamma and beta hold one number for each row of a sample.

    data (samples * groups, length), gamma and beta (groups,)
    """
    real = out.dtype.type
    for r in dealt(data.shape[0], part):
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
    part: Any, dout: Any, data: Any, gamma: Any, mean: Any, std: Any, ddata: Any,
    sums: Any,
) -> None:  # fmt: skip
    length, real = data.shape[1], ddata.dtype.type
    for r in dealt(data.shape[0], part):
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


@threads.jit(parallel=True)
def neighbours(
    part: Any, data: Any, half: int, scale: float, knorm: float, beta: float, out: Any
) -> None:
    """Out = data / (knorm + scale * sum of squares of channels c - half … c + half).

    data (samples, channels, inner); the divisor is taken to the power beta.
    """
    samples, channels, inner = data.shape
    real = out.dtype.type
    for plane in dealt(samples * channels, part):
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


@threads.jit(parallel=True, fastmath={"reassoc"})
def l2_normalize(part: Any, data: Any, eps: float, out: Any, norm: Any) -> None:
    """Vectors along the middle axis of (groups, length, inner), divided by norm.

    norm (groups, inner): sqrt(sum of squares + eps).
    """
    groups, length, inner = data.shape
    for place in dealt(groups * inner, part):
        g, i = place // inner, place % inner
        total = np.float64(eps)
        for k in range(length):
            total += np.float64(data[g, k, i]) * data[g, k, i]
        norm[g, i] = np.sqrt(total)
        for k in range(length):
            out[g, k, i] = data[g, k, i] / norm[g, i]


@threads.jit(parallel=True, fastmath={"reassoc"})
def l2_gradient(part: Any, dout: Any, data: Any, norm: Any, ddata: Any) -> None:
    """The gradient (dy - y * sum(dy * y)) / norm, with y = x / norm."""
    groups, length, inner = data.shape
    for place in dealt(groups * inner, part):
        g, i = place // inner, place % inner
        along = 0.0
        for k in range(length):
            along += np.float64(dout[g, k, i]) * data[g, k, i]
        size = norm[g, i]
        slope = ddata.dtype.type(along / (np.float64(size) * size))
        for k in range(length):
            ddata[g, k, i] = (dout[g, k, i] - data[g, k, i] * slope) / size
