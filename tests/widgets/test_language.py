"""The language of a folder: what is looked up, composed texts, and damaged files."""

from __future__ import annotations

from pathlib import Path

import pytest

from minimx_widgets import language
from minimx_widgets.course.translating.catalogs import compiled
from minimx_widgets.language import FILE, Language, speaking, tr

TEXTS = {
    "The engine waits.": "Die Engine wartet.",
    "{n} of {of} arrays": "von {of} Arrays {n}",
    "{n} push(es) at once": "{n} Aufträge zugleich",
    "it depends on {on}": "es hängt ab von {on}",
    "the order of keys": "der Reihenfolge",
    "no more than {n} bytes, {n} in all": "höchstens {n} Bytes, zusammen {n}",
}


@pytest.fixture
def german(tmp_path: Path) -> Language:
    (tmp_path / FILE).write_bytes(compiled(TEXTS, "de"))
    return language.read(tmp_path / FILE)


@pytest.mark.parametrize(
    ("english", "german_text"),
    [
        ("The engine waits.", "Die Engine wartet."),
        (" The engine waits.\n", " Die Engine wartet.\n"),
        ("3 of 12 arrays", "von 12 Arrays 3"),
        ("1 push at once", "1 Aufträge zugleich"),
        ("2 pushes at once", "2 Aufträge zugleich"),
        ("it depends on the order of keys", "es hängt ab von der Reihenfolge"),
        ("no more than 4 bytes, 4 in all", "höchstens 4 Bytes, zusammen 4"),
        ("no more than 4 bytes, 5 in all", ""),
        ("The engine waits. 3 of 12 arrays", "Die Engine wartet. von 12 Arrays 3"),
        ("The engine waits.<br>Why?", "Die Engine wartet.<br>Why?"),
        ("something else", ""),
        ("", ""),
    ],
)
def test_a_text_is_found_whole_by_its_template_or_by_its_sentences(
    german: Language, english: str, german_text: str
) -> None:
    assert german.shown(english) == (german_text or english)


def test_a_long_value_that_is_no_text_of_the_course_is_no_value(
    german: Language,
) -> None:
    text = f"it depends on {'many other things ' * 10}"
    assert german.shown(text) == text


def test_fields_are_filled_in_any_language(german: Language) -> None:
    assert tr("{n} of {of} arrays", n="1", of="2") == "1 of 2 arrays"
    with speaking(german):
        assert tr("{n} of {of} arrays", n="1", of="2") == "von 2 Arrays 1"
        assert tr("{a} {{b}}", a="x") == "x {{b}}"


def test_the_language_is_that_of_the_folder(
    german: Language, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(language, "_now", [])
    assert tr("The engine waits.") == "Die Engine wartet."


@pytest.mark.parametrize(
    "content", [b"", b"nonsense", b"\xde\x12\x04\x95" + b"\0" * 30]
)
def test_a_damaged_file_means_english_and_a_warning(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / FILE).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(language, "_now", [])
    with pytest.warns(UserWarning, match="The course is in English"):
        assert tr("The engine waits.") == "The engine waits."
    assert tr("The engine waits.") == "The engine waits."  # and says so once
