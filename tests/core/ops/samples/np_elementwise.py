"""Rows for the pointwise operators and reductions of the NumPy front end."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.core.ops.sample import FLOATS, Sample, numbers

WHOLE = ("int8", "uint8", "int32", "int64")
HERE = np.array([[1.5, -0.5, 0.0], [2.0, 0.0, -1.25]])
THERE = np.array([[1.5, 0.5, 0.0], [-2.0, 1.0, -1.25]])
ODD = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.5])


def two(low: float = -2, high: float = 2) -> tuple[Any, Any]:
    return (
        numbers(3, 4, low=low, high=high),
        numbers(3, 4, low=low + 0.05, high=high, seed=5),
    )


def _comparisons() -> list[Sample]:
    rows = []
    for word in ("equal", "not_equal", "greater", "greater_equal", "less"):
        rows += _comparison(word, getattr(np, word))
    for word in ("less_equal", "logical_and", "logical_or", "logical_xor"):
        rows += _comparison(word, getattr(np, word))
    return rows


def _comparison(word: str, oracle: Any) -> list[Sample]:
    return [
        Sample(f"_npi_{word}", (HERE, THERE), oracle=oracle),
        Sample(
            f"_npi_{word}_scalar",
            (HERE,),
            {"scalar": 1.5},
            lambda x: oracle(x, 1.5),
        ),
    ]


_TESTS = [
    Sample(f"_npi_{word}", (ODD,), oracle=getattr(np, word))
    for word in (
        "logical_not", "isnan", "isinf", "isposinf", "isneginf", "isfinite", "signbit",
    )
]  # fmt: skip

_SMOOTH = [
    Sample("_npi_arctan2", two(), oracle=np.arctan2),
    Sample("_npi_copysign", two(), oracle=np.copysign, smooth=(True, False)),
    Sample("_npi_ldexp", two(), oracle=lambda a, b: a * 2**b),
    Sample("_npi_fmod", two(0.3, 2), oracle=np.fmod),
    Sample("_npi_floor_divide", two(0.3, 2), oracle=np.floor_divide),
    Sample(
        "_npi_floor_divide",
        (np.array([7, 7, 5]), np.array([2, 3, 0])),
        oracle=lambda a, b: np.where(b == 0, 0, a // np.maximum(b, 1)),
        dtypes=("int64",),
        note="whole",
    ),
    Sample("_npi_fmax", two(), oracle=np.fmax),
    Sample("_npi_fmax", (ODD, ODD[::-1]), oracle=np.fmax, smooth=False, note="odd"),
    Sample("_npi_fmin", two(), oracle=np.fmin),
    Sample("_npi_fmin", (ODD, ODD[::-1]), oracle=np.fmin, smooth=False, note="odd"),
    Sample("_npi_logaddexp", two(), oracle=np.logaddexp),
    Sample("_npi_heaviside", (HERE, THERE), oracle=np.heaviside),
    Sample("_npi_exp2", (numbers(3, 4),), oracle=np.exp2),
    Sample("_npi_around", (numbers(3, 4),), {"decimals": 1}, lambda x: x.round(1)),
    Sample("_npi_around", (np.array([0.5, 1.5, -2.5]),), oracle=np.around,
           smooth=False, note="halves"),
]  # fmt: skip

_LEFT, _RIGHT = np.array([12.0, 10, 7, 0]), np.array([2.0, 3, 1, 5])
_LOOPED = [
    Sample(
        f"_npi_{word}",
        (_LEFT.astype(dtype), _RIGHT.astype(dtype)),
        oracle=getattr(np, word),
        dtypes=("int64",),
        note=dtype,
    )
    for dtype in WHOLE
    for word in (
        "bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift",
        "lcm", "gcd",
    )
]  # fmt: skip
_LOOPED += [
    Sample(
        "_npi_bitwise_not",
        (_LEFT.astype(dtype),),
        oracle=np.bitwise_not,
        dtypes=("int64",),
        note=dtype,
    )
    for dtype in WHOLE
]

_BOX = numbers(2, 3, 4)
_REDUCTIONS = [
    Sample("_np_any", (HERE,), {"axis": 1}, lambda x: x.any(axis=1)),
    Sample("_np_any", (HERE,), {}, np.any, note="all"),
    Sample("_np_all", (HERE,), {"axis": 0, "keepdims": True},
           lambda x: x.all(axis=0, keepdims=True)),
    Sample("_npi_argmax", (_BOX,), {"axis": 1}, lambda x: x.argmax(1)),
    Sample("_npi_argmax", (_BOX,), {}, np.argmax, note="all"),
    Sample("_npi_argmin", (_BOX,), {"axis": -1, "keepdims": True},
           lambda x: x.argmin(-1, keepdims=True)),
    Sample("_npi_cumprod", (_BOX,), {"axis": 1}, lambda x: x.cumprod(1)),
    Sample("sum", (_BOX,), {"np_shape": True}, np.sum, FLOATS, tolerance=40),
]  # fmt: skip

ROWS = [*_comparisons(), *_TESTS, *_SMOOTH, *_LOOPED, *_REDUCTIONS]
