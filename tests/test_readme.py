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


def test_every_stop_of_the_reading_order_is_there() -> None:
    """A file without a folder lies beside the one named before it."""
    page = PAGES[0].read_text(encoding="utf-8")
    stops = page.split("## Reading order")[1].split("\n## ")[0].split("\n1. ")[1]
    beside = ROOT
    named = re.findall(r"`([\w/]+(?:\.py|/))`", stops)
    assert len(named) > 20
    for name in named:
        path = ROOT / "minimx" / name if "/" in name else beside / name
        assert path.exists(), name
        beside = path.parent


def test_the_house_names_every_room() -> None:
    """README's two tables and the folders of minimx tell the same story."""
    page = PAGES[0].read_text(encoding="utf-8")
    core, wings = (
        set(re.findall(r"`(\w+)`", " ".join(row.split("|")[1] for row in table)))
        for table in (
            [row for row in part.splitlines() if row.startswith("| `")]
            for part in page.split("## The house")[1].split("| wing of `minimx` |")
        )
    )
    folders = {path.name for path in (ROOT / "minimx").iterdir() if path.is_dir()}
    rooms = {path.name for path in (ROOT / "minimx/core").iterdir() if path.is_dir()}
    assert folders - {"__pycache__"} - wings - {"core"} == set()
    assert rooms - {"__pycache__"} - core == set()
    missing = [
        name for name in wings if not list((ROOT / "minimx").glob(f"{name}*"))
    ] + [name for name in core if not list((ROOT / "minimx/core").glob(f"{name}*"))]
    assert set(missing) <= {"minimx"}
