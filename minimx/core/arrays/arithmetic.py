"""What Python's operators mean on arrays: `a + b`, `2 - a`, `a > b`, `a += b`."""

from __future__ import annotations

from numbers import Number
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

import minimx.core.operators  # noqa: F401  (fills the registry)
from minimx.core import autograd
from minimx.core.arrays.launch import invoke
from minimx.core.arrays.transfer import from_numpy_copy
from minimx.core.dtypes import numbers
from minimx.core.errors import DTypeError, GradientError
from minimx.core.ops.registry import Op, lookup

if TYPE_CHECKING:
    from minimx.core.arrays.array import NDArray


#: What stands for one number beside an array.
_NUMBER = (int, float, np.generic)


class _Operator:
    """One Python operator: for two arrays, and for an array and a number.

    `applied(left, right)` takes an array on the left, `swapped(right, left)` one on the
    right; `inplace(left, right)` writes the result over `left`. They are functions and
    not methods of this class: each is a method of arrays as it stands, and a small
    call pays for every step on its way.
    """

    __slots__ = ("applied", "array_op", "inplace", "swapped")

    def __init__(self, array_op: str, scalar: str, reflected: str) -> None:
        self.array_op = op = lookup(array_op).of()
        right_number, left_number = lookup(scalar), lookup(reflected)

        def applied(left: Any, right: Any) -> Any:
            if isinstance(right, Arithmetic):
                pair: Any = (left, right)
                return invoke(op, pair)
            if isinstance(right, _NUMBER):
                return invoke(_with_number(right_number, right), (left,))
            return other(left, right, False)

        def swapped(right: Any, left: Any) -> Any:
            if isinstance(left, _NUMBER):
                return invoke(_with_number(left_number, left), (right,))
            return other(right, left, True)

        def inplace(left: Any, right: Any) -> Any:
            refuse_on_tape(left)
            if isinstance(right, _NUMBER):
                return invoke(_with_number(right_number, right), (left,), out=left)
            if not isinstance(right, Arithmetic):
                right = _as_array(left, right)
            return invoke(op, (left, right), out=left)

        def other(array: Any, value: Any, swap: bool) -> Any:
            if not isinstance(value, (np.ndarray, list, tuple)):
                return NotImplemented
            value = _as_array(array, value)
            return invoke(op, (value, array) if swap else (array, value))

        self.applied, self.swapped, self.inplace = applied, swapped, inplace

    def __call__(self, left: Any, right: Any) -> Any:
        """Apply to (left, right), with `left` an array."""
        return self.applied(left, right)


def _with_number(sheet: type[Op], number: Any) -> Op:
    """The operator of an array with this number, found by the number itself.

    0.0 and -0.0, equal keys of different operators, take the way of all settings.
    """
    made: Op | None = sheet._made.get(number)
    if made is None:
        made = sheet.of(scalar=float(number))
        if number:
            sheet._made[number] = made
    return made


def _as_array(like: NDArray, value: Any) -> Any:
    """A NumPy array as an array beside `like`, of its dtype."""
    if not isinstance(value, (np.ndarray, list, tuple, Number)):
        raise DTypeError(
            f"an NDArray cannot be combined with {type(value).__name__}. "
            "Use a number, an NDArray or a NumPy array."
        )
    return from_numpy_copy(numbers(value, like.spec.dtype), like.context, type(like))


def is_array(value: Any) -> TypeGuard[NDArray]:
    """Whether a value is an NDArray: they alone inherit this arithmetic."""
    return isinstance(value, Arithmetic)


def refuse_on_tape(array: NDArray) -> None:
    """Raise if writing to an array would falsify a gradient that is being recorded."""
    if autograd.state.recording and array._entry is not None:
        raise GradientError(
            "Inplace operations (+=, -=, x[:]=, etc) are not supported when recording "
            "with autograd.record(): the array is part of the computation, whose "
            "gradient would be wrong. Write x = x + … instead."
        )


_add = _Operator("broadcast_add", "_plus_scalar", "_plus_scalar")
_sub = _Operator("broadcast_sub", "_minus_scalar", "_rminus_scalar")
_mul = _Operator("broadcast_mul", "_mul_scalar", "_mul_scalar")
_div = _Operator("broadcast_div", "_div_scalar", "_rdiv_scalar")
_mod = _Operator("broadcast_mod", "_mod_scalar", "_rmod_scalar")
_pow = _Operator("broadcast_power", "_power_scalar", "_rpower_scalar")
_eq = _Operator("broadcast_equal", "_equal_scalar", "_equal_scalar")
_ne = _Operator("broadcast_not_equal", "_not_equal_scalar", "_not_equal_scalar")
_gt = _Operator("broadcast_greater", "_greater_scalar", "_lesser_scalar")
_ge = _Operator(
    "broadcast_greater_equal", "_greater_equal_scalar", "_lesser_equal_scalar"
)
_lt = _Operator("broadcast_lesser", "_lesser_scalar", "_greater_scalar")
_le = _Operator(
    "broadcast_lesser_equal", "_lesser_equal_scalar", "_greater_equal_scalar"
)
_negative: Op = lookup("negative").of()
_abs: Op = lookup("abs").of()


class Arithmetic:
    """The Python operators of an array; comparisons give 0 and 1 in its dtype."""

    __slots__ = ()

    __add__, __radd__, __iadd__ = _add.applied, _add.swapped, _add.inplace
    __sub__, __rsub__, __isub__ = _sub.applied, _sub.swapped, _sub.inplace
    __mul__, __rmul__, __imul__ = _mul.applied, _mul.swapped, _mul.inplace
    __truediv__, __rtruediv__ = _div.applied, _div.swapped
    __itruediv__ = _div.inplace
    __mod__, __rmod__, __imod__ = _mod.applied, _mod.swapped, _mod.inplace
    __pow__, __rpow__ = _pow.applied, _pow.swapped
    __gt__, __ge__ = _gt.applied, _ge.applied
    __lt__, __le__ = _lt.applied, _le.applied

    def __neg__(self) -> Any:
        return self._bind(_negative, (self,))  # type: ignore[attr-defined]

    def __abs__(self) -> Any:
        return self._bind(_abs, (self,))  # type: ignore[attr-defined]

    def __eq__(self, other: object) -> Any:
        # As in MXNet, an array is simply not equal to None or to text.
        result = _eq(self, other)
        return False if result is NotImplemented else result

    def __ne__(self, other: object) -> Any:
        result = _ne(self, other)
        return True if result is NotImplemented else result

    def __hash__(self) -> int:
        return id(self) >> 4
