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


def of_two(
    name: str, pair: Any, kind: type[Any], plain: Callable[..., Any] | None
) -> Callable[[Any, Any], Any]:
    """A function of two operands, of which one may be a number.

    pair: the operator, which knows its `swapped` form; kind: the class of an operand
    that is no number; plain: what two numbers give, if they may be given.
    """

    def function(lhs: Any, rhs: Any) -> Any:
        found = NotImplemented
        if isinstance(lhs, kind):
            found = pair(lhs, rhs)
        elif isinstance(rhs, kind):
            found = pair.swapped(rhs, lhs)
        elif plain is not None:
            return plain(lhs, rhs)
        if found is NotImplemented:
            one = f"{'an' if kind is NDArray else 'a'} {kind.__name__}"
            raise OperatorError(
                f"{name}: {type(lhs).__name__} and {type(rhs).__name__} cannot be "
                f"combined. Give {one} and {one} or a number."
            )
        return found

    function.__name__ = function.__qualname__ = name
    return function


PAIRS = {n: of_two(n, op, NDArray, _PLAIN.get(n)) for n, op in _OPERATORS.items()}
for _name, _function in PAIRS.items():
    _operator = _OPERATORS[_name].array_op.name
    _function.__doc__ = f"`{_operator}` of two arrays, or an array and a number."


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
