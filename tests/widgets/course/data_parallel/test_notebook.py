"""Notebook 13 keeps its answers to itself, and its picture comes first."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[4] / "notebooks" / "13-who-sends-what-to-whom.ipynb"
CELLS = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
WORDS_BEFORE_THE_PICTURE = 300
ANSWERS = {
    "servers": (1, 4),
    "slices": (25,),
    "MiB": (28, 7),
    "ms": (61,),
    "%": (23.1,),
}


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def shown(cell: dict[str, Any]) -> Iterator[str]:
    """Everything of a cell that a learner may read."""
    if cell["cell_type"] == "markdown":
        yield source(cell)
    for output in cell.get("outputs", []):
        yield "".join(output.get("text", ""))
        yield "".join(output.get("data", {}).get("text/plain", ""))


class Asked:
    """What a card was made with."""

    cards: list[tuple[str, Callable[[], float], str]]

    def __init__(
        self, question: str, measure: Callable[[], float], unit: str, by: str = ""
    ) -> None:
        self.cards.append((question, measure, unit))


@pytest.fixture(scope="module")
def cards() -> list[tuple[str, Callable[[], float], str]]:
    """The cards of the notebook, from its own cells."""
    Asked.cards = []
    names: dict[str, Any] = {}
    cells = [one for one in CELLS if one["cell_type"] == "code"]
    first, *others = map(source, cells)
    with warnings.catch_warnings():
        before = warnings.formatwarning
        exec(first, names)
        warnings.formatwarning = before
    names["PredictCard"] = Asked
    for text in others:
        if "PredictCard(" in text:
            exec(text, names)
    return Asked.cards


def test_the_picture_comes_within_three_cells_and_few_words() -> None:
    place = next(k for k, one in enumerate(CELLS) if "KVStoreView(" in source(one))
    words = sum(
        len(re.findall(r"\w+", source(one)))
        for one in CELLS[: place + 1]
        if one["cell_type"] == "markdown"
    )
    assert place < 3
    assert words <= WORDS_BEFORE_THE_PICTURE


def test_the_cards_measure_what_the_text_says(cards: list[Any]) -> None:
    found: dict[str, tuple[float, ...]] = {}
    for _, measure, unit in cards:
        found[unit] = (*found.get(unit, ()), round(measure(), 1))
    assert found == ANSWERS


def test_no_answer_of_a_card_is_printed(cards: list[Any]) -> None:
    told = [
        text
        for cell in CELLS
        for text in shown(cell)
        for _, _, unit in cards
        if unit != "servers"  # 1 and 4: everywhere
        for answer in ANSWERS[unit]
        if re.search(rf"(?<![\d.,]){answer} ?{unit}", text)
    ]
    assert told == []


def test_what_a_card_asks_for_is_asked_nowhere_else() -> None:
    for size in ("784 × 1024", "784×1024", "1024 × 1024", "29,360,128", "7,340,032"):
        outputs = [
            text for one in CELLS if one["cell_type"] == "code" for text in shown(one)
        ]
        assert not any(size in text for text in outputs)
