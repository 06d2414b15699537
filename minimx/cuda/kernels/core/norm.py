"""Batch normalization on CUDA; see the CPU's file of this name for the mathematics.

data (outer, channels, inner): a block of threads shares each channel, adds up in double
precision, and folds its parts in one order. Within samples data is (groups, length,
inner), and a block shares each vector along the middle axis.
"""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

import numpy as np

from minimx.cuda.kernels import launching, scratch
from minimx.cuda.kernels.default_launch import real, runs
from minimx.cuda.kernels.launching import cuda
from minimx.cuda.kernels.mathematics import sqrt

#: The threads of a channel or a vector (a power of 2).
TEAM = [1 if launching.SIMULATED else 256]
#: Vectors that one thread adds up for the gradients of gamma and beta.
ROWS = 64

Sizes = tuple[int, int, int]


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

    @launching.kernel
    def kernel(
        data: Any, mean: Any, invstd: Any, moving_mean: Any, moving_var: Any,
        eps: float, momentum: float, outer: int, channels: int, inner: int,
    ) -> None:  # fmt: skip
        first = cuda.shared.array(team, np.float64)
        second = cuda.shared.array(team, np.float64)
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

    @launching.kernel
    def kernel(
        dout: Any, data: Any, mean: Any, invstd: Any, dgamma: Any, dbeta: Any,
        outer: int, channels: int, inner: int,
    ) -> None:  # fmt: skip
        first = cuda.shared.array(team, np.float64)
        second = cuda.shared.array(team, np.float64)
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


def batch_moments(
    data: Any, shape: Any, eps: float, momentum: float, mean: Any, invstd: Any,
    moving_mean: Any, moving_var: Any,
) -> None:  # fmt: skip
    """The statistics of each channel; the moving ones go a step towards them.

    shape: data as (outer, channels, inner).
    """
    team, settings = TEAM[0], (eps, momentum, *shape)
    arrays = data.reshape(-1), mean, invstd, moving_mean, moving_var
    launching.by_teams(_moments(team), shape[1], team, *arrays, *settings)


def statistics(
    moving_mean: Any, moving_var: Any, eps: float, mean: Any, invstd: Any
) -> None:
    """The statistics of prediction: the moving ones."""
    arrays = moving_mean, moving_var, mean, invstd
    launching.over(_statistics, mean.size, arrays, eps)


def batch_apply(
    data: Any, shape: Any, gamma: Any, beta: Any, mean: Any, invstd: Any, out: Any,
    fixed: bool, relu: bool = False,
) -> None:  # fmt: skip
    """Fill out with (data - mean) * invstd * gamma + beta; fixed: gamma counts as 1."""
    _, channels, inner = shape
    arrays = data, gamma, beta, mean, invstd, out
    launching.over(_apply, out.size, arrays, fixed, relu, channels, inner)


def batch_gradient(
    dout: Any, data: Any, shape: Any, gamma: Any, mean: Any, invstd: Any, batch: bool,
    fixed: bool, ddata: Any, dgamma: Any, dbeta: Any,
) -> None:  # fmt: skip
    """The three gradients; batch: the statistics were the batch's own."""
    (outer, channels, inner), team = shape, TEAM[0]
    arrays = *launching.flat(dout, data), mean, invstd, dgamma, dbeta
    launching.by_teams(_gradients(team), channels, team, *arrays, *shape)
    arrays = dout, data, gamma, mean, invstd, dgamma, dbeta, ddata
    settings = batch, fixed, outer * inner, channels, inner
    launching.over(_spread, data.size, arrays, *settings)


# -- vectors within samples ------------------------------------------------------------


@cache
def _vectors(team: int) -> Any:
    """The kernel that finds mean and sqrt(var + eps) of a vector, and applies them.

    many: how many groups share gamma and beta in turn, one number each; 0 where every
    place of a vector has its own.
    """

    @launching.kernel
    def kernel(
        data: Any, gamma: Any, beta: Any, out: Any, mean: Any, std: Any, eps: float,
        n: int, length: int, inner: int, many: int,
    ) -> None:  # fmt: skip
        first = cuda.shared.array(team, np.float64)
        second = cuda.shared.array(team, np.float64)
        t = cuda.threadIdx.x
        for r in range(cuda.blockIdx.x, n, cuda.gridDim.x):
            start = r // inner * length * inner + r % inner
            shift = np.float64(data[start])
            total, squares = 0.0, 0.0
            for k in range(t, length, team):
                off = np.float64(data[start + k * inner]) - shift
                total += off
                squares += off * off
            first[t], second[t] = total, squares
            fold(first, second, team)
            off = first[0] / length
            center = shift + off
            spread = sqrt(max(second[0] / length - off * off, 0.0) + eps)
            for k in range(t, length, team):
                at = start + k * inner
                p = r % many if many > 0 else k
                out[at] = (data[at] - center) / spread * gamma[p] + beta[p]
            if t == 0:
                mean[r], std[r] = center, spread
            if team > 1:
                cuda.syncthreads()

    return kernel


