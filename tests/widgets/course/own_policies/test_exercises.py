"""The exercises of notebook 16 take right answers, and teach wrong ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from minimx_widgets.course.own_policies.exercises import (
    _WRONG,
    check_better,
    check_twice,
    right,
)


def policy(size: Callable[[int, Any], Any]) -> type:
    return type("Attempt", (), {"size": lambda self, nbytes, idle: size(nbytes, idle)})


def by_sorting(nbytes: int, idle: Any) -> int:
    for block in sorted(idle):
        if block >= nbytes:
            return int(block) if block <= 2 * nbytes else nbytes
    return nbytes


@pytest.mark.parametrize("attempt", [right, by_sorting])
def test_right_answers_are_accepted(attempt: Any) -> None:
    assert check_twice(policy(attempt)).passed


@pytest.mark.parametrize(("attempt", "idea"), _WRONG)
def test_wrong_answers_get_their_idea(attempt: Any, idea: str) -> None:
    found = check_twice(policy(attempt))
    assert not found.passed
    assert found.idea == idea


@pytest.mark.parametrize(
    ("attempt", "seen"),
    [
        (policy(lambda n, idle: ...), "still there"),
        (policy(lambda n, idle: n / 0), "ZeroDivisionError"),
        (policy(lambda n, idle: None), "gives None"),
        (right, "is no class"),
        (..., "nothing to check"),
        (type("Empty", (), {}), "AttributeError"),
    ],
)
def test_what_is_no_answer(attempt: Any, seen: str) -> None:
    found = check_twice(attempt)
    assert not found.passed and seen in repr(found)


def any_that_fits(nbytes: int, idle: Any) -> int:
    return min((block for block in idle if nbytes <= block), default=nbytes)


def test_the_free_exercise_can_be_solved() -> None:
    def an_eighth_more(nbytes: int, idle: Any) -> int:
        return (
            any_that_fits(nbytes, idle)
            if max(idle, default=0) >= nbytes
            else (nbytes + nbytes // 8)
        )

    assert check_better(policy(an_eighth_more)).passed


@pytest.mark.parametrize(
    ("attempt", "idea"),
    [
        (lambda n, idle: n, "adversarial"),
        (right, "adversarial"),
        (any_that_fits, "adversarial"),  # an example of the notebook
        (lambda n, idle: max((b for b in idle if n <= b), default=n), "adversarial"),
        (lambda n, idle: max(4 << 20, -(-n >> 22) << 22), "training"),
        (lambda n, idle: min(idle, default=n), ""),
    ],
)
def test_pools_that_are_dear_or_wrong_are_not_enough(attempt: Any, idea: str) -> None:
    found = check_better(policy(attempt))
    assert not found.passed
    assert found.idea.startswith(idea)
