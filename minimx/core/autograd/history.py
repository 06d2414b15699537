"""What was recorded, for people and for graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minimx.core.errors import GradientError


def _nobody(x: Any) -> Any:
    raise GradientError("get_symbol: minimx.symbol is not imported.")


#: Who makes a symbol of what was recorded; `minimx.symbol` enters itself here.
as_symbol: Callable[[Any], Any] = _nobody


def get_symbol(x: Any) -> Any:
    """The recorded computation of an array as a Symbol, as in MXNet."""
    return as_symbol(x)
