"""Names of `mx.base` for programs that call MXNet's C library by ctypes.

There is no such library here; the helpers make what its functions take.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

__all__ = [
    "NDArrayHandle",
    "SymbolHandle",
    "c_array",
    "c_str",
    "c_str_array",
    "mx_uint",
]

mx_uint = ctypes.c_uint
NDArrayHandle = SymbolHandle = ctypes.c_void_p


def c_str(string: str) -> ctypes.c_char_p:
    """Text in UTF-8 as C has it."""
    return ctypes.c_char_p(string.encode("utf-8"))


def c_str_array(strings: Sequence[str]) -> ctypes.Array[ctypes.c_char_p]:
    """An array of such texts."""
    return c_array(ctypes.c_char_p, [string.encode("utf-8") for string in strings])


def c_array(ctype: Any, values: Sequence[Any]) -> ctypes.Array[Any]:
    """A C array of a type, with these values."""
    found: ctypes.Array[Any] = (ctype * len(values))(*values)
    return found
