"""The table of pointwise operators with one or two inputs.

Each row is a whole operator: see `pointwise.py`. Gradients may use the input or the
output; the output is the better choice where both would do, as the next operator mostly
keeps it anyway. Two inputs must have one type, whichever it is; the result has it, too.

MXNet 1.9.1: src/operator/tensor/elemwise_unary_op_*.cc, elemwise_binary_op_*.cc,
elemwise_binary_broadcast_op_*.cc, and the functors in src/operator/mshadow_op.h.
"""

from __future__ import annotations

from minimx.core.operators.pointwise import binary, unary
from minimx.core.ops.casting import (
    EITHER,
    SINGLE,
    SINGLE_IN_FLOAT16,
    USUAL,
    WIDEST,
    Casting,
)

# -- two inputs ------------------------------------------------------------------------

_EQUAL_SHAPES = {"stretches": False}

_ARITHMETIC = (
    ("add", "a + b", "sum", ("dz", "dz")),
    ("sub", "a - b", "difference", ("dz", "-dz")),
    ("mul", "a * b", "product", ("dz * b", "dz * a")),
    ("div", "div(a, b)", "quotient, of integers cut off towards zero,",
     ("dz / b", "-dz * a / (b * b)")),
)  # fmt: skip
_ALIASES = {
    "elemwise_add": ("_plus", "_Plus", "_add", "_grad_add"),
    "elemwise_sub": ("_minus", "_Minus", "_sub"),
    "elemwise_mul": ("_mul", "_Mul"),
    "elemwise_div": ("_div", "_Div"),
    "broadcast_add": ("broadcast_plus",),
    "broadcast_sub": ("broadcast_minus",),
}

#: In bfloat16 MXNet multiplies stretched arrays in float32, and only those.
_RULES = {"broadcast_mul": Casting("widest", "float32")}

_KINDS: tuple[tuple[str, dict[str, bool], str], ...] = (
    ("elemwise", _EQUAL_SHAPES, "of two arrays of one shape"),
    ("broadcast", {}, "of two arrays, which stretch to one shape"),
)

for _word, _text, _what, _grads in _ARITHMETIC:
    for _kind, _facts, _whose in _KINDS:
        _name = f"{_kind}_{_word}"
        binary(
            _name,
            _text,
            *_ALIASES.get(_name, ()),
            doc=f"The {_what} {_whose}.",
            grads=_grads,
            facts={**_facts, "casting": _RULES.get(_name, WIDEST)},
        )

_COMPARISONS = (
    ("equal", "a == b", "two numbers are equal"),
    ("not_equal", "a != b", "two numbers differ"),
    ("greater", "a > b", "the first is greater"),
    ("greater_equal", "a >= b", "the first is greater or equal"),
    ("lesser", "a < b", "the first is smaller"),
    ("lesser_equal", "a <= b", "the first is smaller or equal"),
    ("logical_and", "a and b", "both are not 0"),
    ("logical_or", "a or b", "one or both are not 0"),
    ("logical_xor", "(a != 0) != (b != 0)", "one of the two is 0 and the other is not"),
)
for _word, _text, _what in _COMPARISONS:
    binary(
        f"broadcast_{_word}",
        _text,
        f"_{_word}",
        f"_{_word.title()}",
        doc=f"1 where {_what}, 0 elsewhere, in the type of the arrays.",
    )

binary(
    "broadcast_mod",
    "mod(a, b)",
    "_mod",
    "_Mod",
    doc="The rest of a division, with the sign of the divisor; 0 if that is 0.",
    grads=("dz", "-dz * floor(a / b)"),
    facts={"jumps": True},
)
binary(
    "broadcast_power",
    "power(a, b)",
    "_power",
    "_Power",
    doc="Raise one array to the powers in the other.",
    grads=("dz * b * power(a, b - 1)", "dz * z * log(a)"),
    facts={"casting": SINGLE},
)
binary(
    "broadcast_maximum",
    "maximum(a, b)",
    "_maximum",
    "_Maximum",
    doc="The larger of two; the gradient goes to the first where they are equal.",
    grads=("where(a >= b, dz, 0)", "where(a >= b, 0, dz)"),
)
binary(
    "broadcast_minimum",
    "minimum(a, b)",
    "_minimum",
    "_Minimum",
    doc="The smaller of two; the gradient goes to the first where they are equal.",
    grads=("where(a <= b, dz, 0)", "where(a <= b, 0, dz)"),
)
binary(
    "broadcast_hypot",
    "hypot(a, b)",
    "_hypot",
    "_Hypot",
    doc="The length of the vector whose two components are given.",
    grads=("dz * a / z", "dz * b / z"),
    facts={"casting": SINGLE},
)

