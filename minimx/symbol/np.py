"""`mx.sym.np`: NumPy's functions on symbols; `F.np` where a block is written down.

Functions of one operator are read off the registry; those that choose an operator by
their arguments, or have NumPy's order of arguments, stand here. Nothing that needs a
shape can: symbols have none.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from minimx.dtypes import resolve as _resolve
from minimx.nd.rooms import open_room
from minimx.ops.registry import lookup as _lookup
from minimx.symbol.creation import arange, full, ones, zeros
from minimx.symbol.functions import FUNCTIONS
from minimx.symbol.symbol import Symbol as _Symbol

__all__ = ["arange", "full", "linalg", "ones", "random", "zeros"]


def _call(name: str, *symbols: Any, **settings: Any) -> Any:
    return symbols[0]._bind(_lookup(name).of(**settings), symbols)


def _tuple(value: Any) -> tuple[int, ...]:
    return (value,) if isinstance(value, int) else tuple(value)


def _cast(a: Any, dtype: Any) -> Any:
    return a if dtype is None else _call("cast", a, dtype=_resolve(dtype).name)


# -- many elements become one ----------------------------------------------------------


def _reduction(name: str) -> Callable[..., Any]:
    def function(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        **kwargs: Any,
    ) -> Any:
        axis = tuple(axis) if isinstance(axis, list) else axis
        settings = {"axis": axis, "keepdims": keepdims, "np_shape": True}
        return _call(name, _cast(a, dtype), **settings)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The operator `{name}` over some axes, or over all."
    return function


def _extremum(name: str) -> Callable[..., Any]:
    reduce = _reduction(name)

    def function(
        a: Any, axis: Any = None, out: Any = None, keepdims: bool = False
    ) -> Any:
        return reduce(a, axis, keepdims=keepdims)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = reduce.__doc__
    return function


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


def flip(m: Any, axis: Any) -> Any:
    """The elements in reverse order along some axes."""
    return _call("reverse", m, axis=_tuple(axis))


# -- joining and taking apart ----------------------------------------------------------


def concatenate(seq: Sequence[Any], axis: int | None = 0) -> Any:
    """Arrays one after another along an axis; axis=None joins them flat."""
    return _call("_npi_concatenate", *seq, dim=axis)


concat = concatenate


def stack(arrays: Sequence[Any], axis: int = 0) -> Any:
    """Arrays of one shape one after another along a new axis."""
    return _call("stack", *arrays, axis=axis)


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """An array cut along an axis, at given places or into equal pieces."""
    if isinstance(indices_or_sections, int):
        cuts: dict[str, Any] = {"indices": (), "sections": indices_or_sections}
    else:
        cuts = {"indices": (0, *indices_or_sections)}
    found = _call("_split_v2", ary, axis=axis, **cuts)
    return found if len(found) > 1 else [found]  # of which [0] is not a part


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


def _pair(python: Any, name: str) -> Callable[..., Any]:
    """Python's operator, which takes numbers beside symbols as well."""

    def function(x1: Any, x2: Any) -> Any:
        return python(x1, x2)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The operator `{name}`; either side may be a number."
    return function


_PAIRS = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul,
    "divide": operator.truediv, "true_divide": operator.truediv, "mod": operator.mod,
    "remainder": operator.mod, "power": operator.pow, "equal": operator.eq,
    "not_equal": operator.ne, "greater": operator.gt, "greater_equal": operator.ge,
    "less": operator.lt, "less_equal": operator.le,
}  # fmt: skip
#: Operators that NumPy calls as `mx.nd` does.
_SAME = (
    "abs", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt",
    "ceil", "clip", "cos", "cosh", "degrees", "exp", "expm1", "fix", "floor", "log",
    "log10", "log1p", "log2", "negative", "ones_like", "radians", "reciprocal", "rint",
    "sign", "sin", "sinh", "sqrt", "square", "squeeze", "tan", "tanh", "trunc",
    "zeros_like",
)  # fmt: skip
globals().update({name: _reduction(name) for name in ("sum", "mean", "prod")})
globals().update({name: _extremum(name) for name in ("max", "min")})
globals().update({name: _pair(python, name) for name, python in _PAIRS.items()})
globals().update({name: FUNCTIONS[name] for name in _SAME})
absolute = FUNCTIONS["abs"]


def maximum(x1: Any, x2: Any) -> Any:
    """The larger of two, element by element."""
    return _either("maximum", x1, x2)


def minimum(x1: Any, x2: Any) -> Any:
    """The smaller of two, element by element."""
    return _either("minimum", x1, x2)


def _either(name: str, x1: Any, x2: Any) -> Any:
    if isinstance(x1, _Symbol) and isinstance(x2, _Symbol):
        return _call(f"broadcast_{name}", x1, x2)
    symbol, number = (x1, x2) if isinstance(x1, _Symbol) else (x2, x1)
    return _call(f"_{name}_scalar", symbol, scalar=number)


# -- rooms -----------------------------------------------------------------------------


def _from(prefix: str, *names: str) -> dict[str, Any]:
    return {name: FUNCTIONS[prefix + name] for name in names}


def _draw(name: str, given: dict[str, Any], size: Any, dtype: Any) -> Any:
    """Numbers of a distribution whose parameters are numbers or symbols."""
    symbols = [value for value in given.values() if isinstance(value, _Symbol)]
    plain = {k: None if isinstance(v, _Symbol) else v for k, v in given.items()}
    size = None if size is None else _tuple(size)
    kind = _resolve("float32" if dtype is None else dtype).name
    return FUNCTIONS[f"_npi_{name}"](*symbols, **plain, size=size, dtype=kind)


def _normal(
    loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: Any = None
) -> Any:
    """Numbers of a normal distribution with mean `loc` and deviation `scale`."""
    return _draw("normal", {"loc": loc, "scale": scale}, size, dtype)


def _uniform(
    low: Any = 0.0, high: Any = 1.0, size: Any = None, dtype: Any = None
) -> Any:
    """Numbers evenly distributed in [low, high)."""
    return _draw("uniform", {"low": low, "high": high}, size, dtype)


#: `mx.sym.np.linalg`.
linalg = SimpleNamespace(
    **_from(
        "_npi_", "cholesky", "det", "eig", "eigvals", "inv", "slogdet", "solve", "svd"
    )
)
#: `mx.sym.np.random`.
random = SimpleNamespace(normal=_normal, uniform=_uniform)

__all__ += [
    name
    for name, value in vars().items()
    if getattr(value, "__module__", None) == __name__ and not name.startswith("_")
]
open_room(__name__, "mx.sym.np", "_npi_", "_np_", functions=FUNCTIONS)
