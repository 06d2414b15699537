"""Batch normalization on CUDA; see the CPU's file of this name for the mathematics.

data (outer, channels, inner): a block of threads shares each channel, adds up in double
precision, and folds its parts in one order. Within samples data is (groups, length,
inner), and a block shares each vector along the middle axis.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from minimx.cuda.driver import current_stream
from minimx.cuda.kernels import launching, scratch
from minimx.cuda.kernels.launching import cuda
from minimx.cuda.kernels.mathematics import sqrt

#: The threads of a channel or a vector (a power of 2).
TEAM = [1 if launching.PLAYING else 256]
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


def _launch(function: Any, groups: int, *args: Any) -> None:
    """A block for every channel or vector."""
    blocks = min(groups, launching.MOST_BLOCKS)
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


# -- vectors within samples ------------------------------------------------------------


@cache
def _vectors(team: int) -> Any:
    """The kernel that finds mean and sqrt(var + eps) of a vector, and applies them.

    many: how many groups share gamma and beta in turn, one number each; 0 where every
    place of a vector has its own.
    """
    real = np.dtype(np.float64)

    @launching.kernel
    def kernel(
        data: Any, gamma: Any, beta: Any, out: Any, mean: Any, std: Any, eps: float,
        n: int, length: int, inner: int, many: int,
    ) -> None:  # fmt: skip
        first = cuda.shared.array(team, real)
        second = cuda.shared.array(team, real)
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
    real = np.dtype(np.float64)

    @launching.kernel
    def kernel(
        dout: Any, data: Any, gamma: Any, mean: Any, std: Any, ddata: Any, along: Any,
        total: Any, n: int, length: int, inner: int, many: int,
    ) -> None:  # fmt: skip
        first = cuda.shared.array(team, real)
        second = cuda.shared.array(team, real)
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


def _flat(*arrays: Any) -> list[Any]:
    return [array.reshape(-1) for array in arrays]


def layer_norm(
    data: Any, shape: Sizes, gamma: Any, beta: Any, eps: float, out: Any, mean: Any,
    std: Any, many: int = 0,
) -> None:  # fmt: skip
    """Every vector to mean 0 and variance 1, then gamma and beta.

    shape: data as (groups, length, inner). many: as in `group_norm`.
    """
    groups, length, inner = shape
    n = groups * inner
    arrays = _flat(data, gamma, beta, out, mean, std)
    _launch(_vectors(TEAM[0]), n, *arrays, eps, n, length, inner, many)


def group_norm(
    data: Any, gamma: Any, beta: Any, eps: float, out: Any, mean: Any, std: Any
) -> None:
    """As `layer_norm`, but gamma and beta hold one number for each row of a sample.

    data (samples * groups, length), gamma and beta (groups,)
    """
    rows, length = data.shape
    parameters = gamma, beta, eps
    layer_norm(data, (rows, length, 1), *parameters, out, mean, std, gamma.size)


def layer_norm_gradient(
    dout: Any, data: Any, shape: Sizes, gamma: Any, mean: Any, std: Any, ddata: Any,
    dgamma: Any, dbeta: Any,
) -> None:  # fmt: skip
    """The gradients of data, gamma and beta; shape: data as (groups, length, inner)."""
    groups, length, inner = shape
    n = groups * inner
    parts = -(-n // ROWS)
    heads, flat, *stats = _flat(dout, data, mean, std)
    real = np.float64
    with scratch.allocated(*[(max(n, parts * length), real)] * 2) as sums:
        arrays = heads, flat, gamma, *stats, ddata.reshape(-1), *sums
        _launch(_vector_gradients(TEAM[0]), n, *arrays, n, length, inner, 0)
        columns = heads, flat, *stats, *sums, parts * length, n, length, inner, ROWS
        launching.run(_columns, parts * length, *columns)
        launching.run(_sums, length, *sums, dgamma, dbeta, length, parts)


def group_norm_gradient(
    dout: Any, data: Any, gamma: Any, mean: Any, std: Any,
    ddata: Any, dgamma: Any, dbeta: Any,
) -> None:  # fmt: skip
    """The three gradients; data (samples * groups, length), gamma (groups,)."""
    (rows, length), groups = data.shape, gamma.size
    with scratch.allocated((rows, np.float64), (rows, np.float64)) as sums:
        heads, flat, *stats = _flat(dout, data, mean, std)
        arrays = heads, flat, gamma, *stats, ddata.reshape(-1), *sums
        _launch(_vector_gradients(TEAM[0]), rows, *arrays, rows, length, 1, groups)
        launching.run(_sums, groups, *sums, dgamma, dbeta, groups, rows // groups)


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


def neighbours(
    data: Any, half: int, scale: float, knorm: float, beta: float, out: Any
) -> None:
    """Out = data / (knorm + scale * sum of squares of channels c - half … c + half).

    data (samples, channels, inner); the divisor is taken to the power beta.
    """
    _, channels, inner = data.shape
    real, n = out.dtype.type, out.size
    numbers = real(scale), real(knorm), real(-beta)
    launching.run(_neighbours, n, *_flat(data, out), n, channels, inner, half, *numbers)


# -- L2 normalization ------------------------------------------------------------------


@cache
def _lengths(team: int) -> Any:
    """The kernel that finds a vector's norm and divides by it, or its gradient."""
    real = np.dtype(np.float64)

    @launching.kernel
    def kernel(
        dout: Any, data: Any, norm: Any, out: Any, eps: float, n: int, length: int,
        inner: int, backward: bool,
    ) -> None:  # fmt: skip
        first = cuda.shared.array(team, real)
        second = cuda.shared.array(team, real)
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
    groups, length, inner = data.shape
    n, arrays = groups * inner, _flat(data, data, norm, out)
    _launch(_lengths(TEAM[0]), n, *arrays, eps, n, length, inner, False)


def l2_gradient(dout: Any, data: Any, norm: Any, ddata: Any) -> None:
    """The gradient (dy - y * sum(dy * y)) / norm, with y = x / norm."""
    groups, length, inner = data.shape
    n, arrays = groups * inner, _flat(dout, data, norm, ddata)
    _launch(_lengths(TEAM[0]), n, *arrays, 0.0, n, length, inner, True)
