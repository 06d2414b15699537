"""Every variable of the documents is turned in a notebook, and the page says where."""

from __future__ import annotations

from pathlib import Path

from minimx.core.knobs import knobs
from tests.notebooks.places import headings, markdown, stories, turned, variables

PAGE = Path(__file__).parents[2] / "book" / "where.md"


def test_every_variable_of_the_documents_is_turned_somewhere() -> None:
    assert len(variables()) > 90
    assert {name for name, places in turned().items() if not places} == set()


def test_every_variable_has_documents_that_are_the_five() -> None:
    named = {one.split(":")[0] for knob in variables() for one in knob.sources}
    assert {"env-vars-0.x.md", "env-vars-1.x.md", "env-vars-2.0.md"} <= named
    assert "MXNET_ENGINE_TYPE" in {knob.name for knob in variables()}
    assert not knobs.declared["MINIMX_CLOCK"].sources


def test_stories_are_told_where_the_list_says() -> None:
    known = headings()
    for story in stories():
        assert set(story["where"]) <= known, story
    assert [one["says"] for one in stories() if not one["where"]] == []


def test_the_page_is_that_of_these_notebooks() -> None:
    assert PAGE.read_text("utf-8") == markdown(), "run `make pages`"
