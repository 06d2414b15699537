"""How knobs look."""

from __future__ import annotations

import pathlib
from html.parser import HTMLParser

import pytest

from minimx.core.knobs import Knobs
from minimx.core.knobs.declarations import DECLARATIONS
from minimx.tools.knob_page import markdown
from minimx.tools.knob_show import text_table

PAGE = pathlib.Path(__file__).parents[2] / "book" / "knobs.md"


class Balanced(HTMLParser):
    """Reads HTML and counts its tags."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture
def knobs() -> Knobs:
    return Knobs(DECLARATIONS, {})


def test_the_repr_counts_and_names_what_was_turned(knobs: Knobs) -> None:
    live = sum(knob.live for knob in knobs)
    assert repr(knobs) == f"<{len(knobs)} knobs, {live} of them live>"
    knobs.set(MXNET_ENGINE_TYPE="NaiveEngine")
    assert "turned: MXNET_ENGINE_TYPE='NaiveEngine'" in repr(knobs)


def test_the_html_table_has_a_row_per_knob(knobs: Knobs) -> None:
    knobs.set(MXNET_HOME="/<b>&x")
    page = Balanced(knobs._repr_html_())
    assert page.open == []
    assert page.seen.count("tr") == len(knobs) + page.seen.count("table")
    assert "/&lt;b&gt;&amp;x" in knobs._repr_html_()


def test_a_card_shows_everything_about_a_knob(knobs: Knobs) -> None:
    knobs.set(MXNET_CPU_MEM_POOL_PAGE_SIZE=64)
    text = repr(knobs.describe("MXNET_CPU_MEM_POOL_PAGE_SIZE"))
    for part in (
        "MXNET_CPU_MEM_POOL_PAGE_SIZE",
        "64",
        "4096",
        "MXNET_CPU_POOL_PAGE_SIZE",
        "env-vars-2.0.md:108",
        "in bytes",
    ):
        assert part in text
    assert max(map(len, text.splitlines())) <= 88


def test_a_card_renders_as_html(knobs: Knobs) -> None:
    page = Balanced(knobs.describe("MXNET_KVSTORE_LOGTREE")._repr_html_())
    assert page.open == []


def test_the_text_table_is_aligned_and_marks_what_was_turned(knobs: Knobs) -> None:
    knobs.set(MXNET_CPU_WORKER_NTHREADS=3)
    chosen = [
        knobs.declared["MXNET_CPU_WORKER_NTHREADS"],
        knobs.declared["MINIMX_CLOCK"],
    ]
    head, turned, other = text_table(chosen, knobs.snapshot()).splitlines()
    assert turned.startswith("*")
    assert other.startswith(" ")
    assert head.index("default") == turned.index("1 ") == other.rindex("wall")


def test_the_page_of_the_book_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == markdown(), (
        "Run: python -m minimx.tools.knob_page > book/knobs.md"
    )


def test_the_page_says_the_same_on_every_machine() -> None:
    assert str(pathlib.Path.home()) not in markdown()
