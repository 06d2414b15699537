"""What lies in a learner's folder, and how far the learner is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from minimx_widgets.course.predicting.ledger import Answer
from minimx_widgets.course.starting import notebooks

ROOT = Path(__file__).parents[4]


def cell(kind: str, source: str) -> dict[str, Any]:
    return {"cell_type": kind, "source": source, "metadata": {}}


def book(topic: str, title: str, *cards: str) -> str:
    """A notebook with cards of these names, and an exit ticket."""
    sources = [f'PredictCard("?", f, name="{topic}/{card}")' for card in cards]
    code = [cell("code", each) for each in (*sources, f'exit_ticket("{topic}")')]
    head = f"# {title}\n\nWhat **it** is\nabout, as in [00](00.ipynb).\n\nMore."
    return json.dumps({"cells": [cell("markdown", head), *code]})


def answer(card: str, right: bool = True, place: str = "") -> Answer:
    return Answer(card, "?", 1.0, 1.0, "", 70, right, place=place)


def test_the_notebooks_are_those_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "01-later.ipynb").write_text(book("01", "01 · Later", "x", "y"))
    (tmp_path / "00-first.ipynb").write_text(book("00", "00 · First", "z"))
    (tmp_path / "a-case.ipynb").write_text(book("case", "Case · A case"))
    (tmp_path / "00-first (mine 2).ipynb").write_text(book("00", "00 · First", "z"))
    (tmp_path / "torn.ipynb").write_text('{"cells": [')
    (tmp_path / "own.ipynb").write_text(json.dumps({"cells": [cell("code", "1 + 1")]}))
    (tmp_path / "notes.txt").write_text("mine")
    found = notebooks.read(tmp_path)
    titles = [each.title for each in found.notebooks]
    assert titles == ["00 · First", "01 · Later", "Case · A case"]
    assert found.notebooks[1].cards == {"01/x", "01/y"}
    assert found.notebooks[1].about == "What it is about, as in 00."
    assert found.copies == ["00-first (mine 2).ipynb"]
    assert found.damaged == ["torn.ipynb"]


def test_every_notebook_of_the_course_is_found() -> None:
    found = notebooks.read(ROOT / "notebooks")
    files = sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))
    assert [each.file for each in found.notebooks] == files
    assert all(each.cards and each.title and each.about for each in found.notebooks)
    assert found.copies == found.damaged == []


@pytest.mark.parametrize(
    ("given", "text", "share"),
    [
        ([], "2 predictions to make", 0),
        ([answer("08/a", False), answer("08/a")], "1 of 2 predictions", 0.25),
        ([answer("08/a", place="09/recall")], "2 predictions to make", 0),
        ([answer("09/a")], "2 predictions to make", 0),
        (
            [answer("08/a"), answer("08/t", place="08/exit-ticket")],
            "1 of 2 predictions, exit ticket begun",
            0.5,
        ),
        (
            [
                answer("08/a", False),
                answer("08/a"),
                answer("08/b"),
                answer("08/t", place="08/exit-ticket"),
                answer("08/u", place="08/exit-ticket"),
            ],
            "done: 1 of 2 predictions right",
            1,
        ),
    ],
)
def test_progress_counts_what_is_locked_in(
    given: list[Answer], text: str, share: float
) -> None:
    one = notebooks.Notebook("08.ipynb", "08", "", "08", frozenset(("08/a", "08/b")))
    found = notebooks.progress(one, given)
    assert (found.text, found.share) == (text, share)
    assert found.done is (share == 1)
