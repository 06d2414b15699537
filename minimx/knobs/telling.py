"""Warnings that point at the user's line, however deep in minimx they arise."""

from __future__ import annotations

import sys
import warnings

# Minimx, and what stands between it and the user's line: an import, a `with` block, an
# assignment to the environment.
_BETWEEN = ("minimx", "importlib", "contextlib", "os", "_collections_abc")


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the first line outside minimx; at the start that is its import."""
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
