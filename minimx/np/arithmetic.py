"""What operators and functions of two arrays mean in `mx.np`.

    a + b      arrays of any two types: both are converted to a common one first
    a + 2.5    the number takes the type of the array
    a / b      of integers: float32
    a > b      an array of bool

One table serves the Python operators and the functions (`np.add`, `np.equal`, …).
"""

from __future__ import annotations

from typing import Any

import numpy as onp

from minimx.core import autograd
from minimx.core.arrays.arithmetic import refuse_on_tape
from minimx.core.arrays.array import NDArray
from minimx.core.arrays.launch import invoke
from minimx.core.dtypes import INT64, SUPPORTED
from minimx.core.errors import DTypeError, OperatorError, ShapeError
from minimx.core.ops.registry import Op, lookup
from minimx.np.calling.promotion import BOOL, cast, common, is_number, real


class Binary:
    """A function of two arrays, or of an array and a number.

    kind: "same" computes in the common type; "real" in one with fractions; "truth"
    compares, and gives bool.
    """

    __slots__ = ("array_op", "kind", "name", "reflected", "scalar")

    def __init__(
        self,
        name: str,
        array_op: str,
        scalar: str = "",
        reflected: str = "",
        kind: str = "same",
    ) -> None:
        self.name = name
        self.array_op: Op = lookup(array_op).of()
        self.scalar = lookup(scalar) if scalar else None
        self.reflected = lookup(reflected) if reflected else None
        self.kind = kind

    def __call__(self, left: Any, right: Any, out: Any = None) -> Any:
        """Apply to two operands, at least one of which is an array."""
        if isinstance(left, NDArray):
            if isinstance(right, NDArray):
                return self._of_arrays(left, right, out)
            if is_number(right):
                return self._with_number(left, right, out, swapped=False)
        elif isinstance(right, NDArray) and is_number(left):
            return self._with_number(right, left, out, swapped=True)
        if isinstance(left, NDArray) or isinstance(right, NDArray):
            left, right = _as_array(left, right), _as_array(right, left)
            if left is NotImplemented or right is NotImplemented:
                return NotImplemented
            return self._of_arrays(left, right, out)
        return NotImplemented

    def inplace(self, left: Any, right: Any) -> Any:
        """Apply, and write the result over `left`."""
        refuse_on_tape(left)
        return self(left, right, left)

    def _of_arrays(self, left: Any, right: Any, out: Any) -> Any:
        a, b = left.spec.dtype, right.spec.dtype
        if a is not b or (self.kind == "real" and a.kind != "f"):
            dtype = common(a, b)
            if self.kind == "real":
                dtype = real(dtype)
            left, right = cast(left, dtype), cast(right, dtype)
        if out is None:
            return left._bind(self.array_op, (left, right))
        return into(out, self.array_op, (left, right))

    def _with_number(self, array: Any, number: Any, out: Any, swapped: bool) -> Any:
        dtype = array.spec.dtype
        if self.kind == "real":
            array = cast(array, real(dtype))
        elif self.kind == "same" and dtype == BOOL and self.scalar is not None:
            array = cast(array, INT64)
        sheet = self.reflected if swapped else self.scalar
        if sheet is None:
            other = full_like(array, number)
            pair = (other, array) if swapped else (array, other)
            return self._of_arrays(*pair, out)
        op = sheet.of(scalar=float(number))
        if out is None:
            return array._bind(op, (array,))
        return into(out, op, (array,))


def full_like(array: NDArray, number: Any) -> Any:
    """A number as an array without axes beside another array, of its type."""
    dtype = array.spec.dtype
    value = float(onp.asarray(number).astype(dtype))
    op = lookup("_full").of(shape=(), dtype=dtype.name, value=value)
    return invoke(op, (), None, array.context, type(array))


def into(out: Any, op: Op, inputs: tuple[Any, ...]) -> Any:
    """Run an operator and write its result to `out`, converted if need be."""
    if isinstance(out, (list, tuple)) and len(out) == 1:
        (out,) = out
    if not isinstance(out, NDArray):
        raise OperatorError(
            f"out= must be an array of mx.np, not a {type(out).__name__}."
        )
    plan = op.plan(tuple(x.spec for x in inputs))
    if plan.outs[0].dtype == BOOL and out.spec.dtype != BOOL:
        raise DTypeError(
            f"out= is {out.spec.dtype.name}, and the result is true or false. Give an "
            "array of bool, or none."
        )
    if plan.outs[0] is out.spec:
        invoke(op, inputs, out)
        return out
    return store(invoke(op, inputs), out)


