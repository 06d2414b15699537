"""Softmax along one axis on CUDA; what the functions promise stands in the CPU's file.

data (groups, length, inner): every vector has a thread of its own; or, where it is
long and its elements are neighbours, a block of threads, which take every TEAM-th
element and fold what they found in halves through shared memory.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from minimx.core.dtypes import FLOAT64
from minimx.cuda.kernels import launching, scratch
from minimx.cuda.kernels.core import reduce
from minimx.cuda.kernels.default_launch import real_first, runs
from minimx.cuda.kernels.launching import cuda
from minimx.cuda.kernels.mathematics import exp, log

#: The threads of a vector (a power of 2), and from how many elements on it has them.
TEAM, LONG = ([2], 16) if launching.SIMULATED else ([128], 128)


@launching.inner
def fold(part: Any, team: int, largest: bool) -> None:
    """Leave the sum, or the largest, of what the threads have in the first place."""
    t, half = cuda.threadIdx.x, team // 2
    cuda.syncthreads()
    while half > 0:
        if t < half:
            other = part[t + half]
            if largest:
                part[t] = max(part[t], other)
            else:
                part[t] += other
        cuda.syncthreads()
        half //= 2


@cache
def _softmax_of_teams(team: int, real: Any) -> Any:
    """The kernel in which `team` threads share a vector of neighbours."""

    @launching.kernel
    def kernel(
        data: Any, out: Any, n: int, length: int, scale: Any, logarithm: bool
    ) -> None:
        tops = cuda.shared.array(team, real)
        sums = cuda.shared.array(team, np.float64)
        t = cuda.threadIdx.x
        for i in range(cuda.blockIdx.x, n, cuda.gridDim.x):
            start, end = i * length, (i + 1) * length
            tops[t] = data[start] * scale
            for at in range(start + t, end, team):
                tops[t] = max(tops[t], data[at] * scale)
            fold(tops, team, True)
            largest, total = tops[0], 0.0
            for at in range(start + t, end, team):
                total += exp(data[at] * scale - largest)
            sums[t] = total
            fold(sums, team, False)
            total = sums[0]
            base = largest + log(total)
            for at in range(start + t, end, team):
                value = data[at] * scale
                out[at] = value - base if logarithm else exp(value - largest) / total
            cuda.syncthreads()

    return kernel


@cache
def _gradient_of_teams(team: int) -> Any:
    """The same for the gradient."""

    @launching.kernel
    def kernel(
        dout: Any, y: Any, out: Any, n: int, length: int, scale: Any, logarithm: bool
    ) -> None:
        sums = cuda.shared.array(team, np.float64)
        t = cuda.threadIdx.x
        for i in range(cuda.blockIdx.x, n, cuda.gridDim.x):
            start, end = i * length, (i + 1) * length
            total = 0.0
            for at in range(start + t, end, team):
                total += dout[at] if logarithm else dout[at] * y[at]
            sums[t] = total
            fold(sums, team, False)
            total = sums[0]
            for at in range(start + t, end, team):
                if logarithm:
                    out[at] = (dout[at] - exp(y[at]) * total) * scale
                else:
                    out[at] = y[at] * (dout[at] - total) * scale
            cuda.syncthreads()

    return kernel


@launching.kernel
def _softmax(
    data: Any, limits: Any, out: Any, n: int, length: int, inner: int, scale: Any,
    logarithm: bool, limited: bool, zero: Any,
) -> None:  # fmt: skip
    """limits: where `limited`, for every vector how many elements take part."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        start = i // inner * length * inner + i % inner
        count = length
        if limited:
            limit = float(limits[i])
            count = max(0, min(length, int(limit) + (1 if int(limit) < limit else 0)))
        for k in range(count, length):
            out[start + k * inner] = zero
        if count == 0:
            continue
        largest = data[start] * scale
        for k in range(1, count):
            largest = max(largest, data[start + k * inner] * scale)
        total = 0.0
        for k in range(count):
            total += exp(data[start + k * inner] * scale - largest)
        base = largest + log(total)
        for k in range(count):
            value = data[start + k * inner] * scale
            if logarithm:
                out[start + k * inner] = value - base
            else:
                out[start + k * inner] = exp(value - largest) / total


@launching.kernel
def _gradient(
    dout: Any, y: Any, out: Any, n: int, length: int, inner: int, scale: Any,
    logarithm: bool,
) -> None:  # fmt: skip
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        start = i // inner * length * inner + i % inner
        total = 0.0
        for k in range(length):
            at = start + k * inner
            total += dout[at] if logarithm else dout[at] * y[at]
        for k in range(length):
            at = start + k * inner
            if logarithm:
                out[at] = (dout[at] - exp(y[at]) * total) * scale
            else:
                out[at] = y[at] * (dout[at] - total) * scale


