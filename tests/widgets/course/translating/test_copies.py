"""The course in a language: what `minimx lab --language` writes, and its mistakes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from minimx.commands.cli import lab, main
from minimx_widgets import language
from minimx_widgets.course.translating import catalogs, pseudo
from minimx_widgets.course.translating.extracting import Source
from minimx_widgets.language import FILE, tr

CELL = "# The first part\n\nSee [it](#The-first-part) and [that](b.ipynb#Next-steps)."
TEXTS = {
    "The first part": "Der `erste` Teil",
    "Next steps": "Wie weiter",
    "See [it](#The-first-part) and [that](b.ipynb#Next-steps).": (
        "Siehe [hier](#The-first-part) und [dort](b.ipynb#Next-steps)."
    ),
    "{n} of {of} bytes": "{n} Bytes",
}
Lab = Callable[..., int]


def notebook(path: Path, *cells: tuple[str, str]) -> None:
    book = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {},
        "cells": [
            {"cell_type": kind, "metadata": {}, "source": text, "id": f"c{k}"}
            | ({"outputs": [], "execution_count": None} if kind == "code" else {})
            for k, (kind, text) in enumerate(cells)
        ],
    }
    path.write_text(json.dumps(book), encoding="utf-8")


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    return tmp_path / "mine"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mine: Path) -> Lab:
    """`minimx lab` on a small course, with German in de.po; starts nothing."""
    course = tmp_path / "course"
    course.mkdir()
    notebook(
        course / lab.FIRST, ("markdown", CELL), ("code", "# The first part\nx = 1")
    )
    notebook(course / "b.ipynb", ("markdown", "## Next steps"))
    german = catalogs.new("de", catalogs.of([Source("a.py", list(TEXTS))]))
    for message in german:
        message.string = TEXTS.get(str(message.id), message.string)
    (tmp_path / "de.po").write_bytes(catalogs.written(german))
    monkeypatch.setattr(catalogs, "FOLDER", tmp_path)
    monkeypatch.setattr(lab, "notebooks_folder", lambda: course)
    monkeypatch.setattr(lab, "start", lambda command, environ: 0)
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    return lambda *words: main(["lab", str(mine), *words])


def cells(path: Path) -> list[str]:
    return [cell["source"] for cell in json.loads(path.read_text("utf-8"))["cells"]]


def test_the_copies_are_in_the_language_and_links_lead_to_its_headings(
    opened: Lab, mine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert opened("--language", "de", "--port=9000") == 0
    assert cells(mine / lab.FIRST) == [
        "# Der `erste` Teil\n\n"
        "Siehe [hier](#Der-erste-Teil) und [dort](b.ipynb#Wie-weiter).",
        "# The first part\nx = 1",
    ]
    assert language.read(mine / FILE).name == "de"
    assert "“{n} of {of} bytes” has the fields n, of" in capsys.readouterr().err


def test_a_kernel_in_the_folder_speaks_it(
    opened: Lab, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert opened("--language=de") == 0
    monkeypatch.chdir(mine)
    monkeypatch.setattr(language, "_now", [])
    assert tr("Next steps") == "Wie weiter"
    assert tr("3 of 7 bytes") == "3 of 7 bytes"  # its translation has other fields


def test_the_folder_keeps_its_language_until_another_is_asked_for(
    opened: Lab, mine: Path
) -> None:
    assert opened("--language=de") == opened() == 0
    assert cells(mine / "b.ipynb") == ["## Wie weiter"]
    assert opened("--language=en") == 0
    assert cells(mine / "b.ipynb") == ["## Next steps"]
    assert not (mine / FILE).exists()


def test_what_was_worked_on_stays_and_the_translation_lies_beside_it(
    opened: Lab, mine: Path
) -> None:
    assert opened() == 0
    notebook(mine / "b.ipynb", ("markdown", "## My own text"))
    assert opened("--language=de") == 0
    assert cells(mine / "b.ipynb") == ["## My own text"]
    assert cells(mine / "b (new).ipynb") == ["## Wie weiter"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [("xx", "no language 'xx'. There are en, de"), ("no.po", "there is no file no.po")],
)
def test_an_unknown_language_changes_nothing(
    opened: Lab, mine: Path, capsys: pytest.CaptureFixture[str], asked: str, said: str
) -> None:
    assert opened("--language", asked) == 1
    assert said in capsys.readouterr().err
    assert not mine.exists()


def test_a_damaged_file_is_named_with_its_line(
    opened: Lab, mine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.po").write_text('msgid "a"\nmsgstr "b"\n"c\nnonsense\n')
    assert opened("--language", str(tmp_path / "mine.po")) == 1
    assert "mine.po, line " in capsys.readouterr().err
    assert not mine.exists()


def test_a_class_gets_an_edition_in_the_language(tmp_path: Path) -> None:
    path, handout = tmp_path / "pseudo.po", tmp_path / "handout"
    template = catalogs.read(catalogs.FOLDER / catalogs.TEMPLATE)
    path.write_bytes(catalogs.written(pseudo.translated(template)))
    assert main(["student", str(handout), "--language", str(path)]) == 0
    assert language.read(handout / FILE).name == str(path)
    assert cells(handout / lab.FIRST)[0].startswith("# ⟦00 · Ţĥé")
