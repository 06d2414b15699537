"""Parameters before they have values: their devices, and what is known of the shape."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from minimx.core.arrays.array import NDArray
from minimx.core.arrays.transfer import moved
from minimx.core.device import Context, current_context
from minimx.core.errors import ParameterError
from minimx.core.shapes import Shape

Contexts = Context | Sequence[Context] | None


def as_contexts(ctx: Contexts) -> list[Context]:
    """A list of devices, from one, several, or None (the current one).

    A device that is in it twice has one copy, which both uses share.
    """
    if ctx is None:
        return [current_context()]
    return [ctx] if isinstance(ctx, Context) else list(dict.fromkeys(ctx))


def copied(data: NDArray, ctx: Context) -> NDArray:
    """A copy on a device; a dense one has its memory when this returns.

    So a full device raises OutOfMemory here, and not later in the engine, when the
    parameter would have lost its values.
    """
    if data.stype == "default":
        return moved(data, ctx, at_once=True)
    return data.copyto(ctx)


def shape_is_known(shape: Shape | None) -> bool:
    """Whether every axis has a length; 0 and -1 stand for "not known yet"."""
    return shape is not None and all(length > 0 for length in shape)


def fits(known: Shape | None, shape: Sequence[int]) -> bool:
    """Whether a shape agrees with what is known of it.

    >>> fits((10, 0), (10, 784)), fits((10, 0), (20, 784)), fits(None, (3,))
    (True, False, True)
    """
    return known is None or (
        len(known) == len(shape)
        and all(k <= 0 or k == n for k, n in zip(known, shape, strict=True))
    )


class ForLibraries:
    """What parameters of libraries read, which copy the fields of another one."""

    #: In MXNet the devices; here `_data` and `_grad` have them as their keys.
    _ctx_list = _ctx_map = None

    def _check_and_get(self: Any, arrays: Any, ctx: Any) -> Any:
        """An array of `_data` or of `_grad`, whatever `data` is now; all for `list`."""
        if ctx is list:
            return self.list_grad() if arrays is self._grad else self.list_data()
        plain = next(
            kind for kind in type(self).__mro__ if kind.__name__ == "Parameter"
        )
        return getattr(plain, "grad" if arrays is self._grad else "data")(self, ctx)


class Deferred:
    """What `initialize` was given, until the shape is known."""

    __slots__ = ("contexts", "default_init", "init")

    def __init__(self, init: Any, contexts: list[Context], default_init: Any) -> None:
        self.init = init
        self.contexts = contexts
        self.default_init = default_init


def never_given(name: str) -> ParameterError:
    """The error for a parameter that was never initialized."""
    maker = _being_made()
    if maker is not None:
        return ParameterError(
            f"{name} has no values while {maker} is being made: its __init__ asks for "
            "them. Ask in forward, or give the parameter init=…; only after the "
            "constructor can initialize() be called."
        )
    return ParameterError(
        f"{name} has no values: call initialize() on the network first. "
        "(collect_params() finds the parameters of nested layers, params does not.)"
    )


def _being_made() -> str | None:
    """The class of a block whose constructor is running; None if there is none."""
    frame = sys._getframe(2)
    while frame.f_back is not None:
        made = frame.f_locals.get("self")
        if frame.f_code.co_name == "__init__" and hasattr(made, "collect_params"):
            return type(made).__name__
        frame = frame.f_back
    return None
