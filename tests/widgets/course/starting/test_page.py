"""The start page: what to do next, whatever lies in the folder."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest

from minimx.commands.cli import doctor
from minimx.commands.cli.doctor import Finding
from minimx_widgets.course.predicting.ledger import MARK, NAME, Ledger
from minimx_widgets.course.starting.page import start_page
from minimx_widgets.course.starting.writing import start_notebook
from tests.widgets.course.starting.test_notebooks import answer, book


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two notebooks, on a machine where nothing is amiss."""
    set_findings(monkeypatch, Finding("Python", "ok", "3.11"))
    (tmp_path / MARK).write_text("{}")
    (tmp_path / "00-first.ipynb").write_text(book("00", "00 · First <b>", "a", "b"))
    (tmp_path / "01 second.ipynb").write_text(book("01", "01 · Second", "c"))
    return tmp_path


def set_findings(monkeypatch: pytest.MonkeyPatch, *findings: Finding) -> None:
    monkeypatch.setattr(doctor, "examine", lambda: list(findings))


def done(folder: Path, topic: str, *cards: str) -> None:
    ledger = Ledger(folder / NAME)
    for card in cards:
        ledger.add(answer(f"{topic}/{card}"))
    for ticket in "xy":
        ledger.add(answer(f"{topic}/{ticket}", place=f"{topic}/exit-ticket"))


def test_a_newcomer_is_told_where_to_begin(folder: Path) -> None:
    page = start_page(folder)
    assert "next: 00 · First <b>, 2 predictions to make" in page.plain
    assert "You have made no predictions yet" in page.plain
    assert 'Begin with <a href="00-first.ipynb">' in page.rich
    assert "00 · First &lt;b&gt;" in page.rich
    assert 'href="01%20second.ipynb"' in page.rich
    assert not (folder / NAME).exists()  # looking writes nothing


def test_the_page_goes_on_where_the_learner_is(folder: Path) -> None:
    done(folder, "00", "a", "b")
    page = start_page(folder)
    assert "1 of 2 notebooks done. Of 2 predictions, 2 right" in page.plain
    assert "next: 01 · Second, 1 prediction to make" in page.plain
    assert "✔ done: 2 of 2 predictions right" in page.rich
    done(folder, "01", "c")
    assert "You have done all notebooks." in start_page(folder).rich


def test_a_damaged_ledger_is_named_and_the_rest_counts(folder: Path) -> None:
    done(folder, "00", "a", "b")
    with (folder / NAME).open("a") as file:
        file.write('{"card": "00/a"\n\x00\x00\n')
    page = start_page(folder)
    for text in (page.plain, page.rich):
        assert f"2 lines of {NAME} cannot be read and will be skipped" in text
    assert "1 of 2 notebooks done" in page.plain


def test_a_ledger_that_cannot_be_read_is_named(folder: Path) -> None:
    (folder / NAME).mkdir()
    page = start_page(folder)
    assert f"Your earlier predictions in {NAME} cannot be read" in page.rich
    assert "next: 00" in page.plain


def test_a_damaged_notebook_is_named_with_what_to_do(folder: Path) -> None:
    (folder / "00-first.ipynb").write_text("{")
    page = start_page(folder)
    assert "cannot be read: 00-first.ipynb. Close JupyterLab and run" in page.plain
    assert "<code>minimx lab --fresh</code>" in page.rich
    assert "next: 01 · Second" in page.plain


def test_a_folder_without_the_course_says_what_to_run(tmp_path: Path) -> None:
    assert "Run `minimx lab`" in start_page(tmp_path).plain
    assert start_page(tmp_path / "gone").plain.startswith("No notebook of the course")


def test_the_system_check_says_what_to_do(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cuda = Finding("CUDA", "absent", "no GPU", "With a GPU: pip install `it`")
    set_findings(monkeypatch, Finding("Python", "ok", "3.11"), cuda)
    page = start_page(folder)
    assert "all that the course needs is here; optional and not here: CUDA" in page.rich
    assert "With a GPU: pip install <code>it</code>" in page.rich
    assert "<details>" in page.rich
    set_findings(monkeypatch, cuda, Finding("Python", "broken", "3.8", "Get 3.11."))
    page = start_page(folder)
    assert "System check: Python cannot be used" in page.plain
    assert "<details open>" in page.rich
    assert "Get 3.11." in page.rich


def test_the_notebook_has_the_page_as_its_output(folder: Path) -> None:
    text = start_notebook(folder).decode()
    notebook = nbformat.reads(text, as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(notebook)
    assert json.loads(text)["cells"][-1]["source"].endswith("start_page()")
    shown = notebook.cells[-1].outputs[0].data["text/html"]
    assert shown == start_page(folder).rich
    assert not any(one.outputs for one in notebook.cells[:-1] if "outputs" in one)
