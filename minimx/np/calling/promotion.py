"""Which element type an operation on two arrays has, as in `mx.np` (type promotion).

`mx.nd` refuses inputs of different types; `mx.np` converts them first, by these rules:

    float and float          the wider one
    float and integer        the float, whatever its width: int64 and float16: float16
    integer and integer      the wider one; int8 and uint8 give int32
    anything and bool        the other one
    array and number         the type of the array; int64 if that is bool

They are MXNet's, and narrower than NumPy's (`np.result_type`), for which int64 and
float16 give float64.
"""

from __future__ import annotations

from typing import Any

import numpy as onp

from minimx.core.arrays.array import NDArray
from minimx.core.dtypes import FLOAT32, INT32, DType
from minimx.core.ops.registry import lookup

BOOL = onp.dtype(onp.bool_)


def common(a: DType, b: DType) -> DType:
    """The element type of the result of two arrays: the first four rules.

    >>> import numpy as onp
    >>> common(onp.dtype("int64"), onp.dtype("float16")).name
    'float16'
    """
    if a == b:
        return a
    if a.kind == "b" or b.kind == "b":
        return b if a.kind == "b" else a
    if a.kind != b.kind and "f" in (a.kind, b.kind):
        return a if a.kind == "f" else b
    if a.itemsize == b.itemsize:
        return INT32
    wide = a if a.itemsize > b.itemsize else b
    return INT32 if wide.itemsize == 1 else wide


def real(dtype: DType) -> DType:
    """The type itself if it is a float type, else float32: for sqrt, mean, division."""
    return dtype if dtype.kind == "f" else FLOAT32


def cast(array: Any, dtype: DType) -> Any:
    """The array in an element type: itself, or a recorded `cast`.

    array: one of `mx.np`, or a Symbol; the gradient is converted back to its type.
    """
    if array.spec.dtype == dtype:
        return array
    return array._bind(lookup("cast").of(dtype=dtype.name), (array,))


def is_number(value: Any) -> bool:
    """Whether a value is a plain number: of Python, or of NumPy."""
    return isinstance(value, (int, float, onp.generic)) and not isinstance(
        value, NDArray
    )
