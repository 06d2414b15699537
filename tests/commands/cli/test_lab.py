"""`minimx lab`: what is copied, and how JupyterLab is started."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from minimx.commands.cli import lab, main

ROOT = Path(__file__).parents[3]


def notebook(text: str) -> str:
    """A notebook with one cell of text."""
    cell = {"cell_type": "markdown", "metadata": {}, "source": text, "id": "one"}
    book = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}
    return json.dumps(book)


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """An installed course: not a checkout."""
    folder = tmp_path / "share" / "notebooks"
    (folder / "figures").mkdir(parents=True)
    (folder / lab.FIRST).write_text(notebook("first"))
    (folder / "01-time.ipynb").write_text(notebook("second"))
    (folder / "figures" / "a.svg").write_text("<svg/>")
    (folder / ".ipynb_checkpoints").mkdir()
    (folder / ".ipynb_checkpoints" / "x.ipynb").write_text("old")
    return folder


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, course: Path) -> list[list[str]]:
    """Collects commands in place of starting them."""
    commands: list[list[str]] = []

    def note(command: list[str], environ: dict[str, str]) -> int:
        commands.append(command)
        return 0

    monkeypatch.setenv("JUPYTER_DATA_DIR", str(course.parent / "jupyter"))
    monkeypatch.setattr(lab, "start", note)
    monkeypatch.setattr(lab, "notebooks_folder", lambda: course)
    return commands


def test_the_command_opens_the_start_page(tmp_path: Path) -> None:
    command = lab.command(tmp_path, ["--port=9000"])
    assert command[:3] == [sys.executable, "-m", "jupyterlab"]
    assert f"--ServerApp.root_dir={tmp_path}" in command
    assert "--LabApp.default_url=/lab/tree/start.ipynb" in command
    assert command[-1] == "--port=9000"


@pytest.mark.parametrize(("uid", "given"), [(0, True), (1000, False)])
def test_root_must_be_allowed_and_nobody_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, uid: int, given: bool
) -> None:
    monkeypatch.setattr(os, "getuid", lambda: uid)
    assert ("--allow-root" in lab.command(tmp_path, [])) is given


def test_programs_beside_python_are_found_first() -> None:
    beside = str(Path(sys.executable).parent)
    path = os.pathsep.join(["/usr/bin", beside, "/bin"])
    environ = lab.environment({"PATH": path, "HOME": "/me"})
    assert environ["PATH"].split(os.pathsep) == [beside, "/usr/bin", "/bin"]
    assert environ["HOME"] == "/me"


def test_a_named_folder_gets_copies(
    started: list[list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine"
    assert main(["lab", str(mine), "--no-browser", "--port=9001"]) == 0
    assert json.loads((mine / lab.FIRST).read_text()) == json.loads(notebook("first"))
    said = capsys.readouterr().out
    assert "3 files copied, 0 updated, 2 notebooks trusted." in said
    [command] = started
    assert f"--ServerApp.root_dir={mine}" in command
    assert command[-2:] == ["--no-browser", "--port=9001"]


def test_without_a_checkout_copies_go_to_a_folder_of_that_name(
    started: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["lab"]) == 0
    assert (tmp_path / lab.COPIES / lab.FIRST).exists()


def test_in_a_checkout_the_copies_lie_where_version_control_overlooks_them(
    started: list[list[str]], course: Path
) -> None:
    (course.parent / "pyproject.toml").write_text("")
    assert main(["lab"]) == 0
    mine = course.parent / lab.IN_CHECKOUT
    assert f"--ServerApp.root_dir={mine}" in started[0]
    assert f"/{lab.IN_CHECKOUT}" in (ROOT / ".gitignore").read_text().splitlines()


def test_the_start_page_is_new_each_time_and_keeps_what_was_written_there(
    started: list[list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine"
    page = mine / lab.START
    assert main(["lab", str(mine)]) == 0
    assert "start_page()" in page.read_text()
    shipped = json.loads(page.read_text())
    del shipped["cells"][-1]["outputs"][:]  # cleared by hand
    page.write_text(json.dumps(shipped))
    assert main(["lab", str(mine)]) == 0
    assert json.loads(page.read_text())["cells"][-1]["outputs"]
    assert not list(mine.glob("start (*"))
    page.write_text(notebook("my notes"))
    capsys.readouterr()
    assert main(["lab", str(mine)]) == 0
    assert "start_page()" in page.read_text()
    assert (mine / "start (mine).ipynb").read_text() == notebook("my notes")
    assert "start (mine).ipynb" in capsys.readouterr().out


def test_a_folder_that_cannot_be_written_to_is_named(
    started: list[list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("mine")
    assert main(["lab", str(tmp_path / "file" / "folder")]) == 1
    said = capsys.readouterr().err
    assert "Name a folder that can be written to: minimx lab DIR" in said
    assert started == []


def test_the_course_itself_is_not_worked_on(
    started: list[list[str]], course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lab", str(course)]) == 1
    assert "Name a folder for your copies" in capsys.readouterr().err
    assert started == []


def test_fresh_begins_again_and_keeps_what_was_worked_on(
    started: list[list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine"
    main(["lab", str(mine)])
    (mine / lab.FIRST).write_text(notebook("my work"))
    assert main(["lab", str(mine), "--fresh", "--port=9000"]) == 0
    assert started[-1][-1] == "--port=9000"
    assert json.loads((mine / lab.FIRST).read_text()) == json.loads(notebook("first"))
    assert (mine / "00-knob-board (mine).ipynb").read_text() == notebook("my work")
    assert "00-knob-board (mine).ipynb" in capsys.readouterr().out


def test_without_notebooks_there_is_advice(
    started: list[list[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(lab, "notebooks_folder", lambda: None)
    assert main(["lab"]) == 1
    assert "Run from a checkout" in capsys.readouterr().err
    assert started == []


def test_without_jupyterlab_there_is_advice(
    started: list[list[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["lab"]) == 1
    assert "pip install 'minimx[lab]'" in capsys.readouterr().err
