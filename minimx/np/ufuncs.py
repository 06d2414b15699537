"""Functions that work element by element: `np.sin`, `np.add`, `np.isnan`.

They are written from two tables: `arithmetic.BINARY` for two arrays, `UNARY` below for
one. `out=` names an array to write to. Plain numbers go to NumPy and come back plain.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as onp

from minimx.core.arrays.array import NDArray
from minimx.core.dtypes import FLOAT32, INT64, resolve
from minimx.core.errors import Unavailable
from minimx.core.ops.registry import lookup
from minimx.np.arithmetic import BINARY, full_like, into
from minimx.np.calling.promotion import BOOL, cast, is_number
from minimx.np.multiarray import as_ndarray, as_np

# name in NumPy, operator, aliases. Integers stay integers, as in MXNet 1.9: what a
# function gives is cut off. Arrays of bool are taken for float32.
_REAL = (
    ("sqrt", "sqrt"), ("cbrt", "cbrt"), ("reciprocal", "reciprocal"),
    ("exp", "exp"), ("expm1", "expm1"), ("exp2", "_npi_exp2"),
    ("log", "log"), ("log2", "log2"), ("log10", "log10"), ("log1p", "log1p"),
    ("sin", "sin"), ("cos", "cos"), ("tan", "tan"),
    ("arcsin", "arcsin", "asin"), ("arccos", "arccos", "acos"),
    ("arctan", "arctan", "atan"),
    ("sinh", "sinh"), ("cosh", "cosh"), ("tanh", "tanh"),
    ("arcsinh", "arcsinh", "asinh"), ("arccosh", "arccosh", "acosh"),
    ("arctanh", "arctanh", "atanh"),
    ("degrees", "degrees", "rad2deg"), ("radians", "radians", "deg2rad"),
)  # fmt: skip
_SAME = (
    ("negative", "negative"), ("absolute", "abs", "abs"), ("fabs", "abs"),
    ("sign", "sign"), ("square", "square"), ("rint", "rint"),
    ("floor", "floor"), ("ceil", "ceil"), ("trunc", "trunc"), ("fix", "fix"),
    ("positive", "_copy"), ("conj", "_copy"), ("real", "_copy"),
    ("bitwise_not", "_npi_bitwise_not", "invert", "bitwise_invert"),
    ("logical_not", "_npi_logical_not"), ("isnan", "_npi_isnan"),
    ("isinf", "_npi_isinf"), ("isposinf", "_npi_isposinf"),
    ("isneginf", "_npi_isneginf"), ("isfinite", "_npi_isfinite"),
    ("signbit", "_npi_signbit"),
)  # fmt: skip
#: Of these a bool array is a number, 0 or 1, and the answer int64.
_COUNTS = frozenset(("negative", "absolute", "fabs", "sign", "square"))


_CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")
_LEGAL = {"where": True, "subok": True, "order": "K", "casting": "same_kind"}


def _refuse(who: str, kwargs: dict[str, Any]) -> None:
    """Refuse NumPy's options that there are not, unless they ask for nothing."""
    for name, value in kwargs.items():
        if name == "dtype":
            if value is None:
                continue
            resolve(value)  # what is no type at all is another mistake
        elif name == "casting" and value not in _CASTINGS:
            raise TypeError(f"np.{who}: casting={value!r}: choose one of {_CASTINGS}.")
        elif name not in _LEGAL:
            raise TypeError(f"np.{who} has no argument {name!r}.")
        elif value is _LEGAL[name] or value == _LEGAL[name]:
            continue
        raise Unavailable(
            f"np.{who}: {name}={value!r} is not available. Compute everything, and "
            "choose or convert afterwards: np.where(mask, x, y), x.astype(...)."
        )


def _unary(name: str, sheet: str, is_real: bool) -> Callable[..., Any]:
    op = lookup(sheet).of()

    def function(x: Any, out: Any = None, **kwargs: Any) -> Any:
        if kwargs:
            _refuse(name, kwargs)
        if is_number(x):
            found = getattr(onp, name)(x)
            if out is None:
                return found
            return into(out, lookup("_copy").of(), (full_like(out, found),))
        x = as_ndarray(x, name, "x")
        if x.spec.dtype == BOOL:
            if is_real:
                x = cast(x, FLOAT32)
            elif name in _COUNTS:
                x = cast(x, INT64)
        return x._bind(op, (x,)) if out is None else into(out, op, (x,))

    first = (lookup(sheet).__doc__ or "").partition("\n\n")[0]
    what = "x: an array of any shape, or a number; the result has its shape."
    return _named(function, name, f"{first}\n\n{what}", "x")


