"""README, book and notebooks say what is true: paths and names lead somewhere."""

from __future__ import annotations

import ast
import importlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "book").rglob("*.md"))]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
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


#: Where a path that a page names may begin.
BASES = ("", "minimx", "minimx/core", "widgets", "datasets", "tests", "book")
#: Folders that `make bench-peers` makes, and names that stand for any other.
MADE_LATER = {"mxnet/", "torch/", "build/book/html"}
ANY_NAME = {"mx.knobs.NAME"}


def code_in(page: Path) -> list[str]:
    """What a page or the text of a notebook sets as code within a sentence."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        texts = ["".join(c["source"]) for c in cells if c["cell_type"] == "markdown"]
        text = "\n\n".join(texts)
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return re.findall(r"`([^`\n]+)`", text)


def exists(path: str) -> bool:
    if "/" not in path:
        return next(ROOT.glob(f"**/{path}"), None) is not None
    return any((ROOT / base / path).exists() for base in BASES)


@pytest.mark.parametrize("page", PAGES + NOTEBOOKS, ids=lambda page: page.name)
def test_a_path_that_a_page_names_exists(page: Path) -> None:
    pattern = r"[\w./-]+\.(?:py|js|md|ipynb|toml|txt)|[\w./-]*/[\w./-]*"
    paths = [code for code in code_in(page) if re.fullmatch(pattern, code)]
    assert [p for p in paths if p not in MADE_LATER and not exists(p)] == []


def resolve(name: str) -> Any:
    """The object of a dotted name; raises if there is none."""
    first, *rest = name.split(".")
    path = {"mx": "minimx"}.get(first, first)
    found: Any = importlib.import_module(path)
    for part in rest:
        path = f"{path}.{part}"
        try:
            found = getattr(found, part)
        except AttributeError:
            found = importlib.import_module(path)
    return found


@pytest.mark.parametrize("page", PAGES + NOTEBOOKS, ids=lambda page: page.name)
def test_a_name_that_a_page_uses_exists(page: Path) -> None:
    pattern = r"(?:mx|minimx|minimx_widgets|minimx_datasets)(?:\.[A-Za-z_]\w*)+"
    names = {found.group() for c in code_in(page) if (found := re.match(pattern, c))}
    for name in sorted(names - ANY_NAME):
        resolve(name)


def definitions(path: Path) -> set[str]:
    """What a file defines at its top, and the methods of its classes."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            for part in node.body:
                if isinstance(part, ast.FunctionDef):
                    found.add(f"{node.name}.{part.name}")
    return found


def test_every_stop_of_the_reading_order_leads_to_its_definition() -> None:
    """A file without a folder is beside the one before it; a name is in its file."""
    page = PAGES[0].read_text(encoding="utf-8")
    order = page.split("## Reading order")[1].split("\n## ")[0]
    stops = re.split(r"\n\d+\. ", order)[1:]
    assert len(stops) == 12
    path = ROOT
    for stop in stops:
        stop = stop.split("\n\n")[0]
        defined: dict[str, bool] = {}
        for name in re.findall(r"`([\w/.]+)`", stop):
            if name.endswith((".py", "/")):
                path = ROOT / "minimx" / name if "/" in name else path.parent / name
                assert path.exists(), name
                if path.suffix == ".py":
                    defined[path.name] = False
            else:
                assert name in definitions(path), f"{name} in {path}"
                defined[path.name] = True
        assert all(defined.values()), f"name what to read: {stop}"


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
