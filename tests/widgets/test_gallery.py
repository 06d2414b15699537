"""The book's page of views: every view has an entry, three sentences and a picture."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

import minimx_widgets
from minimx_widgets import gallery

BOOK = Path(__file__).parents[2] / "book"


def test_every_view_has_an_entry() -> None:
    assert set(gallery.ENTRIES) == set(minimx_widgets.__all__) - gallery.NO_VIEWS


def test_the_page_is_the_generated_one() -> None:
    assert (BOOK / "views.md").read_text(encoding="utf-8") == gallery.page()


@pytest.mark.parametrize("name", gallery.ENTRIES)
def test_every_view_has_a_picture(name: str) -> None:
    picture = BOOK / "pictures" / "views" / f"{name}.svg"
    tree = ElementTree.fromstring(picture.read_text(encoding="utf-8"))
    assert tree.tag.endswith("svg")
    assert sum(bool(node.text) for node in tree.iter()) > 4, "it says something"


@pytest.mark.parametrize("entry", gallery.ENTRIES.values(), ids=gallery.ENTRIES)
def test_three_sentences_are_said(entry: gallery.Entry) -> None:
    assert entry.shows.endswith(".") and entry.does.endswith(".")
    compile(entry.code, "code", "eval")
