"""`mx.nd.random`: arrays of random numbers, drawn from the device's own stream."""

from __future__ import annotations

from typing import Any

from minimx.device import Device, current_device
from minimx.dtypes import resolve
from minimx.errors import OperatorError
from minimx.nd.array import NDArray
from minimx.nd.launch import invoke
from minimx.ops.registry import lookup


def _draw(
    name: str, shape: Any, dtype: Any, ctx: Device | None, out: Any, **settings: Any
) -> Any:
    for word, value in settings.items():
        if isinstance(value, NDArray):
            raise OperatorError(
                f"random: {word} must be a number; arrays of parameters come later."
            )
    wanted = "float32" if dtype in (None, "None") else resolve(dtype).name
    if out is not None:
        shape, wanted, ctx = out.shape, resolve(out.dtype).name, out.context
    shape = (shape,) if isinstance(shape, int) else tuple(shape or (1,))
    op = lookup(name).of(**settings, shape=shape, dtype=wanted)
    return invoke(op, (), out, ctx or current_device(), NDArray)


def uniform(
    low: float = 0.0,
    high: float = 1.0,
    shape: Any = None,
    dtype: Any = None,
    ctx: Device | None = None,
    out: Any = None,
    **_: Any,
) -> Any:
    """Numbers evenly distributed in [low, high)."""
    return _draw("_random_uniform", shape, dtype, ctx, out, low=low, high=high)


def normal(
    loc: float = 0.0,
    scale: float = 1.0,
    shape: Any = None,
    dtype: Any = None,
    ctx: Device | None = None,
    out: Any = None,
    **_: Any,
) -> Any:
    """Numbers of a normal distribution with mean `loc` and deviation `scale`."""
    return _draw("_random_normal", shape, dtype, ctx, out, loc=loc, scale=scale)


def randn(*shape: int, **kwargs: Any) -> Any:
    """Numbers of a normal distribution; the shape is given as arguments."""
    loc, scale = kwargs.pop("loc", 0.0), kwargs.pop("scale", 1.0)
    return normal(loc, scale, shape or (1,), **kwargs)


def randint(
    low: int,
    high: int,
    shape: Any = None,
    dtype: Any = None,
    ctx: Device | None = None,
    out: Any = None,
    **_: Any,
) -> Any:
    """Integers evenly distributed in [low, high)."""
    wanted = "int32" if dtype in (None, "None") else dtype
    return _draw("_random_randint", shape, wanted, ctx, out, low=low, high=high)


def gamma(
    alpha: float = 1.0,
    beta: float = 1.0,
    shape: Any = None,
    dtype: Any = None,
    ctx: Device | None = None,
    out: Any = None,
    **_: Any,
) -> Any:
    """Numbers of a gamma distribution with shape `alpha` and scale `beta`."""
    return _draw("_random_gamma", shape, dtype, ctx, out, alpha=alpha, beta=beta)


def exponential(
    scale: float = 1.0,
    shape: Any = None,
    dtype: Any = None,
    ctx: Device | None = None,
    out: Any = None,
    **_: Any,
) -> Any:
    """Numbers of an exponential distribution with mean `scale`."""
    return _draw("_random_exponential", shape, dtype, ctx, out, lam=1.0 / scale)


def poisson(
    lam: float = 1.0,
    shape: Any = None,
    dtype: Any = None,
    ctx: Device | None = None,
    out: Any = None,
    **_: Any,
) -> Any:
    """Numbers of a Poisson distribution with mean `lam`."""
    return _draw("_random_poisson", shape, dtype, ctx, out, lam=lam)


def shuffle(data: NDArray, out: Any = None, **_: Any) -> Any:
    """The rows of an array in random order."""
    return invoke(lookup("shuffle").of(), [data], out)
