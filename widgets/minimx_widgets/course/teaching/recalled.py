"""The questions of recalls and exit tickets, as questions of an instructor's bank.

    bank = [*questions(folder, answers), *recalled()]

A question with numbers has a variant for each choice of them, answered by the same
policy that answers it on the page. A question with options has a variant for each
rotation of its options, so that each of them is right somewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from minimx_widgets.course.predicting.units import shown
from minimx_widgets.course.recalling import bank
from minimx_widgets.course.recalling.question import Question as Asked
from minimx_widgets.course.teaching.questions import Question, Variant, plain

#: Variants of one question at most.
MOST = 12


def recalled() -> list[Question]:
    """All questions that notebooks ask again, in the order of the course."""
    return [
        Question(name, each.by, list(variants(each)))
        for name, each in bank.every().items()
    ]


def variants(question: Asked) -> Iterator[Variant]:
    """A question with each choice of its numbers, or each rotation of its options."""
    return _rotated(question) if question.options else _counted(question)


def _counted(question: Asked) -> Iterator[Variant]:
    """With each choice of its numbers."""
    for numbers in islice(question.variants(), MOST):
        texts = {key: shown(value) for key, value in numbers.items()}
        text = question.text.format(**texts) if texts else question.text
        answer = float(question.answer(**numbers))
        off = abs(answer) * question.within
        known = (
            (float(wrong(**numbers) if callable(wrong) else wrong), plain(idea))
            for wrong, idea in question.wrong.items()
        )
        # For some numbers a wrong way leads to the right answer.
        wrong = [each for each in known if abs(each[0] - answer) > off]
        yield Variant(
            question.name, plain(text), question.unit, answer, question.within, wrong
        )


def _rotated(question: Asked) -> Iterator[Variant]:
    """With each of its options first once; the answer is a place, counted from 1."""
    options = [(plain(text), plain(idea)) for text, idea in question.options.items()]
    for first in range(len(options)):
        order = options[first:] + options[:first]
        right = order.index(options[0]) + 1
        wrong = [(float(k), idea) for k, (_, idea) in enumerate(order, 1) if k != right]
        texts = [text for text, _ in order]
        yield Variant(question.name, plain(question.text), "", right, 0.0, wrong, texts)
