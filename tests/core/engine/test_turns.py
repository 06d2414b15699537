"""Threads take turns often while an engine has workers, else as the user has it."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from minimx.core.engine import turns
from minimx.core.knobs import knobs


@pytest.fixture(autouse=True)
def _users_interval() -> Iterator[None]:
    """What Python has by itself is the user's; it is again afterwards."""
    with knobs(MXNET_ENGINE_TYPE="NaiveEngine"):
        before = sys.getswitchinterval()
        sys.setswitchinterval(0.005)
        yield
        sys.setswitchinterval(before)


def interval() -> float:
    """In seconds; Python keeps whole microseconds."""
    return pytest.approx(sys.getswitchinterval(), abs=2e-6)  # type: ignore[return-value]


def test_turns_are_taken_often_while_there_are_workers() -> None:
    assert interval() == 0.005
    with knobs(MXNET_ENGINE_TYPE="ThreadedEnginePerDevice"):
        assert interval() == turns.OFTEN
    assert interval() == 0.005


def test_an_interval_of_the_user_that_is_shorter_stays() -> None:
    sys.setswitchinterval(0.00005)
    with knobs(MXNET_ENGINE_TYPE="ThreadedEnginePerDevice"):
        assert interval() == 0.00005
    assert interval() == 0.00005
