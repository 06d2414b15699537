"""`mx.nd.random`: arrays of random numbers, drawn from the device's own stream.

The parameters of a distribution are numbers, or arrays that hold one distribution in
each element: then `shape` numbers are drawn from each, and come after the arrays' axes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minimx.core.arrays.array import NDArray
from minimx.core.arrays.creation import shape_to_fill
from minimx.core.arrays.launch import invoke
from minimx.core.device import DeviceLike, as_device, current_device
from minimx.core.dtypes import resolve
from minimx.core.errors import OperatorError
from minimx.core.ops.registry import lookup
from minimx.nd.functions import FUNCTIONS
from minimx.nd.signatures import functions


def _draw(
    word: str,
    *values: Any,
    shape: Any,
    dtype: Any,
    ctx: DeviceLike | None,
    out: Any,
    **rest: Any,
) -> NDArray:
    """Call `_random_<word>`, or `_sample_<word>` if the parameters are arrays.

    values: of the distribution's parameters, which are the operator's first settings;
    rest: further arguments of the call; MXNet's `name` and `device` are among them.
    """
    sheet = lookup(f"_random_{word}")
    if word == "exponential":  # here a mean, there a rate
        values = (1.0 / values[0],)
    parameters = dict(zip(sheet.__annotations__, values, strict=False))
    rest.pop("name", None)
    ctx = rest.pop("device", None) or ctx
    if rest:
        raise OperatorError(
            f"random.{word} has no setting {next(iter(rest))!r}; it has "
            f"{', '.join(parameters)}, shape, dtype, ctx, out."
        )
    arrays = [value for value in values if isinstance(value, NDArray)]
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
        op = sheet.of(**parameters, **settings)
        where = current_device() if ctx is None else as_device(ctx)
        drawn = invoke(op, (), out, where if out is None else out.context, NDArray)
    return drawn


#: The distributions of one parameter, and of two; `mx.sym.random` has the same.
OF_ONE = """
    exponential(scale=1.0, shape=None, dtype=None, ctx=None, out=None, **kwargs)
        Numbers of an exponential distribution with mean `scale`.

    poisson(lam=1.0, shape=None, dtype=None, ctx=None, out=None, **kwargs)
        Numbers of a Poisson distribution with mean `lam`.
"""
OF_TWO = """
    uniform(low=0.0, high=1.0, shape=None, dtype=None, ctx=None, out=None, **kwargs)
        Numbers evenly distributed in [low, high).

    normal(loc=0.0, scale=1.0, shape=None, dtype=None, ctx=None, out=None, **kwargs)
        Numbers of a normal distribution with mean `loc` and deviation `scale`.

    gamma(alpha=1.0, beta=1.0, shape=None, dtype=None, ctx=None, out=None, **kwargs)
        Numbers of a gamma distribution with shape `alpha` and scale `beta`.

    negative_binomial(
        k=1, p=1.0, shape=None, dtype=None, ctx=None, out=None, **kwargs)
        Failures before `k` successes of a trial that succeeds with probability `p`.

    generalized_negative_binomial(
        mu=1.0, alpha=1.0, shape=None, dtype=None, ctx=None, out=None, **kwargs)
        Counts with mean `mu` that spread more than Poisson's, the more so by `alpha`.

    randint(low, high, shape=None, dtype=None, ctx=None, out=None, **kwargs)
        Integers evenly distributed in [low, high); int32 unless dtype says other.
"""
_CONTRACT = """
    Parameters are numbers, and the result has `shape`, by default (1,); or arrays of
    one shape, and `shape` numbers for each element come after the arrays' axes.
    OperatorError for numbers beside arrays and for unknown arguments. float32, or
    dtype; randint: int32.
"""
_SHARED = {"returns": "NDArray", "contract": _CONTRACT}
ROWS = functions(_draw, __name__, OF_ONE, inputs=1, **_SHARED)
ROWS |= functions(_draw, __name__, OF_TWO, inputs=2, **_SHARED)
#: Those with a function for numbers in the shape and type of another array.
LIKE = {f"{name}_like": f"_random_{name}_like" for name in ROWS if name != "randint"}
ROWS |= {name: FUNCTIONS[operator] for name, operator in LIKE.items()}
globals().update(ROWS)
__all__ = ["multinomial", "randn", "shuffle", *ROWS]
if TYPE_CHECKING:  # as `python -m minimx.nd.stubs` says
    from minimx.nd.random_rows import *  # noqa: F403
    from minimx.nd.random_rows import normal


def randn(*shape: int, **kwargs: Any) -> NDArray:
    """Numbers of a normal distribution; the shape is given as arguments.

    >>> import minimx as mx
    >>> mx.nd.random.randn(2, 3, loc=10).shape
    (2, 3)
    """
    loc, scale = kwargs.pop("loc", 0.0), kwargs.pop("scale", 1.0)
    return normal(loc, scale, shape, **kwargs)


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
