"""The questions are whole, their answers computed, and their wrong answers wrong."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Iterator

import pytest

from minimx_widgets.course import claims
from minimx_widgets.course.predicting.ledger import Ledger
from minimx_widgets.course.recalling import bank
from minimx_widgets.course.recalling.question import Question
from tests.notebooks.answers import STORED

NUMBERS = [each for each in bank.every().values() if not each.options]
CHOICES = [each for each in bank.every().values() if each.options]
OTHERS = 3  # choices of the numbers that are asked beside the first


def some_variants(question: Question) -> Iterator[dict[str, float]]:
    found = list(question.variants())
    yield found[0]
    others = found[1:]
    count = min(OTHERS, len(others))
    yield from random.Random(question.name).sample(others, count)


def test_every_notebook_has_questions() -> None:
    assert set(bank.ORDER) == set(claims.MODULES) == set(bank.PREFERRED)
    for notebook in bank.ORDER:
        assert len(bank.of(notebook)) >= 3
        assert len(bank.before(notebook)) >= 2
    with pytest.raises(ValueError, match="no notebook '99'; there are 00, 01"):
        bank.of("99")


def test_names_are_of_a_notebook_and_of_no_card() -> None:
    cards = {
        name for found in json.loads(STORED.read_text()).values() for name in found
    }
    for name, question in bank.every().items():
        assert re.fullmatch(r"[a-z0-9]+/[a-z0-9-]+", name)
        assert name not in cards
        assert question.about <= cards, name
        assert all(each.startswith(question.notebook) for each in question.about), name


def test_a_notebook_begins_with_what_came_before_it() -> None:
    for notebook, names in bank.PREFERRED.items():
        assert len(names) == 2
        assert set(names) <= {each.name for each in bank.before(notebook)}
        assert not set(names) & {each.name for each in bank.of(notebook)}


def test_what_was_asked_before_the_course_is_not_in_its_ticket() -> None:
    names = [each.name for each in bank.of("00")]
    assert names == ["00/colleague", "00/blocks", "00/alive"]


@pytest.mark.parametrize("question", NUMBERS, ids=[each.name for each in NUMBERS])
def test_wrong_answers_are_wrong(question: Question) -> None:
    assert len(question.wrong) >= 2 and len(list(question.variants())) >= 2
    for numbers in some_variants(question):
        seen = float(question.answer(**numbers))
        assert math.isfinite(seen)
        for wrong, idea in question.wrong.items():
            value = float(wrong(**numbers) if callable(wrong) else wrong)
            assert abs(value - seen) > question.within * abs(seen), numbers
            assert idea.endswith((".", "?")), idea


@pytest.mark.parametrize("question", NUMBERS, ids=[each.name for each in NUMBERS])
def test_other_numbers_have_other_answers(question: Question) -> None:
    """A number that was remembered is of no use."""
    answers = {question.answer(**numbers) for numbers in some_variants(question)}
    assert len(answers) > 1


def test_options_differ_and_each_wrong_one_has_an_idea() -> None:
    for question in CHOICES:
        right, *wrong = question.options.items()
        assert right[1] == "" and len(wrong) >= 2
        assert all(idea for _, idea in wrong)


def test_texts_are_whole() -> None:
    for question in bank.every().values():
        card = question.card(ledger=Ledger())
        assert not re.search(r"[{}]", card.question), card.question
        for tag in ("code", "b", "i"):
            text = f"{question.text}{question.why}{''.join(question.options)}"
            assert text.count(f"<{tag}>") == text.count(f"</{tag}>"), question.name


def test_the_right_option_stands_at_any_place() -> None:
    """In the stored notebooks as well: else its letter would be the answer."""
    first = [each.card(ledger=Ledger()).right_answer() for each in CHOICES]
    assert all(first.count(letter) > len(CHOICES) / 6 for letter in "abc")


def test_the_formulas_are_what_runs_say() -> None:
    """Where a question computes by a rule what would take long to run."""
    from minimx_widgets.course.data_parallel.sums import summed
    from minimx_widgets.course.mirroring import SLOT, segmented

    every = bank.every()
    ring = summed("ring", gpus=4, shape=(64, 1024)).busiest / 2**20
    mib = 64 * 1024 * 4 / 2**20
    assert every["13/ring"].answer(mib=mib, gpus=4) == pytest.approx(ring, rel=0.01)
    slots = segmented(100, 10).kib / SLOT
    assert every["09/slots-again"].answer(segments=10) == pytest.approx(slots, rel=0.06)
