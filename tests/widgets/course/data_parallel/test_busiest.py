"""The exercise of notebook 13 about bytes into the busiest place."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from minimx_widgets.course.data_parallel.busiest import (
    KINDS,
    check_busiest,
    into_busiest,
    right,
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("devices", [2, 3, 8])
def test_the_formula_is_what_the_planners_plan(kind: str, devices: int) -> None:
    assert into_busiest(kind, devices, devices * 100) == right(
        kind, devices, devices * 100
    )


def by_rounds(kind: str, n: int, nbytes: int) -> float:
    if kind == "ring":
        return sum(nbytes / n for _ in range(2 * (n - 1)))
    return nbytes * (n if kind == "host" else n - 1)


@pytest.mark.parametrize("attempt", [right, by_rounds])
def test_right_answers_are_accepted(attempt: Callable[..., float]) -> None:
    assert check_busiest(attempt).passed


@pytest.mark.parametrize(
    ("attempt", "idea"),
    [
        (lambda k, n, b: n * b if k != "ring" else right(k, n, b), "home has"),
        (lambda k, n, b: right(k, n, b) / (2 if k == "ring" else 1), "second half"),
        (lambda k, n, b: 2 * b if k == "ring" else right(k, n, b), "not n"),
        (lambda k, n, b: 2 * (n - 1) * b if k == "ring" else right(k, n, b), "piece"),
        (lambda k, n, b: right(k, n, b) * (1 if k == "ring" else 2), "direction"),
        (lambda k, n, b: b, "who sends"),
        (lambda k, n, b: None, ""),
        (lambda k, n, b: ... if k == "ring" else right(k, n, b), ""),
        (lambda k, n, b: True, ""),
        (lambda k, n, b: b / 0, ""),
        (..., ""),
    ],
)
def test_wrong_answers_are_refused(attempt: Callable[..., float], idea: str) -> None:
    found = check_busiest(attempt)
    assert not found.passed
    assert idea in found.idea
