"""`minimx strings`: a template, a language that is brought up to date, a report."""

from __future__ import annotations

from pathlib import Path

import pytest

from minimx.commands.cli import main
from minimx_widgets.course.translating import catalogs, extracting
from minimx_widgets.course.translating.extracting import Source

TEXT = "How many blocks are there?"


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> list[Source]:
    """A course of one file."""
    found = [Source("a.py", [TEXT, "{n} of {of} bytes"], {"printed": ["7"]})]
    monkeypatch.setattr(extracting, "sources", lambda course: found)
    return found


def strings(*words: object) -> int:
    return main(["strings", *map(str, words)])


def test_the_template_is_written(
    texts: list[Source], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert strings("--folder", tmp_path) == 0
    assert "2 texts, 9 words" in capsys.readouterr().out
    assert (tmp_path / "course.pot").read_text().count("#: a.py") == 2


def test_a_language_is_made_and_then_brought_up_to_date(
    texts: list[Source], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert strings("--language", "de", "--folder", tmp_path) == 0
    assert "0 of 2 texts translated" in capsys.readouterr().out
    path = tmp_path / "de.po"
    catalog = catalogs.read(path)
    catalog[TEXT].string = "Wie viele Blöcke?"
    catalog["{n} of {of} bytes"].string = "{n} Bytes"
    path.write_bytes(catalogs.written(catalog))
    texts[0].texts.append("A new text.")
    assert strings("--language", "de", "--folder", tmp_path) == 1
    out = capsys.readouterr().out
    assert "1 of 3 texts translated, 0 to be looked at again (fuzzy), 1 wrong" in out
    assert "“{n} of {of} bytes” has the fields n, of" in out


def test_mistakes_change_nothing(
    texts: list[Source], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert strings("--language", "nowhere", "--folder", tmp_path) == 2
    assert "no language that Babel knows" in capsys.readouterr().err
    (tmp_path / "de.po").write_text("nonsense\n")
    assert strings("--language", "de", "--folder", tmp_path) == 2
    assert "de.po, line 1" in capsys.readouterr().err
    assert (tmp_path / "de.po").read_text() == "nonsense\n"


def test_what_stays_english_is_listed(
    texts: list[Source], capsys: pytest.CaptureFixture[str]
) -> None:
    assert strings("--missing") == 0
    out = capsys.readouterr().out
    assert "1 printed by `print`" in out
    assert "a.py: 7" in out
