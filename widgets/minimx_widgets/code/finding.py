"""`source`: the lines of minimx that obey a knob, or that define an operator.

    source("MXNET_ENGINE_TYPE")        # the functions that read it, its lines marked
    source("Convolution")              # its data sheet

The lines are those of the package that runs. No list of places is kept: the example of
a knob names the function that obeys it (a test calls that function), and everything
else is found in the text itself, where a name stands as a literal.
"""

from __future__ import annotations

import ast
import re
import sys
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from minimx.core.errors import ArgumentError, did_you_mean
from minimx.core.knobs import knobs
from minimx.core.ops.registry import ALIASES, REGISTRY
from minimx.tools.knob_examples import function_of
from minimx_widgets.code.pieces import Code, Piece
from minimx_widgets.code.sources import ROOT, source_lines

#: A statement of more lines is shown round what is marked, so many lines either way.
LONGEST, ROUND = 60, 14
#: A name that is put together has at least so many letters that are written out.
LETTERS = 4
_FORMATTED = re.compile(r'(?<!\w)f"([^"\n]*\{[^"\n]*)"')
_PARSING = threading.Lock()
_VALUE = re.compile(r"\{[^{}]*\}")


def source(name: str) -> Code:
    """Where a knob is obeyed, or an operator is defined.

    name: of a knob or one of its aliases, or of an operator as timelines call it, also
    joined ones such as "[dot,relu]". Raises `ArgumentError` for what minimx does not
    have, with names that are spelt alike.
    """
    found = _knob(name) or _operators(name)
    if not found:
        near = did_you_mean(name, [*knobs.declared, *REGISTRY, *ALIASES])
        raise ArgumentError(
            f"source: {name!r} is neither a knob nor an operator, and no function of "
            f"minimx names it.{near}"
        )
    return Code(name, tuple(found))


def _knob(name: str) -> list[Piece]:
    """The function of its example, others that name it, and its declaration."""
    every = knobs.declared.values()
    declared = next((one for one in every if name in (one.name, *one.aliases)), None)
    if declared is None:
        return []
    found, names = [], {declared.name, *declared.aliases}
    example = declared.example
    if example is not None:
        why = f"{example.acts_in} obeys it"
        words = {*names, example.reads or declared.name}
        found.append(_of_object(function_of(example.acts_in), why, words))
    readers, declarations = [], []
    for path, tree in _naming(names):
        for scope, lines in _literals(tree, names):
            if isinstance(scope, ast.Call):
                declarations.append(cut_lines(path, scope, lines, "declared"))
            elif isinstance(scope, ast.FunctionDef):
                readers.append(cut_lines(path, scope, lines, f"{scope.name} names it"))
    return _once([*found, *readers, *declarations])


def _operators(name: str) -> list[Piece]:
    """The data sheet of each operator that a name holds."""
    parts = dict.fromkeys(re.split(r"[\[\],\s]+", name))
    return _once([piece for part in parts if part for piece in _operator(part)])


def _operator(name: str) -> list[Piece]:
    sheet = REGISTRY.get(ALIASES.get(name, name))
    if sheet is None:  # a name that some function gives to what it pushes
        named = [
            cut_lines(path, scope, lines, f"{scope.name} names it")
            for path, tree in _naming({name})
            for scope, lines in _literals(tree, {name})
            if isinstance(scope, ast.FunctionDef)
        ]
        return [*_composed(name), *named]
    try:
        return [_of_object(sheet, "its data sheet", {sheet.name})]
    except (OSError, TypeError):
        return _entered(sheet)


def _entered(sheet: Any) -> list[Piece]:
    """Where a sheet that a function makes is entered: a row of a table, or a call.

    Such a row has the name, or its end ("add" of "elemwise_add"), first. The gradient
    of an operator is in the row of that operator.
    """
    name, module = sheet.name, getattr(sheet, "declared_in", "")
    if not module and name.startswith("_backward_"):
        name = name.removeprefix("_backward_")
        known = [one for one in REGISTRY if name == one or name.startswith(f"{one}_")]
        if known:
            name = max(known, key=len)
            module = getattr(REGISTRY[name], "declared_in", "")
    path = Path(str(sys.modules[module or sheet.__module__].__file__))
    tree = tree_of(path)
    firsts = {
        str(row.elts[0].value)
        for row in ast.walk(tree)
        if isinstance(row, ast.Tuple) and row.elts
        if isinstance(row.elts[0], ast.Constant)
    }
    ends = {first for first in firsts if name.endswith(f"_{first}")}
    found = [
        cut_lines(path, scope, lines, "its data sheet is made of this")
        for scope, lines in _literals(tree, {name, *ends})
    ]
    shared = [_shared(base) for base in sheet.__mro__ if _written(base)][:1]
    return [*found, *shared]


