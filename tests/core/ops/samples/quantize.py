"""Rows for quantization: integers of eight bits for real numbers, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.core.ops.sample import Sample

# In steps of a range that reaches to 4 (int8) or 2 (uint8); ties go to the even one.
STEPS = np.array([[0.0, 10.2, -57.3], [126.8, -126.9, 200.0]], "float32")
X = (STEPS * (4 / 127)).astype("float32")
WIDER = (STEPS * (4 / 127.5)).astype("float32")
TOWARDS = np.array([[0.0, 17.2, 100.4], [254.9, 300.0, -3.1]], "float32")
POSITIVE, POSITIVE_WIDER = (
    TOWARDS * np.float32(2 / 255),
    TOWARDS * np.float32(2 / 255.5),
)
LOW, HIGH = np.array([-4], "float32"), np.array([3], "float32")
ZERO, TWO = np.array([0], "float32"), np.array([2], "float32")
INT8 = np.array([[0, 10, -57], [127, -127, 127]], "int8")
UINT8 = np.array([[0, 17, 100], [255, 255, 0]], "uint8")
WIDE = np.array([[2**30, -(2**29)], [2**28, -5]], "int32")


def signed(*_: Any) -> Any:
    return INT8, np.array([-4], "float32"), np.array([4], "float32")


def unsigned(*_: Any) -> Any:
    return UINT8, ZERO, TWO


def plain(op: str, inputs: tuple[Any, ...], oracle: Any, **settings: Any) -> Sample:
    return Sample(op, inputs, settings, oracle, ("float32",), smooth=False)


ROWS = [
    plain("_contrib_quantize", (X, LOW, HIGH), signed, out_type="int8"),
    plain("_contrib_quantize", (POSITIVE, ZERO, TWO), unsigned),
    plain(
        "_contrib_quantize_v2",
        (WIDER,),
        signed,
        min_calib_range=-4.0,
        max_calib_range=3.0,
    ),
    plain(
        "_contrib_quantize_v2",
        (POSITIVE_WIDER,),
        unsigned,
        out_type="auto",
        min_calib_range=0.0,
        max_calib_range=2.0,
    ),
    plain(
        "_contrib_quantize_v2",
        (X[:1] * 127 / 57.3,),
        lambda x: (
            np.array([[0, 23, -128]], "int8"),
            np.array([x.min()]),
            np.array([-x.min()]),
        ),
    ),
    plain(
        "_contrib_dequantize",
        (INT8, LOW, HIGH),
        lambda q, low, high: q * np.float32(4 / 127.5),
    ),
    plain(
        "_contrib_dequantize",
        (UINT8, LOW, HIGH),
        lambda q, low, high: q * np.float32(4 / 255.5),
    ),
    plain(
        "_contrib_requantize",
        (WIDE, LOW, HIGH),
        lambda x, low, high: (
            np.array([[127, -64], [32, 0]], "int8"),
            np.array([-2], "float32"),
            np.array([2], "float32"),
        ),
    ),
    plain(
        "_contrib_requantize",
        (WIDE, LOW, HIGH),
        lambda x, low, high: (
            np.array([[127, -127], [64, 0]], "int8"),
            np.array([-1], "float32"),
            np.array([1], "float32"),
        ),
        min_calib_range=-1.0,
        max_calib_range=0.5,
    ),
    plain(
        "_contrib_requantize",
        (WIDE, LOW, HIGH),
        lambda x, low, high: (
            np.array([[255, 0], [128, 0]], "uint8"),
            np.array([0], "float32"),
            np.array([1], "float32"),
        ),
        out_type="auto",
        min_calib_range=0.0,
        max_calib_range=1.0,
    ),
]
