"""The course's predictions as a bank of questions, with answers for an instructor.

    bank = questions(folder, answers)           # of all notebooks
    as_csv(drawn(bank, seed=7, learners=30))    # a sheet for each learner, and the key
    as_gift(bank)                               # every variant, for Moodle

A question's text, its wrong answers and the ideas behind them stand in the notebooks.
What it is answered for other numbers was computed by its notebook, and lies in
`tests/notebooks/answers.json`. Questions that only a measurement on the learner's own
machine answers are left out: no key could be right everywhere. `recalled.py` adds the
questions of recalls and exit tickets.
"""

from __future__ import annotations

import ast
import csv
import html
import io
import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from minimx_widgets.course.predicting.units import shown
from minimx_widgets.course.teaching import exercises

COLUMNS = ("learner", "question", "text", "unit", "answer", "from", "to", "mistakes")


@dataclass(frozen=True)
class Variant:
    """A question with its numbers, or with its options in some order.

    wrong: known wrong answers, and what is behind. options: texts; `answer` and `wrong`
    are then places in them, counted from 1. Empty where a number is asked for.
    """

    name: str
    text: str
    unit: str
    answer: float
    within: float
    wrong: Sequence[tuple[float, str]]
    options: Sequence[str] = ()

    def said(self, value: float) -> str:
        """An answer as a reader writes it: a letter, or a number with its unit."""
        if self.options:
            return ascii_lowercase[int(value) - 1]
        return shown(value, self.unit)

    @property
    def whole(self) -> str:
        """The text with its unit or its lettered options, each on a line of its own."""
        if self.options:
            letters = zip(ascii_lowercase, self.options, strict=False)
            return "\n".join([self.text, *(f"({a}) {text}" for a, text in letters)])
        return self.text + (f" (in {self.unit})" if self.unit else "")

    @property
    def limits(self) -> tuple[float, float]:
        """The smallest and the largest answer that count as right."""
        off = abs(self.answer) * self.within
        return self.answer - off, self.answer + off


@dataclass(frozen=True)
class Question:
    """A prediction of a notebook, with several choices of its numbers.

    name: such as "08/round". by: what answers it; empty for a measurement.
    """

    name: str
    by: str
    variants: Sequence[Variant]


def questions(folder: Path, answers: Path) -> list[Question]:
    """All predictions of the notebooks in a folder, in their order.

    answers: the file that `python -m tests.notebooks.answers` writes. A question whose
    text is made while the notebook runs is left out.
    """
    stored = json.loads(answers.read_text(encoding="utf-8"))
    known = {name: card for cards in stored.values() for name, card in cards.items()}
    return [
        Question(name, known[name]["by"], list(_variants(name, card, known[name])))
        for path in sorted(folder.glob("*.ipynb"))
        for name, card in _cards(path)
        if name in known
    ]


def exact(bank: Sequence[Question]) -> list[Question]:
    """The questions that have the same answer on every machine."""
    return [each for each in bank if each.by]


def drawn(
    bank: Sequence[Question], seed: int, learners: int
) -> Iterator[tuple[int, Variant]]:
    """(number of a learner, variant) of each question; the same for the same seed."""
    for learner in range(1, learners + 1):
        for each in bank:
            chance = random.Random(f"{seed}:{learner}:{each.name}")
            yield learner, chance.choice(each.variants)


