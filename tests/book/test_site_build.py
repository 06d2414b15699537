"""The book is gathered from notebooks, pages and code, and links have targets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
import site_build as build
from site_glossary import Glossary


def notebook(*cells: Mapping[str, object]) -> str:
    whole = {"cells": list(cells), "metadata": {"widgets": {}}, "nbformat": 4}
    return json.dumps(whole)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with one package, one page and one notebook."""
    for name, text in {
        "minimx/core/__init__.py": "core = 1\n",
        "minimx/core/pool.py": '"""A ```fence``` in a docstring."""\n',
        "notebooks/08-pools.ipynb": notebook(
            {"cell_type": "code", "metadata": {}, "source": ["import minimx"]}
            | {"outputs": []},
            {"cell_type": "markdown", "metadata": {}, "source": ["[a](#A-Place)"]},
            {"cell_type": "code", "metadata": {}, "source": ["view"]}
            | {"outputs": [{"data": {build.WIDGET: {}, "text/html": "<svg/>"}}]},
        ),
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(build, "ROOT", tmp_path)
    return tmp_path


def test_links_to_code_lead_to_pages_with_that_code(root: Path) -> None:
    stage = root / "stage"
    sources = build.Sources(stage)
    page = root / "book" / "ways" / "a.md"
    text = sources.linked(
        "[pool](../../minimx/core/pool.py) [core](../../minimx/core) "
        "[gone](../../minimx/gone.py) [b](b.md#x) [web](https://a.b/c.py) [d](#here)",
        page,
    )
    assert text == (
        "[pool](../../source/minimx/core/pool.py.md) "
        "[core](../../source/minimx/core/__init__.py.md) "
        "[gone](../../minimx/gone.py) [b](b.md#x) [web](https://a.b/c.py) [d](#here)"
    )
    sources.write()
    shown = (stage / "source/minimx/core/pool.py.md").read_text()
    assert shown.startswith("---\norphan: true\n---\n# minimx/core/pool.py\n")
    assert "````{code-block} python" in shown  # a longer fence than the text has
    assert len([*stage.rglob("*.md")]) == 2


def test_notebooks_lose_what_only_a_kernel_shows(root: Path) -> None:
    stage = root / "stage"
    path = root / "notebooks" / "08-pools.ipynb"
    build._notebook(path, stage, build.Sources(stage), Glossary({}))
    book = json.loads((stage / "notebooks" / path.name).read_text())
    imports, prose, view = book["cells"]
    assert imports["metadata"]["tags"] == ["hide-input"]
    assert prose["source"] == "[a](#a-place)"
    assert view["outputs"][0]["data"] == {"text/html": "<svg/>"}
    assert "widgets" not in book["metadata"]


def test_the_answer_to_a_prediction_is_folded() -> None:
    (folded,) = build.folded_answers('PredictCard(\n    "?",\n    name="08/round",\n)')
    assert folded.startswith("<details>")
    assert "<b>32 MiB</b>, says the pool." in folded
    assert build.folded_answers("table(rows)") == []


def test_the_answers_to_an_exit_ticket_are_folded_each_below_its_question() -> None:
    path = build.ROOT / "notebooks" / "08-pools-and-fragmentation.ipynb"
    cells = json.loads(path.read_text("utf-8"))["cells"]
    (cell,) = [
        each
        for each in build._shown(cells)
        if "".join(each["source"]).startswith("exit_ticket(")
    ]
    shown = cell["outputs"][0]["data"]["text/html"]
    first, second = shown.split("<b>Exit ticket.</b>")[1:]
    assert "19 MiB" in first and "<b>32 MiB</b>, says the pool." in first
    assert "up to 6 times" in second and "<b>210 MiB</b>, says the pool." in second
    assert "hide-input" in cell["metadata"]["tags"]


def test_views_that_can_be_shown_have_a_place() -> None:
    picture = "![It shows.](pictures/views/{}.svg)"
    text = f"## A\n\n{picture.format('PoolMap')}\n\n{picture.format('Lab')}\n"
    placed = build.with_places(text, ["PoolMap"])
    assert placed.count("mx-live") == 1
    assert '<div class="mx-live" data-name="PoolMap"></div>' in placed


def test_the_first_page_names_every_page_and_notebook() -> None:
    index = build._index()
    names = {line.strip() for line in index.splitlines()}
    for folder in ("book", "book/ways", "book/lessons", "notebooks"):
        for path in (build.ROOT / folder).iterdir():
            if path.suffix in (".md", ".ipynb"):
                assert f"{folder}/{path.stem}" in names, path
