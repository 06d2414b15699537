"""`mx.sym.Custom`: operators that a user wrote in Python, in graphs."""

from __future__ import annotations

from typing import Any

from minimx.nd import custom
from minimx.symbol import functions
from minimx.symbol.symbol import Symbol


def Custom(*args: Any, **kwargs: Any) -> Symbol:  # noqa: N802 (MXNet's name)
    """Write down the operator that was registered as `op_type`.

    args: its inputs, then its auxiliary states, by place or by name; what is missing
    becomes a variable. All other keywords go to the constructor of its CustomOpProp, as
    text. `name` and `attr` are as everywhere.
    """
    name = kwargs.pop("name", None)
    attributes = dict(kwargs.pop("attr", None) or {})
    for word in [w for w in kwargs if w[:2] == w[-2:] == "__"]:
        attributes[word] = kwargs.pop(word)
    kwargs.pop("out", None)
    op, given = custom.sort(args, kwargs, lambda value: isinstance(value, Symbol))
    return functions.written_down(op, given, "custom", name, attributes)


functions.FUNCTIONS.enter(Custom, "Custom", "_npi_Custom")
