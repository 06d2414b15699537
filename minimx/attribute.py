"""`mx.AttrScope`: remarks for all symbols that are made inside a `with`.

with mx.AttrScope(ctx_group="dev1"):
fc = mx.sym.FullyConnected(data, num_hidden=10)
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, ClassVar

from minimx.core.errors import ArgumentError
from minimx.tools.graph_text import READ_BY_US

__all__ = ["AttrScope", "current", "stored_name"]


def stored_name(name: str) -> str:
    """The name that a remark is kept under.

    >>> stored_name("lr_mult"), stored_name("mood")
    ('__lr_mult__', 'mood')
    """
    return f"__{name}__" if name in READ_BY_US else name


class _Current(type):
    """`AttrScope.current`: the scope that this thread is in; it may be set."""

    @property
    def current(cls) -> AttrScope:
        """What `current()` says."""
        return current()

    @current.setter
    def current(cls, scope: AttrScope) -> None:
        _mine.scope = scope


class AttrScope(metaclass=_Current):
    """Adds remarks to every symbol made inside; inner scopes come before outer ones."""

    #: How often each name was given to the body of a loop or branch.
    _subgraph_names: ClassVar[defaultdict[str, int]] = defaultdict(int)

    def __init__(self, **kwargs: str) -> None:
        for name, value in kwargs.items():
            if not isinstance(value, str):
                raise ArgumentError(
                    f"AttrScope: {name}={value!r} is no text. Attributes are words: "
                    f"write {name}={str(value)!r}."
                )
        self._attr: dict[str, str] = dict(kwargs)
        self._outer: list[AttrScope] = []

    def get(self, attr: Mapping[str, Any] | None) -> dict[str, Any]:
        """The remarks of the scope, with `attr` before them."""
        return {**self._attr, **(attr or {})}

    def __enter__(self) -> AttrScope:
        outer = current()
        inner = type(self).__new__(type(self))
        inner._attr, inner._outer = {**outer._attr, **self._attr}, []
        self._outer.append(outer)
        _mine.scope = inner
        return self

    def __exit__(self, *_: object) -> None:
        _mine.scope = self._outer.pop()


class _Mine(threading.local):
    def __init__(self) -> None:
        self.scope = AttrScope()


_mine = _Mine()


def current() -> AttrScope:
    """The scope that this thread is in."""
    return _mine.scope
