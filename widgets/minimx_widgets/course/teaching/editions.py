"""Two editions of the course for a class: without any answer, and with all of them.

    student(notebooks, target)              # to hand out
    instructor(notebooks, target, answers)  # nbgrader's `source`, with the solutions

In both, an exercise is two cells with nbgrader's metadata: the attempt, which is to be
written, and its check, which is locked and carries the points. The student edition has
no outputs, and no answers below questions that unfold. The instructor
edition has the solution in the attempt, between `### BEGIN SOLUTION` and `### END
SOLUTION`, and makes nbgrader fail a check that says "not yet".
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from minimx_widgets.course.teaching import exercises as ex
from minimx_widgets.course.teaching.exercises import CHECKED, SCHEMA, Exercise

Cell = dict[str, Any]
FOLDED = re.compile(r"<details>\s*<summary>(.*?)</summary>.*?</details>", re.DOTALL)
SECTION = re.compile(r"^## (\S+)\n+```python\n(.*?)\n```$", re.MULTILINE | re.DOTALL)


def student(source: Path, target: Path) -> list[Path]:
    """Write the student edition of all notebooks of a folder; returns its files.

    Raises FileExistsError, before anything is written, where notebooks are already.
    """
    return _written(source, target, lambda book, _: without_answers(book))


def instructor(source: Path, target: Path, answers: Path) -> list[Path]:
    """The same with solutions. answers: a folder with a file for each notebook.

    Raises FileExistsError likewise, and KeyError where an exercise has no solution.
    """

    def solved(book: Cell, name: str) -> Cell:
        return with_solutions(book, solutions(answers / f"{name}.md"))

    return _written(source, target, solved)


def _written(
    source: Path, target: Path, edit: Callable[[Cell, str], Cell]
) -> list[Path]:
    names = sorted(path.name for path in source.glob("*.ipynb"))
    taken = [name for name in names if (target / name).exists()]
    if taken:
        raise FileExistsError(
            f"{target} has {taken[0]} already, and what is written there would be "
            "lost. Name an empty folder"
        )
    books = [edit(ex.read(source / name), Path(name).stem) for name in names]
    target.mkdir(parents=True, exist_ok=True)
    for name, book in zip(names, books, strict=True):
        ex.write(book, target / name)
    return [target / name for name in names]


def solutions(path: Path) -> dict[str, str]:
    """Solutions by the name of the exercise; none where there is no such file."""
    return dict(SECTION.findall(path.read_text("utf-8"))) if path.exists() else {}


def without_answers(book: Cell) -> Cell:
    """A notebook without outputs, and without answers to any question.

    `book` is not changed.
    """
    cells: list[Cell] = []
    known = {each.place: each for each in ex.exercises(book)}
    for place, cell in enumerate(book["cells"]):
        if place in known:
            cells += _attempt_and_check(cell, known[place], known[place].attempt, "")
        elif cell["cell_type"] == "markdown":
            cells.append({**cell, "source": _unanswered(cell["source"])})
        else:
            cells.append(_bare(cell))
    return {**book, "cells": cells}


def with_solutions(book: Cell, answers: Mapping[str, str]) -> Cell:
    """A notebook without outputs, with the solutions in its exercises."""
    cells: list[Cell] = []
    known = {each.place: each for each in ex.exercises(book)}
    for place, cell in enumerate(book["cells"]):
        if place in known:
            exercise = known[place]
            solved = marked(exercise.attempt, answers[exercise.name])
            cells += _attempt_and_check(cell, exercise, solved, HIDDEN)
        else:
            cells.append(_bare(cell))
    return {**book, "cells": cells}


#: What nbgrader runs behind a check: one that says "not yet" has to fail its cell.
HIDDEN = """

### BEGIN HIDDEN TESTS
assert {check}.passed
### END HIDDEN TESTS"""


def _unanswered(text: str) -> str:
    return FOLDED.sub(r"<p>\1</p>", text)


def _bare(cell: Cell) -> Cell:
    if cell["cell_type"] != "code":
        return cell
    return {**cell, "outputs": [], "execution_count": None}


def _attempt_and_check(
    cell: Cell, exercise: Exercise, attempt: str, hidden: str
) -> list[Cell]:
    bare = _bare(cell)
    usual = {k: v for k, v in cell["metadata"].items() if k != "nbgrader"}
    common = {"schema_version": SCHEMA, "cell_type": "code", "task": False}
    name = {"grade_id": exercise.name, "grade": False, "solution": True}
    tried = {**common, **name, "locked": False}
    checked = {
        **common,
        "grade_id": exercise.name + CHECKED,
        "grade": True,
        "solution": False,
        "locked": True,
        "points": exercise.points,
    }
    fixed = {"editable": False, "deletable": False}
    source = exercise.check + hidden.format(check=exercise.check)
    return [
        {**bare, "source": attempt, "metadata": {**usual, "nbgrader": tried}},
        {
            **bare,
            "id": f"{cell['id']}{CHECKED}",
            "source": source,
            "metadata": {**usual, **fixed, "nbgrader": checked},
        },
    ]


def marked(attempt: str, solution: str) -> str:
    """A solution with nbgrader's marks around what differs from the attempt.

    Whole statements are marked, and the bodies of functions and classes as a whole:
    what nbgrader puts in their place has to be Python.
    """
    same = {ast.dump(node) for node in ast.parse(attempt).body}
    lines, parts, at = solution.split("\n"), [], 0
    for node in ast.parse(solution).body:
        if ast.dump(node) in same:
            continue
        first, last = node.lineno - 1, node.end_lineno or node.lineno
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            body = node.body
            first = body[_is_text(body[0]) and len(body) > 1].lineno - 1
            while lines[first - 1].lstrip().startswith("@"):
                first -= 1
        indent = " " * (len(lines[first]) - len(lines[first].lstrip()))
        parts += lines[at:first]
        parts += [f"{indent}### BEGIN SOLUTION", *lines[first:last]]
        parts += [f"{indent}### END SOLUTION"]
        at = last
    return "\n".join([*parts, *lines[at:]])


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
