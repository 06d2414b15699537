"""What was recorded for gradients, as a graph."""

from __future__ import annotations

from typing import Any

from minimx.core.extensions import provided


def get_symbol(x: Any) -> Any:
    """The recorded computation of an array as a `Symbol`, as in MXNet.

    x is the array that was computed. Raises GradientError if nothing was recorded for
    it, or `backward` has already walked over what was.
    """
    return provided("recorded symbols").get_symbol(x)
