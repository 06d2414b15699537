"""Percentiles and places: NumPy does the work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minimx.core.errors import OperatorError
from minimx.core.shapes import Shape

Launch = Callable[..., None]


def percentile(
    axes: Shape, method: Any, keepdims: bool, scalar: float | None
) -> Launch:
    """(a[, q], out): the percentiles q of a over some axes, computed in float64."""

    def launch(a: Any, *rest: Any) -> None:
        out = rest[-1]
        q = rest[0].astype(np.float64) if scalar is None else scalar
        if not np.all((q >= 0) & (q <= 100)):
            raise OperatorError(f"percentile: q={q} must lie between 0 and 100.")
        numbers = a.astype(np.float64)
        found = np.percentile(
            numbers, q, axes or None, method=method, keepdims=keepdims
        )
        np.copyto(out, found.reshape(out.shape), casting="unsafe")

    return launch


def unravel(shape: Shape) -> Launch:
    """(places, out): the indices of places in an array of this shape, a row an axis."""

    def launch(places: Any, out: Any) -> None:
        try:
            found = np.unravel_index(places, shape)
        except ValueError as error:
            raise OperatorError(f"unravel_index: {error}.") from None
        for row, index in enumerate(found):
            out[row] = index

    return launch
