"""`mx.nd.contrib`: operators called `_contrib_*`, under their short names.

Beside them tests of numbers, Zipf's classes, and AdamW and LAMB (`contrib_updates.py`).
"""

from __future__ import annotations

from functools import partial
from math import log
from typing import TYPE_CHECKING, Any

from minimx.nd import contrib_updates as _updates
from minimx.nd.control import cond, foreach, while_loop  # noqa: F401 (offered here)
from minimx.nd.functions import FUNCTIONS as _FUNCTIONS
from minimx.nd.namespaces import install_namespace
from minimx.nd.random import uniform as _uniform

if TYPE_CHECKING:
    from minimx.core.arrays.array import NDArray


def isinf(data: NDArray) -> Any:
    """1 where an element is infinite, else 0."""
    return _FUNCTIONS["isinf"](data)


def isnan(data: NDArray) -> Any:
    """1 where an element is not a number, else 0."""
    return _FUNCTIONS["isnan"](data)


def isfinite(data: NDArray) -> Any:
    """1 where an element is a finite number, else 0."""
    return _FUNCTIONS["isfinite"](data)


def rand_zipfian(
    true_classes: NDArray, num_sampled: int, range_max: int, ctx: Any = None
) -> tuple[NDArray, NDArray, NDArray]:
    """Classes drawn so that small numbers are frequent, and how often to expect them.

    Class k comes with probability log((k + 2) / (k + 1)) / log(range_max + 1).
    Returns the classes (num_sampled,) int64, and the expected counts of `true_classes`
    and of what was drawn, float64.
    """
    ctx = true_classes.context if ctx is None else ctx
    true_classes = true_classes.as_in_context(ctx)
    return _zipfian(partial(_uniform, ctx=ctx), true_classes, num_sampled, range_max)


def _zipfian(draw: Any, true_classes: Any, num_sampled: int, range_max: int) -> Any:
    """`rand_zipfian` of arrays or of symbols, as `draw` gives them."""
    width = log(range_max + 1)
    drawn = draw(0, width, shape=(num_sampled,), dtype="float64")
    classes = (drawn.exp() - 1).astype("int64") % range_max

    def expected(numbers: Any) -> Any:
        k = numbers.astype("float64")
        return ((k + 2.0) / (k + 1.0)).log() / width * num_sampled

    return classes, expected(true_classes), expected(classes)


globals().update(_updates.ROWS)
install_namespace(__name__, "mx.nd.contrib", "_contrib_")
