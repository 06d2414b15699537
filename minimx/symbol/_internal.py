"""`mx.sym._internal`: operators under the names that begin with an underscore."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minimx.aliases import unsupported
from minimx.symbol.functions import FUNCTIONS


def __getattr__(name: str) -> Callable[..., Any]:
    found = FUNCTIONS.get(name)
    if found is None or not name.startswith("_"):
        raise unsupported("mx.sym._internal", name, __dir__())
    return found


def __dir__() -> list[str]:
    return sorted(name for name in FUNCTIONS if name.startswith("_"))
