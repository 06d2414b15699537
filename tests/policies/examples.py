"""The worked examples of the docstrings, as classes."""

from __future__ import annotations

import textwrap
from typing import Any

from minimx.policies import planners, pools, scalers, schedulers, trees

MODULES = (pools, schedulers, planners, trees, scalers)


def example_of(module: Any) -> type:
    """The class that stands in the docstring of a module."""
    text = module.__doc__
    start = text.index("    class ")
    lines = text[start:].splitlines()
    end = next(k for k, line in enumerate(lines) if line.startswith("    mx."))
    names: dict[str, Any] = {"__name__": "example"}
    exec(textwrap.dedent("\n".join(lines[:end])), names)
    (found,) = (one for one in names.values() if isinstance(one, type))
    return found
