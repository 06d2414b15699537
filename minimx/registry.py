"""`mx.registry`: classes by name, for libraries that keep such lists of their own.

register = mx.registry.get_register_func(Layer, "layer")
create = mx.registry.get_create_func(Layer, "layer")

@register
class Wide(Layer): ...

create("wide", units=3), create('["wide", {"units": 3}]')
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Any

from minimx.core.errors import ArgumentError, did_you_mean

__all__ = ["get_alias_func", "get_create_func", "get_register_func", "get_registry"]

_classes: dict[type, dict[str, Any]] = {}


class _Misused(ArgumentError, AssertionError):
    """What cannot be registered or created; MXNet asserts that."""


def _of(base_class: type) -> dict[str, Any]:
    return _classes.setdefault(base_class, {})


def get_registry(base_class: type) -> dict[str, Any]:
    """A copy of the classes that are registered for a base class, by name."""
    return dict(_of(base_class))


def get_register_func(base_class: type, nickname: str) -> Callable[..., Any]:
    """`register(klass, name=None)`, which enters a class derived from `base_class`.

    nickname: what messages call such a class. The name, by default that of the class,
    is written in small letters. A name that is taken goes to the new class, with a
    UserWarning.
    """
    known = _of(base_class)

    def register(klass: Any, name: str | None = None) -> Any:
        """Enter a class; returns it, so that it serves as a decorator."""
        if not (isinstance(klass, type) and issubclass(klass, base_class)):
            raise _Misused(f"{klass!r} is not derived from {base_class.__name__}.")
        word = (klass.__name__ if name is None else name).lower()
        if word in known:
            warnings.warn(
                f"the {nickname} {word!r} was {known[word].__qualname__} and is "
                f"{klass.__qualname__} from now on.",
                stacklevel=2,
            )
        known[word] = klass
        return klass

    return register


def get_alias_func(base_class: type, nickname: str) -> Callable[..., Any]:
    """`alias(*names)`, a decorator that enters a class under each of the names."""
    register = get_register_func(base_class, nickname)

    def alias(*names: str) -> Callable[[Any], Any]:
        """A decorator for these names."""

        def enter(klass: Any) -> Any:
            for name in names:
                register(klass, name)
            return klass

        return enter

    return alias


def get_create_func(base_class: type, nickname: str) -> Callable[..., Any]:
    """`create(name, …)`, which makes an object of the class of that name.

    An object of `base_class` is returned as it is. The name may be a JSON list
    `["name", {settings}]` or dict `{"<nickname>": "name", settings}`, or such a dict
    itself. Raises ArgumentError for a name that is not known.
    """
    known = _of(base_class)

    def create(*args: Any, **kwargs: Any) -> Any:
        """An object by the name of its class, with the arguments for it."""
        name, *rest = args or (kwargs.pop(nickname, None),)
        if isinstance(name, base_class):
            if rest or kwargs:
                raise _Misused(f"the {nickname} exists already; give no arguments.")
            return name
        if isinstance(name, dict):
            return create(**name)
        if not isinstance(name, str):
            raise _Misused(f"a {nickname} is named by text, not by {name!r}.")
        if name[:1] in ("[", "{"):
            found = json.loads(name)
            return create(**found) if name[0] == "{" else create(found[0], **found[1])
        if name.lower() not in known:
            raise _Misused(
                f"there is no {nickname} {name!r}." + did_you_mean(name, known)
            )
        return known[name.lower()](*rest, **kwargs)

    return create
