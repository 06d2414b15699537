"""Functions that official NumPy computes for `mx.np`, on copies in the host's memory.

A call waits for its arrays, copies them, lets NumPy work and copies the result back to
the device. No gradient flows through it: inside `record()` an array that leads to a
variable is refused. MXNet has the same list for the same reason: these functions are
rarely on the path of a computation that must be fast.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as onp

from minimx.np.dispatch import by_numpy

# fmt: off
NAMES = (
    "allclose", "apply_along_axis", "apply_over_axes", "argpartition", "array_equal",
    "array_equiv", "choose", "compress", "corrcoef", "correlate", "cov", "digitize",
    "extract", "float_power", "frexp", "histogram2d",
    "histogram_bin_edges", "histogramdd", "i0", "interp", "intersect1d", "isclose",
    "isin", "ix_", "lexsort", "min_scalar_type", "nancumprod", "nancumsum", "nanmedian",
    "nanpercentile", "nanquantile", "packbits", "partition", "piecewise", "poly",
    "polyadd", "polydiv", "polyfit", "polyint", "polymul", "polysub",
    "promote_types", "result_type", "roots", "select", "setdiff1d", "setxor1d",
    "spacing", "trim_zeros", "union1d", "unpackbits", "unwrap", "vander",
)
# fmt: on


def _fallback(name: str) -> Callable[..., Any]:
    official = getattr(onp, name)

    def function(*args: Any, **kwargs: Any) -> Any:
        return by_numpy(official, args, kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"NumPy's `{name}`, computed by NumPy on copies; waits, and has no gradient."
    )
    function.__module__ = __name__
    return function


FUNCTIONS: dict[str, Callable[..., Any]] = {name: _fallback(name) for name in NAMES}


def in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False) -> Any:
    """Which elements of the flat ar1 are in ar2; `isin` keeps the shape."""
    words = {"assume_unique": assume_unique, "invert": invert}
    return FUNCTIONS["isin"](ar1.reshape(-1), ar2, **words)


def msort(a: Any) -> Any:
    """The elements in order along the first axis."""
    return by_numpy(onp.sort, (a, 0), {})


# Names that NumPy itself has given up since.
FUNCTIONS |= {"in1d": in1d, "msort": msort}
globals().update(FUNCTIONS)

__all__ = sorted(FUNCTIONS)
