"""Nodes that compute element by element.

ONNX gives truth values where minimx gives 1 and 0 in the type of the data; they are
cast where the file casts them.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from minimx.core.dtypes import resolve
from minimx.onnx import files
from minimx.onnx.reading.values import READERS, Known, Read, reads

_SINGLE = {
    "Abs": "abs", "Acos": "arccos", "Acosh": "arccosh", "Asin": "arcsin",
    "Asinh": "arcsinh", "Atan": "arctan", "Atanh": "arctanh", "Ceil": "ceil",
    "Cos": "cos", "Cosh": "cosh", "Erf": "erf", "Exp": "exp", "Floor": "floor",
    "Identity": "_copy", "IsInf": "isinf", "IsNaN": "isnan", "Log": "log",
    "Neg": "negative", "Not": "logical_not", "Reciprocal": "reciprocal",
    "Relu": "relu", "Sigmoid": "sigmoid", "Sign": "sign", "Sin": "sin",
    "Sinh": "sinh", "Softplus": "softrelu", "Softsign": "softsign", "Sqrt": "sqrt",
    "Tan": "tan", "Tanh": "tanh",
}  # fmt: skip


def _single(name: str, at: Read, x: Any) -> Any:
    return at.use(name, x)


for _kind, _name in _SINGLE.items():
    READERS[_kind] = partial(_single, _name)

#: {kind: (the operator, with a number on the right, with one on the left)}.
_PAIRS = {
    "Add": ("add", "_plus_scalar", "_plus_scalar"),
    "Sub": ("sub", "_minus_scalar", "_rminus_scalar"),
    "Mul": ("mul", "_mul_scalar", "_mul_scalar"),
    "Div": ("div", "_div_scalar", "_rdiv_scalar"),
    "Pow": ("power", "_power_scalar", "_rpower_scalar"),
    "Mod": ("mod", "_mod_scalar", "_rmod_scalar"),
    "Max": ("maximum", "_maximum_scalar", "_maximum_scalar"),
    "Min": ("minimum", "_minimum_scalar", "_minimum_scalar"),
    "Equal": ("equal", "_equal_scalar", "_equal_scalar"),
    "Greater": ("greater", "_greater_scalar", "_lesser_scalar"),
    "GreaterOrEqual": (
        "greater_equal",
        "_greater_equal_scalar",
        "_lesser_equal_scalar",
    ),
    "Less": ("lesser", "_lesser_scalar", "_greater_scalar"),
    "LessOrEqual": ("lesser_equal", "_lesser_equal_scalar", "_greater_equal_scalar"),
    "And": ("logical_and", "_logical_and_scalar", "_logical_and_scalar"),
    "Or": ("logical_or", "_logical_or_scalar", "_logical_or_scalar"),
    "Xor": ("logical_xor", "_logical_xor_scalar", "_logical_xor_scalar"),
}
_EQUAL_SHAPES = ("add", "sub", "mul", "div")


def _pair(at: Read, a: Any, b: Any) -> Any:
    word, right, left = _PAIRS[at.kind]
    at.only(fmod=0)
    one, two = at.scalar(a), at.scalar(b)
    if two is not None and not isinstance(a, Known):
        return at.use(right, a, scalar=two)
    if one is not None and not isinstance(b, Known):
        return at.use(left, b, scalar=one)
    shape = at.shape(0)
    alike = shape is not None and None not in shape and shape == at.shape(1)
    kind = "elemwise" if alike and word in _EQUAL_SHAPES else "broadcast"
    return at.use(f"{kind}_{word}", a, b)


for _kind in _PAIRS:
    READERS[_kind] = _pair


@reads("Max", "Min")
def _extreme(at: Read, *values: Any) -> Any:
    if len(values) == 2:
        return _pair(at, *values)
    return at.chain(f"broadcast_{_PAIRS[at.kind][0]}", values)


@reads("Sum", "Mean")
def _sum(at: Read, *values: Any) -> Any:
    shapes = [at.shape(k) for k in range(len(values))]
    if all(s is not None and None not in s and s == shapes[0] for s in shapes):
        found = at.use("add_n", *values)
    else:
        found = at.chain("broadcast_add", values)
    return (
        at.use("_mul_scalar", found, scalar=1 / len(values))
        if at.kind == "Mean"
        else found
    )


@reads("Clip")
def _clip(at: Read, x: Any, low: Any = None, high: Any = None) -> Any:
    ends = []
    for k, word, value in ((1, "min", -np.inf), (2, "max", np.inf)):
        given = at.numbers(k)[0] if at.given(k) else at.get(word, value)
        ends.append(float(given))
    return at.use("clip", x, a_min=ends[0], a_max=ends[1])


@reads("Cast")
def _cast(at: Read, x: Any) -> Any:
    dtype = files.package("onnx.helper").tensor_dtype_to_np_dtype(at.get("to"))
    if dtype == np.bool_:
        return at.use("_not_equal_scalar", x, scalar=0.0)
    return at.use("cast", x, dtype=resolve(dtype).name)


@reads("Where")
def _where(at: Read, condition: Any, x: Any, y: Any) -> Any:
    """Operators of minimx want one shape: numbers and short axes are stretched."""
    values = [condition, x, y]
    places = [
        k
        for k in (1, 2, 0)
        if at.shape(k) == at.out and not isinstance(values[k], Known)
    ]
    if not places:
        raise at.refused(
            "stretches all of its inputs, or has shapes that are not known"
        )
    like = values[places[0]]
    for k, value in enumerate(values):
        number = at.scalar(value)
        if number is not None:
            values[k] = at.use(
                "_plus_scalar", at.use("zeros_like", like), scalar=number
            )
        elif at.shape(k) != at.out:
            values[k] = at.use("broadcast_like", value, like)
    return at.use("where", *values)


@reads("Dropout")
def _dropout(at: Read, x: Any, *rest: Any) -> Any:
    return at.use("_copy", x)


@reads("LeakyRelu", "Elu")
def _leaky(at: Read, x: Any) -> Any:
    word, slope = ("elu", 1.0) if at.kind == "Elu" else ("leaky", 0.01)
    return at.use("LeakyReLU", x, act_type=word, slope=at.get("alpha", slope))


@reads("Selu")
def _selu(at: Read, x: Any) -> Any:
    return at.use("LeakyReLU", x, act_type="selu")


@reads("Gelu")
def _gelu(at: Read, x: Any) -> Any:
    at.only(approximate="none")
    return at.use("LeakyReLU", x, act_type="gelu")


@reads("PRelu")
def _prelu(at: Read, x: Any, slope: Any) -> Any:
    """One slope, or one for each channel."""
    shape = at.shape(1) or ()
    rest = [n for n in shape if n != 1]
    if len(rest) > 1 or (rest and len(shape) != at.ndim() - 1 and shape != (rest[0],)):
        raise at.refused(
            f"has slopes of shape {shape}; one for each channel can be read"
        )
    if len(shape) != 1:
        slope = at.use("Reshape", slope, shape=(-1,))
    elif rest and at.ndim() != 2:
        raise at.refused("has a slope for each element of the last axis")
    return at.use("LeakyReLU", x, slope, act_type="prelu")


@reads("HardSigmoid")
def _hard_sigmoid(at: Read, x: Any) -> Any:
    return at.use(
        "hard_sigmoid", x, alpha=at.get("alpha", 0.2), beta=at.get("beta", 0.5)
    )


@reads("HardSwish")
def _hard_swish(at: Read, x: Any) -> Any:
    return at.use("broadcast_mul", x, at.use("hard_sigmoid", x, alpha=1 / 6, beta=0.5))
