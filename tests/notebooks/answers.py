"""Every card of the course, asked: what is the answer, and what are the wrong ones?

    python -m tests.notebooks.answers           # all notebooks: writes answers.json
    python -m tests.notebooks.answers 03 same   # only these; the others stay

Runs the code of each notebook up to its last card, in this process, and asks each card
for its first numbers and for up to five other choices. `test_answers.py` reads what is
written, so that it need not run anything.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import random
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from unittest import mock

import nbformat

from minimx.core.knobs import knobs
from minimx_widgets import course
from minimx_widgets.course import claims
from minimx_widgets.course.predicting.card import PredictCard
from minimx_widgets.course.predicting.ledger import Ledger

ROOT: Final = Path(__file__).parents[2]
STORED: Final = Path(__file__).with_name("answers.json")
OTHERS: Final = 5  # choices of the numbers that are asked beside the first


def notebooks() -> list[Path]:
    """All notebooks of the course, in the order of their names."""
    return sorted((ROOT / "notebooks").glob("*.ipynb"))


def short(path: Path) -> str:
    """What stands before the slash in the names of a notebook's cards."""
    return next(name for name in claims.MODULES if name in path.stem)


def sources(path: Path) -> list[tuple[int, str]]:
    """(place, source) of the code cells up to the last one with a card.

    Without magics, which are for a kernel: no card may need what they do.
    """
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    code = [
        (place, cell.source)
        for place, cell in enumerate(notebook.cells)
        if cell.cell_type == "code" and not cell.source.startswith("%")
    ]
    last = max(k for k, (_, source) in enumerate(code) if "PredictCard(" in source)
    return code[: last + 1]


def fingerprint(source: str) -> str:
    """Twelve characters that change with a cell."""
    return hashlib.sha256(source.encode()).hexdigest()[:12]


def choices(card: Any) -> Iterator[dict[str, float]]:
    """The first numbers of a card, and some others, the same ones each time."""
    names, options = list(card._choices), list(card._choices.values())
    drawn = itertools.product(*options)
    found = [dict(zip(names, each, strict=True)) for each in drawn]
    yield found[0]
    others = found[1:]
    yield from random.Random(card.name).sample(others, min(OTHERS, len(others)))


def asked(card: Any) -> Iterator[dict[str, Any]]:
    """What a card answers to its choices, and the wrong answers that it knows."""
    for numbers in choices(card):
        seen = float(card._measure(**numbers))
        wrong = [float(key(**numbers) if callable(key) else key) for key in card._wrong]
        assert all(map(math.isfinite, [seen, *wrong])), card.name
        yield {"numbers": numbers, "seen": seen, "wrong": wrong}


def answers(path: Path) -> dict[str, Any]:
    """The cards of a notebook by name, asked where they stand in it."""
    made: list[Any] = []

    class Noted(PredictCard):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options, ledger=Ledger())
            made.append(self)

    found = {}
    names: dict[str, Any] = {"__name__": "__main__", "display": lambda *_: None}
    with (
        mock.patch.object(course, "PredictCard", Noted),
        mock.patch.object(warnings, "formatwarning", warnings.formatwarning),
        warnings.catch_warnings(),
        knobs(),
    ):
        for place, source in sources(path):
            before = len(made)
            exec(compile(source, f"{path.name}[{place}]", "exec"), names)
            for card in made[before:]:
                found[card.name] = {
                    "cell": place,
                    "source": fingerprint(source),
                    "unit": card.unit,
                    "by": card.by,
                    "within": card._within,
                    "answers": list(asked(card)),
                }
    return found


def main(wanted: list[str]) -> None:
    stored = json.loads(STORED.read_text("utf-8")) if STORED.exists() else {}
    for path in notebooks():
        if not wanted or short(path) in wanted:
            stored[short(path)] = answers(path)
            print(f"{path.stem}: {len(stored[short(path)])} cards", file=sys.stderr)
    STORED.write_text(
        json.dumps(stored, indent=1, ensure_ascii=False, sort_keys=True) + "\n", "utf-8"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