def _cards(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """(name, call) of the cards whose text stands in the cell."""
    for source in exercises.code(exercises.read(path)):
        if "PredictCard(" not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "PredictCard":
                name = _option(node, "name")
                if name and isinstance(node.args[0], ast.Constant):
                    yield str(ast.literal_eval(name)), node


def _option(call: ast.Call, name: str) -> ast.expr | None:
    return next((each.value for each in call.keywords if each.arg == name), None)


def _variants(name: str, call: ast.Call, stored: Any) -> Iterator[Variant]:
    template = plain(str(ast.literal_eval(call.args[0])))
    wrong = _option(call, "wrong")
    ideas = wrong.values if isinstance(wrong, ast.Dict) else []
    meant = [plain(str(ast.literal_eval(idea))) for idea in ideas]
    for each in stored["answers"]:
        numbers = {key: shown(value) for key, value in each["numbers"].items()}
        text = template.format(**numbers) if numbers else template
        mistakes = list(zip(each["wrong"], meant, strict=True))
        answer, within = float(each["seen"]), float(stored["within"])
        yield Variant(name, text, stored["unit"], answer, within, mistakes)


def plain(text: str) -> str:
    """HTML of a card as text."""
    return html.unescape(re.sub(r"</?[a-z]+[^>]*>", "", text))


# -- formats ---------------------------------------------------------------------------


def as_csv(sheets: Iterator[tuple[int, Variant]]) -> str:
    """A table with a row for each question of each learner, and its answer."""
    out = io.StringIO()
    table = csv.writer(out)
    table.writerow(COLUMNS)
    for learner, each in sheets:
        if each.options:
            text, answers = each.whole, [each.said(each.answer)] * 3
        else:
            text, answers = each.text, [f"{n:g}" for n in (each.answer, *each.limits)]
        mistakes = "; ".join(
            f"{each.said(value) if each.options else shown(value)}: {idea}"
            for value, idea in each.wrong
        )
        table.writerow((learner, each.name, text, each.unit, *answers, mistakes))
    return out.getvalue()


def as_markdown(sheets: Iterator[tuple[int, Variant]]) -> str:
    """A sheet for each learner, and the key of all sheets at the end."""
    parts: list[str] = []
    key = ["# Key\n"]
    last = number = 0
    for learner, each in sheets:
        if learner != last:
            parts.append(f"# Sheet {learner}\n")
            key.append(f"\n## Sheet {learner}\n")
            last, number = learner, 0
        number += 1
        text = each.whole.replace("\n", "\n   ")
        parts.append(f"{number}. {text}\n\n   Answer: ______\n")
        key.append(f"{number}. `{each.name}`: {each.said(each.answer)}")
    return "\n".join([*parts, *key]) + "\n"


def as_gift(bank: Sequence[Question]) -> str:
    """All variants in Moodle's GIFT format: a category for each question.

    Moodle then draws one of a category for each learner. Known wrong answers get no
    points, and the idea behind them as feedback. Moodle itself shuffles options.
    """
    parts = []
    for question in bank:
        parts.append(f"$CATEGORY: minimx/{question.name}\n")
        lettered = bool(question.variants[0].options)
        for number, each in enumerate(question.variants[: 1 if lettered else None], 1):
            title = _escaped(f"{each.name} ({number})")
            if lettered:
                text, kind, answers = each.text, "", _options(each)
            else:
                text, kind, answers = each.whole, "#", _numbers(each)
            body = "\n".join(answers)
            parts.append(f"::{title}::{_escaped(text)} {{{kind}\n{body}\n}}\n")
    return "\n".join(parts)


def _numbers(variant: Variant) -> list[str]:
    off = variant.limits[1] - variant.answer
    known = dict(reversed(variant.wrong))  # of equal ones the first
    return [
        f"\t=%100%{variant.answer:.10g}:{off:.6g}",
        *(f"\t=%0%{k:.10g}:0#{_escaped(idea)}" for k, idea in known.items()),
    ]


def _options(variant: Variant) -> list[str]:
    ideas = dict(variant.wrong)
    return [
        f"\t~{_escaped(text)}#{_escaped(ideas[place])}"
        if place in ideas
        else f"\t={_escaped(text)}"
        for place, text in enumerate(variant.options, 1)
    ]


def _escaped(text: str) -> str:
    """Text for GIFT, in which some characters have a meaning."""
    return re.sub(r"([\\~=#{}:])", r"\\\1", text).replace("\n", " ")
