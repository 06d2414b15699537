"""Pointwise operators of the NumPy front end.

Arithmetic and smooth functions are those of `elementwise.py`; here stand the operators
whose answers are true or false in an array of bool, and functions that only `mx.np`
has. Both inputs have one element type: `mx.np` converts them before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from minimx.core import shapes
from minimx.core.dtypes import DType
from minimx.core.errors import DTypeError
from minimx.core.operators.pointwise import binary, same_dtype, unary
from minimx.core.ops import GradContext, Kernel, Op, Value, register
from minimx.core.ops.casting import SINGLE, USUAL, WIDEST
from minimx.core.ops.spec import Spec
from minimx.operators.rules import Gradients, like_first

BOOL = np.dtype(np.bool_)

_TRUTH = {"gives": BOOL, "inplace": {}}
_SCALAR = {"scalar": "float"}

# -- true or false ---------------------------------------------------------------------

# name, formula of two arrays, where it is true
_COMPARISONS = (
    ("equal", "a == b", "two numbers are equal"),
    ("not_equal", "a != b", "two numbers differ"),
    ("greater", "a > b", "the first is greater"),
    ("greater_equal", "a >= b", "the first is greater or equal"),
    ("less", "a < b", "the first is smaller"),
    ("less_equal", "a <= b", "the first is smaller or equal"),
    ("logical_and", "a and b", "both are not 0"),
    ("logical_or", "a or b", "one or both are not 0"),
    ("logical_xor", "(a != 0) != (b != 0)", "one of the two is 0 and the other is not"),
)
for _word, _text, _what in _COMPARISONS:
    binary(f"_npi_{_word}", _text, doc=f"True where {_what}. out: bool.", facts=_TRUTH)
    _text = _text.replace("a", "x", 1).replace("b", "scalar")
    unary(
        f"_npi_{_word}_scalar",
        _text,
        doc=f"True where {_text}. out: bool.",
        settings=_SCALAR,
        facts=_TRUTH,
    )

_TESTS = (
    ("logical_not", "not x", "where x is 0"),
    ("isnan", "isnan(x)", "where x is not a number"),
    ("isinf", "isinf(x)", "where x is infinite"),
    ("isposinf", "isinf(x) and x > 0", "where x is positive infinity"),
    ("isneginf", "isinf(x) and x < 0", "where x is negative infinity"),
    ("isfinite", "isfinite(x)", "where x is a finite number"),
    ("signbit", "copysign(1, x) < 0", "where x has a minus sign, 0 as well"),
)
for _word, _text, _what in _TESTS:
    unary(f"_npi_{_word}", _text, doc=f"True {_what}. out: bool.", facts=_TRUTH)

# -- numbers ---------------------------------------------------------------------------

# name, formula, gradients, what it is
_SMOOTH = (
    ("arctan2", "arctan2(a, b)", ("dz * b / (a * a + b * b)",
     "-dz * a / (a * a + b * b)"), "The angle of the point with height a at b."),
    ("copysign", "copysign(a, b)", ("where((a < 0) != (z < 0), -dz, dz)", "0"),
     "The size of a with the sign of b."),
    ("ldexp", "a * power(2, b)", ("dz * power(2, b)", "dz * z * 0.6931471805599453"),
     "a times 2 to the power b."),
    ("fmod", "fmod(a, b)", ("dz", "-dz * trunc(a / b)"),
     "The rest of a division, with the sign of the dividend."),
    ("floor_divide", "floor_div(a, b)", ("0", "0"),
     "The quotient, rounded down; of integers 0 where b is 0."),
    ("fmax", "where(b != b, a, maximum(b, where(a != a, b, a)))",
     ("where(a >= b, dz, where(b != b, dz, 0))",
      "where(a >= b, 0, where(b != b, 0, dz))"),
     "The larger of two; a number wins over NaN."),
    ("fmin", "where(b != b, a, minimum(b, where(a != a, b, a)))",
     ("where(a <= b, dz, where(b != b, dz, 0))",
      "where(a <= b, 0, where(b != b, 0, dz))"),
     "The smaller of two; a number wins over NaN."),
    ("logaddexp", "maximum(a, b) + log1p(exp(-abs(a - b)))",
     ("dz * exp(a - z)", "dz * exp(b - z)"), "log(exp(a) + exp(b))."),
    ("heaviside", "where(a == 0, b, where(a > 0, 1, where(a < 0, 0, a)))", None,
     "A step from 0 to 1; b is the value at 0."),
)  # fmt: skip
_CASTING = {
    **dict.fromkeys(("logaddexp", "ldexp"), SINGLE),
    **dict.fromkeys(("arctan2", "floor_divide"), USUAL),
}
for _word, _text, _grads, _what in _SMOOTH:
    _facts_of: dict[str, Any] = {"jumps": True} if _word == "fmod" else {}
    _facts_of["casting"] = _CASTING.get(_word, WIDEST)
    binary(f"_npi_{_word}", _text, doc=_what, grads=_grads, facts=_facts_of)

unary(
    "_npi_exp2",
    "power(2, x)",
    doc="2 to the power x.",
    grad="dy * y * 0.6931471805599453",
    facts={"casting": SINGLE},
)


# -- what is NumPy's own loop ----------------------------------------------------------


class Looped(Op):
    """An operator that NumPy computes, element by element; no gradient flows."""

    differentiable = False
    function: ClassVar[Callable[..., Any]]
    #: The kinds of element types it is made for: bool, integer, unsigned, float.
    kinds: ClassVar[str] = "biu"

    def infer(self, *specs: Spec) -> Spec:
        """Shapes stretch to a common one; the type of the inputs."""
        same_dtype(self.name, specs)
        shape = specs[0].shape
        for spec in specs[1:]:
            shape = shapes.broadcast(self.name, shape, spec.shape)
        self._refuse(specs[0].dtype)
        return specs[0].with_shape(shape)

    def _refuse(self, dtype: DType) -> None:
        if dtype.kind not in self.kinds:
            raise DTypeError(
                f"{self.name.removeprefix('_npi_')} is made for integers and bool, not "
                f"for {dtype.name}. Convert the array first, for example with "
                ".astype('int32')."
            )

    def kernel(self, *specs: Spec) -> Kernel:
        """NumPy's."""
        function = type(self).function

        def launch(*arrays: Any) -> None:
            with np.errstate(all="ignore"):
                function(*arrays[:-1], out=arrays[-1], casting="unsafe")

        return launch


