"""Where MXNet keeps the signatures of the operators of `mx.np`; here sheets know them.

Tools of MXNet's ask `_get_builtin_op("_np_sum")` for the function of an operator and
read its `__signature__`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minimx.nd.functions import FUNCTIONS


def _get_builtin_op(op_name: str) -> Callable[..., Any] | None:
    """The function that calls an operator, by MXNet's name; None if there is none."""
    return FUNCTIONS.get(op_name)
