"""AdamW and LAMB of `mx.nd.contrib`: lists of arrays in, one launch for all of them.

rescale_grad may be a number or an array of one element; where that is 0 or not finite,
AdamW changes nothing. Every function takes the settings of its operator, and out=.
"""

from __future__ import annotations

from typing import Any

from minimx.core.arrays.array import NDArray
from minimx.core.arrays.creation import full
from minimx.nd.functions import FUNCTIONS
from minimx.nd.signatures import functions


def _scale(rescale_grad: Any, like: NDArray) -> NDArray:
    if isinstance(rescale_grad, NDArray):
        return rescale_grad.as_in_context(like.context)
    return full((1,), rescale_grad, ctx=like.context)


#: The arguments that are arrays, or lists of them, in the operators' order.
_ONE = ("weight", "grad", "mean", "var", "weight32")
_MANY = ("weights", "grads", "mean", "var", "weights32")


def _one(operator: str, rescale_grad: Any, **given: Any) -> Any:
    arrays = [given.pop(name) for name in _ONE if name in given]
    return FUNCTIONS[operator](*arrays, _scale(rescale_grad, arrays[0]), **given)


def _interleaved(given: dict[str, Any]) -> tuple[list[NDArray], int]:
    """All arrays of the first weight, then of the second, …; and how many weights.

    They are taken out of the arguments.
    """
    columns = [given.pop(name) for name in _MANY if name in given]
    rows = list(zip(*columns, strict=True))
    return [array for row in rows for array in row], len(rows)


def _adamw(operator: str, rescale_grad: Any, size: int, name: Any, **given: Any) -> Any:
    arrays, count = _interleaved(given)
    scale = _scale(rescale_grad, arrays[0])
    return FUNCTIONS[operator](*arrays, scale, num_weights=size or count, **given)


def _lamb(operator: str, lrs: Any, num_tensors: int, **given: Any) -> Any:
    arrays, count = _interleaved(given)
    given |= {"learning_rates": lrs, "num_tensors": num_tensors or count}
    return FUNCTIONS[operator](*arrays, **given)


_ONES = """
    adamw_update(
        weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray, rescale_grad,
        lr: float, eta: float, **settings): _adamw_update
        A step of AdamW for one weight.

    mp_adamw_update(
        weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray, weight32: NDArray,
        rescale_grad, lr: float, eta: float, **settings): _mp_adamw_update
        A step of AdamW for one weight with a float32 copy.
"""
_ADAMW = """
    multi_adamw_update(
        weights: Arrays, grads: Arrays, mean: Arrays, var: Arrays, rescale_grad, lrs,
        wds, etas, out=None, name=None, size: int = 0, **settings): _multi_adamw_update
        A step of AdamW for many weights.

    multi_mp_adamw_update(
        weights: Arrays, grads: Arrays, mean: Arrays, var: Arrays, weights32: Arrays,
        rescale_grad, lrs, wds, etas, out=None, name=None, size: int = 0,
        **settings): _multi_mp_adamw_update
        A step of AdamW for many weights with float32 copies.
"""
_LAMB = """
    multi_lamb_update(
        weights: Arrays, grads: Arrays, mean: Arrays, var: Arrays, step_count, lrs,
        wds, out=None, num_tensors: int = 0, **settings): _multi_lamb_update
        A step of LAMB for many weights.

    multi_mp_lamb_update(
        weights: Arrays, grads: Arrays, mean: Arrays, var: Arrays, weights32: Arrays,
        step_count, lrs, wds, out=None, num_tensors: int = 0,
        **settings): _multi_mp_lamb_update
        A step of LAMB for many weights with float32 copies.
"""
_HOME = "minimx.nd.contrib"  # where they are found
ROWS = functions(_one, _HOME, _ONES)
ROWS |= functions(_adamw, _HOME, _ADAMW) | functions(_lamb, _HOME, _LAMB)
