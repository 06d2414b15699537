"""`mx.sym.random`: random numbers in graphs, with what `mx.nd.random` takes.

The parameters of a distribution are numbers, or symbols that hold one distribution in
each element: then `shape` numbers are drawn from each.
"""

from __future__ import annotations

from typing import Any

from minimx.core.dtypes import resolve
from minimx.core.errors import OperatorError
from minimx.symbol.functions import FUNCTIONS
from minimx.symbol.symbol import Symbol

__all__ = [
    "exponential",
    "exponential_like",
    "gamma",
    "gamma_like",
    "generalized_negative_binomial",
    "generalized_negative_binomial_like",
    "multinomial",
    "negative_binomial",
    "negative_binomial_like",
    "normal",
    "normal_like",
    "poisson",
    "poisson_like",
    "randint",
    "randn",
    "shuffle",
    "uniform",
    "uniform_like",
]


def _draw(
    word: str, shape: Any, dtype: Any, rest: dict[str, Any], **parameters: Any
) -> Symbol:
    """A node of `_random_<word>`, or of `_sample_<word>` for parameters that vary."""
    if shape not in (None, ()):
        rest["shape"] = shape
    if dtype not in (None, "None"):
        rest["dtype"] = resolve(dtype).name
    symbols = [value for value in parameters.values() if isinstance(value, Symbol)]
    if not symbols:
        made: Symbol = FUNCTIONS[f"_random_{word}"](**parameters, **rest)
        return made
    if len(symbols) < len(parameters):
        raise OperatorError(
            f"random.{word}: {', '.join(parameters)} must all be numbers or all be "
            "symbols."
        )
    drawn: Symbol = FUNCTIONS[f"_sample_{word}"](*symbols, **rest)
    return drawn


def uniform(
    low: Any = 0.0, high: Any = 1.0, shape: Any = None, dtype: Any = None, **kwargs: Any
) -> Symbol:
    """Numbers evenly distributed in [low, high)."""
    return _draw("uniform", shape, dtype, kwargs, low=low, high=high)


def normal(
    loc: Any = 0.0,
    scale: Any = 1.0,
    shape: Any = None,
    dtype: Any = None,
    **kwargs: Any,
) -> Symbol:
    """Numbers of a normal distribution with mean `loc` and deviation `scale`."""
    return _draw("normal", shape, dtype, kwargs, loc=loc, scale=scale)


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


def randint(
    low: int, high: int, shape: Any = None, dtype: Any = None, **kwargs: Any
) -> Symbol:
    """Integers evenly distributed in [low, high); int32 unless dtype says other."""
    return _draw("randint", shape, dtype, kwargs, low=low, high=high)


def exponential(
    scale: Any = 1.0, shape: Any = None, dtype: Any = None, **kwargs: Any
) -> Symbol:
    """Numbers of an exponential distribution with mean `scale`."""
    return _draw("exponential", shape, dtype, kwargs, lam=1.0 / scale)


def gamma(
    alpha: Any = 1.0,
    beta: Any = 1.0,
    shape: Any = None,
    dtype: Any = None,
    **kwargs: Any,
) -> Symbol:
    """Numbers of a gamma distribution with shape `alpha` and scale `beta`."""
    return _draw("gamma", shape, dtype, kwargs, alpha=alpha, beta=beta)


def poisson(
    lam: Any = 1.0, shape: Any = None, dtype: Any = None, **kwargs: Any
) -> Symbol:
    """Numbers of a Poisson distribution with mean `lam`."""
    return _draw("poisson", shape, dtype, kwargs, lam=lam)


def negative_binomial(
    k: Any = 1, p: Any = 1.0, shape: Any = None, dtype: Any = None, **kwargs: Any
) -> Symbol:
    """Failures before `k` successes of a trial that succeeds with probability `p`."""
    return _draw("negative_binomial", shape, dtype, kwargs, k=k, p=p)


def generalized_negative_binomial(
    mu: Any = 1.0, alpha: Any = 1.0, shape: Any = None, dtype: Any = None, **kwargs: Any
) -> Symbol:
    """Counts with mean `mu` that spread more than Poisson's, the more so by `alpha`."""
    word = "generalized_negative_binomial"
    return _draw(word, shape, dtype, kwargs, mu=mu, alpha=alpha)


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


# The same in the shape and element type of another symbol.
exponential_like = FUNCTIONS["_random_exponential_like"]
gamma_like = FUNCTIONS["_random_gamma_like"]
generalized_negative_binomial_like = FUNCTIONS[
    "_random_generalized_negative_binomial_like"
]
negative_binomial_like = FUNCTIONS["_random_negative_binomial_like"]
normal_like = FUNCTIONS["_random_normal_like"]
poisson_like = FUNCTIONS["_random_poisson_like"]
uniform_like = FUNCTIONS["_random_uniform_like"]
