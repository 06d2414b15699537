"""Nodes that compute element by element.

ONNX gives truth values where minimx gives 1 and 0 in the type of the data; they are
cast where the file casts them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.shapes import is_whole
from minimx.onnx import files
from minimx.onnx.reading.values import READERS, Known, Read, reads

#: {kind: the operator of two arrays, without what it begins with}.
_PAIRS = {
    "Add": "add", "Sub": "sub", "Mul": "mul", "Div": "div",
    "Pow": "power", "Mod": "mod", "Max": "maximum", "Min": "minimum", "Equal": "equal",
    "Greater": "greater", "GreaterOrEqual": "greater_equal",
    "Less": "lesser", "LessOrEqual": "lesser_equal",
    "And": "logical_and", "Or": "logical_or", "Xor": "logical_xor",
}  # fmt: skip
_EQUAL_SHAPES = ("add", "sub", "mul", "div")
#: What an operator of an array and a number is called; and with the number first.
_SCALAR = {"add": "plus", "sub": "minus"}
_SWAPPED = {
    "minus": "rminus", "div": "rdiv", "power": "rpower", "mod": "rmod",
    "greater": "lesser", "greater_equal": "lesser_equal",
    "lesser": "greater", "lesser_equal": "greater_equal",
}  # fmt: skip


def _pair(at: Read, a: Any, b: Any) -> Any:
    at.only(fmod=0)
    word = _PAIRS[at.kind]
    scalar = _SCALAR.get(word, word)
    one, two = at.scalar(a), at.scalar(b)
    if two is not None and not isinstance(a, Known):
        return at.use(f"_{scalar}_scalar", a, scalar=two)
    if one is not None and not isinstance(b, Known):
        return at.use(f"_{_SWAPPED.get(scalar, scalar)}_scalar", b, scalar=one)
    alike = is_whole(at.shape(0)) and at.shape(0) == at.shape(1)
    kind = "elemwise" if alike and word in _EQUAL_SHAPES else "broadcast"
    return at.use(f"{kind}_{word}", a, b)


READERS.update(dict.fromkeys(_PAIRS, _pair))


@reads("Max", "Min")
def _extreme(at: Read, *values: Any) -> Any:
    if len(values) == 2:
        return _pair(at, *values)
    return at.chain(f"broadcast_{_PAIRS[at.kind]}", values)


@reads("Sum", "Mean")
def _sum(at: Read, *values: Any) -> Any:
    shapes = [at.shape(k) for k in range(len(values))]
    if all(is_whole(shape) and shape == shapes[0] for shape in shapes):
        found = at.use("add_n", *values)
    else:
        found = at.chain("broadcast_add", values)
    if at.kind == "Sum":
        return found
    return at.use("_mul_scalar", found, scalar=1 / len(values))


@reads("Clip")
def _clip(at: Read, x: Any, *ends: Any) -> Any:
    low, high = (
        at.numbers(k)[0] if at.given(k) else at.get(word)
        for k, word in ((1, "min"), (2, "max"))
    )
    if low is not None and high is not None:
        return at.use("clip", x, a_min=low, a_max=high)
    if low is not None:
        return at.use("_maximum_scalar", x, scalar=low)
    return (
        at.use("_copy", x)
        if high is None
        else at.use("_minimum_scalar", x, scalar=high)
    )


@reads("Cast")
def _cast(at: Read, x: Any) -> Any:
    dtype = files.dtype_of(at.get("to"))
    if dtype == np.bool_:
        return at.use("_not_equal_scalar", x, scalar=0.0)
    return at.use("cast", x, dtype=dtype.name)


@reads("Where")
def _where(at: Read, condition: Any, x: Any, y: Any) -> Any:
    """Operators of minimx want one shape: numbers and short axes are stretched."""
    values = [condition, x, y]
    places = [
        k
        for k in (1, 2, 0)
        if at.shape(k) == at.out and not isinstance(values[k], Known)
    ]
    if not places or at.out is None:
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


@reads("HardSwish")
def _hard_swish(at: Read, x: Any) -> Any:
    return at.use("broadcast_mul", x, at.use("hard_sigmoid", x, alpha=1 / 6, beta=0.5))
