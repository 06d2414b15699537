"""What Python's operators mean on arrays of `mx.np`: `a + b`, `2 - a`, `a > b`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minimx.core.dtypes import INT64
from minimx.core.ops.registry import lookup
from minimx.np.arithmetic import BINARY
from minimx.np.calling.promotion import BOOL, cast

_add = BINARY["add"]
_subtract = BINARY["subtract"]
_multiply = BINARY["multiply"]
_true_divide = BINARY["true_divide"]
_floor_divide = BINARY["floor_divide"]
_mod = BINARY["mod"]
_power = BINARY["power"]
_bitwise_and = BINARY["bitwise_and"]
_bitwise_or = BINARY["bitwise_or"]
_bitwise_xor = BINARY["bitwise_xor"]
_left_shift = BINARY["left_shift"]
_right_shift = BINARY["right_shift"]
_greater = BINARY["greater"]
_greater_equal = BINARY["greater_equal"]
_less = BINARY["less"]
_less_equal = BINARY["less_equal"]
_equal = BINARY["equal"]
_not_equal = BINARY["not_equal"]


def _alone(array: Any, sheet: str) -> Any:
    """A function of one array; of bool it counts in int64, except for its bits."""
    if array.spec.dtype == BOOL and sheet != "_npi_bitwise_not":
        array = cast(array, INT64)
    return array._bind(lookup(sheet).of(), (array,))


class Operators:
    """The Python operators of an `mx.np` array."""

    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        return _add(self, other)

    def __radd__(self, other: Any) -> Any:
        return _add(other, self)

    def __iadd__(self, other: Any) -> Any:
        return _add.inplace(self, other)

    def __sub__(self, other: Any) -> Any:
        return _subtract(self, other)

    def __rsub__(self, other: Any) -> Any:
        return _subtract(other, self)

    def __isub__(self, other: Any) -> Any:
        return _subtract.inplace(self, other)

    def __mul__(self, other: Any) -> Any:
        return _multiply(self, other)

    def __rmul__(self, other: Any) -> Any:
        return _multiply(other, self)

    def __imul__(self, other: Any) -> Any:
        return _multiply.inplace(self, other)

    def __truediv__(self, other: Any) -> Any:
        return _true_divide(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _true_divide(other, self)

    def __itruediv__(self, other: Any) -> Any:
        return _true_divide.inplace(self, other)

    def __floordiv__(self, other: Any) -> Any:
        return _floor_divide(self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _floor_divide(other, self)

    def __ifloordiv__(self, other: Any) -> Any:
        return _floor_divide.inplace(self, other)

    def __mod__(self, other: Any) -> Any:
        return _mod(self, other)

    def __rmod__(self, other: Any) -> Any:
        return _mod(other, self)

    def __imod__(self, other: Any) -> Any:
        return _mod.inplace(self, other)

    def __pow__(self, other: Any) -> Any:
        return _power(self, other)

    def __rpow__(self, other: Any) -> Any:
        return _power(other, self)

    def __ipow__(self, other: Any) -> Any:
        return _power.inplace(self, other)

    def __and__(self, other: Any) -> Any:
        return _bitwise_and(self, other)

    def __rand__(self, other: Any) -> Any:
        return _bitwise_and(other, self)

    def __iand__(self, other: Any) -> Any:
        return _bitwise_and.inplace(self, other)

    def __or__(self, other: Any) -> Any:
        return _bitwise_or(self, other)

    def __ror__(self, other: Any) -> Any:
        return _bitwise_or(other, self)

    def __ior__(self, other: Any) -> Any:
        return _bitwise_or.inplace(self, other)

    def __xor__(self, other: Any) -> Any:
        return _bitwise_xor(self, other)

    def __rxor__(self, other: Any) -> Any:
        return _bitwise_xor(other, self)

    def __ixor__(self, other: Any) -> Any:
        return _bitwise_xor.inplace(self, other)

    def __lshift__(self, other: Any) -> Any:
        return _left_shift(self, other)

    def __rlshift__(self, other: Any) -> Any:
        return _left_shift(other, self)

    def __ilshift__(self, other: Any) -> Any:
        return _left_shift.inplace(self, other)

    def __rshift__(self, other: Any) -> Any:
        return _right_shift(self, other)

    def __rrshift__(self, other: Any) -> Any:
        return _right_shift(other, self)

    def __irshift__(self, other: Any) -> Any:
        return _right_shift.inplace(self, other)

    def __gt__(self, other: Any) -> Any:
        return _greater(self, other)

    def __ge__(self, other: Any) -> Any:
        return _greater_equal(self, other)

    def __lt__(self, other: Any) -> Any:
        return _less(self, other)

    def __le__(self, other: Any) -> Any:
        return _less_equal(self, other)

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

    if TYPE_CHECKING:
        # methods.py adds these, and the functions that are methods too.
        def __matmul__(self, other: Any) -> Any: ...
        def __rmatmul__(self, other: Any) -> Any: ...
