"""`mx.sym.random`: random numbers in graphs, with what `mx.nd.random` takes.

The parameters of a distribution are numbers, or symbols that hold one distribution in
each element: then `shape` numbers are drawn from each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minimx.core.dtypes import resolve
from minimx.core.errors import OperatorError
from minimx.core.ops.registry import lookup
from minimx.nd.random import LIKE, OF_ONE, OF_TWO
from minimx.nd.signatures import functions
from minimx.symbol.functions import FUNCTIONS
from minimx.symbol.symbol import Symbol


def _draw(word: str, *values: Any, shape: Any, dtype: Any, **rest: Any) -> Symbol:
    """A node of `_random_<word>`, or of `_sample_<word>` for parameters that vary."""
    if word == "exponential":  # here a mean, there a rate
        values = (1.0 / values[0],)
    if shape not in (None, ()):
        rest["shape"] = shape
    if dtype not in (None, "None"):
        rest["dtype"] = resolve(dtype).name
    names = lookup(f"_random_{word}").__annotations__  # the operator's settings
    parameters = dict(zip(names, values, strict=False))
    varying = sum(isinstance(value, Symbol) for value in values)
    if 0 < varying < len(values):
        raise OperatorError(
            f"random.{word}: {', '.join(parameters)} must all be numbers or all be "
            "symbols."
        )
    drawn: Symbol
    if varying:
        drawn = FUNCTIONS[f"_sample_{word}"](*values, **rest)
    else:
        drawn = FUNCTIONS[f"_random_{word}"](**parameters, **rest)
    return drawn


_CONTRACT = """
    Parameters are numbers, and the result has `shape`; or symbols of one shape, and
    `shape` numbers for each element come after their axes. OperatorError for numbers
    beside symbols. float32, or dtype; randint: int32.
"""


def _of_symbols(table: str, inputs: int) -> Any:
    """The rows of `mx.nd.random` without what a graph does not decide."""
    table = table.replace(" ctx=None, out=None,", "")
    return functions(_draw, __name__, table, inputs, "Symbol", _CONTRACT)


ROWS = _of_symbols(OF_ONE, 1) | _of_symbols(OF_TWO, 2)
ROWS |= {name: FUNCTIONS[operator] for name, operator in LIKE.items()}
globals().update(ROWS)
__all__ = ["multinomial", "randn", "shuffle", *ROWS]
if TYPE_CHECKING:  # as `python -m minimx.symbol.stubs` says
    from minimx.symbol.random_rows import *  # noqa: F403
    from minimx.symbol.random_rows import normal, normal_like


def randn(*shape: int, **kwargs: Any) -> Symbol:
    """Numbers of a normal distribution; the shape is given as arguments.

    data: a symbol of that shape, in their place
    """
    loc, scale = kwargs.pop("loc", 0.0), kwargs.pop("scale", 1.0)
    if (data := kwargs.pop("data", None)) is not None:
        dtype = kwargs.pop("dtype", None)
        made: Symbol = normal_like(data, loc=loc, scale=scale, **kwargs)
        if dtype is not None:
            made = FUNCTIONS["cast"](made, dtype=dtype)
        return made
    return normal(loc, scale, shape or None, **kwargs)


def multinomial(
    data: Symbol,
    shape: Any = (),
    get_prob: bool = True,
    dtype: Any = "int32",
    **kwargs: Any,
) -> Symbol:
    """Numbers of classes, drawn with the probabilities in each row of `data`."""
    settings = {"shape": shape, "get_prob": get_prob, "dtype": resolve(dtype).name}
    made: Symbol = FUNCTIONS["_sample_multinomial"](data, **settings, **kwargs)
    return made


def shuffle(data: Symbol, **kwargs: Any) -> Symbol:
    """The rows in random order."""
    made: Symbol = FUNCTIONS["shuffle"](data, **kwargs)
    return made
