"""No card's answer stands above it, and its wrong answers are wrong.

Reads what `python -m tests.notebooks.answers` wrote; nothing is run here.
"""

from __future__ import annotations

import functools
import html
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from minimx_widgets.course.predicting.units import BYTES, UNITS, shown, unit_of
from minimx_widgets.course.recalling import bank
from tests.notebooks.answers import STORED, answers, fingerprint, notebooks, short

#: Numbers that other sentences have as well: alone, without a unit, they tell nothing.
TELLING = 3  # digits that differ from 0


@functools.cache
def stored() -> dict[str, Any]:
    return json.loads(STORED.read_text("utf-8"))  # type: ignore[no-any-return]


@functools.cache
def cells(path: Path) -> list[Any]:
    return list(nbformat.read(path, as_version=4).cells)  # type: ignore[no-untyped-call]


def text_of(cell: Any) -> Iterator[str]:
    """What can be read of a cell: its words, or what it printed."""
    if cell.cell_type == "markdown":
        yield cell.source
    for output in cell.get("outputs", ()):
        yield str(output.get("text", ""))
        yield str(output.get("data", {}).get("text/plain", ""))


def plain(text: str) -> str:
    return html.unescape(re.sub(r"</?[a-z]+>|\*\*", "", text))


def above(path: Path, place: int) -> str:
    return plain("\n".join(t for cell in cells(path)[:place] for t in text_of(cell)))


def notations(value: float, unit: str) -> Iterator[str]:
    """How an answer may be written, as patterns."""
    numbers = {shown(value), f"{value:g}", f"{value:.3g}", f"{value:.1f}"}
    if unit in ("", "×", "%", "ms", "points"):
        numbers.add(f"{value:.2f}")
    for number in sorted(numbers):
        digits = re.escape(number).replace(",", "[, _]?")
        telling = len(re.sub(r"[^1-9]", "", number)) >= TELLING
        loose = (telling and not is_round(value)) or not unit
        follows = r"\s*" + re.escape(unit)
        yield rf"(?<![\d.,]){digits}(?![\d.,]*\d)" + ("" if loose else follows)
    if unit_of(unit).kind == BYTES:
        for other in ("B", "KiB", "MiB", "GiB"):
            size = value * unit_of(unit).factor / UNITS[other].factor
            if 0.1 <= size < 1e7:
                yield rf"(?<![\d.,]){re.escape(shown(size))}\s*{other}"


def is_round(value: float) -> bool:
    """Sizes of arrays and round numbers stand everywhere."""
    whole = int(value)
    if value != whole:
        return False
    odd = whole // (whole & -whole) if whole else 0
    return odd < 16 or whole % 50 == 0


def of_notebook(path: Path) -> dict[str, Any]:
    return dict(stored().get(short(path), {}))


every_notebook = pytest.mark.parametrize(
    "path", notebooks(), ids=[path.stem for path in notebooks()]
)


@every_notebook
def test_every_card_is_known(path: Path) -> None:
    known = of_notebook(path)
    written = {
        place: fingerprint(cell.source)
        for place, cell in enumerate(cells(path))
        if cell.cell_type == "code" and "PredictCard(" in cell.source
    }
    told = {card["cell"]: card["source"] for card in known.values()}
    assert told == written, "run python -m tests.notebooks.answers"
    for name in known:
        assert re.fullmatch(rf"{short(path)}/[a-z0-9-]+", name)


@every_notebook
def test_no_answer_stands_above_its_card(path: Path) -> None:
    for name, card in of_notebook(path).items():
        before = above(path, card["cell"])
        for answer in card["answers"]:
            value = answer["seen"]
            if not card["by"] and value != int(value):
                continue  # a measured time: another one on each machine
            for pattern in notations(value, card["unit"]):
                found = re.search(pattern, before)
                told = found and before[max(found.start() - 60, 0) : found.end() + 30]
                assert not found, f"{name}: {answer['numbers']} {value}: …{told}…"


@functools.cache
def of_bank(name: str) -> list[tuple[dict[str, float], float]]:
    """A question's first numbers, and some others, each with the answer."""
    question = bank.every()[name]
    found = list(question.variants())
    others = random.Random(name).sample(found[1:], min(3, len(found) - 1))
    return [(each, float(question.answer(**each))) for each in (found[0], *others)]


