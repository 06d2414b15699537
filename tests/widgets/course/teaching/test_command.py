"""`minimx student`, `quiz` and `class`, as they are typed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from minimx.commands.cli import copies, main
from minimx_widgets.course.predicting.ledger import here
from minimx_widgets.course.teaching import command
from tests.notebooks.answers import notebooks

Printed = pytest.CaptureFixture[str]


def test_student_writes_an_edition_and_never_over_one(
    tmp_path: Path, capsys: Printed
) -> None:
    for flags, mark in (([], False), (["--solutions"], True)):
        target = tmp_path / f"new{mark}"
        assert main(["student", str(target), *flags]) == 0
        found = sorted(path.name for path in target.glob("*.ipynb"))
        assert found == [path.name for path in notebooks()]
        texts = "".join(path.read_text("utf-8") for path in target.glob("*.ipynb"))
        assert ("### BEGIN SOLUTION" in texts) is mark
        assert main(["student", str(target), *flags]) == 2
        assert "would be lost. Name an empty folder" in capsys.readouterr().err


def test_a_handout_keeps_predictions_and_is_left_alone_by_the_lab(
    tmp_path: Path,
) -> None:
    assert main(["student", str(tmp_path / "mine")]) == 0
    before = {path: path.read_bytes() for path in (tmp_path / "mine").iterdir()}
    ledger = here(lambda: tmp_path / "mine")
    assert ledger.path == tmp_path / "mine" / "predictions.jsonl"
    done = copies.bring(notebooks()[0].parent, tmp_path / "mine")
    assert not (done.copied or done.updated or done.beside or done.kept)
    assert all(path.read_bytes() == text for path, text in before.items())


def test_quiz_prints_or_writes(tmp_path: Path, capsys: Printed) -> None:
    assert main(["quiz", "--learners", "2", "--notebook", "08"]) == 0
    out = capsys.readouterr().out
    assert out.count("08/round,") == 2 and "03/" not in out
    assert out.count("08/cutoff-again,") == 2
    target = tmp_path / "quiz.gift"
    assert main(["quiz", "--format", "gift", "--out", str(target)]) == 0
    assert "$CATEGORY: minimx/16/" in target.read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["quiz", "--learners", "0"], "at least 1"),
        (["quiz", "--notebook", "99"], "no question of 99"),
        (["class", "nowhere"], "export_predictions"),
        (["grade", "nowhere"], "nowhere"),
    ],
)
def test_mistakes_are_answered(words: list[str], said: str, capsys: Printed) -> None:
    assert main(words) == 2
    assert said in capsys.readouterr().err


def test_without_a_checkout_there_are_no_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    monkeypatch.setattr(command, "notebooks_folder", lambda: tmp_path / "notebooks")
    assert main(["student", str(tmp_path / "x"), "--solutions"]) == 1
    assert "learners would have them, too" in capsys.readouterr().err
    assert main(["quiz"]) == 1
    monkeypatch.setattr(command, "notebooks_folder", lambda: None)
    assert main(["student", str(tmp_path / "x")]) == 1


def test_elsewhere_than_on_linux_nothing_is_graded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert main(["grade", str(tmp_path)]) == 1
    assert "Grade on Linux, or in a container" in capsys.readouterr().err
