"""A card whose answer is one of several options, given by its letter."""

from __future__ import annotations

import html
import random
from collections.abc import Callable, Mapping
from itertools import permutations
from string import ascii_lowercase
from typing import Any

from minimx_widgets.course.predicting.card import PredictCard
from minimx_widgets.course.predicting.reading import Unreadable
from minimx_widgets.language import tr


class ChoiceCard(PredictCard):
    """A question with options, in an order that differs from learner to learner.

        ChoiceCard("Why …?", {"It waits.": "", "It copies.": "A copy takes …"},
                   name="01/reading")

    options: HTML; the right one, then the wrong ones, each with the misconception
    behind it. In the ledger an answer is the place of the option in this mapping,
    counted from 1; so 1 is right. Other arguments are those of `PredictCard`.
    """

    def __init__(
        self, question: str, options: Mapping[str, str], *, name: str, **others: Any
    ) -> None:
        self._options = list(options)
        self._orders = list(permutations(range(1, len(options) + 1)))
        random.Random(name).shuffle(self._orders)  # or the first would be right first
        super().__init__(
            question,
            lambda order: 1.0,
            by="the course",
            name=name,
            numbers={"order": range(len(self._orders))},
            wrong=dict(list(enumerate(options.values(), 1))[1:]),
            within=0,
            **others,
        )
        letters = [*ascii_lowercase[: len(options)]]
        several = ", ".join(letters[:-1])
        self._number.placeholder = tr(
            "{several} or {x}", several=several, x=letters[-1]
        )
        self._number.tooltip = tr("the letter of your answer")

    @property
    def _order(self) -> tuple[int, ...]:
        return self._orders[int(self.numbers["order"])]

    def _worded(self, language: Callable[[str], str] = tr) -> str:
        options = (language(self._options[k - 1]) for k in self._order)
        items = "".join(f"<li>{option}</li>" for option in options)
        style = "list-style:lower-alpha;margin:0.2em 0;padding-left:1.8em"
        return f'{language(self._template)}<ol style="{style}">{items}</ol>'

    def _read(self, text: str) -> float:
        letter = text.strip(" .()").lower()
        if len(letter) != 1 or letter not in ascii_lowercase[: len(self._options)]:
            raise Unreadable(
                f"Write the letter of an answer: {self._number.placeholder}."
            )
        return float(self._order[ascii_lowercase.index(letter)])

    def _said(self, value: float) -> str:
        return ascii_lowercase[self._order.index(int(value))]

    def predict(self, value: float, confidence: int = 70) -> float:
        """Lock in the option with this place in the mapping, counted from 1.

        Raises ValueError where there is no such option; otherwise as `PredictCard`.
        """
        if value not in range(1, len(self._options) + 1):
            raise ValueError(f"there are {len(self._options)} options, and no {value}.")
        return super().predict(value, confidence)

    def _show(self) -> None:
        super()._show()
        self._again.layout.display = "none"  # another order is not another question

    def _comparison(self) -> str:
        answer = self.answer
        if answer is None:
            raise RuntimeError("nothing to compare before an option is locked in")
        said, right = map(self._said, (answer.value, answer.seen))
        text = "You said <b>{said}</b>; right is <b>{right}</b>."
        if answer.right:
            text = "✔ You said <b>{said}</b>, which is right."
        text = tr(text, said=html.escape(said), right=right)
        return text + self._behind(answer)
