"""Data sheets of reductions: many elements become one."""

from __future__ import annotations

from typing import Any

from minimx.ops.registry import Value, bind, lookup
from minimx.shapes import Shape


def sum_to(value: Value, shape: Shape, wanted: Shape) -> Value:
    """Undo a broadcast: add up what was stretched from `wanted` to `shape`."""
    if shape == wanted:
        return value
    settings: dict[str, Any] = {"shape": wanted}
    return bind(lookup("_sum_to").of(**settings), value)