def _looped(
    name: str, function: Any, inputs: Sequence[str], doc: str, kinds: str = "biu"
) -> None:
    names = ", ".join(inputs)
    what = "integers" if kinds == "iu" else "integers or bool"
    shapes_of = "shapes that stretch to that of out" if len(inputs) > 1 else "any shape"
    facts = {
        "__doc__": f"{doc}\n\n{names}: {what}, {shapes_of}; out: their type.",
        "__module__": __name__,
        "function": staticmethod(function),
        "inputs": tuple(inputs),
        "kinds": kinds,
        "inplace": {"out": tuple(inputs)},
    }
    register(f"_npi_{name}")(type(name.title().replace("_", ""), (Looped,), facts))


_PAIR = ("lhs", "rhs")
_looped("bitwise_and", np.bitwise_and, _PAIR, "The bits that both have.")
_looped("bitwise_or", np.bitwise_or, _PAIR, "The bits that either has.")
_looped("bitwise_xor", np.bitwise_xor, _PAIR, "The bits that one of the two has.")
_looped("bitwise_not", np.bitwise_not, ("data",), "The bits that are missing.")
_looped("left_shift", np.left_shift, _PAIR, "The bits, moved up by rhs places.", "iu")
_looped("right_shift", np.right_shift, _PAIR, "The bits, moved down.", "iu")
_looped("lcm", np.lcm, _PAIR, "The least common multiple.", "iu")
_looped("gcd", np.gcd, _PAIR, "The greatest common divisor.", "iu")


# -- with settings ---------------------------------------------------------------------


@register("_npi_around")
class Around(Op):
    """Round to so many decimals, halves to the even digit; the gradient is 0.

    data, out: one shape; decimals may be negative.
    """

    decimals: int = 0
    saves = ()
    inplace = {"out": "data"}

    infer = like_first

    def kernel(self, *specs: Spec) -> Kernel:
        """NumPy's."""
        decimals = self.decimals
        return lambda x, out: np.copyto(out, np.around(x, decimals))

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """Zero: it is a staircase."""
        return (dout * 0,)