# -- one input -------------------------------------------------------------------------

# name, formula, gradient, what it is
_SMOOTH = (
    ("negative", "-x", "-dy", "Change the sign"),
    ("reciprocal", "1 / x", "-dy * y * y", "One divided by x"),
    ("square", "x * x", "dy * 2 * x", "x times x"),
    ("sqrt", "sqrt(x)", "dy * 0.5 / y", "The square root"),
    ("rsqrt", "1 / sqrt(x)", "dy * -0.5 * y / x", "One divided by the square root"),
    ("cbrt", "cbrt(x)", "dy / (3 * y * y)", "The cube root"),
    ("rcbrt", "1 / cbrt(x)", "dy * y / (-3 * x)", "One divided by the cube root"),
    ("exp", "exp(x)", "dy * y", "e to the power x"),
    ("expm1", "expm1(x)", "dy * (y + 1)", "exp(x) - 1, exact for small x"),
    ("log", "log(x)", "dy / x", "The natural logarithm"),
    ("log1p", "log1p(x)", "dy / (1 + x)", "log(1 + x), exact for small x"),
    ("log2", "log2(x)", "dy / (x * 0.6931471805599453)", "The logarithm of base 2"),
    ("log10", "log10(x)", "dy / (x * 2.302585092994046)", "The logarithm of base 10"),
    ("sin", "sin(x)", "dy * cos(x)", "The sine of an angle in radians"),
    ("cos", "cos(x)", "-dy * sin(x)", "The cosine of an angle in radians"),
    ("tan", "tan(x)", "dy * (1 + y * y)", "The tangent of an angle in radians"),
    ("arcsin", "arcsin(x)", "dy / sqrt(1 - x * x)", "The angle whose sine is x"),
    ("arccos", "arccos(x)", "-dy / sqrt(1 - x * x)", "The angle whose cosine is x"),
    ("arctan", "arctan(x)", "dy / (1 + x * x)", "The angle whose tangent is x"),
    ("sinh", "sinh(x)", "dy * cosh(x)", "The hyperbolic sine"),
    ("cosh", "cosh(x)", "dy * sinh(x)", "The hyperbolic cosine"),
    ("tanh", "tanh(x)", "dy * (1 - y * y)", "The hyperbolic tangent"),
    ("arcsinh", "arcsinh(x)", "dy / sqrt(x * x + 1)", "The inverse of sinh"),
    ("arccosh", "arccosh(x)", "dy / sqrt(x * x - 1)", "The inverse of cosh"),
    ("arctanh", "arctanh(x)", "dy / (1 - x * x)", "The inverse of tanh"),
    ("degrees", "x * 57.29577951308232", "dy * 57.29577951308232",
     "An angle in degrees"),
    ("radians", "x * 0.017453292519943295", "dy * 0.017453292519943295",
     "An angle in radians"),
    ("gamma", "gamma(x)", "dy * y * digamma(x)", "The gamma function: (x - 1)!"),
    ("gammaln", "gammaln(x)", "dy * digamma(x)", "The logarithm of |gamma(x)|"),
    ("digamma", "digamma(x)", "dy * trigamma(x)", "The slope of gammaln"),
    ("erf", "erf(x)", "dy * 1.1283791670955126 * exp(-x * x)", "The error function"),
    ("erfinv", "erfinv(x)", "dy * 0.886226925452758 * exp(y * y)",
     "The inverse of the error function"),
    ("sigmoid", "1 / (1 + exp(-x))", "dy * y * (1 - y)", "The logistic curve"),
    ("relu", "where(x <= 0, 0, x)", "where(y > 0, dy, where(y == 0, 0, y))",
     "Keep the positive part, and what is not a number"),
    ("softsign", "x / (1 + abs(x))", "dy / ((1 + abs(x)) * (1 + abs(x)))",
     "A curve from -1 to 1 that is slower than tanh"),
    ("softrelu", "maximum(x, 0) + log1p(exp(-abs(x)))", "dy * (1 - exp(-y))",
     "log(1 + exp(x)), a relu without the corner"),
    ("abs", "abs(x)", "dy * sign(x)", "The absolute value"),
)  # fmt: skip
_STEPS = (
    ("sign", "(x > 0) - (x < 0)", "-1, 0 or 1; 0 for what is not a number"),
    ("rint", "where(x - floor(x) > 0.5, ceil(x), floor(x))",
     "The nearest integer; of two, the lower one, unlike NumPy's"),
    ("round", "round(x)", "The nearest integer; of two, the one away from zero"),
    ("floor", "floor(x)", "The next integer below"),
    ("ceil", "ceil(x)", "The next integer above"),
    ("trunc", "trunc(x)", "The next integer towards zero"),
    ("fix", "trunc(x)", "The next integer towards zero"),
)  # fmt: skip
_TESTS = (
    ("logical_not", "not x", "1 where x is 0, else 0"),
    ("isnan", "isnan(x)", "1 where x is not a number"),
    ("isinf", "isinf(x)", "1 where x is infinite"),
    ("isfinite", "isfinite(x)", "1 where x is a finite number"),
)

