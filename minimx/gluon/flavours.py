"""Arrays in the flavour that the program speaks: `mx.np` after `npx.set_np()`."""

from __future__ import annotations

from typing import Any

from minimx.flavour import is_np_array
from minimx.nd.array import NDArray


def flavoured(array: Any) -> Any:
    """An array, as one of `mx.np` where those are wanted; the memory stays.

    What is no array, such as None, passes unchanged.
    """
    if isinstance(array, NDArray) and is_np_array():
        return array.as_np_ndarray()
    return array