@cache
def _vector_gradients(team: int) -> Any:
    """The kernel for the gradient of the data; leaves the sums over each vector."""

    @launching.kernel
    def kernel(
        dout: Any, data: Any, gamma: Any, mean: Any, std: Any, ddata: Any, along: Any,
        total: Any, n: int, length: int, inner: int, many: int,
    ) -> None:  # fmt: skip
        first = cuda.shared.array(team, np.float64)
        second = cuda.shared.array(team, np.float64)
        t = cuda.threadIdx.x
        for r in range(cuda.blockIdx.x, n, cuda.gridDim.x):
            start = r // inner * length * inner + r % inner
            m, s = np.float64(mean[r]), 1 / np.float64(std[r])
            one, two = 0.0, 0.0
            for k in range(t, length, team):
                at = start + k * inner
                dy = np.float64(dout[at])
                if many == 0:
                    dy *= gamma[k]
                one += dy
                two += dy * ((data[at] - m) * s)
            first[t], second[t] = one, two
            fold(first, second, team)
            scale = s * gamma[r % many] if many > 0 else s
            center, slope = first[0] / length, second[0] / length
            for k in range(t, length, team):
                at = start + k * inner
                dy = np.float64(dout[at])
                if many == 0:
                    dy *= gamma[k]
                x_hat = (data[at] - m) * s
                ddata[at] = scale * (dy - center - x_hat * slope)
            if t == 0:
                along[r], total[r] = second[0], first[0]
            if team > 1:
                cuda.syncthreads()

    return kernel