def _written(sheet: type) -> bool:
    """Whether a class stands in a file as it is, and was not made by a function."""
    try:
        source_lines(sheet)
    except (OSError, TypeError):
        return False
    return True


def _shared(sheet: type) -> Piece:
    return _of_object(sheet, "what such sheets share", {sheet.__name__})


def _composed(name: str) -> Iterator[Piece]:
    """The functions that put a name together, as f"Copy{here}2{there}"."""
    for path, text in _texts().items():
        for found in _FORMATTED.finditer(text):
            parts = _VALUE.split(found[1])
            if sum(map(len, parts)) >= LETTERS and re.fullmatch(
                r"\w+".join(map(re.escape, parts)), name
            ):
                line = text.count("\n", 0, found.start()) + 1
                yield from (
                    cut_lines(path, node, [line], f"{node.name} puts the name together")
                    for node in ast.walk(tree_of(path))
                    if isinstance(node, ast.FunctionDef)
                    and node.lineno <= line <= int(node.end_lineno or 0)
                )


# Reading the package


@cache
def _texts() -> dict[Path, str]:
    """The files of minimx."""
    return {
        path: path.read_text(encoding="utf-8") for path in sorted(ROOT.rglob("*.py"))
    }


@cache
def tree_of(path: Path) -> ast.Module:
    """A file, parsed."""
    # CPython 3.11 counts how deep a tree is for all threads together, and raises
    # SystemError where two parse at the same time.
    with _PARSING:
        return ast.parse(path.read_text(encoding="utf-8"))


def _naming(names: set[str]) -> Iterator[tuple[Path, ast.Module]]:
    """The files in which one of the names stands in quotes."""
    for path, text in _texts().items():
        if any(f'"{name}"' in text for name in names):
            yield path, tree_of(path)


def _literals(tree: ast.Module, names: set[str]) -> Iterator[tuple[Any, list[int]]]:
    """The innermost functions, knobs' declarations and statements with a literal.

    Each comes with the lines on which one of the names stands.
    """
    found: dict[int, tuple[Any, list[int]]] = {}

    def visit(node: ast.AST, scope: Any) -> None:
        if (
            isinstance(node, ast.FunctionDef)
            or (isinstance(node, ast.Call) and _declares(node, names))
            or isinstance(node, ast.stmt)
            and not isinstance(scope, ast.FunctionDef)
        ):
            scope = node
        if isinstance(node, ast.Constant) and node.value in names:
            found.setdefault(id(scope), (scope, []))[1].append(node.lineno)
        for child in ast.iter_child_nodes(node):
            visit(child, scope)

    visit(tree, tree)
    yield from found.values()


def _declares(call: ast.Call, names: set[str]) -> bool:
    """Whether a call makes the declaration of one of the knobs."""
    return any(
        keyword.arg == "name" and getattr(keyword.value, "value", "") in names
        for keyword in call.keywords
    )


def cut_lines(path: Path, node: Any, marks: list[int], why: str) -> Piece:
    """The lines of a node, or those round its marks if there are many."""
    decorators = getattr(node, "decorator_list", ())
    first = min([node.lineno, *(each.lineno for each in decorators)])
    last = int(node.end_lineno)
    if last - first >= LONGEST:
        first = max(first, min(marks) - ROUND)
        last = min(last, max(min(marks) + ROUND, first + 2 * ROUND))
    lines = path.read_text(encoding="utf-8").splitlines()[first - 1 : last]
    inside = tuple(sorted({mark for mark in marks if first <= mark <= last}))
    return Piece(file_in_project(path), first, "\n".join(lines), inside, why)


def _of_object(found: Any, why: str, words: set[str]) -> Piece:
    """A function or a class, with the lines marked that have one of the words.

    Where none has one, its first line is marked.
    """
    path, lines, first = source_lines(found)
    wanted = re.compile("|".join(rf"(?<![a-zA-Z]){re.escape(w)}\b" for w in words))
    marks = [first + k for k, line in enumerate(lines) if wanted.search(line)]
    text = "".join(lines).rstrip()
    return Piece(file_in_project(path), first, text, tuple(marks or [first]), why)


def file_in_project(path: Path) -> str:
    """Where a file is in the project, such as `minimx/core/engine/__init__.py`."""
    inside = path.resolve()
    root = ROOT.resolve().parent
    return (
        inside.relative_to(root).as_posix()
        if inside.is_relative_to(root)
        else path.name
    )


def _once(pieces: list[Piece]) -> list[Piece]:
    """Those that lie inside of an earlier one left out."""
    kept: list[Piece] = []
    for piece in pieces:
        if not any(piece.inside(other) for other in kept):
            kept.append(piece)
    return kept
