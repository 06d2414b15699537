"""A prediction is locked in before anything is measured."""

from __future__ import annotations

from typing import Any

import pytest

from minimx_widgets.course import PredictCard
from minimx_widgets.course.predicting.card import distance
from minimx_widgets.course.predicting.ledger import Ledger
from tests.widgets.course.pressing import finished, press


def ask(question: str, measure: Any, *args: Any, **kwargs: Any) -> PredictCard:
    """A card with a ledger of its own, so that no other test has answered it."""
    kwargs.setdefault("ledger", Ledger())
    return PredictCard(question, measure, *args, **kwargs)


def test_nothing_is_measured_before_a_number_is_entered() -> None:
    measured: list[int] = []

    def measure() -> float:
        measured.append(1)
        return 3

    card = ask("How many?", measure)
    for text, answer in (("", "Write a number first"), ("no idea", "is no number")):
        press(card, text)
        assert answer in card._answer.value
    assert measured == []
    assert card.predicted is None
    press(card, "2 * 17")
    assert measured == [1]
    assert f"{card.predicted} {card.measured}" == "34.0 3.0"


def test_a_locked_prediction_cannot_be_changed() -> None:
    card = ask("How many?", lambda: 10.0, "of 10")
    card._sure.value = 90
    press(card, "9.5")
    assert card.confidence == 90
    assert all(c.disabled for c in (card._number, card._sure, card._button))
    assert "You said <b>9.5 of 10</b>, this machine says <b>10 of 10</b>" in (
        card._answer.value
    )
    assert repr(card) == "PredictCard(predicted 9.5, unit='of 10')"
    with pytest.raises(ValueError, match=r"9.5 of 10 is locked in\.$"):
        card.predict(10)
    with pytest.raises(ValueError, match="no other numbers"):
        card.again()


def test_how_sure_one_is_may_arrive_just_after_the_click() -> None:
    """The page sends the last of several quick changes late."""
    card = ask("How many?", lambda: 10.0)
    card._number.value = "10"
    card._button.click()
    card._sure.value = 90
    finished()
    assert card.confidence == 90


def test_a_measurement_that_fails_leaves_the_card_open() -> None:
    def fail() -> float:
        raise OSError("<no> clock")

    card = ask("How long?", fail)
    with pytest.raises(OSError, match="clock"):
        card.predict(1)
    assert card.predicted is None
    assert not card._button.disabled
    assert "&lt;no&gt; clock" in card._answer.value
    press(card, "2")
    assert not card._button.disabled


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_prediction_is_a_finite_number(value: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        ask("?", lambda: 1.0).predict(value)


@pytest.mark.parametrize(
    ("said", "seen", "words"),
    [
        (3, 3, "exactly right"),
        (100, 95, "within a tenth"),
        (1, 50, "too low by a factor of 50"),
        (50, 1, "too high by a factor of 50"),
        (-1, 4, "too low by 5"),
    ],
)
def test_the_distance_in_words(said: float, seen: float, words: str) -> None:
    assert distance(said, seen) == words


def test_what_is_not_measured_here_says_who_says_it() -> None:
    card = ask("How many?", lambda: 2.0, by="the <manual>")
    assert card._button.description == "Lock in and look"
    card.predict(4)
    assert "the &lt;manual&gt; says <b>2</b>" in card._answer.value
    assert "measured" not in card._answer.value


def test_without_a_page_a_card_is_its_question() -> None:
    card = ask("How <b>many</b>?", lambda: 1.0, "ms")
    data: Any = card._repr_mimebundle_()[0]
    assert data["text/plain"] == "PredictCard(open, unit='ms')"
    assert "How <b>many</b>?" in data["text/html"]
    assert "Run the cell" in data["text/html"]


def test_the_card_says_how_a_number_is_read_before_it_is_locked_in() -> None:
    card = ask("How large?", lambda: 68096.0, "B")
    card._number.value = "66.5 KiB"
    assert "read as 68,096 B" in card._read_as.value
    card._number.value = "2 MB"
    assert "1,048,576" in card._read_as.value
    card._number.value = "68,096"
    assert card._read_as.value == ""
    press(card, "68,096")
    assert "You said <b>68,096 B</b>, this machine says <b>68,096 B</b>: exactly" in (
        card._answer.value
    )


def test_a_known_misconception_is_named() -> None:
    def card() -> PredictCard:
        return ask(
            "{n} tasks on 2 workers?",
            lambda n: n / 2 + 4,
            "ms",
            numbers={"n": (16, 20)},
            wrong={lambda n: n / 2: "That is the bound.", 99: "That is a joke."},
        )

    for said, lesson in (("8", "the bound"), ("99", "a joke"), ("40", ""), ("12", "")):
        asked = card()
        press(asked, said)
        assert asked.answer is not None
        assert lesson in asked.answer.lesson
        assert bool(asked.answer.lesson) is bool(lesson)
        assert ("What may be behind it" in asked._answer.value) is bool(lesson)
        assert asked.answer.right is (said == "12")


def test_another_one_has_other_numbers_and_each_learner_has_their_own() -> None:
    def card(ledger: Ledger) -> PredictCard:
        numbers = {"n": tuple(range(1000, 3000))}
        return ask(
            "Twice {n}?", lambda n: 2.0 * n, name="00/n", numbers=numbers, ledger=ledger
        )

    assert "Twice 1,000?" in card(Ledger()).question  # as in the book
    ledgers = [Ledger(), Ledger()]
    ledgers[0].learner, ledgers[1].learner = 1, 2
    first, second = (card(one) for one in ledgers)
    assert first.question != second.question
    assert card(ledgers[0]).question == first.question
    with pytest.raises(ValueError, match="it is open"):
        first.again()
    first.predict(2 * first.numbers["n"])
    shown = first.question
    assert card(ledgers[0]).predicted == first.predicted  # run again: locked in
    assert first._again.layout.display == ""
    first.again()
    assert first.question != shown
    assert first.predicted is None
    assert not first._button.disabled
    first.predict(1)
    again = card(ledgers[0])
    assert (again.question, again.attempt) == (first.question, first.attempt)


def test_an_answer_to_a_question_that_was_changed_is_not_locked_in() -> None:
    ledger = Ledger()
    ask("How many?", lambda: 1.0, name="00/many", ledger=ledger).predict(1)
    assert ask("How many?", lambda: 1.0, name="00/many", ledger=ledger).predicted == 1
    changed = ask("How many now?", lambda: 1.0, name="00/many", ledger=ledger)
    assert changed.predicted is None


def test_what_happened_to_the_file_is_said_on_the_card() -> None:
    ledger = Ledger()
    ledger.notice = "This prediction could not be <saved>"
    card = ask("How many?", lambda: 1.0, ledger=ledger)
    card.predict(1)
    assert "could not be &lt;saved&gt;" in card._answer.value
