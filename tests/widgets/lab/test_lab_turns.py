"""Turns of a lab, and the bindings that they cause."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from minimx_widgets.lab.lab_turns import SOON, Turning
from minimx_widgets.lab.turns import Turns
from minimx_widgets.training.meter import Facts


@pytest.fixture
def lab() -> Any:
    """What `Turning` asks of a lab whose training has ended its third step."""
    turns = Turns()
    turns.turned("MXNET_ENGINE_TYPE", "NaiveEngine", "ThreadedEngine")
    binding = SimpleNamespace(differs=True)
    made = SimpleNamespace(
        turns=turns,
        fit=SimpleNamespace(step=0, binding=binding),
        knobs=SimpleNamespace(refresh=lambda: None),
    )
    goes_on(made, 3)
    return made


def goes_on(lab: Any, steps: int) -> None:
    for _ in range(steps):
        lab.fit.step += 1
        lab.turns.stepped(lab.fit.step, Facts())


@pytest.mark.parametrize("noted_first", [True, False])
def test_a_binding_is_said_of_its_turn_whichever_is_seen_first(
    lab: Any, noted_first: bool
) -> None:
    turning = Turning(lab)
    if noted_first:
        turning.noted("MXNET_BACKWARD_DO_MIRROR", "0", "1")
        goes_on(lab, 1)
        turning.rebound(2 << 20, 1 << 20)
    else:  # the training took the knob up before its turn was noted
        goes_on(lab, 1)
        turning.rebound(2 << 20, 1 << 20)
        assert lab.turns.last.note == ""
        goes_on(lab, 1)
        turning.noted("MXNET_BACKWARD_DO_MIRROR", "0", "1")
    assert lab.turns.last.note == "bound again at step 4, planned 2 MiB → 1 MiB"


def test_a_binding_of_long_ago_is_not_said_of_a_turn(lab: Any) -> None:
    turning = Turning(lab)
    turning.rebound(2 << 20, 1 << 20)
    goes_on(lab, SOON + 1)
    turning.noted("MXNET_BACKWARD_DO_MIRROR", "0", "1")
    assert lab.turns.last.note == ""
