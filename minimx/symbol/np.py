"""`mx.sym.np`: NumPy's functions on symbols; `F.np` where a block is written down.

Functions of one operator are read off the registry; those that choose an operator by
their arguments, or have NumPy's order of arguments, stand here and in `calls.py` of
`np_functions`. Symbols have no shapes; what needs them is an operator of its
`operators.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as onp

from minimx.core.ops.registry import lookup as _lookup
from minimx.nd.namespaces import install_namespace
from minimx.nd.signatures import functions as _functions
from minimx.symbol.arithmetic import with_number
from minimx.symbol.creation import ones, zeros
from minimx.symbol.functions import FUNCTIONS
from minimx.symbol.np_functions import operators as _np_sheets  # noqa: F401 (fills the registry)
from minimx.symbol.np_functions.binary import EVEN, NAMES
from minimx.symbol.np_functions.calls import *  # noqa: F403 (this module offers all of them)
from minimx.symbol.np_functions.calls import _apply
from minimx.symbol.np_functions.namespaces import linalg, random
from minimx.symbol.symbol import Symbol as _Symbol

__all__ = ["linalg", "ones", "random", "zeros"]


def _call(name: str, *symbols: Any, **settings: Any) -> Any:
    return symbols[0]._bind(_lookup(name).of(**settings), symbols)


def _tuple(value: Any) -> tuple[int, ...]:
    return (value,) if isinstance(value, int) else tuple(value)


# -- many elements become one ----------------------------------------------------------


def _reduced(
    operator: str, a: Any, *, axis: Any, where: Any = None, **settings: Any
) -> Any:
    """A node of an operator over some axes, or over all of them."""
    if settings.get("initial", 0) is None:
        del settings["initial"]
    return _apply(operator, a, axis=_axes(axis), **settings)


def _axes(axis: Any) -> Any:
    return tuple(axis) if isinstance(axis, list) else axis


_REDUCTIONS = """
    sum(
        a, axis=None, dtype=None, out=None, keepdims=False, initial=None,
        where=None): _np_sum
        `np.sum` over some axes, or over all.

    prod(
        a, axis=None, dtype=None, out=None, keepdims=False, initial=None,
        where=None): _np_prod
        `np.prod` over some axes, or over all.

    mean(
        a, axis=None, dtype=None, out=None, keepdims=False, initial=None,
        where=None): _npi_mean
        `np.mean` over some axes, or over all.

    max(a, axis=None, out=None, keepdims=False): _np_max
        `np.max` over some axes, or over all.

    min(a, axis=None, out=None, keepdims=False): _np_min
        `np.min` over some axes, or over all.

    any(a, axis=None, out=None, keepdims=False): _numpy_any
        `np.any` over some axes, or over all.

    all(a, axis=None, out=None, keepdims=False): _numpy_all
        `np.all` over some axes, or over all.

    argmax(a, axis=None, out=None, keepdims=False): _numpy_argmax
        `np.argmax` over some axes, or over all.

    argmin(a, axis=None, out=None, keepdims=False): _numpy_argmin
        `np.argmin` over some axes, or over all.

    cumsum(a, axis=None, dtype=None, out=None): _numpy_cumsum
        The sum so far, along an axis or of all elements in a row.

    squeeze(a, axis=None): _numpy_squeeze
        Drop axes of length 1: those named, or all.
