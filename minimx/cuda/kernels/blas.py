"""The matrix product of cuBLAS, through CuPy where that is installed.

Nothing else of CuPy is used: it sees our arrays as its own, without a copy, and works
in our stream.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module, util
from typing import Any

from minimx.cuda.driver import current_stream
from minimx.cuda.kernels.launching import PLAYING
from minimx.cuda.kernels.recording import not_recorded


@cache
def library() -> Any:
    """The module `cupy`, or None where it is not installed or CUDA is played."""
    if PLAYING or util.find_spec("cupy") is None:
        return None
    return import_module("cupy")


def product(a: Any, b: Any, out: Any, ta: bool, tb: bool) -> None:
    """Out = op(a) · op(b), for matrices or stacks of them."""
    not_recorded("CuPy takes memory from a pool of its own")
    cupy = library()
    with cupy.cuda.ExternalStream(int(current_stream())):
        left, right, result = map(cupy.asarray, (a, b, out))
        left = left.swapaxes(-1, -2) if ta else left
        right = right.swapaxes(-1, -2) if tb else right
        cupy.matmul(left, right, out=result)
