"""A class, from what its learners have exported: which ideas it gets wrong.

    class_predictions("exports/")        # in a notebook
    minimx class exports/ --out class.html

Each file is what `export_predictions` wrote, of one learner, and has no name in it;
neither has what is shown here. Only the first answer to a question counts.
"""

from __future__ import annotations

import html
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from minimx_widgets.course.parts.text import Shown, table
from minimx_widgets.course.predicting.ledger import LARGEST, Answer
from minimx_widgets.course.predicting.progress import (
    bands_of,
    curve,
    first_answers,
)

FEW = 5  # answers below which a share of right ones says little


@dataclass(frozen=True)
class Card:
    """What a class answered to one question.

    sure: percent, on average. mistake: the idea behind most wrong answers that were
    recognized, and how many had it.
    """

    name: str
    answers: int
    right: int
    sure: float
    mistake: tuple[str, int]

    @property
    def share(self) -> float:
        """The percentage that was right."""
        return 100 * self.right / self.answers


@dataclass(frozen=True)
class Class:
    """The first answers of all learners. damaged: files that could not be read."""

    learners: int
    answers: Sequence[Answer]
    damaged: Sequence[str]

    def cards(self) -> list[Card]:
        """All questions, those with the fewest right answers first."""
        names = dict.fromkeys(each.card for each in self.answers)
        found = [_card(name, self.answers) for name in names]
        return sorted(found, key=lambda card: (card.share, card.name))


def read(folder: str | Path) -> Class:
    """Read all exports in a folder, also those in folders of learners.

    Raises ValueError where there is none that can be read.
    """
    answers: list[Answer] = []
    damaged, learners = [], 0
    for path in sorted(Path(folder).rglob("*.json")):
        try:
            answers += first_answers(_export(path))
            learners += 1
        except (OSError, ValueError, TypeError, RecursionError) as error:
            damaged.append(f"{path.name}: {error}"[:200])
    if not learners:
        raise ValueError(
            f"{folder} has no file that `export_predictions` wrote"
            + (f"; unreadable: {', '.join(damaged)}" if damaged else "")
        )
    return Class(learners, answers, damaged)


def _export(path: Path) -> list[Answer]:
    if path.stat().st_size > LARGEST:
        raise ValueError("it is larger than an export can become")
    found = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(found, dict) or not isinstance(found.get("answers"), list):
        raise ValueError("it has no answers")
    return [Answer.of(each) for each in found["answers"]]


def _card(name: str, answers: Sequence[Answer]) -> Card:
    mine = [each for each in answers if each.card == name]
    lessons = Counter(each.lesson for each in mine if each.lesson and not each.right)
    (mistake,) = lessons.most_common(1) or [("", 0)]
    sure = sum(each.sure for each in mine) / len(mine)
    return Card(name, len(mine), sum(each.right for each in mine), sure, mistake)


def class_predictions(folder: str | Path) -> Shown:
    """The table and the curve of a class, for a notebook or a page."""
    found = read(folder)
    cards = found.cards()
    heads = ("question", "answers", "right", "were sure", "most frequent mistake")
    rows = [
        (
            _titled(card.name),
            card.answers,
            f"{card.share:.0f} %",
            f"{card.sure:.0f} %",
            f"{card.mistake[0]} ({card.mistake[1]} ×)" if card.mistake[1] else "",
        )
        for card in cards
    ]
    shown = table(heads, rows)
    lines = [f"{found.learners} learners, {len(found.answers)} first answers."]
    weak = [card for card in cards if card.share < 50 and card.answers >= FEW]
    if weak:
        names = ", ".join(card.name for card in weak[:5])
        lines.append(f"Most of the class was wrong about: {names}.")
    blind = [card for card in weak if card.sure - card.share >= 30]
    if blind:
        names = ", ".join(card.name for card in blind[:5])
        lines.append(f"And was sure of it: {names}.")
    if found.damaged:
        lines.append(f"Left out: {'; '.join(found.damaged)}.")
    words = "".join(f"<p>{html.escape(line)}</p>" for line in lines)
    figure = curve(bands_of(found.answers))
    rich = f"{words}{figure}{shown.rich}"
    return Shown("\n".join([*lines, "", shown.plain]), rich)


def _titled(name: str) -> str:
    """`round (08)` of `08/round`: a text, which stands at the left of a table."""
    notebook, _, question = name.partition("/")
    return f"{question} ({notebook})" if question else name


def page(folder: str | Path, markdown: bool = False) -> str:
    """The same as a page of its own: HTML, or Markdown without the curve."""
    shown = class_predictions(folder)
    if markdown:
        return f"# Predictions of a class\n\n```\n{shown.plain}\n```\n"
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        "<title>Predictions of a class</title>"
        "<style>body{font-family:sans-serif;max-width:70em;margin:2em auto;"
        "padding:0 1em}"
        "td,th{padding:.2em .6em}</style>"
        f"<h1>Predictions of a class</h1>{shown.rich}</html>\n"
    )
