"""Batch normalization on CUDA; see the CPU's file of this name for the mathematics.

data (outer, channels, inner): a block of threads shares each channel, adds up in double
precision, and folds its parts in one order.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from minimx.drivers.cuda import current_stream
from minimx.kernels.cuda import launching
from minimx.kernels.cuda.launching import cuda
from minimx.kernels.cuda.mathematics import sqrt

#: The threads of a channel (a power of 2).
TEAM = [1 if launching.PLAYING else 256]


@launching.inner
def fold(first: Any, second: Any, team: int) -> None:
    """Add up what the threads of a block have left, into the first places."""
    t, half = cuda.threadIdx.x, team // 2
    if team > 1:
        cuda.syncthreads()
    while half > 0:
        if t < half:
            first[t] += first[t + half]
            second[t] += second[t + half]
        cuda.syncthreads()
        half //= 2


@cache
def _moments(team: int) -> Any:
    """The kernel in which `team` threads find the statistics of a channel."""
    real = np.dtype(np.float64)

    @launching.kernel
    def kernel(
        data: Any, mean: Any, invstd: Any, moving_mean: Any, moving_var: Any,
        eps: float, momentum: float, outer: int, channels: int, inner: int,
    ) -> None:  # fmt: skip
        first = cuda.shared.array(team, real)
        second = cuda.shared.array(team, real)
        t, count = cuda.threadIdx.x, outer * inner
        for c in range(cuda.blockIdx.x, channels, cuda.gridDim.x):
            shift = np.float64(data[c * inner])
            total, squares = 0.0, 0.0
            for k in range(t, count, team):
                at = (k // inner * channels + c) * inner + k % inner
                off = np.float64(data[at]) - shift
                total += off
                squares += off * off
            first[t], second[t] = total, squares
            fold(first, second, team)
            if t == 0:
                off = first[0] / count
                spread = max(second[0] / count - off * off, 0.0)
                mean[c] = shift + off
                invstd[c] = 1 / sqrt(spread + eps)
                keep, move = momentum, 1 - momentum
                moving_mean[c] = keep * moving_mean[c] + move * (shift + off)
                moving_var[c] = keep * moving_var[c] + move * spread
            if team > 1:
                cuda.syncthreads()

    return kernel


@cache
def _gradients(team: int) -> Any:
    """The kernel in which `team` threads find a channel's gamma and beta gradients."""
    real = np.dtype(np.float64)

    @launching.kernel
    def kernel(
        dout: Any, data: Any, mean: Any, invstd: Any, dgamma: Any, dbeta: Any,
        outer: int, channels: int, inner: int,
    ) -> None:  # fmt: skip
        first = cuda.shared.array(team, real)
        second = cuda.shared.array(team, real)
        t, count = cuda.threadIdx.x, outer * inner
        for c in range(cuda.blockIdx.x, channels, cuda.gridDim.x):
            total, along = 0.0, 0.0
            for k in range(t, count, team):
                at = (k // inner * channels + c) * inner + k % inner
                dy = np.float64(dout[at])
                total += dy
                along += dy * ((data[at] - mean[c]) * invstd[c])
            first[t], second[t] = total, along
            fold(first, second, team)
            if t == 0:
                dgamma[c], dbeta[c] = second[0], first[0]
            if team > 1:
                cuda.syncthreads()

    return kernel


@launching.kernel
def _statistics(
    moving_mean: Any, moving_var: Any, mean: Any, invstd: Any, n: int, eps: float
) -> None:
    for c in range(cuda.grid(1), n, cuda.gridsize(1)):
        mean[c] = moving_mean[c]
        invstd[c] = 1 / sqrt(moving_var[c] + eps)


@launching.kernel
def _apply(
    data: Any, gamma: Any, beta: Any, mean: Any, invstd: Any, out: Any, n: int,
    fixed: bool, relu: bool, channels: int, inner: int,
) -> None:  # fmt: skip
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        c = i // inner % channels
        scale = invstd[c] if fixed else gamma[c] * invstd[c]
        value = data[i] * scale + (beta[c] - mean[c] * scale)
        out[i] = max(value, 0) if relu else value


@launching.kernel
def _spread(
    dout: Any, data: Any, gamma: Any, mean: Any, invstd: Any, dgamma: Any, dbeta: Any,
    ddata: Any, n: int, batch: bool, fixed: bool, count: int, channels: int, inner: int,
) -> None:  # fmt: skip
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        c = i // inner % channels
        a = np.float64(invstd[c]) if fixed else np.float64(gamma[c]) * invstd[c]
        value = a * dout[i]
        if batch:
            x_hat = (data[i] - mean[c]) * np.float64(invstd[c])
            value -= a * (dbeta[c] + x_hat * dgamma[c]) / count
        ddata[i] = value


def _launch(function: Any, channels: int, *args: Any) -> None:
    blocks = min(channels, launching.MOST_BLOCKS)
    if launching.PLAYING:
        blocks = min(blocks, 2)
    function[blocks, TEAM[0], current_stream()](*args)


def batch_moments(
    data: Any, shape: Any, eps: float, momentum: float, mean: Any, invstd: Any,
    moving_mean: Any, moving_var: Any,
) -> None:  # fmt: skip
    """The statistics of each channel; the moving ones go a step towards them.

    shape: data as (outer, channels, inner).
    """
    outer, channels, inner = shape
    moments = _moments(TEAM[0])
    arrays = data.reshape(-1), mean, invstd, moving_mean, moving_var
    _launch(moments, channels, *arrays, eps, momentum, outer, channels, inner)


def statistics(
    moving_mean: Any, moving_var: Any, eps: float, mean: Any, invstd: Any
) -> None:
    """The statistics of prediction: the moving ones."""
    n = mean.size
    launching.run(_statistics, n, moving_mean, moving_var, mean, invstd, n, eps)


def batch_apply(
    data: Any, shape: Any, gamma: Any, beta: Any, mean: Any, invstd: Any, out: Any,
    fixed: bool, relu: bool = False,
) -> None:  # fmt: skip
    """Fill out with (data - mean) * invstd * gamma + beta; fixed: gamma counts as 1."""
    _, channels, inner = shape
    parameters = gamma, beta, mean, invstd
    flat = data.reshape(-1), *parameters, out.reshape(-1)
    launching.run(_apply, out.size, *flat, out.size, fixed, relu, channels, inner)


def batch_gradient(
    dout: Any, data: Any, shape: Any, gamma: Any, mean: Any, invstd: Any, batch: bool,
    fixed: bool, ddata: Any, dgamma: Any, dbeta: Any,
) -> None:  # fmt: skip
    """The three gradients; batch: the statistics were the batch's own."""
    outer, channels, inner = shape
    gradients = _gradients(TEAM[0])
    heads, flat = dout.reshape(-1), data.reshape(-1)
    _launch(gradients, channels, heads, flat, mean, invstd, dgamma, dbeta, *shape)
    launching.run(
        _spread, data.size, heads, flat, gamma, mean, invstd, dgamma, dbeta,
        ddata.reshape(-1), data.size, batch, fixed, outer * inner, channels, inner,
    )  # fmt: skip
