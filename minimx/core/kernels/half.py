"""Half precision for kernels that compute in single or double precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minimx.core.dtypes import FLOAT32, NARROW, DType


def computing(dtype: DType) -> DType:
    """The element type a kernel computes in for arrays of `dtype`."""
    return FLOAT32 if dtype in NARROW else dtype


def in_single(kernel: Callable[..., None], inputs: int) -> Callable[..., None]:
    """The kernel for half-precision arrays: widen, compute, round once at the end.

    inputs: how many of the arrays are read only; the others are written back. Arrays
    of other types pass untouched, and so do None and a random generator.
    """

    def run(*args: Any) -> None:
        from minimx.core.kernels.cpu.widths import convert, widened

        wide = [
            widened(arg) if isinstance(arg, np.ndarray) and arg.dtype in NARROW else arg
            for arg in args
        ]
        kernel(*wide)
        for narrow, result in zip(args[inputs:], wide[inputs:], strict=True):
            if result is not narrow:
                convert(result, narrow)

    return run
