"""Softmax along one axis: exp(x * scale), divided by its sum.

data (groups, length, inner), computed along the middle axis. The largest element is
taken off first, so that nothing overflows; sums are taken in double precision. `scale`
is 1 / temperature, and negative for softmin; `log` asks for the logarithm.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.kernels import threads
from minimx.core.kernels.mathematics import exp
from minimx.core.kernels.parts import dealt

# Neighbouring vectors that one piece of work gathers when they lie across memory.
SIDE = 64


@threads.jit(inner=True, fastmath={"reassoc"})
def _softmax_row(row: Any, scale: Any, log: bool, out: Any) -> None:
    largest = row[0] * scale
    for k in range(1, row.size):
        largest = max(largest, row[k] * scale)
    for k in range(row.size):
        out[k] = exp(row[k] * scale - largest)
    total = 0.0
    for k in range(row.size):
        total += np.float64(out[k])
    if log:  # not the logarithm of `out`, whose small elements have become 0
        base = largest + out.dtype.type(np.log(total))
        for k in range(row.size):
            out[k] = row[k] * scale - base
    else:
        share = out.dtype.type(1 / total)
        for k in range(row.size):
            out[k] *= share


@threads.jit(inner=True, fastmath={"reassoc"})
def _gradient_row(dout: Any, out: Any, scale: Any, log: bool, ddata: Any) -> None:
    total = 0.0
    if log:  # dx = (dy - exp(y) * sum(dy)) * scale
        for k in range(out.size):
            total += np.float64(dout[k])
        sum_ = ddata.dtype.type(total)
        for k in range(out.size):
            ddata[k] = (dout[k] - exp(out[k]) * sum_) * scale
    else:  # dx = y * (dy - sum(dy * y)) * scale
        for k in range(out.size):
            total += np.float64(dout[k]) * out[k]
        mean = ddata.dtype.type(total)
        for k in range(out.size):
            ddata[k] = out[k] * (dout[k] - mean) * scale


@threads.jit(parallel=True)
def softmax(part: Any, data: Any, scale: Any, log: bool, out: Any) -> None:
    """Fill out with softmax(data * scale), or its logarithm.

    data, out (groups, n, inner): over the middle axis. float32 or float64. The largest
    element is subtracted first, so that no exponential overflows.
    """
    groups, length, inner = data.shape
    if inner == 1:
        rows, targets = data.reshape((groups, length)), out.reshape((groups, length))
        for g in dealt(groups, part):
            _softmax_row(rows[g], scale, log, targets[g])
        return
    blocks = -(-inner // SIDE)
    for task in dealt(groups * blocks, part):
        g, first = task // blocks, task % blocks * SIDE
        row, result = np.empty(length, data.dtype), np.empty(length, data.dtype)
        for i in range(first, min(first + SIDE, inner)):
            for k in range(length):
                row[k] = data[g, k, i]
            _softmax_row(row, scale, log, result)
            for k in range(length):
                out[g, k, i] = result[k]


@threads.jit(parallel=True)
def softmax_gradient(
    part: Any, dout: Any, out: Any, scale: Any, log: bool, ddata: Any
) -> None:
    """The gradient of the data, from that of the output and the output.

    dout, out, ddata (groups, n, inner); scale and log as for `softmax`.
    """
    groups, length, inner = out.shape
    if inner == 1:
        shape = (groups, length)
        rows, douts = out.reshape(shape), dout.reshape(shape)
        targets = ddata.reshape(shape)
        for g in dealt(groups, part):
            _gradient_row(douts[g], rows[g], scale, log, targets[g])
        return
    blocks = -(-inner // SIDE)
    for task in dealt(groups * blocks, part):
        g, first = task // blocks, task % blocks * SIDE
        scratch = np.empty((3, length), out.dtype)
        for i in range(first, min(first + SIDE, inner)):
            for k in range(length):
                scratch[0, k], scratch[1, k] = dout[g, k, i], out[g, k, i]
            _gradient_row(scratch[0], scratch[1], scale, log, scratch[2])
            for k in range(length):
                ddata[g, k, i] = scratch[2, k]
