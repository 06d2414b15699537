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


class _Operator:
    """One Python operator: its form for two arrays, and those for array and number."""

    __slots__ = ("array_op", "reflected", "scalar")

    def __init__(self, array_op: str, scalar: str, reflected: str) -> None:
        self.array_op: Op = lookup(array_op).of()
        self.scalar = lookup(scalar)
        self.reflected = lookup(reflected)

    def __call__(self, left: Any, right: Any) -> Any:
        """Apply to (left, right), with `left` an array."""
        if isinstance(right, Arithmetic):
            pair: Any = (left, right)
            return invoke(self.array_op, pair)
        if isinstance(right, (int, float, np.generic)):
            return invoke(self.scalar.of(scalar=float(right)), (left,))
        return self._other(left, right, swap=False)

    def swapped(self, left: Any, right: Any) -> Any:
        """Apply to (right, left), with `left` an array."""
        if isinstance(right, (int, float, np.generic)):
            return invoke(self.reflected.of(scalar=float(right)), (left,))
        return self._other(left, right, swap=True)

    def inplace(self, left: Any, right: Any) -> Any:
        """Apply to (left, right) and write the result over `left`."""
        refuse_on_tape(left)
        if isinstance(right, Arithmetic):
            pair: Any = (left, right)
            return invoke(self.array_op, pair, out=left)
        if isinstance(right, (int, float, np.generic)):
            return invoke(self.scalar.of(scalar=float(right)), (left,), out=left)
        return invoke(self.array_op, (left, _as_array(left, right)), out=left)

    def _other(self, left: Any, right: Any, swap: bool) -> Any:
        if not isinstance(right, (np.ndarray, list, tuple)):
            return NotImplemented
        other = _as_array(left, right)
        pair = (other, left) if swap else (left, other)
        return invoke(self.array_op, pair)


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

    def __add__(self, other: Any) -> Any:
        return _add(self, other)

    def __radd__(self, other: Any) -> Any:
        return _add.swapped(self, other)

    def __iadd__(self, other: Any) -> Any:
        return _add.inplace(self, other)

    def __sub__(self, other: Any) -> Any:
        return _sub(self, other)

    def __rsub__(self, other: Any) -> Any:
        return _sub.swapped(self, other)

    def __isub__(self, other: Any) -> Any:
        return _sub.inplace(self, other)

    def __mul__(self, other: Any) -> Any:
        return _mul(self, other)

    def __rmul__(self, other: Any) -> Any:
        return _mul.swapped(self, other)

    def __imul__(self, other: Any) -> Any:
        return _mul.inplace(self, other)

    def __truediv__(self, other: Any) -> Any:
        return _div(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _div.swapped(self, other)

    def __itruediv__(self, other: Any) -> Any:
        return _div.inplace(self, other)

    def __mod__(self, other: Any) -> Any:
        return _mod(self, other)

    def __rmod__(self, other: Any) -> Any:
        return _mod.swapped(self, other)

    def __imod__(self, other: Any) -> Any:
        return _mod.inplace(self, other)

    def __pow__(self, other: Any) -> Any:
        return _pow(self, other)

    def __rpow__(self, other: Any) -> Any:
        return _pow.swapped(self, other)

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

    def __gt__(self, other: Any) -> Any:
        return _gt(self, other)

    def __ge__(self, other: Any) -> Any:
        return _ge(self, other)

    def __lt__(self, other: Any) -> Any:
        return _lt(self, other)

    def __le__(self, other: Any) -> Any:
        return _le(self, other)

    def __hash__(self) -> int:
        return id(self) >> 4
