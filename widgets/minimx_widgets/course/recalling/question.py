"""A question of the bank: it can be asked anywhere, because its text says all.

number("08/cutoff", "A request of {size} MiB …?", block, "MiB", by="the pool",
       numbers={"size": (18, 35)}, wrong={lambda size: size: "That is …"},
       about=["08/round"])
choice("08/pieces", "60 MiB are free …?", "Small blocks that stay …",
       {"A leak …": "Then …"})
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from minimx_widgets.course.predicting.card import PREDICT, PredictCard, Wrong
from minimx_widgets.course.predicting.ledger import Ledger
from minimx_widgets.course.recalling.choice_card import ChoiceCard


@dataclass(frozen=True)
class Question:
    """A question with a number or an option as its answer.

    name: notebook and idea, as in "08/cutoff". about: cards of the notebook that ask
    for the same idea, by name; an answer to one of them counts for the question. why:
    what is said beside the answer. options: the right one, then the wrong ones with the
    misconception behind each; empty where a number is asked for. The rest: as in
    `PredictCard`.
    """

    name: str
    text: str
    answer: Callable[..., float]
    unit: str = ""
    by: str = "the course"
    numbers: Mapping[str, Sequence[float]] = field(default_factory=dict)
    wrong: Wrong = field(default_factory=dict)
    within: float = 0.0
    why: str = ""
    about: frozenset[str] = frozenset()
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def notebook(self) -> str:
        """What stands before the slash: "08", or "conv"."""
        return self.name.partition("/")[0]

    def variants(self) -> Iterator[dict[str, float]]:
        """All choices of the numbers, the first ones first."""
        for each in product(*self.numbers.values()):
            yield dict(zip(self.numbers, each, strict=True))

    def card(
        self,
        heading: str = PREDICT,
        place: str = "",
        attempt: int = 0,
        ledger: Ledger | None = None,
    ) -> PredictCard:
        """The question on the page."""
        where: dict[str, Any] = {
            "name": self.name,
            "heading": heading,
            "place": place,
            "attempt": attempt,
            "ledger": ledger,
            "why": self.why,
        }
        if self.options:
            return ChoiceCard(self.text, self.options, **where)
        return PredictCard(
            self.text,
            self.answer,
            self.unit,
            self.by,
            numbers=self.numbers,
            wrong=self.wrong,
            within=self.within,
            **where,
        )


def number(
    name: str,
    text: str,
    answer: Callable[..., float],
    unit: str = "",
    *,
    about: Sequence[str] = (),
    **options: Any,
) -> Question:
    """A question that a number answers; options: other fields of `Question`."""
    return Question(name, text, answer, unit, about=frozenset(about), **options)


def choice(
    name: str,
    text: str,
    right: str,
    wrong: Mapping[str, str],
    *,
    why: str = "",
    about: Sequence[str] = (),
) -> Question:
    """A question with options. wrong: each with the misconception behind it."""
    return Question(
        name,
        text,
        lambda: 1.0,
        why=why,
        about=frozenset(about),
        options={right: "", **wrong},
    )
