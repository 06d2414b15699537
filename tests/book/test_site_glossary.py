"""Terms of the glossary are links in the book's text, where they are text."""

from __future__ import annotations

import json
import re

import pytest
import site_build as build
from site_glossary import EVERYDAY, Glossary, slug

PAGE = """# Glossary

**pool** Allocates blocks of a device's
memory; see `Pool` and [the page](pool.md).

**size class** The blocks of *one* rounded size.

**run** One recorded stretch of work.

**requested, fragmentation** Bytes, and pieces.
"""
GLOSSARY = Glossary.read(PAGE)


def linked(text: str) -> str:
    return GLOSSARY.linker().linked(text)


def test_definitions_are_plain_text() -> None:
    text = "Allocates blocks of a device's memory; see Pool and the page."
    assert GLOSSARY.definitions["pool"] == text
    script = GLOSSARY.script()
    assert script.startswith("window.mxGlossary = {") and script.endswith("};\n")
    found = json.loads(script.removeprefix("window.mxGlossary = ").rstrip(";\n"))
    assert found["term-size-class"] == "The blocks of one rounded size."
    assert len(found) == 4  # an entry with two terms is one place


def test_each_entry_of_the_page_is_a_target() -> None:
    page = GLOSSARY.with_places(PAGE)
    assert "\n\n(term-size-class)=\n**size class** The" in page
    assert page.count(")=\n") == 4


def test_a_term_that_is_defined_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="'pool' twice"):
        Glossary.read("**pool** One.\n\n**pool** Two.\n")


def test_the_first_use_in_a_section_is_a_link() -> None:
    text = "A pool, and Pools.\n\n## Next\n\nSize\nclasses: two pools\nand a pool.\n"
    assert linked("A Pool, and pools.\n") == "A [Pool](#term-pool), and pools.\n"
    one, two = linked(text).split("## Next")
    assert one.count("(#term-pool)") == two.count("(#term-pool)") == 1
    assert "two [pools](#term-pool)\nand a pool" in two


def test_a_section_goes_on_over_cells() -> None:
    linker = GLOSSARY.linker()
    cells = ["## One\n\nA pool.", "A pool.", "## Two\n\nA pool."]
    counts = [linker.linked(cell).count("#term-pool") for cell in cells]
    assert counts == [1, 0, 1]


@pytest.mark.parametrize(
    "text",
    [
        "# The pool\n",
        "`pool` and ``a `pool` ``\n",
        "[the pool](a.md), ![a pool](b.svg), [pool][c]\n",
        "```python\npool = 1\n```\n",
        "````{code-block} python\n```\npool\n```\n````\n",
        "    pool = 1\n",
        "<b>pool</b> is <i title='pool'>here</i>\n",
        "<details>\npool\n</details>\n",
        "| pool | a |\n|---|---|\n",
        "$pool$ and https://a.b/pool\n",
        "(pool)=\n",
        "A carpool, a pool-party, Pooling and a run.\n",
    ],
)
def test_what_is_not_plain_text_stays(text: str) -> None:
    assert linked(text) == text


def test_text_after_code_is_text_again() -> None:
    text = "```\npool\n```\n\nA pool in **a pool**.\n"
    assert linked(text) == "```\npool\n```\n\nA [pool](#term-pool) in **a pool**.\n"


def test_an_entry_with_two_terms_has_one_place() -> None:
    assert linked("Its fragmentation.\n") == "Its [fragmentation](#term-requested).\n"


def test_the_books_own_glossary_is_read() -> None:
    page = (build.ROOT / "book" / "glossary.md").read_text("utf-8")
    glossary = Glossary.read(page)
    assert len(glossary.definitions) > 100
    assert len(re.findall(r"^\*\*", page, re.M)) == len({*glossary.entries.values()})
    assert {*glossary.definitions} >= EVERYDAY
    assert all(text.rstrip(")").endswith(".") for text in glossary.definitions.values())
    assert glossary.with_places(page).count(f"({slug('free list')})=\n") == 1
