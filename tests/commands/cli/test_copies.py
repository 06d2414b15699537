"""A learner's copies of the course: brought up to date, never overwritten, signed."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from minimx.commands.cli import copies

FIRST = "00-first.ipynb"

# nbformat has type hints for a part of its functions only.
nbformat: Any = import_module("nbformat")
signing: Any = import_module("nbformat.sign")


@pytest.fixture
def course(tmp_path: Path) -> Path:
    folder = tmp_path / "course"
    (folder / "figures").mkdir(parents=True)
    (folder / FIRST).write_text("first")
    (folder / "figures" / "a.svg").write_text("<svg/>")
    (folder / ".ipynb_checkpoints").mkdir()
    (folder / ".ipynb_checkpoints" / "x.ipynb").write_text("old")
    return folder


@pytest.fixture
def mine(course: Path) -> Path:
    """Copies that are as they were copied."""
    target = course.parent / "mine"
    copies.bring(course, target)
    return target


def test_the_course_is_copied_once(course: Path, tmp_path: Path) -> None:
    target = tmp_path / "mine"
    assert copies.bring(course, target).copied == [FIRST, "figures/a.svg"]
    assert (target / FIRST).read_text() == "first"
    assert not (target / ".ipynb_checkpoints").exists()
    again = copies.bring(course, target)
    assert (again.copied, again.updated, again.beside) == ([], [], [])
    assert again.shipped == [FIRST, "figures/a.svg"]


def test_a_copy_that_nobody_changed_follows_the_course(
    course: Path, mine: Path
) -> None:
    (course / FIRST).write_text("newer")
    assert copies.bring(course, mine).updated == [FIRST]
    assert (mine / FIRST).read_text() == "newer"


def test_work_is_never_overwritten_and_a_newer_version_lies_beside_it(
    course: Path, mine: Path
) -> None:
    (mine / FIRST).write_text("my work")
    assert copies.bring(course, mine).beside == []  # there is nothing newer
    (course / FIRST).write_text("newer")
    done = copies.bring(course, mine)
    assert done.beside == ["00-first (new).ipynb"]
    assert FIRST not in done.shipped  # a learner's own text is not ours to sign
    assert (mine / FIRST).read_text() == "my work"
    assert (mine / "00-first (new).ipynb").read_text() == "newer"
    assert "00-first (new).ipynb" in str(done)
    assert copies.bring(course, mine).beside == []  # once for each version
    (course / FIRST).write_text("newest")
    assert copies.bring(course, mine).beside == ["00-first (new 2).ipynb"]


def book(text: str, *outputs: str) -> str:
    """A notebook of one cell, with what it printed."""
    cell = {
        "cell_type": "code",
        "execution_count": 7,
        "metadata": {},
        "outputs": [{"output_type": "stream", "text": text} for text in outputs],
        "source": [text],
    }
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4})


def test_copies_have_no_outputs_and_running_one_is_no_change(
    course: Path, mine: Path
) -> None:
    (course / FIRST).write_text(book("1 + 1", "2"))
    assert copies.bring(course, mine).updated == [FIRST]
    (cell,) = json.loads((mine / FIRST).read_text())["cells"]
    assert (cell["outputs"], cell["execution_count"]) == ([], None)
    (mine / FIRST).write_text(book("1 + 1", "2, as the learner saw"))
    assert copies.bring(course, mine).shipped == ["figures/a.svg"]  # not ours to sign
    assert "as the learner saw" in (mine / FIRST).read_text()
    (course / FIRST).write_text(book("1 + 2", "3"))
    assert copies.bring(course, mine).updated == [FIRST]
    for damaged in ("{torn", '{"cells": [7]}', '{"cells": [{"cell_type": "code"}]}'):
        (mine / FIRST).write_text(damaged)
        assert copies.bring(course, mine).updated == []
        assert (mine / FIRST).read_text() == damaged
    (mine / FIRST).write_text(book("1 + 2 + 3"))
    (course / FIRST).write_text(book("1 + 4", "5"))
    assert copies.bring(course, mine).beside == ["00-first (new).ipynb"]
    assert '"outputs": []' in (mine / "00-first (new).ipynb").read_text()


def test_files_from_before_the_ledger_count_as_work(course: Path, mine: Path) -> None:
    (mine / copies.LEDGER).write_text("{torn")
    (mine / FIRST).write_text("my work")
    copies.bring(course, mine)
    assert (mine / FIRST).read_text() == "my work"


def test_fresh_keeps_what_was_worked_on_under_a_free_name(
    course: Path, mine: Path
) -> None:
    for work in ("one", "two"):
        (mine / FIRST).write_text(work)
        copies.bring(course, mine, fresh=True)
        assert (mine / FIRST).read_text() == "first"
    assert (mine / "00-first (mine).ipynb").read_text() == "one"
    assert (mine / "00-first (mine 2).ipynb").read_text() == "two"


def test_what_is_signed_is_trusted_and_a_changed_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    path = tmp_path / "a.ipynb"
    book: dict[str, Any] = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {},
        "cells": [
            {"id": "a", "cell_type": "markdown", "metadata": {}, "source": "text"}
        ],
    }
    path.write_text(json.dumps(book))
    assert copies.sign([path, tmp_path / "a.svg"]) == 1
    notary = signing.NotebookNotary()
    assert notary.check_signature(nbformat.read(path, as_version=4))
    book["cells"][0]["source"] = "another text"
    path.write_text(json.dumps(book))
    assert not notary.check_signature(nbformat.read(path, as_version=4))
