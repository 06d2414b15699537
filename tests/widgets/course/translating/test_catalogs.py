"""Catalogues: merging keeps what was translated, and what is wrong is named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog

from minimx_widgets import language
from minimx_widgets.course.recalling import bank
from minimx_widgets.course.translating import catalogs, literals, pseudo
from minimx_widgets.course.translating.catalogs import BadCatalog
from minimx_widgets.course.translating.extracting import PACKAGE, Source, of_notebook
from tests.test_readme import NOTEBOOKS

HOW, BYTES, BOLD = "How many blocks are there?", "{n} of {of} bytes", "<b>Now</b> look"


def german(*texts: str, **translated: str) -> Catalog:
    template = catalogs.of([Source("a.py", list(texts))])
    catalog = catalogs.new("de", template)
    for message in catalog:
        if message.id:
            first = re.findall(r"\w+", str(message.id))[0]
            message.string = translated.get(first, "")
    return catalog


def test_a_catalog_is_read_as_it_was_written(tmp_path: Path) -> None:
    catalog = german(HOW, BYTES, How="Wie viele Blöcke gibt es?")
    (tmp_path / "de.po").write_bytes(catalogs.written(catalog))
    again = catalogs.read(tmp_path / "de.po")
    assert catalogs.written(again) == catalogs.written(catalog)
    assert catalogs.usable(again) == ({HOW: "Wie viele Blöcke gibt es?"}, [])


def test_a_changed_text_keeps_its_translation_but_it_is_not_shown() -> None:
    catalog = german(HOW, BYTES, How="Wie viele Blöcke gibt es?")
    changed = "How many blocks are there now?"
    catalogs.merged(catalog, catalogs.of([Source("a.py", [changed, BYTES])]))
    kept = {text: (other, fuzzy) for text, other, fuzzy in catalogs.texts(catalog)}
    assert kept[changed] == ("Wie viele Blöcke gibt es?", True)
    assert catalogs.usable(catalog) == ({}, [])
    assert '#~ msgid "' in catalogs.written(catalog).decode() or HOW not in kept


def test_other_fields_or_tags_are_named_and_the_original_is_used() -> None:
    catalog = german(HOW, BYTES, BOLD, How="Wie {viele}?", n="{n} Bytes", b="<b>Jetzt")
    good, problems = catalogs.usable(catalog)
    assert good == {}
    assert len(problems) == 3
    assert problems[0].startswith(f"“{HOW}” has the fields none, but its translation")
    assert "n, of, but" in problems[1]
    assert "<b>, but" in problems[2] or "</b>, <b>" in problems[2]


def test_a_damaged_file_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "de.po"
    path.write_text('msgid "a"\nmsgstr "b"\n\nnonsense here\n', encoding="utf-8")
    with pytest.raises(BadCatalog, match=r"de\.po, line 4: .*nonsense here"):
        catalogs.read(path)
    with pytest.raises(BadCatalog, match="cannot be read"):
        catalogs.read(tmp_path / "absent.po")


def test_an_unknown_language_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(BadCatalog, match="no language that Babel knows"):
        catalogs.new("klingonisch", catalogs.of([]))
    with pytest.raises(BadCatalog, match="There are en, "):
        catalogs.found("xx")


def test_a_kernel_reads_what_was_compiled(tmp_path: Path) -> None:
    texts = {HOW: "Wie viele?", BYTES: "von {of} Bytes {n}"}
    (tmp_path / language.FILE).write_bytes(catalogs.compiled(texts, "de"))
    german = language.read(tmp_path / language.FILE)
    assert german.name == "de"
    assert german.shown("3 of 12 bytes") == "von 12 Bytes 3"


def test_the_pseudo_language_keeps_fields_tags_and_code() -> None:
    text = "Run `f(x)` in the <b>pool</b>: {n} of [them](08.ipynb#A-part), $x$"
    catalog = pseudo.translated(catalogs.of([Source("a.py", [text])]))
    good, problems = catalogs.usable(catalog)
    assert problems == []
    assert good[text].startswith("⟦Ŕ")
    for kept in ("`f(x)`", "<b>", "{n}", "](08.ipynb#A-part)", "$x$"):
        assert kept in good[text]


def test_the_example_is_whole_and_right() -> None:
    good, problems = catalogs.usable(catalogs.read(catalogs.FOLDER / "de.po"))
    assert problems == []
    wanted = set(of_notebook(NOTEBOOKS[0]).texts)
    for name in ("exercises/knob_checks", "claims/knob_board", "starting/page"):
        source = (PACKAGE / "course" / f"{name}.py").read_text(encoding="utf-8")
        wanted |= set(literals.found(source).texts)
    for question in bank.of("00"):
        wanted |= {question.text, question.why, *question.options}
    assert sorted(wanted - good.keys() - {""}) == []
