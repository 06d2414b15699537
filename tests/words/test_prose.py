"""What learners read is plain English, and says the same thing in the same word."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.words.checking import FEWEST, levels, limits, lists, misspelt, turns
from tests.words.prose import ROOT, Passage, of_module, of_notebook, passages, sentences


@pytest.fixture(scope="module")
def everything() -> list[Passage]:
    return [*passages()]


def test_no_turn_is_held_out(everything: list[Passage]) -> None:
    found = [
        f"{each.page} {each.place}: {written!r}; write: {instead}"
        for each in everything
        for written, instead in turns(each.text)
    ]
    assert found == []


def test_no_word_is_misspelt(everything: list[Passage]) -> None:
    assert misspelt(everything) == []


def test_sentences_are_short(everything: list[Passage]) -> None:
    found = [
        f"{page}: {mean:.1f} words a sentence, {share:.0%} long; allowed {limits(page)}"
        for page, (mean, share, count) in levels(everything).items()
        if count >= FEWEST and (mean > limits(page)[0] or share > limits(page)[1])
    ]
    assert found == []


def test_all_kinds_of_prose_are_read(everything: list[Passage]) -> None:
    pages = {each.page for each in everything}
    assert {"README.md", "book/knobs.md", "book/lessons/04-the-tape.md"} <= pages
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        assert f"notebooks/{path.name}" in pages
    assert any(page.endswith("course/recalling/questions/engine.py") for page in pages)


def test_the_style_page_names_every_turn_that_is_held_out() -> None:
    """A reader of "write X" finds the rule behind it."""
    page = (ROOT / "book" / "style.md").read_text(encoding="utf-8")
    assert "words.toml" in page
    for instead in lists()["terms"].values():
        assert instead.split(":")[0].split(",")[0] in page, instead


def test_glossary_terms_are_sorted_and_defined_once() -> None:
    page = (ROOT / "book" / "glossary.md").read_text(encoding="utf-8")
    terms = [term.lower() for term in re.findall(r"^\*\*([^*]+)\*\*", page, re.M)]
    assert terms == sorted(set(terms))


# -- the checkers find what they look for ---------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "Whence the extra 1 KiB?",
        "The knob for workers is nothing to it.",
        "They move so and so many numbers.",
        "A training stands still.",
        "The same in *small*.",
        "Somebody waits, and nobody\nasks.",
        "It is written **inplace**.",
        "The color of a block.",
        "Memory is lent.",
    ],
)
def test_a_turn_is_found(text: str) -> None:
    assert [*turns(text)]


@pytest.mark.parametrize(
    "text",
    [
        "The page says “whence”.",
        "`nobody` is a name, <code>inplace</code> too.",
        "It is in small pieces, and the training run stalls.",
        "[in-place](https://whence.org/anew)",
        "```\nnobody\n```",
        "The training set and the smaller of the two are here.",
    ],
)
def test_what_is_quoted_or_code_is_not_ours(text: str) -> None:
    assert [*turns(text)] == []


def test_a_misspelling_is_found_with_its_place() -> None:
    pieces = [
        Passage("a.md", "", "All is\nright.\n\nAnd here."),
        Passage("b.md", "line 3", "You recieve a block."),
    ]
    assert misspelt(pieces) == ["b.md line 3: recieve ==> receive"]


def test_long_sentences_count() -> None:
    short = "It waits for a worker. " * 9
    long = "It waits " + "and waits " * 13 + "for a worker."
    ((mean, share, count),) = levels([Passage("a.md", "", short + long)]).values()
    assert mean == pytest.approx((9 * 5 + 31) / 10)
    assert (share, count) == (0.1, 10)


def test_sentences_have_no_tables_headings_and_code() -> None:
    text = (
        "# A title here\n\n| a b c |\n\n1. One is `x y z`.\n2. Two is [a link](b.md)!\n"
    )
    assert sentences(text) == ["One is X.", "Two is a link!"]


def test_strings_are_read_without_docstrings(tmp_path: Path) -> None:
    source = 'def f():\n    """Not this one."""\n    return f"{f} of these are", "k"'
    (found,) = of_module(source, "m.py")
    assert (found.place, found.text) == ("line 3", "X of these are")
    cells = [
        {"cell_type": "markdown", "source": ["A ", "cell."]},
        {"cell_type": "code", "source": ['%env A=1\nprint("a text of words")']},
        {"cell_type": "code", "source": ["%%bash\nls is not Python"]},
    ]
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps({"cells": cells}))
    texts = [each.text for each in of_notebook(path, "a.ipynb")]
    assert texts == ["A cell.", "a text of words"]
