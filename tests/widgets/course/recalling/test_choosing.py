"""What a learner is asked again is a function of their answers, and of nothing else."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minimx_widgets.course.predicting.card import drawn
from minimx_widgets.course.predicting.ledger import Answer
from minimx_widgets.course.recalling import bank
from minimx_widgets.course.recalling.choosing import choose, next_attempt
from minimx_widgets.course.recalling.question import Question, number


def question(name: str, about: tuple[str, ...] = ()) -> Question:
    return number(name, "{n}?", lambda n: n, about=about, numbers={"n": (1, 2, 3, 4)})


QUESTIONS = [question(f"00/{letter}") for letter in "abcde"]


def answer(card: str, right: bool, sure: int = 70, **changes: object) -> Answer:
    values: dict[str, object] = {"asked": "?", "value": 1.0, "seen": 2.0, "unit": ""}
    values |= {"sure": sure, "right": right, "numbers": {"n": 1}, **changes}
    return Answer(card, **values)  # type: ignore[arg-type]


def test_without_answers_the_preferred_ones_are_asked_then_the_first() -> None:
    assert choose([], QUESTIONS, 3, ["00/d", "00/b"]) == ["00/d", "00/b", "00/a"]
    assert choose([], QUESTIONS, 9) == [each.name for each in QUESTIONS]
    assert choose([], [], 2) == []


def test_the_order_of_what_is_needed() -> None:
    answers = [
        answer("00/a", right=True, sure=95),
        answer("00/b", right=True, sure=55),
        answer("00/c", right=False, sure=55),
        answer("00/d", right=False, sure=90),
    ]
    asked = choose(answers, QUESTIONS, 5)
    assert asked == ["00/d", "00/c", "00/b", "00/e", "00/a"]
    preferred = choose(answers, QUESTIONS, 5, ["00/e"])
    assert preferred == ["00/d", "00/c", "00/e", "00/b", "00/a"]


def test_the_newest_answer_counts() -> None:
    wrong, right = answer("00/c", right=False), answer("00/c", right=True, sure=90)
    assert choose([right, wrong], QUESTIONS, 1) == ["00/c"]
    assert choose([wrong, right], QUESTIONS, 5)[-1] == "00/c"


def test_of_equal_ones_that_comes_first_which_was_not_asked_for_longest() -> None:
    answers = [answer(f"00/{letter}", right=False) for letter in "ecabd"]
    asked = [name[-1] for name in choose(answers, QUESTIONS, 5)]
    assert asked == list("ecabd")
    again = [*answers, answer("00/e", right=False)]
    assert [name[-1] for name in choose(again, QUESTIONS, 5)] == list("cabde")


def test_a_card_of_the_notebook_counts_for_the_questions_about_it() -> None:
    asked = [
        question("00/x"),
        question("08/y", ("08/round",)),
        question("08/z", ("08/round",)),
    ]
    answers = [answer("08/round", right=False, sure=90)]
    assert choose(answers, asked, 1) == ["08/y"]
    # Two about one card are not asked together, but where there is nothing else.
    assert choose(answers, asked, 2) == ["08/y", "00/x"]
    assert choose(answers, asked, 3) == ["08/y", "00/x", "08/z"]
    # The other one is known as soon as the first has been answered after the card.
    answers.append(answer("08/y", right=True, sure=90))
    assert choose(answers, asked, 1) == ["08/z"]


answers_of_any = st.lists(
    st.builds(
        answer,
        st.sampled_from([*bank.every(), "08/round", "nowhere", ""]),
        st.booleans(),
        st.integers(0, 100),
    ),
    max_size=30,
)


@given(answers_of_any, st.sampled_from(bank.ORDER), st.integers(0, 4))
def test_any_ledger_gives_as_many_different_questions(
    answers: list[Answer], notebook: str, count: int
) -> None:
    questions = bank.before(notebook)
    preferred = bank.PREFERRED[notebook]
    asked = choose(answers, questions, count, preferred)
    assert len(set(asked)) == len(asked) == min(count, len(questions))
    assert set(asked) <= {each.name for each in questions}
    assert asked == choose(iter(answers), questions, count, preferred)


@pytest.mark.parametrize("notebook", bank.ORDER)
def test_without_answers_the_preferred_ones_are_asked(notebook: str) -> None:
    preferred = bank.PREFERRED[notebook]
    questions = {name: bank.every()[name] for name in preferred}
    questions |= {each.name: each for each in bank.before(notebook)}
    assert choose([], [*questions.values()], 2, preferred) == [*preferred]


def test_the_next_attempt_has_other_numbers() -> None:
    chance = random.Random(0)
    (one,) = QUESTIONS[:1]
    for _ in range(50):
        learner = chance.randrange(1, 1 << 32)
        assert next_attempt([], one, learner) == 0
        numbers = drawn(one.numbers, learner, one.name, 0)
        answers = [answer(one.name, right=False, numbers=numbers)]
        attempt = next_attempt(answers, one, learner)
        assert attempt > 0
        assert drawn(one.numbers, learner, one.name, attempt) != numbers
        answers.append(answer(one.name, right=True, attempt=attempt))
        assert next_attempt(answers, one, learner) > attempt


def test_a_question_with_no_other_numbers_is_asked_again_all_the_same() -> None:
    fixed = number("00/fixed", "?", lambda: 1.0)
    answers = [answer("00/fixed", right=False, numbers={}, attempt=4)]
    assert next_attempt(answers, fixed, 7) == 5
