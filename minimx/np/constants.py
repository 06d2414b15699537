"""Numbers, element types and settings that `mx.np` shares with NumPy."""

from __future__ import annotations

import builtins
from math import e, inf, nan, pi

import numpy as onp
from numpy import (
    bool_,
    dtype,
    finfo,
    float16,
    float32,
    float64,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    set_printoptions,
    uint8,
)

newaxis = None
euler_gamma = onp.euler_gamma
# NumPy 2 knows only `inf` and `nan`.
Inf = Infinity = PINF = infty = inf
NAN = NaN = nan
NINF, PZERO, NZERO = -inf, 0.0, -0.0
bool = builtins.bool  # noqa: A001 (MXNet offers the type of Python)

__all__ = [
    "Inf", "Infinity", "NAN", "NINF", "NZERO", "NaN", "PINF", "PZERO", "bool", "bool_",
    "dtype", "e", "euler_gamma", "finfo", "float16", "float32", "float64", "iinfo",
    "inf", "infty", "int16", "int32", "int64", "int8", "nan", "newaxis", "pi",
    "set_printoptions", "uint8",
]  # fmt: skip
