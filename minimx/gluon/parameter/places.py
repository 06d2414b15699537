"""Where a parameter lives, or will live once its shape is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minimx.core.arrays.array import NDArray
from minimx.core.arrays.transfer import moved
from minimx.core.device import Context, current_context
from minimx.core.errors import ParameterError

Contexts = Context | Sequence[Context] | None


def as_contexts(ctx: Contexts) -> list[Context]:
    """A list of devices, from one, several, or None (the current one)."""
    if ctx is None:
        return [current_context()]
    contexts = [ctx] if isinstance(ctx, Context) else list(ctx)
    if len(set(contexts)) != len(contexts):
        raise ParameterError(f"the list of devices names one twice: {contexts}.")
    return contexts


def copied(data: NDArray, ctx: Context) -> NDArray:
    """A copy on a device; a dense one has its memory when this returns.

    A full device is thus an error now, and no parameter is left without its values.
    """
    if data.stype == "default":
        return moved(data, ctx, at_once=True)
    return data.copyto(ctx)


class Deferred:
    """What to do as soon as the shape is known."""

    __slots__ = ("contexts", "default_init", "init")

    def __init__(self, init: Any, contexts: list[Context], default_init: Any) -> None:
        self.init = init
        self.contexts = contexts
        self.default_init = default_init
