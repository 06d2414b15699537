"""Which questions a learner needs: a pure function of the answers so far.

    choose(ledger, questions, 2)   # their names, the most needed first

An answer to a question, or to a card about the same idea, says how well the idea is
known; the newest one counts. In this order:

    1. wrong, and the learner was sure
    2. wrong
    3. preferred where nothing else is known, and not asked yet
    4. right, but the learner was not sure
    5. not asked yet
    6. right, and sure

Of equal ones that which was not asked for longest comes first, then the order of the
course. Two questions about one card are not asked together if others are left.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from minimx_widgets.course.predicting.card import drawn
from minimx_widgets.course.predicting.ledger import Answer
from minimx_widgets.course.recalling.question import Question

SURE: Final = 75  # percent, from which a wrong answer is over-confident
UNSURE: Final = 65  # percent, up to which a right answer may be a guess
#: What an idea is, in the order in which it is asked for.
BLIND, WRONG, PREFERRED, GUESSED, NEW, KNOWN = range(6)


def choose(
    answers: Iterable[Answer],
    questions: Sequence[Question],
    count: int,
    preferred: Sequence[str] = (),
) -> list[str]:
    """The names of at most `count` questions, the most needed first.

    answers: all of a learner, in the order in which they were given. questions: those
    that may be asked, in the order of the course. preferred: names of those to begin
    with where little is known.
    """
    last = {each.card: (place, each) for place, each in enumerate(answers)}

    def need(question: Question) -> tuple[int, int, int]:
        seen = [last[card] for card in _cards(question) if card in last]
        place, newest = max(seen, key=lambda found: found[0], default=(-1, None))
        return _state(newest, question, preferred), place, _rank(question, preferred)

    ordered = sorted(questions, key=need)
    chosen: list[Question] = []
    for each in ordered:
        if len(chosen) < count and not any(_alike(each, other) for other in chosen):
            chosen.append(each)
    chosen += [each for each in ordered if each not in chosen]
    return [each.name for each in chosen[:count]]


def _cards(question: Question) -> frozenset[str]:
    return question.about | {question.name}


def _alike(one: Question, other: Question) -> bool:
    return not _cards(one).isdisjoint(_cards(other))


def _rank(question: Question, preferred: Sequence[str]) -> int:
    return [*preferred, question.name].index(question.name)


def _state(newest: Answer | None, question: Question, preferred: Sequence[str]) -> int:
    if newest is None:
        return PREFERRED if question.name in preferred else NEW
    if newest.right:
        return GUESSED if newest.sure <= UNSURE else KNOWN
    return BLIND if newest.sure >= SURE else WRONG


def next_attempt(answers: Iterable[Answer], question: Question, learner: int) -> int:
    """The attempt with which a question is asked next: with other numbers than before.

    0 where it was not asked yet. Where a question has no other numbers, the next one.
    """
    mine = [each for each in answers if each.card == question.name]
    if not mine:
        return 0
    newest = max(mine, key=lambda each: each.attempt)
    choices: Mapping[str, Any] = question.numbers
    for attempt in range(newest.attempt + 1, newest.attempt + 20):
        if drawn(choices, learner, question.name, attempt) != dict(newest.numbers):
            return attempt
    return newest.attempt + 1