def _binary(name: str) -> Callable[..., Any]:
    entry = BINARY[name]

    def function(x1: Any, x2: Any, out: Any = None, **kwargs: Any) -> Any:
        if kwargs:
            _refuse(name, kwargs)
        if is_number(x1) and is_number(x2):
            found = getattr(onp, name)(x1, x2)
            if out is None:
                return found
            return into(out, lookup("_copy").of(), (full_like(out, found),))
        if type(x1) is NDArray:
            x1 = as_np(x1)
        if type(x2) is NDArray:
            x2 = as_np(x2)
        found = entry(x1, x2, out)
        if found is NotImplemented:
            raise TypeError(
                f"np.{name} is for mx.np arrays and numbers, not for "
                f"{type(x1).__name__} and {type(x2).__name__}. Make arrays with "
                "mx.np.array(...)."
            )
        return found

    first = (type(entry.array_op).__doc__ or "").partition("\n\n")[0]
    what = "x1, x2: arrays whose shapes stretch to one, or numbers."
    return _named(function, name, f"{first}\n\n{what}", "x1", "x2")


_OPTIONS = """\
out: an array to write to. where, dtype, order, casting and subok are NumPy's, and have
one value each here; others raise Unavailable."""


def _signature(inputs: tuple[str, ...]) -> inspect.Signature:
    kinds = inspect.Parameter
    parameters = [kinds(name, kinds.POSITIONAL_OR_KEYWORD) for name in inputs]
    parameters.append(kinds("out", kinds.POSITIONAL_OR_KEYWORD, default=None))
    for name, default in {**_LEGAL, "dtype": None}.items():
        parameters.append(kinds(name, kinds.KEYWORD_ONLY, default=default))
    return inspect.Signature(parameters, return_annotation="ndarray")


def _named(function: Any, name: str, doc: str, *inputs: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc}\n{_OPTIONS}\n"
    function.__module__ = "minimx.np"
    function.__signature__ = _signature(inputs)
    return function


FUNCTIONS: dict[str, Callable[..., Any]] = {}
for _is_real, _rows in ((True, _REAL), (False, _SAME)):
    for _name, _sheet, *_more in _rows:
        FUNCTIONS[_name] = _unary(_name, _sheet, _is_real)
        FUNCTIONS |= dict.fromkeys(_more, FUNCTIONS[_name])
_written: dict[int, Callable[..., Any]] = {}
for _name, _entry in BINARY.items():  # several names of one entry are one function
    FUNCTIONS[_name] = _written.setdefault(id(_entry), _binary(_name))


def around(x: Any, decimals: int = 0, out: Any = None) -> Any:
    """Round to so many decimals; halves go to the even digit."""
    if is_number(x):
        return onp.around(x, decimals)
    x = as_ndarray(x, "around", "x")
    if x.spec.dtype == BOOL:
        x = cast(x, INT64)
    op = lookup("_npi_around").of(decimals=decimals)
    return x._bind(op, (x,)) if out is None else into(out, op, (x,))


def nan_to_num(
    x: Any,
    copy: bool = True,
    nan: float = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Any:
    """Numbers in the place of NaN, and the largest ones in that of the infinities.

    copy=False: write them into the array itself.
    """
    if is_number(x):
        return onp.nan_to_num(x, copy, nan, posinf, neginf)
    x = as_ndarray(x, "nan_to_num", "x")
    if x.spec.dtype.kind != "f":
        return x.copy() if copy else x
    info = onp.finfo(x.spec.dtype)
    high = float(info.max if posinf is None else posinf)
    low = float(info.min if neginf is None else neginf)
    op = lookup("_npi_nan_to_num").of(nan=float(nan), posinf=high, neginf=low)
    return x._bind(op, (x,)) if copy else into(x, op, (x,))


def clip(a: Any, a_min: Any, a_max: Any, out: Any = None) -> Any:
    """Move what lies outside [a_min, a_max] to its border; None leaves a side open."""
    if is_number(a):
        return onp.clip(a, a_min, a_max)
    a = as_ndarray(a, "clip")
    if a_min is None and a_max is None:
        raise ValueError("clip: one of a_min and a_max must be given.")
    if isinstance(a_min, NDArray) or isinstance(a_max, NDArray):
        low = a if a_min is None else BINARY["maximum"](a, a_min)
        found = low if a_max is None else BINARY["minimum"](low, a_max)
        return found if out is None else into(out, lookup("_copy").of(), (found,))
    if a.spec.dtype.kind == "f":
        least, most = -onp.inf, onp.inf
    else:
        info = onp.iinfo(a.spec.dtype) if a.spec.dtype != BOOL else onp.iinfo("uint8")
        least, most = float(info.min), float(info.max)
    # A border outside of an integer type would be wrapped when it is converted.
    low = least if a_min is None else max(float(a_min), least)
    high = most if a_max is None else min(float(a_max), most)
    op = lookup("clip").of(a_min=float(low), a_max=float(high))
    return a._bind(op, (a,)) if out is None else into(out, op, (a,))


def divmod(x1: Any, x2: Any) -> Any:  # noqa: A001 (NumPy's name)
    """The quotient rounded down, and the rest, as a pair."""
    return FUNCTIONS["floor_divide"](x1, x2), FUNCTIONS["mod"](x1, x2)


def modf(x: Any) -> Any:
    """The fraction and the whole part, both with the sign of x."""
    whole = FUNCTIONS["trunc"](x)
    return x - whole, whole


FUNCTIONS |= {
    "around": around,
    "round": around,
    "round_": around,
    "nan_to_num": nan_to_num,
    "clip": clip,
    "divmod": divmod,
    "modf": modf,
}
