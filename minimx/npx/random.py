"""`npx.random`: what MXNet has beyond NumPy's random numbers, and the seed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minimx.core.arrays.array import NDArray
from minimx.core.arrays.launch import invoke
from minimx.core.device import as_device, current_device
from minimx.core.ops.registry import lookup
from minimx.nd.signatures import functions
from minimx.np.arithmetic import store
from minimx.np.multiarray import ndarray
from minimx.np.random import seed

__all__ = ["bernoulli", "normal_n", "seed", "uniform_n"]


def _drawn(name: str, settings: dict[str, Any], where: Any, out: Any) -> ndarray:
    """Numbers whose parameters are plain numbers, or arrays."""
    arrays = [value for value in settings.values() if isinstance(value, NDArray)]
    plain = {k: None if isinstance(v, NDArray) else v for k, v in settings.items()}
    device = arrays[0].context if arrays else as_device(where or current_device())
    op = lookup(name).of(**plain)
    return store(invoke(op, arrays, None, device, ndarray), out)


def bernoulli(
    prob: Any = None,
    logit: Any = None,
    size: Any = None,
    dtype: Any = None,
    ctx: Any = None,
    out: Any = None,
    device: Any = None,
) -> ndarray:
    """1 with a probability, else 0.

    prob or logit: the probability, or what its logistic function is; numbers or arrays.
    """
    if (prob is None) == (logit is None):
        raise ValueError("bernoulli: give one of prob and logit, not both or neither.")
    settings = {
        "prob": prob,
        "logit": logit,
        "size": size,
        "dtype": "float32" if dtype is None else dtype,
        "is_logit": logit is not None,
    }
    return _drawn("_npi_bernoulli", settings, ctx or device, out)


def _draw(
    name: str, batch_shape: Any, dtype: Any, ctx: Any, device: Any, **parameters: Any
) -> ndarray:
    """`batch_shape` numbers for each element of the parameters."""
    settings = {**parameters, "size": batch_shape}
    settings["dtype"] = "float32" if dtype is None else dtype
    return _drawn(f"_npi_{name}", settings, ctx or device, None)


#: `mx.sym.npx.random` has the same.
BATCHES = """
    uniform_n(low=0.0, high=1.0, batch_shape=None, dtype=None, ctx=None, device=None)
        Numbers between two bounds: `batch_shape` of them for each pair of bounds.

    normal_n(loc=0.0, scale=1.0, batch_shape=None, dtype=None, ctx=None, device=None)
        Normally distributed numbers: `batch_shape` of them for each loc and scale.
"""
ROWS = functions(_draw, __name__, BATCHES, returns="ndarray")
globals().update(ROWS)
if TYPE_CHECKING:  # as `python -m minimx.np.stubs` says
    from minimx.npx.random_rows import normal_n, uniform_n


def __dir__() -> list[str]:
    return __all__
