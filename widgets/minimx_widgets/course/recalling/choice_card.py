"""A card whose answer is one of several options, given by its letter."""

from __future__ import annotations

import html
import random
from collections.abc import Mapping
from itertools import permutations
from string import ascii_lowercase
from typing import Any

from minimx_widgets.course.predicting.card import PredictCard
from minimx_widgets.course.predicting.reading import Unreadable


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
        self._number.placeholder = f"{', '.join(letters[:-1])} or {letters[-1]}"
        self._number.tooltip = "the letter of your answer"

    @property
    def _order(self) -> tuple[int, ...]:
        return self._orders[int(self.numbers["order"])]

    def _worded(self) -> str:
        items = "".join(f"<li>{self._options[k - 1]}</li>" for k in self._order)
        style = "list-style:lower-alpha;margin:0.2em 0;padding-left:1.8em"
        return f'{self._template}<ol style="{style}">{items}</ol>'

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
        text = f"✔ You said <b>{html.escape(said)}</b>, which is right."
        if not answer.right:
            text = f"You said <b>{said}</b>; right is <b>{right}</b>."
        return text + self._behind(answer)
