"""Arithmetic of sparse arrays: element by element where the shapes are equal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minimx.core.arrays.arithmetic import _Operator
from minimx.core.arrays.array import NDArray
from minimx.core.arrays.launch import invoke
from minimx.core.errors import OperatorError
from minimx.core.ops.registry import lookup


def _make(name: str, word: str, scalar: str, reflected: str) -> Callable[..., Any]:
    equal = lookup(f"elemwise_{word}").of()
    stretched = _Operator(f"broadcast_{word}", scalar, reflected)

    def function(lhs: Any, rhs: Any) -> Any:
        if isinstance(lhs, NDArray) and isinstance(rhs, NDArray):
            alike = lhs.shape == rhs.shape
            return invoke(equal if alike else stretched.array_op, [lhs, rhs])
        if isinstance(lhs, NDArray):
            found = stretched(lhs, rhs)
        elif isinstance(rhs, NDArray):
            found = stretched.swapped(rhs, lhs)
        else:
            found = NotImplemented
        if found is NotImplemented:
            raise OperatorError(
                f"{name}: {type(lhs).__name__} and {type(rhs).__name__} cannot be "
                "combined. Give an NDArray and an NDArray or a number."
            )
        return found

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"`elemwise_{word}` of two arrays of one shape, `broadcast_{word}` of others; "
        "either may be a number."
    )
    return function


add = _make("add", "add", "_plus_scalar", "_plus_scalar")
subtract = _make("subtract", "sub", "_minus_scalar", "_rminus_scalar")
multiply = _make("multiply", "mul", "_mul_scalar", "_mul_scalar")
divide = _make("divide", "div", "_div_scalar", "_rdiv_scalar")
