"""What nbval cannot see: that notebooks were run at all, in order, and to the end.

nbval compares a notebook's outputs with the stored ones; where none are stored, it
compares nothing and passes.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_as_one_run_left_it(path: Path) -> None:
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    cells = [
        cell
        for cell in notebook["cells"]
        if cell["cell_type"] == "code" and "".join(cell["source"]).strip()
    ]
    counts = [cell["execution_count"] for cell in cells]
    assert counts == list(range(1, len(cells) + 1))
    failed = [
        "".join(cell["source"])
        for cell in cells
        for output in cell["outputs"]
        if output["output_type"] == "error"
        and "raises-exception" not in cell["metadata"].get("tags", [])
    ]
    assert failed == []


def _imports_and_shown(path: Path) -> tuple[list[ast.stmt], list[ast.expr]]:
    """The imports from minimx in a notebook, and what it hands to `read_core`."""
    imports: list[ast.stmt] = []
    shown: list[ast.expr] = []
    for statement in _statements(path):
        for node in ast.walk(statement):
            if isinstance(node, ast.ImportFrom) and node.module:
                if node.module.split(".")[0] == "minimx":
                    imports.append(node)
            elif isinstance(node, ast.Import):
                if node.names[0].name.split(".")[0] == "minimx":
                    imports.append(node)
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "read_core":
                shown += node.args
    return imports, shown


def _statements(path: Path) -> Iterator[ast.stmt]:
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and not source.startswith("%"):
            yield from ast.parse(source).body


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_a_notebook_reads_in_the_core_is_there(path: Path) -> None:
    imports, shown = _imports_and_shown(path)
    names: dict[str, Any] = {}
    exec(ast.unparse(ast.Module(imports, [])), names)
    for what in shown:
        used = {node.id for node in ast.walk(what) if isinstance(node, ast.Name)}
        if used <= {*names, "type"}:  # else the notebook made it itself
            assert eval(ast.unparse(what), names) is not None


def test_the_first_notebook_is_there() -> None:
    assert "00-knob-board" in {path.stem for path in NOTEBOOKS}
