"""Percentiles on CUDA: lines are put in order, then a thread reads between two places.

A q that is not between 0 and 100 gives NaN: a kernel cannot raise errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from minimx.core.dtypes import DType
from minimx.core.shapes import Shape
from minimx.cuda.kernels import launching, scratch
from minimx.cuda.kernels.core import indexing
from minimx.cuda.kernels.core.shape import transpose
from minimx.cuda.kernels.launching import cuda
from minimx.cuda.kernels.mathematics import ceil, floor, rint, rounded_float64

Launch = Callable[..., None]

#: How a number between two places is found.
METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


@launching.kernel
def _read(
    x: Any, places: Any, q: Any, out: Any, n: int, lines: int, scalar: float,
    length: int, method: int,
) -> None:  # fmt: skip
    """NumPy's arithmetic, in its order. n: numbers of the answer."""
    last = length - 1
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        start, percent = i % lines * length, scalar
        if scalar < 0:
            percent = float(q[i // lines])
        share = percent / 100
        if method == 0:
            at = rounded_float64(last * share)
        else:
            at = rounded_float64(length * share) + (1 - share) - 1
        low = floor(at)
        rest = at - low
        if method == 1:
            rest = 0.0
        elif method == 2:
            low, rest = ceil(at), 0.0
        elif method == 3:
            rest = 0.5 if rest > 0 else 0.0
        elif method == 4:
            low, rest = rint(at), 0.0
        found, top = math.nan, float(x[start + places[start + last]])
        if share >= 0 and share <= 1 and top == top:  # NaN is the largest
            k = min(max(int(low), 0), last)
            a = float(x[start + places[start + k]])
            b = float(x[start + places[start + min(k + 1, last)]])
            step = rounded_float64((b - a) * (rest if rest < 0.5 else 1 - rest))
            found = a + step if rest < 0.5 else b - step
            if rest == 0 or a == b:
                found = a
        out[i] = found


def percentile(
    shape: Shape, axes: Shape, method: str, dtype: DType, scalar: float | None
) -> Launch:
    """(a[, q], out): the percentiles q of a over some axes, computed in float64."""
    kept = tuple(k for k in range(len(shape)) if k not in axes)
    turn = transpose(shape, (*kept, *axes), dtype)
    length, lines = prod(shape[k] for k in axes), prod(shape[k] for k in kept)
    number, how = -1.0 if scalar is None else float(scalar), METHODS.index(method)

    def launch(a: Any, *rest: Any) -> None:
        size = lines * length
        with scratch.allocated((size, dtype), (size, np.int64)) as (x, places):
            turn(a, x)
            indexing.ordered(x, (lines, length), 1, True, places)
            arrays, settings = (x, places, rest[0], rest[-1]), (number, length, how)
            launching.over(_read, rest[-1].size, arrays, lines, *settings)

    return launch
