"""Answers survive restarts, damage, and folders that cannot be written."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minimx_widgets.course.predicting import ledger as ledgers
from minimx_widgets.course.predicting.ledger import MARK, NAME, Answer, Ledger, here


def answer(card: str = "00/a", **changes: object) -> Answer:
    values = {"asked": "?", "value": 1.0, "seen": 2.0, "unit": "B", "sure": 70}
    values |= {"right": False, "numbers": {"n": 3}, **changes}
    return Answer(card, **values)  # type: ignore[arg-type]


def test_answers_are_there_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / NAME
    first = Ledger(path)
    first.add(answer())
    first.add(answer(value=3.0, attempt=1))
    first.add(answer("00/b", lesson="the bound"))
    again = Ledger(path)
    assert [each.card for each in again] == ["00/a", "00/a", "00/b"]
    assert again.learner == first.learner != 0
    last = again.last("00/a")
    assert last is not None
    assert (last.value, last.numbers) == (3.0, {"n": 3})
    assert last.when > 0
    assert again.last("00/c") is None
    assert again.notice == ""
    assert Ledger(tmp_path / "other").learner != first.learner


def test_lines_that_are_damaged_are_skipped_and_stay(tmp_path: Path) -> None:
    path = tmp_path / NAME
    whole = Ledger(path)
    whole.add(answer())
    good = path.read_text()
    bad = ['{"card": 7}', "[]", "\x00\xff", '{"learner": "x"}', "{" * 5000]
    bad.append(good.splitlines()[1].replace("1.0", "NaN"))
    bad.append(good.splitlines()[1].replace("false", '"no"'))
    path.write_text(good + "\n".join(bad) + '\n{"card": "cut o')
    found = Ledger(path)
    assert len(found) == 1
    assert found.damaged == len(bad) + 1
    assert "8 lines" in found.notice
    found.add(answer("00/b"))
    assert [each.card for each in Ledger(path)] == ["00/a", "00/b"]
    assert "cut o" in path.read_text()


@given(st.lists(st.text(max_size=40), max_size=5))
def test_any_file_can_be_opened(lines: list[str]) -> None:
    found = Ledger()
    found._read("\n".join(lines))
    assert len(found) + found.damaged <= len("\n".join(lines).splitlines())


def test_a_file_that_cannot_be_written_or_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "none"
    found = Ledger(folder / NAME)
    found.add(answer())
    assert "could not be saved" in found.notice
    assert len(found) == 1
    directory = Ledger(tmp_path)  # a folder where the file belongs
    directory.add(answer())
    assert "cannot be read" in directory.notice
    monkeypatch.setattr(ledgers, "LARGEST", 10)
    path = tmp_path / NAME
    path.write_text("x" * 11)
    large = Ledger(path)
    large.add(answer())
    assert "larger than a ledger" in large.notice
    assert path.read_text() == "x" * 11


def test_only_a_folder_of_copies_has_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert here().path is None
    (tmp_path / MARK).write_text("{}")
    assert here().path == tmp_path / NAME
    assert here() is here()
    assert here(lambda: Path(os.devnull) / "gone").path is None


def test_what_is_handed_in_names_no_learner(tmp_path: Path) -> None:
    found = Ledger(tmp_path / NAME)
    found.add(answer())
    written = json.loads(found.export(tmp_path / "mine.json").read_text())
    assert list(written) == ["answers"]
    assert Answer.of(written["answers"][0]).card == "00/a"
    assert str(found.learner) not in (tmp_path / "mine.json").read_text()
    assert str(tmp_path) not in (tmp_path / "mine.json").read_text()