# Steep, or steep near zero: in float16 they overflow where float32 does not.
_STEEP = (
    *("arccos", "arcsin", "arctanh", "cosh", "digamma", "erfinv", "exp", "expm1"),
    *("gamma", "gammaln", "log", "log10", "log1p", "log2", "rcbrt", "reciprocal"),
    *("rsqrt", "sinh", "tan"),
)
_CASTING = {
    **dict.fromkeys(_STEEP, SINGLE),
    **dict.fromkeys(("abs", "relu", "sqrt", "tanh"), EITHER),
    "square": SINGLE_IN_FLOAT16,
}

for _name, _text, _grad, _what in _SMOOTH:
    _doc = f"{_what}, element by element."
    _rule = {"casting": _CASTING.get(_name, USUAL)}
    unary(_name, _text, doc=_doc, grad=_grad, facts=_rule)
for _name, _text, _what in _STEPS:
    unary(_name, _text, doc=f"{_what}; the gradient is 0.", grad="0")
for _name, _text, _what in _TESTS:
    unary(_name, _text, doc=f"{_what}.")
unary("trigamma", "trigamma(x)", doc="The slope of digamma; its own is not known here.")

# -- one input and settings ------------------------------------------------------------

unary(
    "clip",
    "minimum(maximum(x, a_min), a_max)",
    doc="Elements below a_min become a_min, those above a_max become a_max.",
    grad="where((x >= a_min) * (x <= a_max) != 0, dy, 0)",
    settings={"a_min": "float", "a_max": "float"},
    facts={"casting": EITHER},
)
unary(
    "hard_sigmoid",
    "maximum(0, minimum(1, alpha * x + beta))",
    doc="A straight line that is cut off at 0 and 1.",
    grad="where((y > 0) * (y < 1) != 0, dy * alpha, 0)",
    settings={"alpha": "float", "beta": "float"},
    facts={"alpha": 0.2, "beta": 0.5},
)

# -- one input, unchanged --------------------------------------------------------------

unary(
    "_copy",
    "x",
    "identity",
    doc="The same elements in memory of their own.",
    grad="dy",
    facts={"casting": EITHER},  # NDArray.copy() gives the type that it gets
)
unary(
    "BlockGrad",
    "x",
    "stop_gradient",
    doc="The same elements; no gradient flows through.",
)
