"""Cross entropy of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.kernels import threads
from minimx.core.kernels.cpu.softmax import _softmax_row
from minimx.core.kernels.parts import dealt


@threads.jit(parallel=True)
def cross_entropy(part: Any, data: Any, label: Any, losses: Any) -> None:
    """losses[r] = -log softmax(data[r])[label[r]], NaN if there is no such class."""
    rows, length = data.shape
    one = data.dtype.type(1)
    for r in dealt(rows, part):
        logs = np.empty(length, data.dtype)
        _softmax_row(data[r], one, True, logs)
        right = int(label[r])
        known = right >= 0 and right < length
        losses[r] = -logs[right] if known else data.dtype.type(np.nan)


@threads.jit(parallel=True)
def output_gradient(
    part: Any, out: Any, label: Any, ignored: float, smooth: float, ddata: Any
) -> None:
    """The gradient of the cross entropy: out - one_hot(label); 0 for ignored labels.

    out, ddata (groups, length, inner); label (groups, inner), class numbers
    ignored: the label to skip, NaN for none
    smooth: how much of the target is shared out over the other classes
    """
    groups, length, inner = out.shape
    real = ddata.dtype.type
    off = real(smooth / (length - 1)) if length > 1 else real(0)
    for g in dealt(groups, part):
        for i in range(inner):
            if label[g, i] == ignored:
                ddata[g, :, i] = 0
                continue
            for k in range(length):
                ddata[g, k, i] = out[g, k, i] - off
            right = int(label[g, i])
            if right >= 0 and right < length:
                ddata[g, right, i] = out[g, right, i] - real(1 - smooth)
