"""Cross entropy of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from minimx.core.kernels import threads
from minimx.core.kernels.cpu.softmax import _softmax_row


@threads.jit(parallel=True)
def cross_entropy(data: Any, label: Any, losses: Any) -> None:
    """losses[r] = -log softmax(data[r])[label[r]], NaN if there is no such class."""
    rows, length = data.shape
    one = data.dtype.type(1)
    for r in prange(rows):
        logs = np.empty(length, data.dtype)
        _softmax_row(data[r], one, True, logs)
        right = int(label[r])
        known = right >= 0 and right < length
        losses[r] = -logs[right] if known else data.dtype.type(np.nan)
