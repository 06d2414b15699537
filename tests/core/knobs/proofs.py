"""What a proof that a knob is alive is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pytest

from minimx.core import engine
from minimx.core.knobs import knobs
from minimx.tools import knob_examples as examples

F = TypeVar("F", bound=Callable[..., object])

PROVEN: set[str] = set()


def proves(*names: str) -> Callable[[F], F]:
    """Note that a test shows these knobs to be alive."""

    def note(test: F) -> F:
        PROVEN.update(names)
        return test

    return note


def by_example() -> set[str]:
    """The knobs that `tests/tools/test_knob_examples.py` turns on every machine.

    It turns each back as well. What needs oneDNN is not turned where that is missing.
    """
    found = {knob.name: examples.of(knob.name) for knob in knobs if knob.live}
    return {
        name
        for name, one in found.items()
        if one and one.needs != examples.Needs.ONEDNN
    }


@pytest.fixture(autouse=True)
def defaults() -> Iterator[None]:
    """Every test begins and ends with all knobs at their defaults."""
    knobs.reset()
    yield
    knobs.reset()
    engine.wait_all()


def turned(observe: Callable[[], Any], **changes: object) -> tuple[Any, Any]:
    """What is seen before and while knobs are turned; afterwards it is as before."""
    before = observe()
    with knobs(**changes):
        during = observe()
    assert observe() == before
    return before, during
