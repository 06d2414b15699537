"""The element types: names, NumPy dtypes, sizes.

NumPy dtypes are the currency inside minimx. `resolve` is the one place where a name, a
Python type or MXNet's integer code becomes one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.errors import DTypeError, did_you_mean

DType = np.dtype[Any]

FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)
FLOAT16 = np.dtype(np.float16)
INT32 = np.dtype(np.int32)
INT64 = np.dtype(np.int64)

# MXNet's own codes, as they stand in `.params` files.
CODES: dict[int, DType] = {
    0: FLOAT32,
    1: FLOAT64,
    2: FLOAT16,
    3: np.dtype(np.uint8),
    4: INT32,
    5: np.dtype(np.int8),
    6: INT64,
    7: np.dtype(np.bool_),
}
NAMES: dict[str, DType] = {dtype.name: dtype for dtype in CODES.values()}
SUPPORTED = frozenset(CODES.values())


def resolve(dtype: Any) -> DType:
    """The NumPy dtype meant by a name, a NumPy type or an MXNet code.

    >>> resolve("float32") == resolve(np.float32) == resolve(0)
    True
    """
    if isinstance(dtype, np.dtype) and dtype in SUPPORTED:
        return dtype
    if isinstance(dtype, int) and not isinstance(dtype, bool) and dtype in CODES:
        return CODES[dtype]
    found: DType | None
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = None
    if found is not None and found in SUPPORTED:
        return found
    hint = did_you_mean(str(dtype), NAMES)
    raise DTypeError(
        f"dtype {dtype!r} is not one of minimx's: {', '.join(NAMES)}.{hint}"
    )


def is_float(dtype: DType) -> bool:
    """Whether the dtype is a floating-point type."""
    return dtype.kind == "f"
