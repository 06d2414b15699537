"""AdamW and LAMB of `mx.nd.contrib`: lists of arrays in, one launch for all of them.

rescale_grad may be a number or an array of one element; where that is 0 or not finite,
AdamW changes nothing. Every function takes the settings of its operator, and out=.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minimx.core.arrays.array import NDArray
from minimx.core.arrays.creation import full
from minimx.nd.functions import FUNCTIONS

Arrays = Sequence[NDArray]


def _scale(rescale_grad: Any, like: NDArray) -> NDArray:
    if isinstance(rescale_grad, NDArray):
        return rescale_grad.as_in_context(like.context)
    return full((1,), rescale_grad, ctx=like.context)


def _interleaved(*columns: Arrays) -> list[NDArray]:
    return [array for row in zip(*columns, strict=True) for array in row]


def adamw_update(
    weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray,
    rescale_grad: Any, lr: float, eta: float, **settings: Any,
) -> Any:  # fmt: skip
    """A step of AdamW for one weight."""
    arrays = (weight, grad, mean, var, _scale(rescale_grad, weight))
    return FUNCTIONS["_adamw_update"](*arrays, lr=lr, eta=eta, **settings)


def mp_adamw_update(
    weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray, weight32: NDArray,
    rescale_grad: Any, lr: float, eta: float, **settings: Any,
) -> Any:  # fmt: skip
    """A step of AdamW for one weight with a float32 copy."""
    arrays = (weight, grad, mean, var, weight32, _scale(rescale_grad, weight))
    return FUNCTIONS["_mp_adamw_update"](*arrays, lr=lr, eta=eta, **settings)


def multi_adamw_update(
    weights: Arrays, grads: Arrays, mean: Arrays, var: Arrays,
    rescale_grad: Any, lrs: Any, wds: Any, etas: Any,
    out: Any = None, name: Any = None, size: int = 0, **settings: Any,
) -> Any:  # fmt: skip
    """A step of AdamW for many weights."""
    arrays = _interleaved(weights, grads, mean, var)
    settings |= {"lrs": lrs, "wds": wds, "etas": etas}
    return FUNCTIONS["_multi_adamw_update"](
        *arrays,
        _scale(rescale_grad, weights[0]),
        num_weights=size or len(weights),
        out=out,
        **settings,
    )


def multi_mp_adamw_update(
    weights: Arrays, grads: Arrays, mean: Arrays, var: Arrays, weights32: Arrays,
    rescale_grad: Any, lrs: Any, wds: Any, etas: Any,
    out: Any = None, name: Any = None, size: int = 0, **settings: Any,
) -> Any:  # fmt: skip
    """A step of AdamW for many weights with float32 copies."""
    arrays = _interleaved(weights, grads, mean, var, weights32)
    settings |= {"lrs": lrs, "wds": wds, "etas": etas}
    return FUNCTIONS["_multi_mp_adamw_update"](
        *arrays,
        _scale(rescale_grad, weights[0]),
        num_weights=size or len(weights),
        out=out,
        **settings,
    )


def multi_lamb_update(
    weights: Arrays, grads: Arrays, mean: Arrays, var: Arrays,
    step_count: Any, lrs: Any, wds: Any,
    out: Any = None, num_tensors: int = 0, **settings: Any,
) -> Any:  # fmt: skip
    """A step of LAMB for many weights."""
    return FUNCTIONS["_multi_lamb_update"](
        *_interleaved(weights, grads, mean, var),
        learning_rates=lrs,
        wds=wds,
        step_count=step_count,
        num_tensors=num_tensors or len(weights),
        out=out,
        **settings,
    )


def multi_mp_lamb_update(
    weights: Arrays, grads: Arrays, mean: Arrays, var: Arrays, weights32: Arrays,
    step_count: Any, lrs: Any, wds: Any,
    out: Any = None, num_tensors: int = 0, **settings: Any,
) -> Any:  # fmt: skip
    """A step of LAMB for many weights with float32 copies."""
    return FUNCTIONS["_multi_mp_lamb_update"](
        *_interleaved(weights, grads, mean, var, weights32),
        learning_rates=lrs,
        wds=wds,
        step_count=step_count,
        num_tensors=num_tensors or len(weights),
        out=out,
        **settings,
    )
