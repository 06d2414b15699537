"""What to type to see a knob act, one file per group like the declarations.

Nothing here is loaded before a card is asked for: `of(name)` reads all tables the
first time. A test runs every example under each of its values, in one process after
the other examples, and compares what is printed.
"""

from __future__ import annotations

import importlib
from functools import cache

from minimx.core.knobs.example import Example

__all__ = ["TABLES", "Example", "of"]

#: The files of this package, named like those of the declarations.
TABLES = (
    "engine",
    "memory",
    "bulking",
    "kernels",
    "planner",
    "convolution",
    "kvstore",
    "onednn",
    "profiler",
    "library",
    "simulated",
    "ours",
)


def of(name: str) -> Example | None:
    """The example of a knob, by the name under which it is declared."""
    return _all().get(name)


@cache
def _all() -> dict[str, Example]:
    found: dict[str, Example] = {}
    for table in TABLES:
        found |= importlib.import_module(f"{__name__}.{table}").EXAMPLES
    return found
