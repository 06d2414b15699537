"""Pointwise operators: their formulas, written with nodes of ONNX.

`softplus(x) = maximum(x, 0) + log1p(exp(-abs(x)))` is a formula that kernels are made
of; the same formula, evaluated with values of ONNX, gives its nodes. So an operator
needs a translation of its own only where ONNX has a better word for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from minimx.core.dtypes import resolve
from minimx.core.kernels.formula import Formula
from minimx.core.ops.registry import lookup
from minimx.onnx.writing.values import BOOL, TRANSLATIONS, Call, Value, translates

#: {function of a formula: the node that computes it}.
_NODES = {
    "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "erf": "Erf",
    "abs": "Abs", "sign": "Sign", "floor": "Floor", "ceil": "Ceil",
    "sin": "Sin", "cos": "Cos", "tan": "Tan",
    "sinh": "Sinh", "cosh": "Cosh", "tanh": "Tanh",
    "arcsin": "Asin", "arccos": "Acos", "arctan": "Atan",
    "arcsinh": "Asinh", "arccosh": "Acosh", "arctanh": "Atanh",
    "maximum": "Max", "minimum": "Min", "power": "Pow", "div": "Div",
}  # fmt: skip


def _fraction_cut_off(at: Call, x: Any) -> Any:
    return at.chosen(x < 0, at("Ceil", x), at("Floor", x))


def _rounded(at: Call, x: Any) -> Any:
    """Halves go away from zero; ONNX's Round takes them to the even neighbour."""
    size = at("Abs", x)
    below = at("Floor", size)
    return at("Sign", x) * (below + at.cast(size - below >= 0.5, x.dtype))


def _rest(at: Call, a: Any, b: Any) -> Any:
    """With the sign of the divisor; 0 where that is 0."""
    b = at.as_value(b, at.inputs[0].dtype)
    whole = b.dtype.kind in "iu"
    rest = at("Mod", a, b) if whole else a - at("Floor", a / b) * b
    return at.chosen(b == 0, 0, rest)


#: {function of a formula: (call, *values) -> value}, what `_NODES` has not.
_COMPOSED: dict[str, Callable[..., Any]] = {
    "expm1": lambda at, x: at("Exp", x) - 1,
    "log1p": lambda at, x: at("Log", x + 1),
    "log2": lambda at, x: at("Log", x) / np.log(2),
    "log10": lambda at, x: at("Log", x) / np.log(10),
    "cbrt": lambda at, x: at("Sign", x) * at("Pow", at("Abs", x), 1 / 3),
    "trunc": _fraction_cut_off,
    "round": _rounded,
    "mod": _rest,
    "hypot": lambda at, a, b: at("Sqrt", a * a + b * b),
    "isnan": lambda at, x: at("IsNaN", x, dtype=BOOL),
    "isinf": lambda at, x: at("IsInf", x, dtype=BOOL),
    "where": Call.chosen,
}


def _made(kind: str, at: Call, *values: Any) -> Any:
    return at(kind, *values)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{word: partial(_made, kind) for word, kind in _NODES.items()},
    **_COMPOSED,
}


def evaluated(
    at: Call, formula: Formula, inputs: Sequence[Value], settings: Sequence[float]
) -> Any:
    """The value of a formula; a comparison gives 1 or 0."""
    functions = {word: partial(made, at) for word, made in FUNCTIONS.items()}
    operands = zip(formula.operands, (*inputs, *settings), strict=True)
    return formula.evaluate(functions, dict(operands))


# -- where ONNX has a word of its own --------------------------------------------------

_ALONE = {
    "reciprocal": "Reciprocal",
    "relu": "Relu",
    "sigmoid": "Sigmoid",
    "sign": "Sign",
    "softrelu": "Softplus",
    "softsign": "Softsign",
}
for _name, _kind in _ALONE.items():
    TRANSLATIONS[_name] = partial(lambda kind, at, x: at(kind, x), _kind)


