"""`mx.nd._internal`: operators under the names that begin with an underscore."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minimx.aliases import unsupported
from minimx.core.arrays.array import NDArray
from minimx.core.errors import OperatorError
from minimx.nd.functions import FUNCTIONS


def _set_value(src: float, out: NDArray | None = None) -> NDArray:
    """Write one number over the whole array `out`."""
    if not isinstance(out, NDArray):
        raise OperatorError("_set_value: name the array to write to with out=.")
    out[:] = src
    return out


def __getattr__(name: str) -> Callable[..., Any]:
    found = FUNCTIONS.get(name)
    if found is None or not name.startswith("_"):
        raise unsupported("mx.nd._internal", name, __dir__())
    return found


def __dir__() -> list[str]:
    return sorted([*(n for n in FUNCTIONS if n.startswith("_")), "_set_value"])
