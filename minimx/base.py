"""`mx.base`: the names that MXNet keeps there."""

from __future__ import annotations

import numpy as np

from minimx.errors import MXNetError

mx_real_t = np.float32

__all__ = ["MXNetError", "mx_real_t"]