def store(result: Any, out: Any) -> Any:
    """Write a result to `out`, converted to its type."""
    if out is None:
        return result
    if result.shape != out.shape:
        raise ShapeError(
            f"out= has shape {out.shape}, the result has shape {result.shape}. "
            "Give an array of that shape, or none."
        )
    refuse_on_tape(out)
    with autograd.pause(train_mode=autograd.state.training):
        invoke(lookup("_copy").of(), [cast(result, out.spec.dtype)], out)
    return out


def _as_array(value: Any, beside: Any) -> Any:
    """A NumPy array as one of ours, beside another operand."""
    if isinstance(value, NDArray):
        return value
    if not isinstance(value, onp.ndarray):
        return NotImplemented
    from minimx.core.arrays.transfer import from_numpy_copy

    if value.dtype not in SUPPORTED:
        raise DTypeError(
            f"a NumPy array of {value.dtype} cannot be combined with an mx.np array. "
            "Convert it first, for example with .astype('float32')."
        )
    return from_numpy_copy(value, beside.context, type(beside))


def _pair(name: str, word: str, sign: str, kind: str = "same") -> Binary:
    return Binary(
        name, f"broadcast_{word}", f"_{sign}_scalar", f"_r{sign}_scalar", kind
    )


def _even(name: str, word: str) -> Binary:
    """An operator whose operands may change places."""
    return Binary(name, f"broadcast_{word}", f"_{word}_scalar", f"_{word}_scalar")


def _truth(name: str, mirrored: str) -> Binary:
    scalar, reflected = f"_npi_{name}_scalar", f"_npi_{mirrored}_scalar"
    return Binary(name, f"_npi_{name}", scalar, reflected, "truth")


_TABLE = (
    Binary("add", "broadcast_add", "_plus_scalar", "_plus_scalar"),
    _pair("subtract", "sub", "minus"),
    Binary("multiply", "broadcast_mul", "_mul_scalar", "_mul_scalar"),
    _pair("true_divide", "div", "div", "real"),
    _pair("mod", "mod", "mod"),
    _pair("power", "power", "power"),
    _even("maximum", "maximum"),
    _even("minimum", "minimum"),
    Binary("hypot", "broadcast_hypot", "_hypot_scalar", "_hypot_scalar", "real"),
    _truth("equal", "equal"),
    _truth("not_equal", "not_equal"),
    _truth("greater", "less"),
    _truth("greater_equal", "less_equal"),
    _truth("less", "greater"),
    _truth("less_equal", "greater_equal"),
    _truth("logical_and", "logical_and"),
    _truth("logical_or", "logical_or"),
    _truth("logical_xor", "logical_xor"),
    Binary("floor_divide", "_npi_floor_divide"),
    Binary("fmod", "_npi_fmod"),
    Binary("fmax", "_npi_fmax"),
    Binary("fmin", "_npi_fmin"),
    Binary("arctan2", "_npi_arctan2", kind="real"),
    Binary("copysign", "_npi_copysign", kind="real"),
    Binary("ldexp", "_npi_ldexp", kind="real"),
    Binary("logaddexp", "_npi_logaddexp", kind="real"),
    Binary("heaviside", "_npi_heaviside", kind="real"),
    Binary("bitwise_and", "_npi_bitwise_and"),
    Binary("bitwise_or", "_npi_bitwise_or"),
    Binary("bitwise_xor", "_npi_bitwise_xor"),
    Binary("left_shift", "_npi_left_shift"),
    Binary("right_shift", "_npi_right_shift"),
    Binary("lcm", "_npi_lcm"),
    Binary("gcd", "_npi_gcd"),
)
#: The functions of two arrays, by NumPy's name.
BINARY: dict[str, Binary] = {entry.name: entry for entry in _TABLE}

_ALIASES = {
    "divide": "true_divide",
    "remainder": "mod",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
    "pow": "power",
    "atan2": "arctan2",
}
BINARY |= {alias: BINARY[name] for alias, name in _ALIASES.items()}
