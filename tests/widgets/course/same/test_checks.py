"""The exercise accepts every right answer, and says what a wrong one has missed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from minimx_widgets.course.same.checks import _noise, check_seeds


def by_formula(spread: float, wanted: float) -> int:
    return max(math.floor(8 * spread**2 / wanted**2) + 1, 2)


def by_search(spread: float, wanted: float) -> float:
    return next(n * 1.0 for n in range(2, 999) if _noise(spread, n) < wanted)


def rounded_up(spread: float, wanted: float) -> int:
    return math.ceil(2 * 4 * (spread / wanted) ** 2)


@pytest.mark.parametrize("right", [by_formula, by_search, rounded_up])
def test_right_answers(right: Callable[[float, float], Any]) -> None:
    found = check_seeds(right)
    assert found.passed, found
    assert "14 for a spread of 0.013 and a difference of 0.01" in found.seen


WRONG = [
    (lambda s, w: ..., "is still there"),
    (lambda s, w: 4 * s**2 / w**2, "next whole number"),
    (lambda s, w: math.floor(4 * s**2 / w**2) + 1, "the *other* side"),
    (lambda s, w: math.floor(2 * s**2 / w**2) + 1, "*two* standard errors"),
    (lambda s, w: math.ceil(2 * s / w), "not by spread / n"),
    (lambda s, w: 1000, "one seed less would do"),
    (lambda s, w: "14", "it returned '14'"),
    (lambda s, w: s / 0, "ZeroDivisionError"),
]


@pytest.mark.parametrize(("wrong", "told"), WRONG)
def test_wrong_answers(wrong: Callable[[float, float], Any], told: str) -> None:
    found = check_seeds(wrong)
    assert not found.passed
    assert told in repr(found)


def test_nothing_yet() -> None:
    assert "nothing to check yet" in repr(check_seeds(...))
