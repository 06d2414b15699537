"""`mx.name`: names for symbols that were given none, such as `convolution0`.

with mx.name.Prefix("left_"):
fc = mx.sym.FullyConnected(data, num_hidden=10, name="fc")   # left_fc
"""

from __future__ import annotations

import threading
from collections import Counter

__all__ = ["NameManager", "Prefix", "current"]


class _Current(type):
    """`NameManager.current`: the manager of this thread; it may be set."""

    @property
    def current(cls) -> NameManager:
        """What `current()` says."""
        return current()

    @current.setter
    def current(cls, manager: NameManager) -> None:
        _mine.manager = manager


class NameManager(metaclass=_Current):
    """Counts names for each hint; used in a `with`, it counts from 0."""

    def __init__(self) -> None:
        self._counter: Counter[str] = Counter()
        self._outer: list[NameManager] = []

    def get(self, name: str | None, hint: str) -> str:
        """The name if there is one, else the hint with the next number."""
        if name:
            return name
        number = self._counter[hint]
        self._counter[hint] += 1
        return f"{hint}{number}"

    def __enter__(self) -> NameManager:
        self._outer.append(_mine.manager)
        _mine.manager = self
        return self

    def __exit__(self, *_: object) -> None:
        _mine.manager = self._outer.pop()


class Prefix(NameManager):
    """Puts words before every name, given ones too."""

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self._prefix = prefix

    def get(self, name: str | None, hint: str) -> str:
        """The name with the prefix."""
        return self._prefix + super().get(name, hint)


class _Mine(threading.local):
    def __init__(self) -> None:
        self.manager = NameManager()


_mine = _Mine()


def current() -> NameManager:
    """The manager that names this thread's symbols."""
    return _mine.manager
