"""Random numbers, drawn from a NumPy generator that belongs to the device.

Each kernel is `(*parameters, out, generator)`. Where the generator can, it writes
straight into the output.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Launch = Callable[..., None]
# What a distribution's standard form is called, and how it is moved and stretched.
Draw = Callable[..., Any]


def _standard(method: str, out: Any, generator: Any) -> Any:
    """Draw standard numbers into `out`, or into a float32 array if `out` is small."""
    draw = getattr(generator, method)
    if out.dtype in (np.float32, np.float64):
        draw(out=out, dtype=out.dtype)
        return out
    return draw(size=out.shape, dtype=np.float32)


def _affine(method: str, scale: float, shift: float) -> Launch:
    def launch(out: Any, generator: Any) -> None:
        numbers = _standard(method, out, generator)
        if scale != 1:
            numbers *= scale
        if shift != 0:
            numbers += shift
        if numbers is not out:
            np.copyto(out, numbers, casting="unsafe")

    return launch


def uniform(low: float, high: float) -> Launch:
    """The launch `(out, generator)` of numbers evenly in [low, high).

    float32 and float64 are drawn in their own type, others in float32 and rounded.
    """
    return _affine("random", high - low, low)


def normal(loc: float, scale: float) -> Launch:
    """The launch `(out, generator)` of normal numbers: mean loc, deviation scale."""
    return _affine("standard_normal", scale, loc)
