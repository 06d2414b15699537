"""What a class predicted is counted by learner, and damaged files stop no count."""

from __future__ import annotations

from pathlib import Path

import pytest

from minimx_widgets.course.predicting.ledger import Answer, Ledger
from minimx_widgets.course.teaching import classroom

BOUND = "That is the bound <and> no promise."


def answer(card: str, right: bool, sure: int = 90, attempt: int = 0) -> Answer:
    lesson = "" if right else BOUND
    seen, topic = 12.0, card[:2]
    value = seen if right else 6.0
    return Answer(
        card, "how long?", value, seen, "ms", sure, right, attempt, topic, lesson
    )


def export(path: Path, *answers: Answer) -> None:
    ledger = Ledger()
    for each in answers:
        ledger.add(each)
    path.parent.mkdir(parents=True, exist_ok=True)
    ledger.export(path)


@pytest.fixture
def exports(tmp_path: Path) -> Path:
    for number in range(6):
        export(
            tmp_path / f"learner{number}" / "mine.json",
            answer("03/two", right=number == 0),
            answer("03/two", right=True, attempt=1),  # practice
            answer("08/round", right=number < 5, sure=80),
        )
    return tmp_path


def test_first_answers_of_all_learners_count(exports: Path) -> None:
    found = classroom.read(exports)
    assert (found.learners, len(found.answers)) == (6, 12)
    worst, best = found.cards()
    assert (worst.name, worst.right, worst.answers) == ("03/two", 1, 6)
    assert worst.mistake == (BOUND, 5)
    assert round(best.share) == 83


def test_the_page_names_weak_questions_and_no_learner(exports: Path) -> None:
    page = classroom.page(exports)
    assert "wrong about: 03/two" in page and "sure of it: 03/two" in page
    assert "&lt;and&gt;" in page and "<and>" not in page
    assert "12 predictions" not in page and "6 predictions, 90 % sure, 17 %" in page
    assert "learner0" not in page and "mine" not in page
    text = classroom.page(exports, markdown=True)
    assert "no promise. (5 ×)" in text and "two (03)" in text and "<svg" not in text


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"answers": 3}', '{"answers": [{"card": 3}]}', "[" * 99_999],
)
def test_damaged_files_are_named_and_left_out(exports: Path, text: str) -> None:
    (exports / "broken.json").write_text(text)
    found = classroom.read(exports)
    assert found.learners == 6
    assert found.damaged[0].startswith("broken.json: ")
    assert "Left out: broken.json" in repr(classroom.class_predictions(exports))


def test_a_folder_without_exports_is_said(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="export_predictions"):
        classroom.read(tmp_path)
