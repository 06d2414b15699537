"""The lines of functions and classes, also where their module was compiled.

After `minimx compile --cython` the file of a module of the call path is a library, and
its functions are not Python's. What is read then is the file that it was built from.
"""

from __future__ import annotations

import ast
import inspect
import sys
from pathlib import Path
from typing import Any

import minimx

ROOT = Path(minimx.__file__).parent


def source_lines(thing: Any) -> tuple[Path, list[str], int]:
    """The file of a function or a class, its lines, and the number of the first.

    What a decorator wraps is found, and decorators are part of it. Raises OSError or
    TypeError, as `inspect` does, for what stands in no file.
    """
    thing = inspect.unwrap(thing)
    path = _built_from(thing)
    if path is None:
        lines, first = inspect.getsourcelines(thing)
        return Path(inspect.getfile(thing)), lines, first
    node: Any = ast.parse(text := path.read_text(encoding="utf-8"))
    for name in thing.__qualname__.replace("<locals>.", "").split("."):
        inner = (one for one in ast.walk(node) if one is not node)
        node = next((one for one in inner if getattr(one, "name", "") == name), None)
        if node is None:
            raise OSError(f"{thing.__qualname__} stands nowhere in {path}")
    first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
    return path, text.splitlines(keepends=True)[first - 1 : node.end_lineno], first


def is_function(thing: Any) -> bool:
    """Whether something is a function of Python, compiled or not."""
    return inspect.isroutine(thing) and hasattr(thing, "__code__")


def _built_from(thing: Any) -> Path | None:
    """The Python file of something of minimx whose module was compiled."""
    module = sys.modules.get(getattr(thing, "__module__", None) or "")
    file = getattr(module, "__file__", None) or ""
    if module is None or not module.__name__.startswith("minimx."):
        return None
    if file.endswith(".py"):
        return None
    stem = ROOT.joinpath(*module.__name__.split(".")[1:])
    return next(
        one for one in (stem.with_suffix(".py"), stem / "__init__.py") if one.exists()
    )
