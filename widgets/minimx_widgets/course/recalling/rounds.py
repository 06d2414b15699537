"""Cards at the start of a notebook and at its end, chosen for the learner.

    recall("09")        # two questions of earlier notebooks
    exit_ticket("09")   # two questions of this one

What was chosen is kept in the ledger, so that the same questions stay until they are
answered: when the cell is run again, and after a restart of the kernel.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any, Final

import ipywidgets as ipw

from minimx_widgets.base import Bundle, mimebundle
from minimx_widgets.course.predicting import ledger as ledgers
from minimx_widgets.course.predicting.card import PredictCard
from minimx_widgets.course.predicting.ledger import Ledger
from minimx_widgets.course.recalling import bank
from minimx_widgets.course.recalling.choosing import choose, next_attempt
from minimx_widgets.course.recalling.question import Question
from minimx_widgets.language import noop, tr

#: What stands before a question, by the kind of the round.
HEADINGS: Final = {"recall": noop("Recall."), "exit ticket": noop("Exit ticket.")}
COUNT: Final = 2  # questions at a time


def recall(notebook: str, ledger: Ledger | None = None) -> Round:
    """Questions of the notebooks before this one: first what was answered wrong.

    notebook: as in the names of its cards, "09". ledger: as in `PredictCard`. Raises
    ValueError where there is no such notebook.
    """
    known = bank.PREFERRED.get(notebook, ())
    return Round("recall", notebook, bank.before(notebook), known, ledger)


def exit_ticket(notebook: str, ledger: Ledger | None = None) -> Round:
    """Questions about the ideas of this notebook; arguments as in `recall`."""
    return Round("exit ticket", notebook, bank.of(notebook), (), ledger)


class Open(ValueError):
    """Questions that are not answered yet."""


class Round(ipw.VBox):  # type: ignore[misc]
    """Some questions, chosen by what the ledger says of a learner.

    kind: "recall" or "exit ticket". questions: those that may be asked. preferred:
    those to begin with where little is known. cards: those on the page.
    """

    def __init__(
        self,
        kind: str,
        notebook: str,
        questions: Sequence[Question],
        preferred: Sequence[str] = (),
        ledger: Ledger | None = None,
    ) -> None:
        self.kind = kind
        self.place = f"{notebook}/{kind.replace(' ', '-')}"
        self.ledger = ledgers.here() if ledger is None else ledger
        self.cards: list[PredictCard] = []
        self._questions = {each.name: each for each in questions}
        self._preferred = preferred
        self._others = ipw.Button(
            description=tr("Ask me others"),
            tooltip=tr("other questions, or the same with other numbers"),
            icon="refresh",
            layout=ipw.Layout(width="auto"),
        )
        self._note = ipw.HTML()
        self._others.on_click(lambda _: self._pressed())
        super().__init__()
        self._lay_out(self._kept() or self._chosen())

    def __repr__(self) -> str:
        done = sum(card.answer is not None for card in self.cards)
        return f"{self.kind}: {len(self.cards)} questions, {done} answered"

    def _repr_mimebundle_(self, **_: Any) -> Bundle:
        data, metadata = mimebundle(self, repr(self))
        stills = (card._repr_mimebundle_()[0]["text/html"] for card in self.cards)
        data["text/html"] = "".join(map(str, stills))
        return data, metadata

    def others(self) -> None:
        """Ask other questions, or the same ones with other numbers.

        Raises `Open`, a ValueError, as long as one of these is open.
        """
        if open_ones := sum(card.answer is None for card in self.cards):
            raise Open(f"{open_ones} of {len(self.cards)} questions are open.")
        self._lay_out(self._chosen())

    def _pressed(self) -> None:
        try:
            self.others()
        except Open as error:
            first = tr("Answer them first.")
            self._note.value = f"<i>{html.escape(tr(str(error)))} {first}</i>"

    def _kept(self) -> dict[str, int]:
        """What was chosen before; nothing where the course has not all of it now."""
        kept = self._newest().asked(self.place)
        return kept if kept.keys() <= self._questions.keys() else {}

    def _chosen(self) -> dict[str, int]:
        newest = self._newest()
        allowed = list(self._questions.values())
        names = choose(newest, allowed, COUNT, self._preferred)
        asked = {
            name: next_attempt(newest, self._questions[name], self.ledger.learner)
            for name in names
        }
        self.ledger.ask(self.place, asked)
        return asked

    def _newest(self) -> Ledger:
        """The ledger with what other notebooks have written meanwhile."""
        path = self.ledger.path
        return self.ledger if path is None else Ledger(path)

    def _lay_out(self, asked: dict[str, int]) -> None:
        self.cards = [
            self._questions[name].card(
                HEADINGS[self.kind], self.place, attempt, self.ledger
            )
            for name, attempt in asked.items()
        ]
        self._note.value = f"<i>{html.escape(tr(self.ledger.notice))}</i>"
        foot = ipw.HBox([self._others, self._note])
        self.children = [*self.cards, foot]
