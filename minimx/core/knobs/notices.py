"""Warnings that point at the user's line, however deep in minimx they arise.

`Needs` is about knobs that act in something a machine may lack, such as a library. The
part that uses the library says so with `knobs.needs`; setting such a knob where it
is not installed then warns why it cannot act, once per knob.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from minimx.core.knobs.knob import KnobWarning

#: Called with a knob and its value: why that cannot act and what would help, or "".
Why = Callable[[str, Any], str]

# Minimx, and what stands between it and the user's line: an import, a `with` block, an
# assignment to the environment.
_BETWEEN = ("minimx", "importlib", "contextlib", "os", "_collections_abc")


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the user's program from which minimx was called.

    While minimx is imported that is the line of the import. category: the class of the
    warning, by which it can be filtered.
    """
    frame = sys._getframe(1)
    while frame.f_back and _is_between(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        frame.f_globals.get("__name__", "__main__"),
        frame.f_globals.setdefault("__warningregistry__", {}),
    )


def _is_between(module: str) -> bool:
    return module.partition(".")[0] in _BETWEEN


class Needs:
    """What knobs need to act; not thread-safe but for repeated notices."""

    __slots__ = ("_warned", "_why")

    def __init__(self) -> None:
        self._why: dict[str, Why] = {}
        self._warned: set[str] = set()

    def add(self, names: Iterable[str], why: Why) -> None:
        """Have `why(name, value)` called when one of the knobs is set.

        It returns why the knob cannot act on this machine, as a sentence, or "".
        """
        self._why.update(dict.fromkeys(names, why))

    def look(self, chosen: Mapping[str, Any]) -> None:
        """Warn, once for each, of set knobs that cannot act; others cost a look-up."""
        for name, value in chosen.items():
            why = self._why.get(name)
            if why is None or name in self._warned:
                continue
            if reason := why(name, value):
                self._warned.add(name)
                warn(f"{name} is set, but cannot act: {reason}", KnobWarning)
