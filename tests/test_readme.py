"""The README and the book say what is true: links lead somewhere, programs run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "book").glob("*.md"))]
LINK = re.compile(r"\]\(([^)#:\s]+)\)")
PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)
COMMAND = re.compile(r"(?:`|^    )make ([a-z-]+)", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_link_leads_to_a_file(page: Path) -> None:
    links = LINK.findall(page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_programs_of_the_readme_run() -> None:
    programs = PYTHON.findall(PAGES[0].read_text(encoding="utf-8"))
    assert programs
    for program in programs:
        exec(compile(program, "README.md", "exec"), {"__name__": "readme"})


@pytest.mark.parametrize("page", PAGES[:1], ids=lambda page: page.name)
def test_make_knows_the_commands(page: Path) -> None:
    rules = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in COMMAND.findall(page.read_text(encoding="utf-8")):
        assert re.search(rf"^{target}:", rules, re.MULTILINE), target
