"""Feedback says what was seen, what was wanted and which idea to look at."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any

import pytest

from minimx_widgets.course import Feedback, check
from minimx_widgets.course.parts import checks


@check
def doubles(attempt: Any) -> Feedback:
    return Feedback(attempt(2) == 4, f"it made {attempt(2)} of 2", "4")


def test_what_is_missing_is_not_an_error() -> None:
    for nothing in (None, ...):
        assert doubles(nothing) == Feedback(
            False, "nothing to check yet", "your own solution above"
        )


def test_an_attempt_is_judged() -> None:
    assert doubles(lambda x: 2 * x).passed
    assert not doubles(lambda x: x).passed


def test_an_attempt_that_raises_is_told_its_own_line() -> None:
    def attempt(x: int) -> float:
        return x / 0  # the line to look at

    feedback = doubles(attempt)
    assert not feedback.passed
    assert feedback.seen == "ZeroDivisionError: division by zero"
    assert feedback.idea == "the line `return x / 0  # the line to look at`"


def test_lines_of_the_library_are_not_the_learners() -> None:
    @contextmanager
    def empty() -> Any:
        if False:
            yield

    def attempt(x: int) -> None:
        with empty():  # contextlib complains, but here is the learner
            pass

    assert "with empty()" in doubles(attempt).idea


def test_feedback_reads_well_in_words_and_on_the_page() -> None:
    feedback = Feedback(False, "1 < 2", "2 & more", "order")
    assert repr(feedback) == (
        "✘ not yet: 1 < 2\n  expected: 2 & more\n  look again at: order"
    )
    page = feedback._repr_html_()
    assert "1 &lt; 2" in page
    assert "2 &amp; more" in page
    assert "warn" in page
    assert repr(Feedback(True, "well done")) == "✔ solved: well done"


def test_code_in_feedback_is_set_as_code() -> None:
    page = Feedback(False, "the line `a < b`", "one ` only")._repr_html_()
    assert "the line <code>a &lt; b</code>" in page
    assert "one ` only" in page


def forever(x: int) -> int:
    while True:
        x += 1


def ends(x: int) -> int:
    raise SystemExit(x)


def blank(x: int) -> int:
    return x + ...  # type: ignore[operator]


@pytest.mark.parametrize(
    ("attempt", "seen", "line"),
    [
        (forever, "no answer after 0.3 seconds", "x += 1"),
        (ends, "ends the program", "raise SystemExit(x)"),
        (blank, "a blank is still there: ...", "return x + ..."),
    ],
)
def test_attempts_that_do_not_return(
    attempt: Any, seen: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "LIMIT", 0.3)

    @check
    def judge(attempt: Any) -> Feedback:
        return Feedback(attempt(1) == 2, "the sum")

    found = judge(attempt)
    assert not found.passed
    assert seen in found.seen
    assert line in found.idea or (attempt is forever and "while True" in found.idea)


def test_the_stop_button_still_interrupts() -> None:
    @check
    def judge(attempt: Any) -> Feedback:
        return Feedback(attempt(), "")

    def interrupted() -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        judge(interrupted)
