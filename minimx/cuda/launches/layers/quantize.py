"""Launches of quantization: real numbers as integers of eight bits, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.dtypes import FLOAT32
from minimx.core.ops.registry import Kernel
from minimx.core.ops.spec import Spec
from minimx.cuda.kernels import scratch
from minimx.cuda.kernels.arrays.places import held
from minimx.cuda.kernels.layers import quantize
from minimx.cuda.launches import implements
from minimx.operators.layers.quantize import _TOP, _WIDER


def _calibrated(op: Any) -> Any:
    """What gives the measured range as two arrays of one element, if there is one."""
    low, high = op.min_calib_range, op.max_calib_range
    if low is None or high is None:
        return None
    there = [held(np.array([end], np.float32)) for end in (low, high)]
    return lambda: tuple(end() for end in there)


@implements("_contrib_quantize")
def quantized(op: Any, *specs: Spec) -> Kernel | None:
    """In the range that two arrays hold."""
    top, launch = _TOP[op.infer(*specs)[0].dtype.name], quantize.quantize
    return lambda x, low, high, *outs: launch(x, low, high, top, *outs)


@implements("_contrib_quantize_v2")
def measured(op: Any, *specs: Spec) -> Kernel | None:
    """In a measured range, or in that of the numbers."""
    top, known = _WIDER[op.infer(*specs)[0].dtype.name], _calibrated(op)

    def run(x: Any, *outs: Any) -> None:
        with scratch.allocated((1, FLOAT32), (1, FLOAT32)) as (low, high):
            if known is None:
                quantize.measured(x, low, high)
            else:
                low, high = known()
            quantize.quantize(x, low, high, top, *outs)

    return run


@implements("_contrib_dequantize")
def dequantized(op: Any, data: Spec, *limits: Spec) -> Kernel | None:
    """A product."""
    top = _WIDER[data.dtype.name]
    return lambda x, low, high, out: quantize.dequantize(x, low, high, top, out)


@implements("_contrib_requantize")
def narrowed(op: Any, *specs: Spec) -> Kernel | None:
    """Back to real numbers, and from them to integers."""
    top, known = _TOP[op.infer(*specs)[0].dtype.name], _calibrated(op)
    launch = quantize.requantize
    return lambda x, low, high, *outs: launch(
        x, low, high, known and known(), top, *outs
    )
