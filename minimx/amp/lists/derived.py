"""The lists of operators, read off the data sheets.

    named("float32", "float16")   who computes in float32 when float16 is the target

A list has every name that an operator is called by.
"""

from __future__ import annotations

from functools import cache
from typing import Any

# The sheets of symbols stand beside them: the lists shall have these as well.
from minimx import symbol  # noqa: F401
from minimx.core.ops.registry import ALIASES, REGISTRY


@cache
def _sheets() -> list[tuple[str, Any]]:
    """Every name with its data sheet, in the order of the alphabet."""
    every = {name: name for name in REGISTRY} | ALIASES
    return [(name, REGISTRY[every[name]]) for name in sorted(every)]


def named(group: str, target: str) -> list[str]:
    """The operators of a group; those with conditions are in none."""
    return [
        name
        for name, sheet in _sheets()
        if sheet.casting.rule(target) == group and not sheet.casting.conditional
    ]


def conditional() -> list[tuple[str, str, list[str]]]:
    """(operator, setting, values) with which it computes in float32."""
    return [
        (name, setting, list(values))
        for name, sheet in _sheets()
        for setting, values in sheet.casting.conditional.items()
    ]


def losses() -> list[str]:
    """The operators that are a loss and its gradient at once."""
    return [name for name, sheet in _sheets() if sheet.casting.loss]


def float32_inputs(target: str) -> dict[str, list[str]]:
    """{operator: its inputs that stay in float32, "" in the place of its data}.

    They keep statistics, as BatchNorm does, and take data of two bytes.
    """
    return {
        name: ["", *sheet.inputs[1:]]
        for name, sheet in _sheets()
        if sheet.casting.rule(target) == "either"
        and isinstance(sheet.state_inputs, tuple)
        and sheet.state_inputs
    }
