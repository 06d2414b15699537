"""The exercise of notebook 13 in which gradients get an order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minimx_widgets.course.data_parallel.ordering import (
    NAMES,
    SIZES,
    TARGET,
    check_order,
    sent,
    stall,
)

RIGHT = {name: -place for place, name in enumerate(NAMES)}
ALIKE = dict.fromkeys(NAMES, 0)


def test_the_trainers_own_order_reaches_the_target() -> None:
    assert stall() == stall(RIGHT) <= TARGET < stall(ALIKE)


@pytest.mark.parametrize(
    "attempt", [RIGHT, {name: 100 - 7 * place for place, name in enumerate(NAMES)}]
)
def test_right_orders_are_accepted(attempt: dict[str, int]) -> None:
    found = check_order(attempt)
    assert found.passed
    assert "sent embedding first and decoder last" in found.seen


@pytest.mark.parametrize(
    ("attempt", "idea"),
    [
        (ALIKE, "equal priorities"),
        ({name: place for place, name in enumerate(NAMES)}, "the sign"),
        ({name: -SIZES[name] for name in NAMES}, "small is not urgent"),
        (SIZES, "large is not urgent"),
        ({**RIGHT, "embedding": -9}, "next forward pass"),
        ({"embedding": 1}, ""),
        (dict.fromkeys(NAMES, 0.5), ""),
        ([5, 4, 3, 2, 1, 0], ""),
        (..., ""),
    ],
)
def test_wrong_orders_are_refused(attempt: Any, idea: str) -> None:
    found = check_order(attempt)
    assert not found.passed
    assert idea in found.idea


def test_a_real_store_sends_by_priority_and_adds_the_same() -> None:
    order, sums = sent(RIGHT)
    other, same = sent(ALIKE)
    assert order == list(NAMES)
    assert other == list(NAMES)[::-1]
    for name in NAMES:
        np.testing.assert_array_equal(sums[name], same[name])


def test_other_sums_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from minimx_widgets.course.data_parallel import ordering

    def wrong(priorities: dict[str, int]) -> tuple[list[str], dict[str, Any]]:
        return list(NAMES), {name: np.float32(len(set(priorities.values())))
                             for name in NAMES}  # fmt: skip

    monkeypatch.setattr(ordering, "sent", wrong)
    found = check_order(RIGHT)
    assert not found.passed
    assert "differ" in found.seen
