"""A prediction is locked in before anything is measured."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from minimx_widgets.course import PredictCard
from minimx_widgets.course.parts.cards import distance, read_number


def press(card: PredictCard, text: str) -> None:
    """Enter a number on the page and press the button; waits for the measurement."""
    card._number.value = text
    card._button.click()
    for thread in threading.enumerate():
        if thread.name == "prediction":
            thread.join(timeout=20)


def test_nothing_is_measured_before_a_number_is_entered() -> None:
    measured: list[int] = []

    def measure() -> float:
        measured.append(1)
        return 3

    card = PredictCard("How many?", measure)
    for text in ("", "no idea", "×"):
        press(card, text)
    assert measured == []
    assert card.predicted is None
    assert "Enter a number first" in card._answer.value
    press(card, "34 ×")
    assert measured == [1]
    assert f"{card.predicted} {card.measured}" == "34.0 3.0"


def test_a_locked_prediction_cannot_be_changed() -> None:
    card = PredictCard("How many?", lambda: 10.0, "of 10")
    card._sure.value = 90
    press(card, "9.5")
    assert card.confidence == 90
    assert all(c.disabled for c in (card._number, card._sure, card._button))
    assert "You said <b>9.5 of 10</b>, this machine says <b>10 of 10</b>" in (
        card._answer.value
    )
    assert repr(card) == "PredictCard(predicted 9.5, unit='of 10')"


def test_a_measurement_that_fails_leaves_the_card_open() -> None:
    def fail() -> float:
        raise OSError("<no> clock")

    card = PredictCard("How long?", fail)
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
        PredictCard("?", lambda: 1.0).predict(value)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("34", 34),
        (" 34x", 34),
        ("0.5 ms", 0.5),
        (".5", 0.5),
        ("0,5", 0.5),
        ("-2e3", -2000),
        ("1e999", None),
        ("about 3", None),
        ("", None),
    ],
)
def test_numbers_are_read_as_people_write_them(text: str, number: float | None) -> None:
    assert read_number(text) == number


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
    card = PredictCard("How many?", lambda: 2.0, by="the <manual>")
    assert card._button.description == "Lock in and look"
    card.predict(4)
    assert "the &lt;manual&gt; says <b>2</b>" in card._answer.value
    assert "measured" not in card._answer.value


def test_without_a_page_a_card_is_its_question() -> None:
    card = PredictCard("How <b>many</b>?", lambda: 1.0, "ms")
    data: Any = card._repr_mimebundle_()[0]
    assert data["text/plain"] == "PredictCard(open, unit='ms')"
    assert "How <b>many</b>?" in data["text/html"]
    assert "Run the cell" in data["text/html"]
