"""The student edition has no answer in it; the instructor's has all of them."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from minimx_widgets.course.teaching import editions, exercises
from minimx_widgets.course.teaching.exercises import grade_id
from tests.notebooks.answers import ROOT, notebooks

SOLUTIONS = ROOT / "tests" / "notebooks" / "solutions"
PLAYED = "check_level"  # an exercise on the page: its check sees moves, and no text


@pytest.fixture(scope="module")
def handout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("student")
    editions.student(ROOT / "notebooks", folder)
    return folder


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("instructor")
    editions.instructor(ROOT / "notebooks", folder, SOLUTIONS)
    return folder


every_notebook = pytest.mark.parametrize(
    "path", notebooks(), ids=[path.stem for path in notebooks()]
)


def text_of(path: Path) -> str:
    return "\n".join(cell["source"] for cell in exercises.read(path)["cells"])


def plain(text: str) -> str:
    return re.sub(r"\s+", "", text)


@every_notebook
def test_every_check_is_an_exercise_with_points_and_a_solution(path: Path) -> None:
    book = exercises.read(path)
    found = {each.place: each for each in exercises.exercises(book)}
    for place, source in enumerate(exercises.code(book)):
        if exercises.parted(source) and PLAYED not in source:
            assert found[place].points > 0
    solved = editions.solutions(SOLUTIONS / f"{path.stem}.md")
    assert set(solved) == {each.name for each in found.values()}
    assert len(book["metadata"]["minimx"]["outcomes"]) >= 2


def test_names_of_exercises_are_used_once_and_suit_nbgrader() -> None:
    names = [
        each.name
        for path in notebooks()
        for each in exercises.exercises(exercises.read(path))
    ]
    assert len(names) == len(set(names)) > 35
    assert all(re.fullmatch(r"[a-zA-Z0-9_\-]+", name) for name in names)


def new_statements(solution: str, attempt: str) -> list[str]:
    """The statements of a solution that the exercise does not give away itself."""
    given = {plain(ast.unparse(node)) for node in ast.walk(ast.parse(attempt))
             if isinstance(node, ast.stmt)}  # fmt: skip
    return [
        ast.unparse(node)
        for node in ast.walk(ast.parse(solution))
        if isinstance(node, ast.stmt)
        and not isinstance(node, ast.Import | ast.ImportFrom)
        and plain(ast.unparse(node)) not in given
    ]


@every_notebook
def test_the_student_edition_has_no_solution(path: Path, handout: Path) -> None:
    handed = plain(text_of(handout / path.name))
    solved = editions.solutions(SOLUTIONS / f"{path.stem}.md")
    for exercise in exercises.exercises(exercises.read(path)):
        new = new_statements(solved[exercise.name], exercise.attempt)
        assert new, "the exercise is solved already"
        assert plain(solved[exercise.name]) not in handed
        # A worked example may have a line or a method of it, but never all of them.
        assert not all(plain(each) in handed for each in new)


@every_notebook
def test_the_student_edition_has_no_output_and_no_answer(
    path: Path, handout: Path
) -> None:
    book = exercises.read(handout / path.name)
    for cell in book["cells"]:
        assert not cell.get("outputs") and not cell.get("execution_count")
    assert "<details" not in text_of(handout / path.name)
    original = text_of(path)
    for answer in re.findall(r"</summary>(.*?)</details>", original, re.DOTALL):
        assert plain(answer) not in plain(text_of(handout / path.name))
    assert BEGIN not in text_of(handout / path.name)


BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"


@every_notebook
def test_questions_stay(path: Path, handout: Path) -> None:
    handed = text_of(handout / path.name)
    for question in re.findall(r"<summary>(.*?)</summary>", text_of(path), re.DOTALL):
        assert f"<p>{question}</p>" in handed


@every_notebook
def test_both_editions_are_notebooks_for_nbgrader(
    path: Path, handout: Path, source: Path
) -> None:
    for folder in (handout, source):
        book: Any = nbformat.read(folder / path.name, as_version=4)  # type: ignore[no-untyped-call]
        nbformat.validate(book)
        marked = [cell for cell in book.cells if "nbgrader" in cell.metadata]
        for tried, checked in zip(marked[::2], marked[1::2], strict=True):
            marks, locked = tried.metadata.nbgrader, checked.metadata.nbgrader
            assert (marks.solution, marks.grade, marks.locked) == (True, False, False)
            assert (locked.solution, locked.grade, locked.locked) == (False, True, True)
            assert locked.points > 0 and locked.schema_version == 3
            assert locked.grade_id == f"{marks.grade_id}-check"


@every_notebook
def test_the_instructors_edition_has_the_solutions(path: Path, source: Path) -> None:
    """Without what stands between the marks, each cell is still Python."""
    solved = editions.solutions(SOLUTIONS / f"{path.stem}.md")
    cells = {
        grade_id(cell): cell for cell in exercises.read(source / path.name)["cells"]
    }
    for name, solution in solved.items():
        text = cells[name]["source"]
        lines = [line for line in text.split("\n") if line.strip() not in (BEGIN, END)]
        assert "\n".join(lines) == solution
        stub = re.sub(
            rf"{BEGIN}.*?{END}", "raise NotImplementedError()", text, flags=16
        )
        ast.parse(stub)
        assert "HIDDEN TESTS" in cells[f"{name}-check"]["source"]


def test_a_folder_with_notebooks_is_left_alone(tmp_path: Path) -> None:
    mine = tmp_path / notebooks()[3].name
    mine.write_text("mine")
    with pytest.raises(FileExistsError, match="would be lost"):
        editions.student(ROOT / "notebooks", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [mine.name]
    assert mine.read_text() == "mine"


@pytest.mark.parametrize(
    "text", ["", "{", "[1]", '{"cells": 3}', '{"cells": [{}]}', "[" * 100_000, "\0"]
)
def test_what_is_no_notebook_is_said(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text(text)
    with pytest.raises(exercises.NotANotebook):
        exercises.read(path)


def test_an_exercise_is_found_by_its_name_or_by_its_cell() -> None:
    book = exercises.read(notebooks()[0])
    first, second = exercises.exercises(book)
    cell = book["cells"][first.place]
    assert exercises.place_of(book, first, cell["id"]) == first.place
    del cell["metadata"]["nbgrader"]
    assert exercises.place_of(book, first, cell["id"]) == first.place
    cell["id"] = "another"
    assert exercises.place_of(book, first, "00-44") is None
    assert exercises.place_of(json.loads(json.dumps(book)), second, "") == second.place
