"""Namespaces of `mx.nd` that come from the registry, by the beginning of a name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from minimx.aliases import unsupported
from minimx.nd.functions import FUNCTIONS, function_caches


def install_namespace(
    module: str,
    place: str,
    *prefixes: str,
    functions: Mapping[str, Callable[..., Any]] = FUNCTIONS,
) -> None:
    """Let a module answer for the operators whose names begin with a prefix.

    module: the module's name; place: what errors call it, such as "mx.nd.linalg".
    functions: those that it offers, by the operators' names.
    What the module defines itself comes first. Operators registered later are found.
    """
    space = sys.modules[module]
    own = [
        name
        for name, value in vars(space).items()
        if not name.startswith("_")
        and value is not install_namespace
        and (
            name in vars(space).get("__all__", ())
            or callable(value)
            and str(getattr(value, "__module__", "")).startswith("minimx.")
        )
    ]

    def find(name: str) -> Callable[..., Any] | None:
        found = (functions.get(prefix + name) for prefix in prefixes)
        return next((function for function in found if function is not None), None)

    def names() -> list[str]:
        read_off = {
            name.removeprefix(prefix)
            for prefix in prefixes
            for name in functions
            if name.startswith(prefix) and "backward" not in name
        }
        return sorted(name for name in read_off | set(own) if name[:1] != "_")

    def __getattr__(name: str) -> Any:
        found = find(name)
        if found is None:
            raise unsupported(place, name, names())
        setattr(space, name, found)
        return found

    function_caches.append(vars(space))
    vars(space).update(__getattr__=__getattr__, __dir__=names)
