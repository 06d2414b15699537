"""What notebook 16 shows of pools, and what the documents say of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from minimx.core.knobs import knobs
from minimx.policies.registry import entries, register_pool, unregister
from minimx_widgets.course.own_policies import serving

RISING = [1000 * k for k in range(1, 21)]


class FirstThatFits:
    def size(self, nbytes: int, idle: Any) -> int:
        return min((block for block in idle if nbytes <= block), default=nbytes)


class Fails:
    def size(self, nbytes: int, idle: Any) -> int:
        return nbytes if nbytes != 31_676 else 0


@pytest.fixture(autouse=True)
def nothing_stays_registered() -> Iterator[None]:
    yield
    for entry in list(entries()):
        unregister(entry.policy)


def test_requests_are_served_one_after_the_other() -> None:
    rows = serving.served(FirstThatFits, [3_000, 7_000, 2_000, 6_500])
    assert [row[2] for row in rows] == ["3,000", "7,000", "3,000", "7,000"]
    assert [row[3] for row in rows] == ["the device"] * 2 + ["the pool"] * 2
    assert rows[2][1] == "3,000, 7,000"


@pytest.mark.parametrize(
    ("which", "requests", "calls"),
    [
        (FirstThatFits, RISING, 20),
        (FirstThatFits, RISING[::-1], 1),
        ("Naive", RISING, 5),
        ("Unpooled", RISING, 20),
        ("Round", RISING, 4),
    ],
)
def test_calls_of_the_driver(which: Any, requests: list[int], calls: int) -> None:
    assert serving.driver_calls(which, requests) == calls


def test_a_registered_pool_serves_a_simulated_gpu() -> None:
    register_pool(FirstThatFits)
    record, calls, reserved = serving.in_the_runtime("FirstThatFits")
    usual = serving.in_the_runtime("Naive")
    assert calls < usual[1] and reserved <= usual[2]
    assert len(record.mem()) > 480


def test_one_that_fails_is_replaced() -> None:
    register_pool(Fails)
    warning, knob = serving.failing(Fails, 31_676)
    assert "size(31676" in warning and "Naive took over" in warning
    assert knob == knobs.get(serving.CPU_TYPE) == "Naive"
    register_pool(Fails)
    with pytest.raises(AssertionError, match="did not fail"):
        serving.failing(Fails, 400)
