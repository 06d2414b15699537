"""How far two numbers may be apart: by their element type, unless the caller says."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Number
from typing import Any

import numpy as np

from minimx.core.dtypes import DType

#: What a caller may give: one number, or one for each element type, or nothing.
Tolerance = float | Mapping[DType, float] | None

_EXACT = ("bool", "int8", "uint8", "int32", "uint32", "int64", "uint64")


def default_rtols() -> dict[DType, float]:
    """{element type: relative tolerance}; 0 for whole numbers."""
    return _table(float16=1e-2, float32=1e-4, float64=1e-5)


def default_atols() -> dict[DType, float]:
    """{element type: absolute tolerance}; 0 for whole numbers."""
    return _table(float16=1e-1, float32=1e-3, float64=1e-20)


def default_numeric_eps() -> dict[DType, float]:
    """{element type: how far an input is moved for a numeric gradient}.

    Powers of two, so that the step itself is exact.
    """
    steps = {"float16": 2.0**-6, "float32": 2.0**-9, "float64": 2.0**-14}
    return {np.dtype(name): step for name, step in steps.items()}


def _table(**floats: float) -> dict[DType, float]:
    exact = dict.fromkeys(_EXACT, 0.0)
    return {np.dtype(name): value for name, value in (exact | floats).items()}


def effective_dtype(dat: Any) -> DType:
    """The element type by which an array is judged: its own.

    MXNet makes an exception for float32 on GPUs that multiply in TF32, which it
    judges like float16.
    """
    found: DType = np.dtype(dat.dtype)
    return found


def get_tolerance(
    dat: Any, tol: Tolerance, default_tol: Mapping[DType, float]
) -> float:
    """The tolerance for one array: `tol` if it is a number, or its entry in `tol`.

    default_tol: {element type: tolerance} for what `tol` does not give; else 0.
    """
    if isinstance(tol, Number):
        return float(tol)
    dtype = effective_dtype(dat)
    given: Mapping[DType, float] = tol if isinstance(tol, Mapping) else {}
    return given.get(dtype, default_tol.get(dtype, 0.0))


def get_tols(x: Any, y: Any, rtol: Tolerance, atol: Tolerance) -> tuple[float, float]:
    """(rtol, atol) for comparing two arrays or numbers: the looser of both types."""
    both = [v if hasattr(v, "dtype") else np.asarray(v) for v in (x, y)]
    return (
        max(get_tolerance(v, rtol, default_rtols()) for v in both),
        max(get_tolerance(v, atol, default_atols()) for v in both),
    )


def get_rtol(rtol: float | None = None, dtype: Any = np.float64) -> float:
    """The relative tolerance given, else that of the element type."""
    return default_rtols()[np.dtype(dtype)] if rtol is None else rtol


def get_atol(atol: float | None = None, dtype: Any = np.float64) -> float:
    """The absolute tolerance given, else that of the element type."""
    return default_atols()[np.dtype(dtype)] if atol is None else atol


def get_etol(etol: float | None = None) -> float:
    """The share of elements that may be wrong: the one given, else none."""
    return 0.0 if etol is None else etol
