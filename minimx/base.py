"""`mx.base`: the names that MXNet keeps there, as far as they mean something here.

Handles and calls into a C library have no counterpart: there is no library behind.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from minimx.errors import MXNetError, NotImplementedForSymbol
from minimx.knobs import knobs

mx_real_t = np.float32
string_types = (str,)
integer_types = (int, np.int32, np.int64)
numeric_types = (float, int, np.generic)

__all__ = ["MXNetError", "NotImplementedForSymbol", "data_dir", "mx_real_t", "py_str"]


def py_str(x: bytes | str) -> str:
    """Text from bytes in UTF-8; text as it is."""
    return x if isinstance(x, str) else x.decode("utf-8")


def data_dir() -> str:
    """Where data sets and models are kept: MXNET_HOME, `~/.mxnet` by default."""
    return str(Path(str(knobs.get("MXNET_HOME"))).expanduser())


def _as_list(obj: Any) -> list[Any]:
    """A list: of the elements of a list or tuple, or of the one thing given."""
    return list(obj) if isinstance(obj, (list, tuple)) else [obj]
