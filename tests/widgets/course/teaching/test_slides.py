"""Slides: a notebook's pictures and questions, in a file that needs no network."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from minimx.commands.cli import main
from minimx_widgets.course.teaching import slides
from minimx_widgets.course.teaching.questions import Question, questions
from minimx_widgets.course.teaching.recalled import recalled
from tests.notebooks.answers import ROOT, STORED, notebooks


@pytest.fixture(scope="module")
def bank() -> list[Question]:
    return [*questions(ROOT / "notebooks", STORED), *recalled()]


@pytest.fixture(scope="module")
def decks(bank: list[Question]) -> dict[str, str]:
    found = slides.of(ROOT / "notebooks", bank)
    return {path.name: slides.deck(path, asked) for path, asked in found}


def test_each_notebook_has_slides(decks: dict[str, str]) -> None:
    assert sorted(decks) == sorted(path.name for path in notebooks())
    for name, text in decks.items():
        assert text.count("<section>") > 8, name
        assert text.count("Exit ticket") == 2, name


def test_nothing_is_fetched(decks: dict[str, str]) -> None:
    for name, text in decks.items():
        links = re.findall(r'(?:src|href)="([^"]*)"', text)
        assert all(link.startswith("data:image/") for link in links), name
        assert "@import" not in text


def test_questions_stand_with_their_answers_folded(
    decks: dict[str, str], bank: list[Question]
) -> None:
    text = decks["08-pools-and-fragmentation.ipynb"]
    asked = [each for each in bank if each.name.startswith("08/")]
    ticket = [each for each in asked if each.variants[0].text in text]
    assert {"08/round", "08/cutoff-again"} <= {each.name for each in ticket}
    open_text = re.sub(r"<details>.*?</details>|<div class=.note.>.*?</div>", "", text)
    assert "32 MiB</b>" in text and "32 MiB</b>" not in open_text
    assert "That is the request itself" not in open_text


def test_pictures_are_those_of_the_notebook(decks: dict[str, str]) -> None:
    text = decks["08-pools-and-fragmentation.ipynb"]
    found = re.findall(r"data:image/svg\+xml;base64,([^\"]+)", text)
    assert len(found) == 6
    for each in found:
        assert ElementTree.fromstring(base64.b64decode(each)).tag.endswith("svg")


def test_the_command_writes_those_that_are_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "decks"
    assert main(["slides", str(target), "--notebook", "08"]) == 0
    assert [file.name for file in target.iterdir()] == [
        "08-pools-and-fragmentation.html"
    ]
    assert str(target) in capsys.readouterr().out
    assert main(["slides", str(target), "--notebook", "99"]) == 2
    assert "no question of 99" in capsys.readouterr().err