@launching.kernel
def _columns(
    dout: Any, data: Any, mean: Any, std: Any, along: Any, total: Any, n: int,
    rows: int, length: int, inner: int, many: int,
) -> None:  # fmt: skip
    """A thread adds up `many` vectors at one place; a warp reads side by side."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        k, begin = i % length, i // length * many
        one, two = 0.0, 0.0
        for r in range(begin, min(begin + many, rows)):
            at = (r // inner * length + k) * inner + r % inner
            dy = np.float64(dout[at])
            one += dy
            two += dy * ((data[at] - np.float64(mean[r])) / np.float64(std[r]))
        along[i], total[i] = two, one


@launching.kernel
def _sums(along: Any, total: Any, dgamma: Any, dbeta: Any, n: int, parts: int) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        one, two = 0.0, 0.0
        for part in range(parts):
            one += along[part * n + i]
            two += total[part * n + i]
        dgamma[i], dbeta[i] = one, two


@runs("LayerNorm", types=real)
def layer_norm(
    data: Any, gamma: Any, beta: Any, axis: int, eps: float, out: Any, mean: Any,
    std: Any,
) -> None:  # fmt: skip
    """Every vector along an axis to mean 0 and variance 1, then gamma and beta."""
    _normalize(data, _grouped(data, axis), gamma, beta, eps, out, mean, std, 0)


def group_norm(
    data: Any, gamma: Any, beta: Any, eps: float, out: Any, mean: Any, std: Any
) -> None:
    """As `layer_norm`, but gamma and beta hold one number for each row of a sample.

    data (samples * groups, length), gamma and beta (groups,)
    """
    shape = *data.shape, 1
    _normalize(data, shape, gamma, beta, eps, out, mean, std, gamma.size)


def _grouped(data: Any, axis: int) -> Sizes:
    """The shape of data as (groups, length, inner), with `axis` in the middle."""
    shape = tuple(map(int, data.shape))
    axis %= len(shape)
    return prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])


def _normalize(
    data: Any, shape: Any, gamma: Any, beta: Any, eps: float, out: Any, mean: Any,
    std: Any, many: int,
) -> None:  # fmt: skip
    (groups, length, inner), team = shape, TEAM[0]
    n, arrays = groups * inner, launching.flat(data, gamma, beta, out, mean, std)
    settings = eps, n, length, inner, many
    launching.by_teams(_vectors(team), n, team, *arrays, *settings)


@runs("_backward_LayerNorm", types=real)
def layer_norm_gradient(
    dout: Any, data: Any, gamma: Any, mean: Any, std: Any, axis: int, ddata: Any,
    dgamma: Any, dbeta: Any,
) -> None:  # fmt: skip
    """The gradients of data, gamma and beta."""
    (groups, length, inner), team = _grouped(data, axis), TEAM[0]
    n = groups * inner
    parts = -(-n // ROWS)
    with scratch.allocated(*[(max(n, parts * length), np.float64)] * 2) as sums:
        arrays = launching.flat(dout, data, gamma, mean, std, ddata, *sums)
        sizes = n, length, inner
        launching.by_teams(_vector_gradients(team), n, team, *arrays, *sizes, 0)
        arrays = [dout, data, mean, std, *sums]
        launching.over(_columns, parts * length, arrays, *sizes, ROWS)
        launching.over(_sums, length, (*sums, dgamma, dbeta), parts)


@runs("_backward_GroupNorm", types=real)
def group_norm_gradient(
    dout: Any, data: Any, gamma: Any, mean: Any, std: Any, seen: Any, ddata: Any,
    dgamma: Any, dbeta: Any,
) -> None:  # fmt: skip
    """The three gradients; seen: samples, groups of each, and elements of a group."""
    (samples, groups, length), team = seen, TEAM[0]
    rows = samples * groups
    with scratch.allocated((rows, np.float64), (rows, np.float64)) as sums:
        arrays = launching.flat(dout, data, gamma, mean, std, ddata, *sums)
        sizes = rows, length, 1, groups
        launching.by_teams(_vector_gradients(team), rows, team, *arrays, *sizes)
        launching.over(_sums, groups, (*sums, dgamma, dbeta), samples)


# -- neighbouring channels -------------------------------------------------------------


@launching.kernel
def _neighbours(
    data: Any, out: Any, n: int, channels: int, inner: int, half: int, scale: Any,
    knorm: Any, power: Any,
) -> None:  # fmt: skip
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        c = i // inner % channels
        energy = knorm * 0
        for k in range(max(c - half, 0), min(c + half + 1, channels)):
            x = data[i + (k - c) * inner]
            energy += x * x
        out[i] = data[i] * (knorm + scale * energy) ** power


@runs("LRN", types=real)
def neighbours(
    data: Any, alpha: float, beta: float, knorm: float, nsize: int, out: Any
) -> None:
    """Out = data / (knorm + alpha / nsize * the sum of squares of nsize channels).

    data (samples, channels, …); the divisor is taken to the power beta.
    """
    channels = data.shape[1]
    sizes = channels, data.size // (data.shape[0] * channels), nsize // 2
    numbers = map(out.dtype.type, (alpha / nsize, knorm, -beta))
    launching.over(_neighbours, out.size, (data, out), *sizes, *numbers)


# -- L2 normalization ------------------------------------------------------------------


@cache
def _lengths(team: int) -> Any:
    """The kernel that finds a vector's norm and divides by it, or its gradient."""

    @launching.kernel
    def kernel(
        dout: Any, data: Any, norm: Any, out: Any, eps: float, n: int, length: int,
        inner: int, backward: bool,
    ) -> None:  # fmt: skip
        first = cuda.shared.array(team, np.float64)
        second = cuda.shared.array(team, np.float64)
        t = cuda.threadIdx.x
        for r in range(cuda.blockIdx.x, n, cuda.gridDim.x):
            start = r // inner * length * inner + r % inner
            total, along = 0.0, 0.0
            for k in range(t, length, team):
                at = start + k * inner
                total += np.float64(data[at]) * data[at]
                along += np.float64(dout[at]) * data[at]
            first[t], second[t] = total, along
            fold(first, second, team)
            size = np.float64(norm[r]) if backward else sqrt(first[0] + eps)
            slope = second[0] / (size * size)
            for k in range(t, length, team):
                at = start + k * inner
                head = dout[at] - data[at] * slope if backward else data[at]
                out[at] = head / size
            if team > 1:
                cuda.syncthreads()
            if t == 0 and not backward:
                norm[r] = size

    return kernel


def l2_normalize(data: Any, eps: float, out: Any, norm: Any) -> None:
    """Vectors along the middle axis of (groups, length, inner), divided by norm.

    norm (groups, inner): sqrt(sum of squares + eps).
    """
    _divide((data, data, norm, out), data.shape, eps, False)


@runs("_backward_L2Normalization", types=real)
def l2_gradient(dout: Any, data: Any, norm: Any, vectors: Any, ddata: Any) -> None:
    """The gradient (dy - y * sum(dy * y)) / norm, with y = x / norm.

    vectors: the shape of data as (groups, length, inner).
    """
    _divide((dout, data, norm, ddata), vectors, 0.0, True)


def _divide(arrays: Any, shape: Any, eps: float, backward: bool) -> None:
    (groups, length, inner), team = shape, TEAM[0]
    n, flat = groups * inner, launching.flat(*arrays)
    settings = eps, n, length, inner, backward
    launching.by_teams(_lengths(team), n, team, *flat, *settings)
