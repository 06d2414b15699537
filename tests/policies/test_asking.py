"""Questions to policies: what they raise, that they end, that they repeat."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from minimx.policies import asking
from minimx.policies.asking import Asked, Broken, shortened, within


class Echo:
    def say(self, word: Any) -> Any:
        return word


class Raises:
    def say(self, word: Any) -> Any:
        raise KeyError(word)


class Stubborn:
    """Goes on for ever, whatever is raised in it."""

    def __init__(self) -> None:
        self.over = False

    def say(self, word: Any) -> Any:
        while not self.over:
            try:
                while not self.over:
                    pass
            except BaseException:
                continue


class Endless:
    def say(self, word: Any) -> Any:
        while True:
            try:
                while True:
                    pass
            except Exception:
                continue


def test_an_answer_comes_back_and_is_noted() -> None:
    answers: list[str] = []
    ask = Asked(Echo(), "say", answers)
    assert ask(3) == 3
    assert answers == ["3"]
    assert ask.shown((3,), 4) == "say(3) gives 4"


def test_what_is_raised_becomes_a_lesson_with_the_line() -> None:
    with pytest.raises(Broken) as found:
        Asked(Raises(), "say")("w")
    assert found.value.what.startswith("say('w') raises KeyError: 'w', at `raise Key")
    assert isinstance(found.value.__cause__, KeyError)


def test_another_answer_in_the_second_run_is_found() -> None:
    answers: list[str] = []
    Asked(Echo(), "say", answers)(1)
    with pytest.raises(Broken, match="gave 1 in one run and 2 in the next"):
        Asked(Echo(), "say", [], answers)(2)
    with pytest.raises(Broken, match="gave nothing in one run"):
        Asked(Echo(), "say", [], [])(1)


def test_a_loop_without_an_end_is_ended() -> None:
    before = threading.active_count()
    began = time.monotonic()
    with pytest.raises(Broken, match=r"say\(7\) had no answer when 0.1 s were over"):
        within(0.1, lambda: Asked(Endless(), "say")(7))
    assert time.monotonic() - began < asking.GRACE
    assert threading.active_count() == before


def test_what_cannot_be_stopped_is_left_to_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(asking, "GRACE", 0.3)
    policy = Stubborn()
    with pytest.raises(Broken, match="and could not be stopped"):
        within(0.1, lambda: Asked(policy, "say")(7))
    policy.over = True


def test_many_short_questions_end_at_the_next_one() -> None:
    ask = Asked(Echo(), "say")

    def on_and_on() -> None:
        while True:
            ask(1)

    with pytest.raises(Broken, match="had no answer"):
        within(0.1, on_and_on)


def test_within_gives_the_result_or_raises_the_error() -> None:
    assert within(5, lambda: 42) == 42
    with pytest.raises(ZeroDivisionError):
        within(5, lambda: 1 / 0)


def test_a_long_question_is_shortened_in_the_middle() -> None:
    assert shortened("x" * asking.SHOWN) == "x" * asking.SHOWN
    found = shortened("a" + "x" * asking.SHOWN + "b")
    assert found[0] == "a" and found[-1] == "b" and " … " in found
