"""The table of operators with one array and one number, which is a setting.

They share their kernels with the operators of two arrays: a number is an array that is
broadcast. The number takes the element type of the array: 2.5 is 2 for int32.

MXNet 1.9.1: src/operator/tensor/elemwise_binary_scalar_op_*.cc.
"""

from __future__ import annotations

from typing import Any

from minimx.core.operators.pointwise import unary
from minimx.core.ops.casting import SINGLE

_SCALAR = {"scalar": "float"}

# name, formula, gradient
_ARITHMETIC = (
    ("_plus_scalar", "x + scalar", "dy"),
    ("_minus_scalar", "x - scalar", "dy"),
    ("_rminus_scalar", "scalar - x", "-dy"),
    ("_mul_scalar", "x * scalar", "dy * scalar"),
    ("_div_scalar", "div(x, scalar)", "dy / scalar"),
    ("_rdiv_scalar", "div(scalar, x)", "-dy * y / x"),
    ("_mod_scalar", "mod(x, scalar)", "dy"),
    ("_rmod_scalar", "mod(scalar, x)", "-dy * floor(scalar / x)"),
    ("_power_scalar", "power(x, scalar)", "dy * scalar * power(x, scalar - 1)"),
    ("_rpower_scalar", "power(scalar, x)", "dy * y * log(scalar)"),
    ("_maximum_scalar", "maximum(x, scalar)", "where(x >= scalar, dy, 0)"),
    ("_minimum_scalar", "minimum(x, scalar)", "where(x <= scalar, dy, 0)"),
    ("_hypot_scalar", "hypot(x, scalar)", "dy * x / y"),
    (
        "smooth_l1",
        "where(abs(x) * scalar * scalar < 1, 0.5 * (x * scalar) * (x * scalar), "
        "abs(x) - 0.5 / (scalar * scalar))",
        "dy * maximum(-1, minimum(1, x * scalar * scalar))",
    ),
)
_COMPARISONS = (
    ("_equal_scalar", "x == scalar"),
    ("_not_equal_scalar", "x != scalar"),
    ("_greater_scalar", "x > scalar"),
    ("_greater_equal_scalar", "x >= scalar"),
    ("_lesser_scalar", "x < scalar"),
    ("_lesser_equal_scalar", "x <= scalar"),
    ("_logical_and_scalar", "x and scalar"),
    ("_logical_or_scalar", "x or scalar"),
    ("_logical_xor_scalar", "(x != 0) != (scalar != 0)"),
)
_STEEP: dict[str, Any] = {"casting": SINGLE}
_FACTS: dict[str, dict[str, Any]] = {
    "smooth_l1": {"scalar": 1.0, **_STEEP},
    "_rdiv_scalar": _STEEP,
    "_power_scalar": _STEEP,
    "_rpower_scalar": _STEEP,
    "_hypot_scalar": _STEEP,
    "_mod_scalar": {"jumps": True},
    "_rmod_scalar": {"jumps": True},
}
_DOCS = {
    "_div_scalar": "x / scalar; of integers cut off towards zero.",
    "_rdiv_scalar": "scalar / x; of integers cut off towards zero.",
    "_mod_scalar": "The rest of x / scalar, with the sign of scalar; 0 if that is 0.",
    "_rmod_scalar": "The rest of scalar / x, with the sign of x; 0 if that is 0.",
    "_power_scalar": "x to the power scalar.",
    "_rpower_scalar": "scalar to the power x.",
    "_maximum_scalar": "The larger of x and scalar.",
    "_minimum_scalar": "The smaller of x and scalar.",
    "_hypot_scalar": "The length of the vector (x, scalar).",
    "smooth_l1": "The absolute value; a parabola of width 1 / scalar**2 at the tip.",
}


def _legacy(name: str) -> tuple[str, ...]:
    """The name of MXNet's first years: `_RMinusScalar` for `_rminus_scalar`."""
    if not name.endswith("_scalar"):
        return ()
    words = name.strip("_").split("_")
    if words[0] in ("rminus", "rdiv", "rmod", "rpower"):
        words[:1] = ["r", words[0][1:]]
    return ("_" + "".join(word.capitalize() for word in words),)


for _name, _text, _grad in _ARITHMETIC:
    unary(
        _name,
        _text,
        *_legacy(_name),
        doc=_DOCS.get(_name, f"{_text}, element by element."),
        grad=_grad,
        settings=_SCALAR,
        facts=_FACTS.get(_name),
    )
for _name, _text in _COMPARISONS:
    unary(
        _name,
        _text,
        *_legacy(_name),
        doc=f"1 where {_text}, 0 elsewhere, in the type of x.",
        settings=_SCALAR,
    )
