"""Data sheets of what NumPy does with two operands whose types may differ.

`_npi_add` converts its inputs to a common type, `_npi_true_divide` to one with
fractions; with a number there is `_npi_add_scalar`, and `_npi_rsubtract_scalar` where
the number comes first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minimx.core.ops.casting import SINGLE, USUAL, WIDEST, Casting
from minimx.core.ops.registry import ALIASES, REGISTRY
from minimx.np.arithmetic import BINARY
from minimx.symbol.composed import composed

#: The functions whose operators MXNet has, in its NumPy half.
NAMES = (
    *("add", "subtract", "multiply", "true_divide", "mod", "power", "maximum"),
    *("minimum", "hypot", "arctan2", "copysign", "ldexp", "lcm", "bitwise_and"),
    *("bitwise_or", "bitwise_xor"),
)
#: Of these the operands may change places.
EVEN = (
    *("add", "multiply", "maximum", "minimum", "hypot", "lcm", "bitwise_and"),
    *("bitwise_or", "bitwise_xor"),
)


def _of_arrays(name: str) -> Callable[..., Any]:
    function = BINARY[name]

    def pair(lhs: Any, rhs: Any) -> Any:
        return function(lhs, rhs)

    pair.__doc__ = f"`np.{name}` of two arrays, converted to a common type."
    return pair


def _with_number(name: str, swapped: bool) -> Callable[..., Any]:
    function = BINARY[name]

    def pair(data: Any, *, scalar: float = 1.0, is_int: bool = True) -> Any:
        number = int(scalar) if is_int else scalar
        return function(number, data) if swapped else function(data, number)

    order = "a number and an array" if swapped else "an array and a number"
    pair.__doc__ = f"`np.{name}` of {order}."
    return pair


#: Steep ones, which mixed precision computes in float32; and one that takes the widest.
CASTING = {"power": SINGLE, "ldexp": SINGLE, "hypot": WIDEST}


def _enter(
    name: str, function: Callable[..., Any], like: Any, casting: Casting
) -> None:
    if name not in REGISTRY and name not in ALIASES:
        composed(name, like=like, casting=casting)(function)


for _name in NAMES:
    _like = BINARY[_name].array_op
    _rule = CASTING.get(_name, USUAL)
    _enter(f"_npi_{_name}", _of_arrays(_name), _like, _rule)
    _alone = BINARY[_name].scalar
    _same = None if _alone is None else _alone.of(scalar=1.0)
    _enter(f"_npi_{_name}_scalar", _with_number(_name, False), _same, _rule)
    if _name not in EVEN:
        _enter(f"_npi_r{_name}_scalar", _with_number(_name, True), _same, _rule)
