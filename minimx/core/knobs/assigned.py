"""Programs that write `os.environ[NAME] = value` after the import turn the knob.

`os.environ` gets a class that reports when one of its variables was assigned or
deleted; it stays the same object. Nothing is asked on any other path, so this costs
nothing while the environment is left alone. (An audit hook would hear of it as well,
but is called at every import, every `id` and every look at a frame.)
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Plain = os._Environ[str]
else:
    Plain = type(os.environ)

_changed: Callable[[str], object] | None = None


class Environ(Plain):
    """The environment of a process; reports changes, after they happened."""

    def __setitem__(self, key: str, value: str) -> None:
        """Set a variable, and report it."""
        super().__setitem__(key, value)
        if _changed is not None:
            _changed(key)

    def __delitem__(self, key: str) -> None:
        """Delete a variable, and report it."""
        super().__delitem__(key)
        if _changed is not None:
            _changed(key)

    def quietly_set(self, key: str, value: str) -> None:
        """Set a variable without a report; for the registry, whose change it is."""
        super().__setitem__(key, value)

    def quietly_remove(self, key: str) -> None:
        """Delete a variable, if it is there, without a report."""
        if key in self:
            super().__delitem__(key)


def install(changed: Callable[[str], object]) -> bool:
    """Have `changed(name)` called after each change of a variable.

    False where `os.environ` is of a class that is not Python's, and nothing is called.

    Calling it again replaces the callback.
    """
    global _changed
    if type(os.environ) is Plain:
        os.environ.__class__ = Environ
    _changed = changed
    return isinstance(os.environ, Environ)
