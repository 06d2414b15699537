"""From an error that a view shows to the lines that raise it.

    places = raised(error)              # noted while the error is at hand
    source_of_error(places, "refused")  # the function, with the line marked

Only files and numbers are kept, never the error: it holds frames, and they hold arrays.
"""

from __future__ import annotations

import ast
import traceback
from pathlib import Path

from minimx.core.errors import ArgumentError
from minimx_widgets.code.finding import cut_lines, tree_of
from minimx_widgets.code.pieces import Code, Piece
from minimx_widgets.code.sources import ROOT

#: A file of ours and a line of it.
Place = tuple[str, int]

_OURS = (ROOT, Path(__file__).parents[1])
#: So many of the calls that led to the error are shown, the innermost first.
MOST = 3


def raised(error: BaseException) -> tuple[Place, ...]:
    """Where an error was raised in minimx or its views, the innermost place first."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [
        (frame.filename, frame.lineno)
        for frame in frames
        if frame.lineno and any(Path(frame.filename).is_relative_to(o) for o in _OURS)
    ]
    return tuple(ours[::-1][:MOST])


def source_of_error(places: tuple[Place, ...], name: str) -> Code:
    """The functions in which an error was raised and went on, their lines marked.

    name: what the error is called where it is shown. Raises `ArgumentError` without
    places: the error came from a program of the user, or there is none.
    """
    if not places:
        raise ArgumentError(
            "No line of minimx raised this: it came from your own code, or nothing was "
            "refused."
        )
    pieces: list[Piece] = []
    for k, (file, line) in enumerate(places):
        why = "it is raised here" if k == 0 else "called from here"
        piece = _function(Path(file), line, why)
        if not any(piece.file == one.file and piece.line == one.line for one in pieces):
            pieces.append(piece)
    return Code(name, tuple(pieces))


def _function(path: Path, line: int, why: str) -> Piece:
    """The innermost function round a line, with the statement at that line marked."""
    tree: ast.AST = tree_of(path)
    found = statement = tree
    for node in ast.walk(tree):
        if node is tree or not getattr(node, "lineno", 0):
            continue
        if node.lineno <= line <= int(getattr(node, "end_lineno", 0) or 0):  # type: ignore[attr-defined]
            if isinstance(node, ast.FunctionDef):
                found = node
            if isinstance(node, ast.stmt):
                statement = node
    if found is tree:
        found = statement
    small = not isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.If | ast.Try)
    marks = [line]
    if small and isinstance(statement, ast.Raise):
        marks = [*range(statement.lineno, int(statement.end_lineno or line) + 1)]
    return cut_lines(path, found, marks, why)
