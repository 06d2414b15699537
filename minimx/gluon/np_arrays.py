"""Arrays of the kind that is set: those of `mx.np` after `npx.set_np()`."""

from __future__ import annotations

from typing import Any

from minimx.core.arrays.array import NDArray
from minimx.core.np_semantics import is_np_array
from minimx.np.multiarray import ndarray


def as_np_if_set(array: Any) -> Any:
    """An array, as one of `mx.np` where those are wanted; the memory stays.

    What is no array, such as None, passes unchanged.
    """
    if isinstance(array, NDArray) and is_np_array():
        return array.as_np_ndarray()
    return array


def refuse_mixed(name: str, out: Any) -> Any:
    """The output of a block, whose arrays must all be of `mx.np`."""
    several = out if isinstance(out, (list, tuple)) else (out,)
    for part in several:
        if isinstance(part, (list, tuple)):
            refuse_mixed(name, part)
        elif isinstance(part, NDArray) and not isinstance(part, ndarray):
            raise refusal(name)
    return out


def refusal(name: str) -> TypeError:
    """The error of a block that returns an array of `mx.nd` where `mx.np` is set."""
    return TypeError(
        f"{name} returns an array of mx.nd, but npx.set_np() was called: blocks give "
        "arrays of mx.np then. Convert it with .as_np_ndarray()."
    )
