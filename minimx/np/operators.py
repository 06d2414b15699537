"""What Python's operators mean on arrays of `mx.np`: `a + b`, `2 - a`, `a > b`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from minimx.core.dtypes import INT64
from minimx.core.ops.registry import lookup
from minimx.np.arithmetic import BINARY
from minimx.np.calling.promotion import BOOL, cast

#: Operators with a form for the array on the right and one in place: `__add__`,
#: `__radd__` and `__iadd__`; and comparisons, which have neither.
ARITHMETIC = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "true_divide",
    "floordiv": "floor_divide", "mod": "mod", "pow": "power", "and": "bitwise_and",
    "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "left_shift",
    "rshift": "right_shift",
}  # fmt: skip
COMPARISONS = {"gt": "greater", "ge": "greater_equal", "lt": "less", "le": "less_equal"}

_equal, _not_equal = BINARY["equal"], BINARY["not_equal"]


def _alone(array: Any, sheet: str) -> Any:
    """A function of one array; of bool it counts in int64, except for its bits."""
    if array.spec.dtype == BOOL and sheet != "_npi_bitwise_not":
        array = cast(array, INT64)
    return array._bind(lookup(sheet).of(), (array,))


class Operators:
    """The Python operators of an `mx.np` array; most are written from the tables."""

    __slots__ = ()

    def __neg__(self) -> Any:
        return _alone(self, "negative")

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return _alone(self, "abs")

    def __invert__(self) -> Any:
        return _alone(self, "_npi_bitwise_not")

    def __eq__(self, other: object) -> Any:
        # An array is simply not equal to None or to text.
        result = _equal(self, other)
        return False if result is NotImplemented else result

    def __ne__(self, other: object) -> Any:
        result = _not_equal(self, other)
        return True if result is NotImplemented else result

    def __hash__(self) -> int:
        return id(self) >> 4


def _forms(name: str) -> dict[str, Callable[..., Any]]:
    """X + other, other + x and x += other, for the function called `name`."""
    function = BINARY[name]
    in_place = function.inplace

    def left(self: Any, other: Any) -> Any:
        return function(self, other)

    def right(self: Any, other: Any) -> Any:
        return function(other, self)

    def changed(self: Any, other: Any) -> Any:
        return in_place(self, other)

    return {"": left, "r": right, "i": changed}


def _written() -> Iterator[tuple[str, Callable[..., Any]]]:
    """The methods of the tables: `__add__`, `__radd__`, `__iadd__`, …, `__gt__`."""
    for word, name in (ARITHMETIC | COMPARISONS).items():
        for prefix, method in _forms(name).items():
            if not prefix or word in ARITHMETIC:
                yield f"__{prefix}{word}__", method


#: The methods that are written from the tables.
OPERATORS = dict(_written())
for _name, _method in OPERATORS.items():
    _method.__name__, _method.__qualname__ = _name, f"Operators.{_name}"
    setattr(Operators, _name, _method)
