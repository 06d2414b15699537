"""Real numbers as integers of eight bits on CUDA, and back.

The ends of a range lie on the device, measured there or given: what follows from them,
a scale and the range that travels with the integers, is found by one thread, and
nothing waits for a number.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.cuda.kernels import launching, scratch
from minimx.cuda.kernels.core.reduce import reduction
from minimx.cuda.kernels.launching import cuda
from minimx.cuda.kernels.mathematics import rint

_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
#: What the ends of the range of 32 bits become: 2 ** 31 - 1 as a float32.
_SUMS = 2.0**31


@launching.kernel
def _ranged(
    low: Any, high: Any, scale: Any, first: Any, last: Any, top: Any, sided: bool
) -> None:
    """The scale of a range, and what travels; sided: both sides of 0 as far."""
    if cuda.grid(1) == 0:
        ends = np.float32(low[0]), np.float32(high[0])
        reach = max(abs(ends[0]), abs(ends[1]))
        scale[0] = top / reach if reach != 0 else np.float32(0)
        first[0] = -reach if sided else ends[0]
        last[0] = reach if sided else ends[1]


@launching.kernel
def _rounded(x: Any, scale: Any, out: Any, n: int, least: Any, most: Any) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        out[i] = min(max(rint(x[i] * scale[0]), least), most)


@launching.kernel
def _real(x: Any, low: Any, high: Any, out: Any, n: int, top: Any) -> None:
    """What integers stand for; the products are exact before they are rounded."""
    unit = max(abs(low[0]), abs(high[0])) / top
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        out[i] = np.float64(x[i]) * np.float64(unit)


def measured(x: Any, low: Any, high: Any) -> None:
    """Write the smallest and the largest of all numbers."""
    for kind, end in (("min", low), ("max", high)):
        run: Any = reduction(kind, (x.size,), (0,), np.dtype(x.dtype))
        run(x, end)


def quantize(
    x: Any, low: Any, high: Any, top: float, out: Any, first: Any, last: Any
) -> None:
    """Integers of x, of which the larger end of the range becomes `top`."""
    ends = np.iinfo(out.dtype)
    with scratch.allocated((1, _SINGLE)) as (scale,):
        sided, most = out.dtype != np.uint8, np.float32(top)
        launching.run(_ranged, 1, low, high, scale, first, last, most, sided)
        limits = x.dtype.type(ends.min), x.dtype.type(ends.max)
        launching.over(_rounded, x.size, (x, scale, out), *limits)


def dequantize(x: Any, low: Any, high: Any, top: float, out: Any) -> None:
    """The real numbers that x stands for, `top` for the larger end of the range."""
    launching.over(_real, x.size, (x, low, high, out), np.float32(top))


def requantize(
    x: Any, low: Any, high: Any, ends: Any, top: float, out: Any, first: Any, last: Any
) -> None:
    """Integers of 32 bits as such of eight; ends: a measured range, or None.

    As on the CPU their real numbers are float64.
    """
    buffers = [(x.size, _DOUBLE)] + [(1, np.dtype(np.int32)), (1, _DOUBLE)] * 2
    with scratch.allocated(*buffers) as (real, least, bottom, most, ceiling):
        dequantize(x, low, high, _SUMS, real)
        if ends is None:
            # A positive unit keeps the order: two integers say where the ends are.
            measured(x, least, most)
            dequantize(least, low, high, _SUMS, bottom)
            dequantize(most, low, high, _SUMS, ceiling)
            ends = bottom, ceiling
        quantize(real, ends[0], ends[1], top, out, first, last)
