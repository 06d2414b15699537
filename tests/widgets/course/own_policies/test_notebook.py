"""Notebook 16: its picture comes first, and its exercises are open."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parents[4] / "notebooks" / "16-bring-your-own-policy.ipynb"
CELLS = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def test_the_picture_comes_within_three_cells() -> None:
    assert next(k for k, one in enumerate(CELLS) if "PoolMap(record" in source(one)) < 3


def printed() -> Iterator[str]:
    """What the cells have shown, as text."""
    for cell in CELLS:
        for output in cell.get("outputs", []):
            yield "".join(output.get("text", ""))
            yield "".join(output.get("data", {}).get("text/plain", ""))


def test_the_exercises_are_open_and_one_policy_is_refused() -> None:
    text = "".join(printed())
    assert text.count("✘ not yet") == 2
    assert "Careless breaks a rule of every pool (step 7 of" in text
    assert "a block has at least the bytes that were requested" in text
