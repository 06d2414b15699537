"""Functions of `mx.nd.contrib` around operators: tests of numbers, Zipf's classes."""

from __future__ import annotations

from math import log
from typing import Any

from minimx.core.arrays.array import NDArray
from minimx.nd.functions import FUNCTIONS
from minimx.nd.random import uniform

__all__ = ["isfinite", "isinf", "isnan", "rand_zipfian"]


def isinf(data: NDArray) -> Any:
    """1 where an element is infinite, else 0."""
    return FUNCTIONS["isinf"](data)


def isnan(data: NDArray) -> Any:
    """1 where an element is not a number, else 0."""
    return FUNCTIONS["isnan"](data)


def isfinite(data: NDArray) -> Any:
    """1 where an element is a finite number, else 0."""
    return FUNCTIONS["isfinite"](data)


def rand_zipfian(
    true_classes: NDArray, num_sampled: int, range_max: int, ctx: Any = None
) -> tuple[NDArray, NDArray, NDArray]:
    """Classes drawn so that small numbers are frequent, and how often to expect them.

    Class k comes with probability log((k + 2) / (k + 1)) / log(range_max + 1).
    Returns the classes (num_sampled,) int64, and the expected counts of `true_classes`
    and of what was drawn, float64.
    """
    ctx = true_classes.context if ctx is None else ctx
    width = log(range_max + 1)
    drawn = uniform(0, width, shape=(num_sampled,), dtype="float64", ctx=ctx)
    classes = (drawn.exp() - 1).astype("int64") % range_max

    def expected(numbers: NDArray) -> Any:
        k = numbers.as_in_context(ctx).astype("float64")
        return ((k + 2.0) / (k + 1.0)).log() / width * num_sampled

    return classes, expected(true_classes), expected(classes)
