"""The pages for teaching are those of the notebooks as they are."""

from __future__ import annotations

from minimx_widgets.course.teaching import lessons
from tests.notebooks.answers import ROOT, STORED, notebooks


def test_the_pages_are_up_to_date() -> None:
    stored = {
        path.stem: path.read_text("utf-8")
        for path in (ROOT / "book" / "lessons").glob("*.md")
    }
    assert set(stored) == {path.stem for path in notebooks()}
    for name, text in lessons.pages(ROOT / "notebooks", STORED):
        assert text == stored[name], "run make pages"


def test_a_page_has_what_a_lesson_needs() -> None:
    for name, text in lessons.pages(ROOT / "notebooks", STORED):
        board = text.partition("## On the board\n\n")[2].partition("\n\n")[0]
        assert len(board.split()) > 20, name
        asked = text.partition("## Ask aloud")[2].partition("## Exercises")[0]
        assert asked.count("says") >= 2 and "\n- " in asked, name
        ticket = text.partition("## Exit ticket\n\n")[2]
        assert ticket.count("\n") >= 3, name


def test_minutes_grow_with_what_there_is_to_do() -> None:
    def cell(kind: str, source: str, **marks: object) -> dict[str, object]:
        return {"cell_type": kind, "source": source, "metadata": {"nbgrader": marks}}

    words = cell("markdown", "# T\n\n## Case\n\n" + "word " * lessons.PACE)
    predict = cell("code", "PredictCard('how many?')")
    free = cell("code", "f = ...\na.check_f(f)", grade=True, grade_id="f", points=3)
    folded = (
        "## Exit\n<details><summary>Why?</summary>\n" + "word " * 999 + "</details>"
    )
    book = {"cells": [words, predict, free, cell("markdown", folded)]}
    found = {part.heading: round(part.minutes) for part in lessons.parts(book)}
    assert found == {"Before the case": 0, "Case": 15, "Exit": 2}
