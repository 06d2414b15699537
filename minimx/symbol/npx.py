"""`mx.sym.npx`: what deep learning needs beyond NumPy, on symbols; `F.npx` there.

Operators have the names that `mx.npx` gives them; those whose arguments differ from the
operator's stand here.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from minimx.aliases import unsupported
from minimx.nd.signatures import functions
from minimx.npx.operators import names, operator_of
from minimx.npx.random import BATCHES
from minimx.symbol import image
from minimx.symbol.functions import FUNCTIONS
from minimx.symbol.np_functions.namespaces import draw

__all__ = ["image", "log_softmax", "random", "reshape", "softmax"]


def _softmax(name: str) -> Callable[..., Any]:
    def function(
        data: Any,
        length: Any = None,
        axis: int = -1,
        temperature: float | None = None,
        use_length: bool = False,
        dtype: Any = None,
    ) -> Any:
        if isinstance(length, int):  # MXNet 2's second argument is the axis
            length, axis = None, length
        symbols = (data,) if length is None else (data, length)
        settings = {"axis": axis, "temperature": temperature, "dtype": dtype}
        counted = length is not None
        return FUNCTIONS[name](*symbols, **settings, use_length=counted)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"`npx.{name}` along an axis, over `length` elements of each row."
    )
    return function


softmax = _softmax("softmax")
log_softmax = _softmax("log_softmax")


def reshape(a: Any, newshape: Any, reverse: bool = False, order: str = "C") -> Any:
    """The elements in another shape, with the codes of `npx.reshape`."""
    codes = (newshape,) if isinstance(newshape, int) else tuple(newshape)
    return FUNCTIONS["_npx_reshape"](a, newshape=codes, reverse=reverse, order=order)


def _bernoulli(
    prob: Any = None, logit: Any = None, size: Any = None, dtype: Any = None
) -> Any:
    """1 with a probability, else 0."""
    given = {"prob": prob, "logit": logit, "is_logit": logit is not None}
    return draw("bernoulli", size, dtype, **given)


def _draw_batch(name: str, batch_shape: Any, dtype: Any, **parameters: Any) -> Any:
    return draw(name, batch_shape, dtype, **parameters)


_TABLE = BATCHES.replace(", ctx=None, device=None", "")
#: `mx.sym.npx.random`.
random = SimpleNamespace(
    bernoulli=_bernoulli, **functions(_draw_batch, __name__, _TABLE)
)


def __getattr__(name: str) -> Any:
    found = FUNCTIONS.get(operator_of(name) or f"_npx_{name}")
    if found is None:
        raise unsupported("mx.sym.npx", name, __dir__())
    return found


def __dir__() -> list[str]:
    return sorted({*__all__, *names()})
