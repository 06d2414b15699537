"""Which lines of a pass made a decision: found in the pass's own text.

A pass names itself where it makes its account, `Passed("cse", …)`, and its rules where
it makes its decisions, `Change("merged", …)`. So the text itself says where to look,
and no list of passes has to be kept.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from minimx import fast
from minimx.core import graph
from minimx_widgets.code.finding import tree_of


@dataclass(frozen=True)
class Source:
    """Some lines of a file: where it is in the project, its first line, the text."""

    file: str
    line: int
    text: str


def source_of(passed: str, rule: str = "") -> Source | None:
    """The function in which a pass decides by a rule; without a rule, the pass itself.

    None for a pass that is written nowhere in minimx, such as a reader's own.
    """
    found = _spaces().get(passed)
    if found is None:
        return None
    path, main = found
    return _decisions(path).get(rule) or main


def source_of_function(function: Callable[..., Any]) -> Source:
    """A function of minimx, or a method of a class there."""
    lines, line = inspect.getsourcelines(function)
    file = _in_project(Path(inspect.getfile(function)))
    return Source(file, line, textwrap.dedent("".join(lines)).rstrip())


def _in_project(path: Path) -> str:
    """Where a file of minimx is in the project: `minimx/core/graph/…`."""
    return path.relative_to(Path(fast.__path__[0]).parents[1]).as_posix()


@cache
def _spaces() -> dict[str, tuple[Path, Source]]:
    """The file and the function of each pass."""
    found: dict[str, tuple[Path, Source]] = {}
    files = [
        *Path(graph.__path__[0]).rglob("*.py"),
        *Path(fast.__path__[0]).rglob("*.py"),
    ]
    for path in sorted(files):
        functions = _functions(path)
        for name, source in _calls(path, "Passed"):
            # What a method puts together belongs to the module's main function.
            main = source if source in functions else next(iter(functions), source)
            found.setdefault(name, (path, main))
    return found


@cache
def _decisions(path: Path) -> dict[str, Source]:
    """The function of each rule in a file; the first one, if there are several."""
    return dict(reversed(list(_calls(path, "Change"))))


def _functions(path: Path) -> list[Source]:
    """What a module offers: its functions, in order, without its private ones."""
    text = path.read_text(encoding="utf-8")
    return [
        _source(path, text, node)
        for node in tree_of(path).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    ]


def _calls(path: Path, what: str) -> Iterator[tuple[str, Source]]:
    """Calls of `what` with a literal first, and the functions that they stand in."""
    text = path.read_text(encoding="utf-8")
    if f"{what}(" not in text:
        return
    for function in ast.walk(tree_of(path)):
        if not isinstance(function, ast.FunctionDef):
            continue
        for call in ast.walk(function):
            word = _first_word(call, what)
            if word:
                yield word, _source(path, text, function)


def _source(path: Path, text: str, function: ast.FunctionDef) -> Source:
    first = min([function.lineno, *(d.lineno for d in function.decorator_list)])
    body = text.splitlines()[first - 1 : function.end_lineno]
    return Source(_in_project(path), first, "\n".join(body))


def _first_word(call: ast.AST, what: str) -> str:
    """The literal that a call of `what` begins with; empty for anything else."""
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
        return ""
    first = call.args[0] if call.func.id == what and call.args else None
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        return first.value
    return ""