@translates(
    *("_copy", "BlockGrad", "make_loss", "MakeLoss", "_contrib_gradientmultiplier"),
    *("LinearRegressionOutput", "MAERegressionOutput", "SVMOutput"),
    "IdentityAttachKLSparseReg",
)
def _same(at: Call, x: Value, *rest: Value) -> Value:
    return x


@translates("Dropout")
def _dropout(at: Call, x: Value) -> Value:
    if at.op.settings["mode"] == "always" and at.op.settings["p"]:
        raise at.refused("drops elements in prediction, too (mode='always'): set mode")
    return x


@translates("LogisticRegressionOutput")
def _logistic(at: Call, x: Value, label: Value) -> Any:
    return at("Sigmoid", x)


@translates("Activation")
def _activation(at: Call, x: Value) -> Any:
    kind = at.op.settings["act_type"]
    return at("Tanh" if kind == "tanh" else _ALONE[kind], x)


@translates("LeakyReLU")
def _leaky(at: Call, x: Value, gamma: Value | None = None) -> Any:
    settings = at.op.settings
    kind = settings["act_type"]
    if kind == "gelu":
        gelu: Any = lookup("_gelu")
        return evaluated(at, gelu.formula, [x], ())
    if kind == "selu":
        return at("Selu", x)
    if kind == "prelu":
        slope = at.shape(1)
        if at.ndim() > 2 and slope is not None and slope != (1,):
            ones = (1,) * (at.ndim() - 1 - len(slope))
            gamma = at.reshaped(gamma, slope, (*slope, *ones))  # type: ignore[arg-type]
        return at("PRelu", x, gamma)
    if kind == "rrelu":
        mean = (settings["lower_bound"] + settings["upper_bound"]) / 2
        return at("LeakyRelu", x, alpha=mean)
    return at("Elu" if kind == "elu" else "LeakyRelu", x, alpha=settings["slope"])


@translates("clip")
def _clip(at: Call, x: Value) -> Any:
    return at("Clip", x, at.op.settings["a_min"], at.op.settings["a_max"])


@translates("hard_sigmoid")
def _hard_sigmoid(at: Call, x: Value) -> Any:
    return at("HardSigmoid", x, **at.op.settings)


_LOGICAL = {"and": "And", "or": "Or", "xor": "Xor"}


def _logical(kind: str, at: Call, a: Value, b: Value | None = None) -> Any:
    other = bool(at.op.settings["scalar"]) if b is None else at.cast(b, BOOL)
    return at(kind, at.cast(a, BOOL), other)


_CALLED = "broadcast_logical_{0} _logical_{0}_scalar"
_CALLED += " _npi_logical_{0} _npi_logical_{0}_scalar"
for _name, _kind in _LOGICAL.items():
    _found = partial(_logical, _kind)
    TRANSLATIONS.update(dict.fromkeys(_CALLED.format(_name).split(), _found))


@translates("logical_not", "_npi_logical_not")
def _logical_not(at: Call, x: Value) -> Any:
    return at("Not", at.cast(x, BOOL))


@translates("isfinite", "_npi_isfinite")
def _isfinite(at: Call, x: Value) -> Any:
    odd = at("Or", at("IsNaN", x, dtype=BOOL), at("IsInf", x, dtype=BOOL))
    return at("Not", odd)


@translates("Cast", "cast", "amp_cast")
def _cast(at: Call, x: Value) -> Any:
    return at.cast(x, resolve(at.op.settings["dtype"]))


@translates("add_n")
def _add_n(at: Call, *values: Value) -> Any:
    return at("Sum", *values)


@translates("where", "_npi_where")
def _where(at: Call, condition: Value, x: Value, y: Value) -> Any:
    rows, ndim = at.shape(0), at.ndim(1)
    if at.op.name == "where" and at.ndim(0) == 1 < ndim:
        condition = at.reshaped(condition, rows, (*(rows or ()), *(1,) * (ndim - 1)))
    return at.chosen(condition, x, y)


@translates("_contrib_div_sqrt_dim")
def _div_sqrt_dim(at: Call, x: Value) -> Any:
    return x / float(np.sqrt(at.length(0, -1)))
