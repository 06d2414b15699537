"""`mx.nd.random`: arrays of random numbers, drawn from the device's own stream.

The parameters of a distribution are numbers, or arrays that hold one distribution in
each element: then `shape` numbers are drawn from each, and come after the arrays' axes.
"""

from __future__ import annotations

from typing import Any

from minimx.core.arrays.array import NDArray
from minimx.core.arrays.creation import shape_to_fill
from minimx.core.arrays.launch import invoke
from minimx.core.device import DeviceLike, as_device, current_device
from minimx.core.dtypes import resolve
from minimx.core.errors import OperatorError
from minimx.core.ops.registry import lookup
from minimx.nd.functions import FUNCTIONS

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
    word: str,
    parameters: dict[str, Any],
    shape: Any,
    dtype: Any,
    ctx: DeviceLike | None,
    out: Any,
    rest: dict[str, Any],
) -> NDArray:
    """Call `_random_<word>`, or `_sample_<word>` if the parameters are arrays.

    rest: further words of the call; MXNet's `name` and `device` are among them.
    """
    rest.pop("name", None)
    ctx = rest.pop("device", None) or ctx
    if rest:
        raise OperatorError(
            f"random.{word} has no setting {next(iter(rest))!r}; it has "
            f"{', '.join(parameters)}, shape, dtype, ctx, out."
        )
    arrays = [value for value in parameters.values() if isinstance(value, NDArray)]
    settings: dict[str, Any] = {}
    if dtype not in (None, "None"):
        settings["dtype"] = resolve(dtype).name
    elif out is not None:
        settings["dtype"] = out.spec.dtype.name
    if shape is None and out is not None and not arrays:
        shape = out.shape
    if shape is not None and not (arrays and shape == ()):
        settings["shape"] = shape_to_fill(f"random.{word}", shape)
    if arrays and len(arrays) < len(parameters):
        raise OperatorError(
            f"random.{word}: {', '.join(parameters)} must all be numbers or all be "
            "arrays."
        )
    drawn: NDArray
    if arrays:
        drawn = invoke(lookup(f"_sample_{word}").of(**settings), arrays, out)
    else:
        op = lookup(f"_random_{word}").of(**parameters, **settings)
        where = current_device() if ctx is None else as_device(ctx)
        drawn = invoke(op, (), out, where if out is None else out.context, NDArray)
    return drawn


def uniform(
    low: Any = 0.0,
    high: Any = 1.0,
    shape: Any = None,
    dtype: Any = None,
    ctx: DeviceLike | None = None,
    out: Any = None,
    **kwargs: Any,
) -> NDArray:
    """Numbers evenly distributed in [low, high)."""
    parameters = {"low": low, "high": high}
    return _draw("uniform", parameters, shape, dtype, ctx, out, kwargs)


def normal(
    loc: Any = 0.0,
    scale: Any = 1.0,
    shape: Any = None,
    dtype: Any = None,
    ctx: DeviceLike | None = None,
    out: Any = None,
    **kwargs: Any,
) -> NDArray:
    """Numbers of a normal distribution with mean `loc` and deviation `scale`."""
    parameters = {"loc": loc, "scale": scale}
    return _draw("normal", parameters, shape, dtype, ctx, out, kwargs)


def randn(*shape: int, **kwargs: Any) -> NDArray:
    """Numbers of a normal distribution; the shape is given as arguments.

    >>> import minimx as mx
    >>> mx.nd.random.randn(2, 3, loc=10).shape
    (2, 3)
    """
    loc, scale = kwargs.pop("loc", 0.0), kwargs.pop("scale", 1.0)
    return normal(loc, scale, shape, **kwargs)


def randint(
    low: int,
    high: int,
    shape: Any = None,
    dtype: Any = None,
    ctx: DeviceLike | None = None,
    out: Any = None,
    **kwargs: Any,
) -> NDArray:
    """Integers evenly distributed in [low, high); int32 unless dtype says other."""
    parameters = {"low": low, "high": high}
    return _draw("randint", parameters, shape, dtype, ctx, out, kwargs)


def exponential(
    scale: Any = 1.0,
    shape: Any = None,
    dtype: Any = None,
    ctx: DeviceLike | None = None,
    out: Any = None,
    **kwargs: Any,
) -> NDArray:
    """Numbers of an exponential distribution with mean `scale`."""
    parameters = {"lam": 1.0 / scale}
    return _draw("exponential", parameters, shape, dtype, ctx, out, kwargs)


def gamma(
    alpha: Any = 1.0,
    beta: Any = 1.0,
    shape: Any = None,
    dtype: Any = None,
    ctx: DeviceLike | None = None,
    out: Any = None,
    **kwargs: Any,
) -> NDArray:
    """Numbers of a gamma distribution with shape `alpha` and scale `beta`."""
    parameters = {"alpha": alpha, "beta": beta}
    return _draw("gamma", parameters, shape, dtype, ctx, out, kwargs)


def poisson(
    lam: Any = 1.0,
    shape: Any = None,
    dtype: Any = None,
    ctx: DeviceLike | None = None,
    out: Any = None,
    **kwargs: Any,
) -> NDArray:
    """Numbers of a Poisson distribution with mean `lam`."""
    return _draw("poisson", {"lam": lam}, shape, dtype, ctx, out, kwargs)


def negative_binomial(
    k: Any = 1,
    p: Any = 1.0,
    shape: Any = None,
    dtype: Any = None,
    ctx: DeviceLike | None = None,
    out: Any = None,
    **kwargs: Any,
) -> NDArray:
    """Failures before `k` successes of a trial that succeeds with probability `p`."""
    parameters = {"k": k, "p": p}
    return _draw("negative_binomial", parameters, shape, dtype, ctx, out, kwargs)


def generalized_negative_binomial(
    mu: Any = 1.0,
    alpha: Any = 1.0,
    shape: Any = None,
    dtype: Any = None,
    ctx: DeviceLike | None = None,
    out: Any = None,
    **kwargs: Any,
) -> NDArray:
    """Counts with mean `mu` that spread more than Poisson's, the more so by `alpha`."""
    word = "generalized_negative_binomial"
    return _draw(word, {"mu": mu, "alpha": alpha}, shape, dtype, ctx, out, kwargs)


def multinomial(
    data: NDArray,
    shape: Any = (),
    get_prob: bool = False,
    out: Any = None,
    dtype: Any = "int32",
    **kwargs: Any,
) -> Any:
    """Numbers of classes, drawn with the probabilities in each row of `data`.

    data (k,) or (n, k); returns shape (*shape) or (n, *shape), and with get_prob the
    logarithms of the probabilities of what was drawn as well.
    """
    settings = {"shape": shape, "get_prob": get_prob, "dtype": resolve(dtype).name}
    kwargs.pop("name", None)
    return invoke(lookup("_sample_multinomial").of(**settings, **kwargs), [data], out)


def shuffle(data: NDArray, out: Any = None, **kwargs: Any) -> NDArray:
    """The rows of an array in random order."""
    kwargs.pop("name", None)
    shuffled: NDArray = invoke(lookup("shuffle").of(**kwargs), [data], out)
    return shuffled


uniform_like = FUNCTIONS["_random_uniform_like"]
normal_like = FUNCTIONS["_random_normal_like"]
gamma_like = FUNCTIONS["_random_gamma_like"]
exponential_like = FUNCTIONS["_random_exponential_like"]
poisson_like = FUNCTIONS["_random_poisson_like"]
negative_binomial_like = FUNCTIONS["_random_negative_binomial_like"]
generalized_negative_binomial_like = FUNCTIONS[
    "_random_generalized_negative_binomial_like"
]
