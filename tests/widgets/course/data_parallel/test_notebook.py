"""Notebook 13: its picture comes first, and its cards ask for numbers of their own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parents[4] / "notebooks" / "13-who-sends-what-to-whom.ipynb"
CELLS = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
WORDS_BEFORE_THE_PICTURE = 300


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def shown(cell: dict[str, Any]) -> Iterator[str]:
    """Everything of a cell that a learner may read."""
    if cell["cell_type"] == "markdown":
        yield source(cell)
    for output in cell.get("outputs", []):
        yield "".join(output.get("text", ""))
        yield "".join(output.get("data", {}).get("text/plain", ""))


def test_the_picture_comes_within_three_cells_and_few_words() -> None:
    place = next(k for k, one in enumerate(CELLS) if "KVStoreView(" in source(one))
    words = sum(
        len(re.findall(r"\w+", source(one)))
        for one in CELLS[: place + 1]
        if one["cell_type"] == "markdown"
    )
    assert place < 3
    assert words <= WORDS_BEFORE_THE_PICTURE


def test_what_a_card_asks_for_is_asked_nowhere_else() -> None:
    for size in ("784 × 1024", "784×1024", "1024 × 1024", "29,360,128", "7,340,032"):
        outputs = [
            text for one in CELLS if one["cell_type"] == "code" for text in shown(one)
        ]
        assert not any(size in text for text in outputs)
