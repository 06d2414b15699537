"""Operators of two operands by name: `nd.add(a, 2)`, `nd.maximum(0, b)`.

Either operand may be a number; two arrays are stretched to one shape.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from minimx.core.arrays import arithmetic
from minimx.core.arrays.arithmetic import _Operator
from minimx.core.arrays.array import NDArray
from minimx.core.arrays.launch import invoke
from minimx.core.errors import OperatorError
from minimx.core.ops.registry import lookup

# For two plain numbers, what Python says.
_PLAIN: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "true_divide": operator.truediv,
    "modulo": operator.mod,
    "power": operator.pow,
    "maximum": max,
    "minimum": min,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "lesser": operator.lt,
    "lesser_equal": operator.le,
}


def _named(word: str) -> _Operator:
    scalar = f"_{word}_scalar"
    return _Operator(f"broadcast_{word}", scalar, scalar)


_OPERATORS: dict[str, _Operator] = {
    "add": arithmetic._add,
    "subtract": arithmetic._sub,
    "multiply": arithmetic._mul,
    "divide": arithmetic._div,
    "true_divide": arithmetic._div,
    "modulo": arithmetic._mod,
    "power": arithmetic._pow,
    "equal": arithmetic._eq,
    "not_equal": arithmetic._ne,
    "greater": arithmetic._gt,
    "greater_equal": arithmetic._ge,
    "lesser": arithmetic._lt,
    "lesser_equal": arithmetic._le,
    "maximum": _named("maximum"),
    "minimum": _named("minimum"),
    "hypot": _named("hypot"),
    "logical_and": _named("logical_and"),
    "logical_or": _named("logical_or"),
    "logical_xor": _named("logical_xor"),
}


def _make(name: str, pair: _Operator) -> Callable[[Any, Any], Any]:
    def function(lhs: Any, rhs: Any) -> Any:
        if isinstance(lhs, NDArray):
            found = pair(lhs, rhs)
        elif isinstance(rhs, NDArray):
            found = pair.swapped(rhs, lhs)
        elif name in _PLAIN:
            return _PLAIN[name](lhs, rhs)
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
        f"`{pair.array_op.name}` of two arrays, or an array and a number."
    )
    return function


PAIRS = {name: _make(name, pair) for name, pair in _OPERATORS.items()}


def split_v2(
    ary: NDArray,
    indices_or_sections: int | Sequence[int],
    axis: int = 0,
    squeeze_axis: bool = False,
) -> Any:
    """Cut an axis into equal pieces (a number of them), or at given places.

    ary (6, 2), places (2, 3); a list of arrays (2, 2), (1, 2), (3, 2).
    """
    settings: dict[str, Any] = {"axis": axis, "squeeze_axis": squeeze_axis}
    if isinstance(indices_or_sections, int):
        settings |= {"indices": (), "sections": indices_or_sections}
    else:
        settings |= {"indices": (0, *indices_or_sections)}
    return invoke(lookup("_split_v2").of(**settings), [ary])


setattr(NDArray, "split_v2", split_v2)  # noqa: B010 (not declared in the class)
