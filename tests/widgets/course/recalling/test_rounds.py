"""Cards that stay the same until they are answered, whatever happens to the kernel."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from minimx_widgets.course.predicting import ledger as ledgers
from minimx_widgets.course.predicting.ledger import MARK, NAME, Answer, Ledger
from minimx_widgets.course.recalling import bank
from minimx_widgets.course.recalling.choice_card import ChoiceCard
from minimx_widgets.course.recalling.rounds import Round, exit_ticket, recall
from tests.widgets.course.pressing import press


def names(found: Round) -> list[str]:
    return [card.name for card in found.cards]


def wrong(card: str, sure: int = 90) -> Answer:
    return Answer(card, "?", 1.0, 2.0, "", sure, right=False)


def answer_all(found: Round, value: float = 1) -> None:
    for card in found.cards:
        card.predict(value)


def test_a_learner_without_a_ledger_is_asked_what_the_notebook_builds_on() -> None:
    found = recall("09", Ledger())
    assert names(found) == list(bank.PREFERRED["09"])
    assert repr(found) == "recall: 2 questions, 0 answered"
    data: Any = found._repr_mimebundle_()[0]
    assert data["text/html"].count("<b>Recall.</b>") == 2
    ticket = exit_ticket("09", Ledger())
    assert {name[:3] for name in names(ticket)} == {"09/"}
    assert "<b>Exit ticket.</b>" in ticket._repr_mimebundle_()[0]["text/html"]
    with pytest.raises(ValueError, match="no notebook '9'"):
        recall("9")


def test_it_asks_for_what_was_wrong() -> None:
    ledger = Ledger()
    ledger.add(wrong("08/round"))
    ledger.add(wrong("03/threads", sure=55))
    ledger.add(wrong("10/in-a-row"))  # of a later notebook
    assert names(recall("09", ledger)) == ["08/cutoff-again", "03/threads"]
    assert "08/cutoff-again" in names(exit_ticket("08", ledger))


def test_the_same_questions_stay_until_they_are_answered(tmp_path: Path) -> None:
    path = tmp_path / NAME
    first = recall("09", Ledger(path))
    asked = [card.question for card in first.cards]
    other = Ledger(path)  # another notebook, meanwhile
    for each in ("01/reading", "02/deadlock"):
        other.add(wrong(each))
    again = recall("09", Ledger(path))  # the kernel was started again
    assert [card.question for card in again.cards] == asked
    again.cards[0].predict(1, 60)
    third = recall("09", Ledger(path))
    assert [card.question for card in third.cards] == asked
    assert [card.predicted for card in third.cards] == [1, None]
    with pytest.raises(ValueError, match="1 of 2 questions are open"):
        third.others()
    third._others.click()
    assert "Answer them first" in third._note.value
    third.cards[1].predict(1)
    third.others()
    assert names(third) == ["01/reading", "02/deadlock"]
    assert names(recall("09", Ledger(path))) == ["01/reading", "02/deadlock"]


def test_what_is_asked_again_has_other_numbers(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / NAME)
    ticket = exit_ticket("08", ledger)
    answer_all(ticket)  # 1 MiB is wrong
    asked = {card.name: card.question for card in ticket.cards}
    again = recall("09", ledger)
    assert set(names(again)) == set(asked)
    for card in again.cards:
        assert card.predicted is None
        assert card.question != asked[card.name]
    # The ticket still has its own answers, with its own numbers.
    answer_all(again)
    ticket = exit_ticket("08", ledger)
    assert {card.name: card.question for card in ticket.cards} == asked
    assert all(card.predicted == 1 for card in ticket.cards)


def test_answers_know_where_they_were_given(tmp_path: Path) -> None:
    path = tmp_path / NAME
    ledger = Ledger(path)
    answer_all(recall("09", ledger))
    answer_all(exit_ticket("09", ledger))
    places = [each.place for each in Ledger(path)]
    assert places == ["09/recall"] * 2 + ["09/exit-ticket"] * 2
    topics = {each.topic for each in Ledger(path)}
    assert topics == {"09", "06", "04"}
    assert ledger.last("06/neighbours") is None  # not one of a notebook's own cards


def test_a_choice_that_is_damaged_or_outdated_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / NAME
    begin = '{"learner": 3}\n{"asked_at": "09/recall"'
    for questions in ('{"99/gone": 0}', "{}", "[1]", '{"08/round": -1}', '"a"', "null"):
        path.write_text(f'{begin}, "questions": {questions}}}\n')
        found = recall("09", Ledger(path))
        assert names(found) == list(bank.PREFERRED["09"])
        answer_all(found)
        assert len(Ledger(path)) == 2
    path.write_text(f"{begin}}}\n")
    assert "1 line of" in recall("09", Ledger(path)).cards[0].ledger.notice


def test_a_file_that_cannot_be_written_costs_no_answer(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / NAME)
    ledger.path = tmp_path / "gone" / NAME  # the folder went away
    found = recall("09", ledger)
    assert "could not be saved" in found._note.value
    answer_all(found)
    assert repr(found) == "recall: 2 questions, 2 answered"


def test_it_uses_the_ledger_of_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / MARK).write_text("{}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ledgers, "_known", {})
    answer_all(exit_ticket("01"))
    lines = [json.loads(line) for line in (tmp_path / NAME).read_text().splitlines()]
    assert [sorted(line)[0] for line in lines[:2]] == ["learner", "asked_at"]
    assert lines[2]["place"] == "01/exit-ticket"


# -- cards with options ----------------------------------------------------------------


def options(ledger: Ledger | None = None, **others: Any) -> ChoiceCard:
    found = {"It waits.": "", "It copies.": "A copy is quick.", "It sleeps.": "No."}
    mine = Ledger() if ledger is None else ledger
    return ChoiceCard("Why?", found, name="01/why", ledger=mine, **others)


def test_an_option_is_answered_with_its_letter() -> None:
    card = options(why="It is asked to.")
    right = card.right_answer()
    for text in ("", "d", "ab", "1", "It waits."):
        press(card, text)
        assert "Write the letter of an answer: a, b or c." in card._answer.value
        assert card.predicted is None
    card._number.value = f"{right.upper()})"
    assert f"read as {right}" in card._read_as.value
    press(card, f"{right.upper()})")
    assert card.answer is not None and card.answer.right
    assert f"You said <b>{right}</b>, which is right." in card._answer.value
    assert "It is asked to." in card._answer.value


def test_a_wrong_option_names_its_misconception_whatever_its_letter() -> None:
    for learner in range(12):
        ledger = Ledger()
        ledger.learner = learner
        card = options(ledger)
        items = card.question.split("<li>")[1:]
        letter = "abc"[[item.startswith("It copies.") for item in items].index(True)]
        press(card, letter)
        assert card.answer is not None
        assert (card.answer.right, card.answer.value) == (False, 2.0)
        assert "A copy is quick." in card._answer.value
        assert f"right is <b>{card.right_answer()}</b>" in card._answer.value
        again = options(ledger)  # run again: the same order, and locked in
        assert (again.question, again.predicted) == (card.question, 2.0)


def test_learners_have_options_in_orders_of_their_own() -> None:
    seen = set()
    for learner in range(40):
        ledger = Ledger()
        ledger.learner = learner
        seen.add(options(ledger).question)
    assert len(seen) == 6


def test_another_order_is_not_offered_as_another_question() -> None:
    card = options()
    before = card.question
    press(card, "a")
    assert card._again.layout.display == "none"
    card.again()
    assert card.question != before and card.predicted is None


def test_a_place_that_is_no_option_is_refused() -> None:
    card = options()
    for value in (0, 4, 1.5, float("nan")):
        with pytest.raises(ValueError, match="3 options"):
            card.predict(value)
    assert card.predicted is None
