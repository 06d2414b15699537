"""Softmax along one axis on CUDA; what the functions promise stands in the CPU's file.

data (groups, length, inner): every vector has a thread of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.kernels.cuda import launching
from minimx.kernels.cuda.launching import cuda
from minimx.kernels.cuda.mathematics import exp, log


@launching.kernel
def _softmax(
    data: Any, out: Any, n: int, length: int, inner: int, scale: Any, logarithm: bool
) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        start = i // inner * length * inner + i % inner
        largest = data[start] * scale
        for k in range(1, length):
            largest = max(largest, data[start + k * inner] * scale)
        total = 0.0
        for k in range(length):
            total += exp(data[start + k * inner] * scale - largest)
        base = largest + log(total)
        for k in range(length):
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
    y: Any, label: Any, out: Any, n: int, length: int, inner: int, ignored: float,
    smooth: float, scale: float,
) -> None:  # fmt: skip
    off = smooth / (length - 1) if length > 1 else 0.0
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        start = i // inner * length * inner + i % inner
        right, skipped = int(label[i]), label[i] == ignored
        for k in range(length):
            at = start + k * inner
            wanted = 1 - smooth if k == right else off
            out[at] = 0 if skipped else (y[at] - wanted) * scale


@launching.kernel
def _losses(data: Any, label: Any, out: Any, rows: int, length: int) -> None:
    """One thread adds the losses of all rows up, in order."""
    if cuda.grid(1) == 0:
        sum_ = 0.0
        for r in range(rows):
            start, right = r * length, int(label[r])
            largest = data[start]
            for k in range(1, length):
                largest = max(largest, data[start + k])
            total = 0.0
            for k in range(length):
                total += exp(data[start + k] - largest)
            known = right >= 0 and right < length
            value = data[start + (right if known else 0)]
            sum_ += largest + log(total) - value if known else np.nan
        out[0] = sum_


def softmax(data: Any, scale: Any, log: bool, out: Any) -> None:
    """Fill out with softmax(data * scale), or its logarithm."""
    groups, length, inner = out.shape
    n = groups * inner
    arrays = data.reshape(-1), out.reshape(-1)
    launching.run(_softmax, n, *arrays, n, length, inner, scale, log)


def softmax_gradient(dout: Any, out: Any, scale: Any, log: bool, ddata: Any) -> None:
    """The gradient of the data, from that of the output and the output."""
    groups, length, inner = out.shape
    n = groups * inner
    arrays = dout.reshape(-1), out.reshape(-1), ddata.reshape(-1)
    launching.run(_gradient, n, *arrays, n, length, inner, scale, log)


def output_gradient(
    out: Any, label: Any, ignored: float, smooth: float, ddata: Any, scale: float = 1.0
) -> None:
    """The gradient of the cross entropy, times `scale`: out - one_hot(label)."""
    groups, length, inner = out.shape
    n = groups * inner
    arrays = out.reshape(-1), label.reshape(-1), ddata.reshape(-1)
    launching.run(_output, n, *arrays, n, length, inner, ignored, smooth, scale)


def cross_entropy(data: Any, label: Any, losses: Any) -> None:
    """losses[0] = the sum over rows of -log softmax(data)[label]."""
    rows, length = data.shape
    arrays = data.reshape(-1), label.reshape(-1), losses.reshape(-1)
    launching.run(_losses, 1, *arrays, rows, length)
