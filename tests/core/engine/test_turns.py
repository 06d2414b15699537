"""Threads take turns rarely while every operation is short, often otherwise."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from minimx.core import engine
from minimx.core.device import cpu
from minimx.core.engine import Operation, Var, turns
from minimx.core.knobs import knobs
from minimx.core.ops.spec import Cost

SMALL, LARGE = Cost(4, 48), Cost(4, 1 << 20)


@pytest.fixture(autouse=True)
def _users_interval() -> Iterator[None]:
    """What Python has by itself is the user's; it is again afterwards."""
    with knobs(MXNET_ENGINE_TYPE="NaiveEngine"):
        before = sys.getswitchinterval()
        sys.setswitchinterval(0.005)
        yield
        sys.setswitchinterval(before)


def push(cost: Cost | None, times: int) -> None:
    var = Var()
    for _ in range(times):
        engine.push(lambda: None, cpu(), [], [var], "work", cost=cost)
    engine.wait_to_read(var)
    engine.wait_all()


def interval() -> float:
    """In seconds; Python keeps whole microseconds."""
    return pytest.approx(sys.getswitchinterval(), abs=2e-6)  # type: ignore[return-value]


def test_turns_follow_what_operations_cost() -> None:
    with knobs(MXNET_ENGINE_TYPE="ThreadedEnginePerDevice"):
        assert interval() == turns.OFTEN
        push(SMALL, turns.ENOUGH - 1)
        assert interval() == turns.OFTEN
        push(SMALL, 2)
        assert interval() == turns.RARELY
        push(LARGE, 1)
        assert interval() == turns.OFTEN
        push(SMALL, turns.ENOUGH - 1)
        push(None, 1)  # who knows what it costs
        push(SMALL, turns.ENOUGH - 1)
        assert interval() == turns.OFTEN
    assert interval() == 0.005


def test_joined_operations_are_short_if_all_parts_are() -> None:
    with knobs(MXNET_ENGINE_TYPE="ThreadedEnginePerDevice"):
        with engine.bulk(4):
            push(SMALL, 4 * turns.ENOUGH)
        assert interval() == turns.RARELY
        with engine.bulk(4):
            push(SMALL, 3)
            assert interval() == turns.RARELY
            push(LARGE, 1)
        assert interval() == turns.OFTEN


def test_an_interval_of_the_user_that_is_shorter_stays() -> None:
    sys.setswitchinterval(0.00005)
    with knobs(MXNET_ENGINE_TYPE="ThreadedEnginePerDevice"):
        assert interval() == 0.00005
        push(SMALL, 2 * turns.ENOUGH)
        assert interval() == 0.00005
    assert interval() == 0.00005


@pytest.mark.parametrize(("cost", "short"), [(SMALL, True), (LARGE, False)])
def test_what_is_short(cost: Cost, short: bool) -> None:
    def operation(cost: Cost | None) -> Operation:
        return Operation(lambda: None, cpu(), (), (Var(),), "work", cost=cost)

    assert operation(cost).short is short
    assert operation(Cost(1 << 20, 48)).short is False
    assert operation(Cost(48, 1 << 18)).short is False
    assert operation(Cost(2 * 16 * 64 * 256, 86_016)).short is True
    assert operation(None).short is False
