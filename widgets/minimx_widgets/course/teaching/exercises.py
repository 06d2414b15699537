"""The exercises of a notebook: a cell with an attempt, and a check at its end.

The cell carries nbgrader's metadata, from which `grade_id` and `points` come:

    "nbgrader": {"schema_version": 3, "grade_id": "08-rounding", "points": 2.0,
                 "grade": true, "solution": true, "locked": false, "task": false}

In a learner's copy both stand in one cell. In the editions of `editions.py` they are
two cells, as nbgrader wants them: the attempt, and the check, which is locked.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCHEMA = 3  # of nbgrader's metadata
CHECKED = "-check"  # the end of the grade_id of a check that is a cell of its own
LARGEST = 32 << 20  # bytes of a notebook


class NotANotebook(Exception):
    """A file that holds no notebook; its text says why."""


@dataclass(frozen=True)
class Exercise:
    """An exercise of the course.

    name: its grade_id. place: the number of its cell. attempt: the text above the
    check. check: the call that judges it. points: what it is worth.
    """

    name: str
    place: int
    attempt: str
    check: str
    points: float


def read(path: Path) -> dict[str, Any]:
    """A notebook as JSON, with the sources of its cells as text.

    Raises NotANotebook for anything else. What was handed in may be anything.
    """
    try:
        if path.stat().st_size > LARGEST:
            raise NotANotebook(f"it is larger than {LARGEST >> 20} MiB")
        book: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        for cell in book["cells"]:
            cell["source"] = "".join(cell["source"])
            cell["metadata"] = dict(cell.get("metadata", {}))
            str(cell["cell_type"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise NotANotebook(f"it is no notebook ({type(error).__name__})") from None
    return book


def write(book: dict[str, Any], path: Path) -> None:
    """Write a notebook as Jupyter does."""
    text = json.dumps(book, indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def is_check(node: ast.stmt) -> bool:
    """Whether a statement is a call of a check, as in `pooling.check_it(x)`."""
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        return False
    called = node.value.func
    name = called.attr if isinstance(called, ast.Attribute) else ""
    name = called.id if isinstance(called, ast.Name) else name
    return name.startswith("check_")


def parted(source: str) -> tuple[str, str] | None:
    r"""A cell's attempt and its check; None where it does not end with a check.

    >>> parted("x = ...  # blank\n\ntiming.check_it(x)")
    ('x = ...  # blank', 'timing.check_it(x)')
    """
    try:
        body = ast.parse(source).body
    except SyntaxError:
        return None
    if not body or not is_check(body[-1]):
        return None
    lines = source.split("\n")
    at = body[-1].lineno - 1
    return "\n".join(lines[:at]).strip("\n"), "\n".join(lines[at:]).strip("\n")


def grade_id(cell: dict[str, Any]) -> str:
    """The name of a cell for nbgrader; empty where it has none."""
    marks = cell["metadata"].get("nbgrader")
    name = marks.get("grade_id") if isinstance(marks, dict) else ""
    return name if isinstance(name, str) else ""


def exercises(book: dict[str, Any]) -> Iterator[Exercise]:
    """The exercises of a notebook of the course, in its order."""
    for place, cell in enumerate(book["cells"]):
        marks = cell["metadata"].get("nbgrader", {})
        found = parted(cell["source"]) if marks.get("grade") else None
        if found is not None:
            yield Exercise(grade_id(cell), place, *found, float(marks["points"]))


def code(book: dict[str, Any]) -> list[str]:
    """The sources of all cells; those that are not code are empty."""
    return [
        cell["source"] if cell["cell_type"] == "code" else "" for cell in book["cells"]
    ]


def place_of(book: dict[str, Any], exercise: Exercise, cell_id: str) -> int | None:
    """Where an exercise stands in what was handed in; None if it was taken out.

    By its grade_id, or where an editor has dropped that, by the id of its cell.
    """
    cells: Sequence[dict[str, Any]] = book["cells"]
    by_name = [k for k, cell in enumerate(cells) if grade_id(cell) == exercise.name]
    by_id = [k for k, cell in enumerate(cells) if cell.get("id") == cell_id]
    found = [k for k in (*by_name, *by_id) if cells[k]["cell_type"] == "code"]
    return found[0] if found else None
