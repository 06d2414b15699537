"""`mx.base`: the names that MXNet keeps there, as far as they mean something here.

Handles have no counterpart: there is no C library behind. Of the calls into it that
programs make themselves, `_LIB` has those that need none.
"""

from __future__ import annotations

import ctypes
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np

from minimx.aliases import resolve_missing as _resolve_missing
from minimx.core.errors import MXNetError, NotImplementedForSymbol
from minimx.core.knobs import knobs
from minimx.core.ops.registry import ALIASES, REGISTRY

mx_real_t = np.float32
string_types = (str,)
integer_types = (int, np.int32, np.int64)
numeric_types = (float, int, np.generic)

__all__ = [
    "MXNetError",
    "NotImplementedForSymbol",
    "check_call",
    "data_dir",
    "mx_real_t",
    "py_str",
]


def py_str(x: bytes | str) -> str:
    """Text from bytes in UTF-8; text as it is."""
    return x if isinstance(x, str) else x.decode("utf-8")


def data_dir() -> str:
    """Where data sets and models are kept: MXNET_HOME, `~/.mxnet` by default."""
    return str(Path(str(knobs.get("MXNET_HOME"))).expanduser())


def _as_list(obj: Any) -> list[Any]:
    """A list: of the elements of a list or tuple, or of the one thing given."""
    return list(obj) if isinstance(obj, (list, tuple)) else [obj]


class _Library:
    """Calls that a program makes as if it spoke with MXNet's library by ctypes."""

    def __init__(self) -> None:
        self._shown: Any = None

    def MXListAllOpNames(self, out_size: Any, out_array: Any) -> int:  # noqa: N802
        """Say how many operators there are, and where their names begin.

        out_size, out_array: `ctypes.byref` of a c_uint and of a POINTER(c_char_p). The
        names stay where they are until they are asked for again. Returns 0: it went
        well.
        """
        import_module("minimx.symbol")  # some exist in graphs only
        names = sorted(name.encode() for name in {*REGISTRY, *ALIASES})
        self._shown = (ctypes.c_char_p * len(names))(*names)
        out_size._obj.value = len(names)
        first = ctypes.cast(self._shown, ctypes.POINTER(ctypes.c_char_p))
        out_array._obj.contents = first.contents
        return 0

    def MXSetNumOMPThreads(self, thread_num: Any) -> int:  # noqa: N802
        """Turn the knob OMP_NUM_THREADS. thread_num: a number or a `c_int`."""
        knobs.set(OMP_NUM_THREADS=getattr(thread_num, "value", thread_num))
        return 0

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"mx.base._LIB.{name}: minimx has no C library. Use the Python function "
            "that MXNet builds on this call, or another part of mx."
        )


_LIB: Final = _Library()


def check_call(ret: int) -> None:
    """Look whether a call of `_LIB` went well; its errors come as exceptions."""
    if ret != 0:
        raise MXNetError(f"a call of mx.base._LIB returned {ret}, not 0.")


_resolve_missing(__name__, __all__)