@launching.kernel
def _output(
    y: Any, label: Any, counted: Any, out: Any, n: int, length: int, inner: int,
    ignored: float, smooth: float, whole: float, shared: bool,
) -> None:  # fmt: skip
    off = smooth / (length - 1) if length > 1 else 0.0
    scale = whole / max(float(counted[0]), 1.0) if shared else whole
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        start = i // inner * length * inner + i % inner
        right, skipped = int(label[i]), label[i] == ignored
        for k in range(length):
            at = start + k * inner
            wanted = 1 - smooth if k == right else off
            out[at] = 0 if skipped else (y[at] - wanted) * scale


@launching.kernel
def _counts(label: Any, ones: Any, n: int, skipped: int) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        ones[i] = 0.0 if int(label[i]) == skipped else 1.0


@launching.kernel
def _losses(data: Any, label: Any, losses: Any, rows: int, length: int) -> None:
    for r in range(cuda.grid(1), rows, cuda.gridsize(1)):
        start, right = r * length, int(label[r])
        largest = data[start]
        for k in range(1, length):
            largest = max(largest, data[start + k])
        total = 0.0
        for k in range(length):
            total += exp(data[start + k] - largest)
        known = right >= 0 and right < length
        value = data[start + (right if known else 0)]
        losses[r] = largest + log(total) - value if known else np.nan


def softmax(data: Any, scale: Any, log: bool, out: Any, limits: Any = None) -> None:
    """Fill out, which may be data, with softmax(data * scale), or its logarithm.

    limits (groups, inner): so many elements of each vector take part; 0 stands for the
    others.
    """
    groups, length, inner = out.shape
    if limits is None and inner == 1 and length >= LONG:
        team = TEAM[0]
        found = _softmax_of_teams(team, np.dtype(out.dtype))
        launching.by_teams(found, groups, team, data, out, groups, length, scale, log)
        return
    limited = limits is not None
    arrays, zero = (data, limits if limited else out, out), out.dtype.type(0)
    settings = length, inner, scale, log, limited, zero
    launching.over(_softmax, groups * inner, arrays, *settings)


def softmax_gradient(dout: Any, out: Any, scale: Any, log: bool, ddata: Any) -> None:
    """The gradient of the data, from that of the output and the output."""
    groups, length, inner = out.shape
    arrays = dout, out, ddata
    if inner == 1 and length >= LONG:
        settings, team = (groups, length, scale, log), TEAM[0]
        launching.by_teams(_gradient_of_teams(team), groups, team, *arrays, *settings)
        return
    launching.over(_gradient, groups * inner, arrays, length, inner, scale, log)


def output_gradient(
    out: Any, label: Any, ignored: float, smooth: float, ddata: Any,
    scale: float = 1.0, skipped: int | None = None,
) -> None:  # fmt: skip
    """The gradient of the cross entropy, times `scale`: out - one_hot(label).

    skipped: a label; the gradient is divided by the number of others.
    """
    groups, length, inner = out.shape
    n, numbers = groups * inner, (length, inner, ignored, smooth, scale)
    if skipped is None:
        launching.over(_output, n, (out, label, out, ddata), *numbers, False)
        return
    with scratch.allocated((n, FLOAT64), (1, FLOAT64)) as (ones, counted):
        launching.over(_counts, n, (label, ones), skipped)
        _sum(n)(ones, counted)
        launching.over(_output, n, (out, label, counted, ddata), *numbers, True)


@runs("softmax_cross_entropy", types=real_first)
def cross_entropy(data: Any, label: Any, losses: Any) -> None:
    """losses[0] = the sum over rows of -log softmax(data)[label]."""
    rows, length = data.shape
    with scratch.allocated((rows, FLOAT64), (1, FLOAT64)) as (each, whole):
        launching.over(_losses, rows, (data, label, each), length)
        _sum(rows)(each, whole)
        launching.run(_moved, 1, whole, losses.reshape(-1))


@launching.kernel
def _moved(x: Any, out: Any) -> None:
    if cuda.grid(1) == 0:
        out[0] = x[0]


def _sum(n: int) -> Any:
    """The launch (x, out) that adds up n numbers of double precision."""
    return reduce.reduction("sum", (n,), (0,), FLOAT64)