@every_notebook
@pytest.mark.parametrize("call", ["recall", "exit_ticket"])
def test_no_answer_stands_above_a_recall_or_an_exit_ticket(
    path: Path, call: str
) -> None:
    """Nor beside it: what its own cell is stored with counts as well."""
    source = f'{call}("{short(path)}")'
    (place,) = (k for k, each in enumerate(cells(path)) if each.source == source)
    lines = above(path, place).split("\n")
    own = plain("\n".join(text_of(cells(path)[place])))
    asked = bank.before if call == "recall" else bank.of
    for question in asked(short(path)):
        if question.options:
            right = plain(next(iter(question.options)))
            assert right not in "\n".join(lines), f"{question.name}: {right}"
            continue
        for numbers, value in of_bank(question.name):
            for text in (own, *lines):
                told = tells(text, numbers, value, question.unit)
                assert not told, f"{question.name}: {numbers} {value}: {text}"


def tells(text: str, numbers: dict[str, float], answer: float, unit: str) -> bool:
    """Whether a text has the numbers of a question, and its answer as well.

    At the end of a notebook most small numbers stand above, in other connections.
    """
    rest = text
    for number in numbers.values():
        found = re.search(rf"(?<![\d.,]){re.escape(shown(number))}(?![\d.,]*\d)", rest)
        if found is None:
            return False
        rest = f"{rest[: found.start()]} {rest[found.end() :]}"
    return any(re.search(each, rest) for each in notations(answer, unit))


@every_notebook
def test_wrong_answers_are_wrong(path: Path) -> None:
    for name, card in of_notebook(path).items():
        for answer in card["answers"]:
            seen = answer["seen"]
            assert answer["wrong"], f"{name} knows no wrong answer"
            for wrong in answer["wrong"]:
                gap = abs(wrong - seen)
                assert gap > card["within"] * abs(seen), f"{name}: {answer}"


@pytest.mark.parametrize("wanted", ["02", "16"])
def test_what_is_stored_is_what_the_cards_say(wanted: str) -> None:
    """Two notebooks whose cards answer at once and the same on every machine."""
    (path,) = (path for path in notebooks() if short(path) == wanted)
    assert answers(path) == stored()[wanted]


def test_names_are_used_once() -> None:
    names = [name for cards in stored().values() for name in cards]
    assert len(names) == len(set(names))


@every_notebook
def test_it_asks_with_other_numbers(path: Path) -> None:
    """Three cards or more: each learner gets numbers of their own."""
    cards = of_notebook(path).values()
    assert sum(len(card["answers"]) > 1 for card in cards) >= 3


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (68096, "B", "The tape keeps 68,096 bytes"),
        (68096, "B", "66.5 KiB"),
        (32, "MiB", "a block of 32 MiB"),
        (0.9367, "×", "0.94 × as fast"),
        (16, "ms", "and it took **16** ms"),
        (95.87, "%", "95.9 %"),
        (5461, "pushes", "it is 5461, nearly"),
    ],
)
def test_an_answer_is_found_in_its_notations(
    value: float, unit: str, text: str
) -> None:
    assert any(re.search(each, plain(text)) for each in notations(value, unit))


def test_a_line_with_question_and_answer_tells_it() -> None:
    numbers = {"products": 10.0, "workers": 4.0}
    assert tells("10 products of 4 ms, 4 workers: 12 ms", numbers, 12, "ms")
    assert not tells("10 products, 3 workers: 12 ms", numbers, 12, "ms")
    assert not tells("10 products, 4 workers, 12 cores", numbers, 12, "ms")


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (32, "MiB", "batches of 32 sentences"),
        (16, "ms", "116 ms and 16.5 ms"),
        (128, "KiB", "layers of 256, 128 and 64"),
        (4, "pushes", "four rows of 4 numbers"),
    ],
)
def test_other_numbers_are_no_answer(value: float, unit: str, text: str) -> None:
    assert not any(re.search(each, plain(text)) for each in notations(value, unit))
