"""The functions of `mx.np` that are methods of its arrays too: `x.sum(axis=0)`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from minimx.np import help
from minimx.np.multiarray import ndarray

# fmt: off
METHODS = (
    "all", "any", "argmax", "argmin", "argsort", "around", "broadcast_to",
    "conj", "cumprod", "cumsum", "diag", "diagonal", "dot", "expand_dims", "flip",
    "max", "mean", "min", "nonzero", "prod", "ptp", "ravel", "repeat", "round",
    "squeeze", "std", "sum", "swapaxes", "take", "tile", "trace", "var",
    # What mx.nd's arrays have, in NumPy's manners.
    "abs", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt",
    "ceil", "cos", "cosh", "degrees", "exp", "expm1", "fix", "floor", "log", "log10",
    "log1p", "log2", "nanprod", "nansum", "ones_like", "radians", "reciprocal", "rint",
    "searchsorted", "sign", "sin", "sinh", "split", "sqrt", "square", "tan", "tanh",
    "trunc", "zeros_like",
)
# fmt: on


def _method(name: str) -> Callable[..., Any]:
    def method(self: ndarray, *args: Any, **kwargs: Any) -> Any:
        return getattr(sys.modules["minimx.np"], name)(self, *args, **kwargs)

    method.__name__ = name
    method.__qualname__ = f"ndarray.{name}"
    return method


def _matmul(self: ndarray, other: Any) -> Any:
    return sys.modules["minimx.np"].matmul(self, other)


def _rmatmul(self: ndarray, other: Any) -> Any:
    return sys.modules["minimx.np"].matmul(other, self)


def _imatmul(self: ndarray, other: Any) -> Any:
    return sys.modules["minimx.np"].matmul(self, other, out=self)


def _transpose(self: ndarray, *axes: Any) -> Any:
    """The axes in another order, `x.transpose(1, 0)`; reversed if none is given."""
    if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))):
        axes = tuple(axes[0] or ())
    return sys.modules["minimx.np"].transpose(self, axes)


def _sort(
    self: ndarray, axis: int | None = -1, kind: Any = None, order: Any = None
) -> Any:
    """The elements in order along an axis, as a new array."""
    return sys.modules["minimx.np"].sort(self, axis, kind, order)


def _clip(self: ndarray, min: Any = None, max: Any = None, out: Any = None) -> Any:
    """Move what lies outside [min, max] to its border; None leaves a side open."""
    return sys.modules["minimx.np"].clip(self, min, max, out)


def _round(self: ndarray, decimals: int = 0) -> Any:
    return sys.modules["minimx.np"].around(self, decimals or 0)


def explain() -> None:
    """Let the methods say what the functions say; the others have examples as well."""
    namespace = sys.modules["minimx.np"]
    for name in METHODS:
        help.as_method(vars(ndarray)[name], getattr(namespace, name), name)
    help.explain_class(ndarray)


def install_methods() -> None:
    """Give `ndarray` its methods."""
    made = {name: _method(name) for name in METHODS}
    made |= {"__matmul__": _matmul, "__rmatmul__": _rmatmul, "__imatmul__": _imatmul}
    made |= {"clip": _clip, "sort": _sort, "transpose": _transpose, "__round__": _round}
    for name, method in made.items():
        setattr(ndarray, name, method)


install_methods()