"""
globals().update(_functions(_reduced, __name__, _REDUCTIONS, inputs=1))


# -- other shapes and orders -----------------------------------------------------------


def reshape(a: Any, newshape: Any, order: str = "C") -> Any:
    """The elements in another shape; one length may be -1."""
    return _call("_np_reshape", a, newshape=_tuple(newshape), order=order)


def ravel(x: Any, order: str = "C") -> Any:
    """The elements in one axis."""
    return reshape(x, -1, order)


def transpose(a: Any, axes: Any = None) -> Any:
    """The axes in another order; reversed if none is given."""
    return _call("transpose", a, axes=tuple(axes or ()))


def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """Exchange two axes."""
    return _call("SwapAxis", a, dim1=axis1, dim2=axis2)


def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """Axes at other places; the others stay in order."""
    places = {"source": _tuple(source), "destination": _tuple(destination)}
    return _call("_np_moveaxis", a, **places)


def flip(m: Any, axis: Any = None, out: Any = None) -> Any:
    """The elements in reverse order along some axes, or along all."""
    return FUNCTIONS["_numpy_flip"](m, axis=None if axis is None else _tuple(axis))


def broadcast_to(array: Any, shape: Any) -> Any:
    """The elements repeated along new axes and axes of length 1."""
    return _call("_npi_broadcast_to", array, shape=_tuple(shape))


def flatten(a: Any, order: str = "C") -> Any:
    """The elements in one axis."""
    return reshape(a, -1, order)


def take(a: Any, indices: Any, axis: Any = None, mode: str = "raise") -> Any:
    """The slices at some places along an axis, or of the flat array."""
    if axis is None:
        a, axis = reshape(a, -1), 0
    return FUNCTIONS["take"](a, indices, axis=axis, mode=mode)


def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None) -> Any:
    """The elements in ascending order along an axis, or of the flat array."""
    return FUNCTIONS["sort"](a, axis=axis, is_ascend=True)


def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None) -> Any:
    """The places of the elements in ascending order."""
    return FUNCTIONS["argsort"](a, axis=axis, is_ascend=True, dtype="int64")


def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    """The indices of elements of a flat array, in `shape`: a row for each axis."""
    if order != "C":
        raise NotImplementedError("unravel_index: only order='C' is available.")
    return _call("_np_unravel_index", indices, shape=_tuple(shape))


def pad(x: Any, pad_width: Any, mode: str = "constant", **kwargs: Any) -> Any:
    """An array inside a frame; constant_values= where mode is constant."""
    value = kwargs.get("constant_values", 0)
    widths = tuple(map(tuple, pad_width))
    words = {"constant_values": value} if mode == "constant" else {}
    return FUNCTIONS["_numpy_pad"](x, pad_width=widths, mode=mode, **words)


def clip(a: Any, a_min: Any, a_max: Any, out: Any = None) -> Any:
    """Move what lies outside [a_min, a_max] to its border; None leaves a side open."""
    if a_min is None and a_max is None:
        raise ValueError("clip: one of a_min and a_max must be given.")
    if not isinstance(a, _Symbol):
        return onp.clip(a, a_min, a_max)
    return FUNCTIONS["_npi_clip"](a, a_min=a_min, a_max=a_max)


# -- joining and taking apart ----------------------------------------------------------


def concatenate(seq: Sequence[Any], axis: int | None = 0) -> Any:
    """Arrays one after another along an axis; axis=None joins them flat."""
    return _call("_npi_concatenate", *seq, dim=axis)


concat = concatenate


def stack(arrays: Sequence[Any], axis: int = 0) -> Any:
    """Arrays of one shape one after another along a new axis."""
    return _call("stack", *arrays, axis=axis)


# -- products --------------------------------------------------------------------------


def einsum(*operands: Any, optimize: Any = False) -> Any:
    """Sums of products, by Einstein's rule: `einsum("ij,jk->ik", a, b)`."""
    text, *symbols = operands
    settings = {"subscripts": text, "optimize": int(bool(optimize))}
    return _call("_npi_einsum", *symbols, **settings)


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Sum over the last axes of a and the first of b, or over two rows of axes."""
    if isinstance(axes, int):
        return _call("_npi_tensordot_int_axes", a, b, axes=axes)
    mine, its = map(_tuple, axes)
    return _call("_npi_tensordot", a, b, a_axes_summed=mine, b_axes_summed=its)


def inner(a: Any, b: Any) -> Any:
    """Sum over the last axes of both."""
    return tensordot(a, b, (-1, -1))


def outer(a: Any, b: Any) -> Any:
    """Every element of a with every element of b."""
    return tensordot(ravel(a), ravel(b), 0)


def vdot(a: Any, b: Any) -> Any:
    """The sum of the products of all elements."""
    return tensordot(ravel(a), ravel(b), 1)


# -- two at a time ---------------------------------------------------------------------


def _pair(name: str, mirrored: str) -> Callable[..., Any]:
    """One of NumPy's functions of two operands, either of which may be a number.

    mirrored: the operator with a number in front of it.
    """

    def function(x1: Any, x2: Any, out: Any = None, **kwargs: Any) -> Any:
        if isinstance(x1, _Symbol) and isinstance(x2, _Symbol):
            return FUNCTIONS[f"_npi_{name}"](x1, x2)
        if isinstance(x1, _Symbol):
            return with_number(f"_npi_{name}_scalar", x1, x2)
        if isinstance(x2, _Symbol):
            return with_number(f"_npi_{mirrored}_scalar", x2, x1)
        return getattr(onp, name)(x1, x2)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`np.{name}`; either side may be a number."
    return function


_MIRRORED = {
    "greater": "less", "greater_equal": "less_equal",
    "less": "greater", "less_equal": "greater_equal",
}  # fmt: skip
_PAIRS = (*NAMES, "equal", "not_equal", *_MIRRORED)
_EVEN = (*EVEN, "equal", "not_equal")
#: Operators that NumPy calls as `mx.nd` does.
_SAME = (
    "abs", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt",
    "ceil", "cos", "cosh", "degrees", "exp", "expm1", "fix", "floor", "log",
    "log10", "log1p", "log2", "negative", "radians", "reciprocal", "rint",
    "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc",
)  # fmt: skip
#: Names of NumPy's for the same.
_ALSO = {
    "divide": "true_divide", "remainder": "mod", "absolute": "abs", "fabs": "abs",
    "deg2rad": "radians", "rad2deg": "degrees", "amax": "max", "amin": "min",
    "product": "prod", "row_stack": "vstack", "round": "around", "round_": "around",
    "invert": "bitwise_not", "may_share_memory": "shares_memory",
}  # fmt: skip


def _of_one(name: str) -> Callable[..., Any]:
    """An operator's function that takes plain numbers as well."""
    written = FUNCTIONS[name]

    def function(x: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(x, _Symbol):
            return written(x, *args, **kwargs)
        return getattr(onp, name)(x, *args)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = written.__doc__
    return function


for _name in _PAIRS:
    _swapped = _name if _name in _EVEN else _MIRRORED.get(_name, f"r{_name}")
    globals()[_name] = _pair(_name, _swapped)
globals().update({name: _of_one(name) for name in _SAME})


# -- the namespace ---------------------------------------------------------------------

globals().update(
    {
        name: globals().get(old) or FUNCTIONS[f"_npi_{old}"]
        for name, old in _ALSO.items()
    }
)
__all__ += [
    name
    for name, value in vars().items()
    if getattr(value, "__module__", "").startswith("minimx.symbol")
    and callable(value)
    and name not in __all__
    and name[0].islower()
    and name not in ("install_namespace", "with_number")
]
install_namespace(__name__, "mx.sym.np", "_npi_", "_np_", functions=FUNCTIONS)
