"""What nbval cannot see: that notebooks were run at all, in order, and to the end.

nbval compares a notebook's outputs with the stored ones; where none are stored, it
compares nothing and passes.
"""

from __future__ import annotations

import json
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


def test_the_first_notebook_is_there() -> None:
    assert "00-knob-board" in {path.stem for path in NOTEBOOKS}
