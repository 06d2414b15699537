"""A knob of a lab is tried on the steps that it just trains."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from minimx.core.errors import ArgumentError, KnobError
from minimx.core.knobs import knobs
from minimx.experiments import measured
from minimx_widgets import Lab
from minimx_widgets.compare.in_lab import REPLAY, STEPS
from minimx_widgets.training.session import RUNNING
from tests.widgets.image_data import pictures

pytestmark = pytest.mark.usefixtures("knobs_at_rest")

INPLACE = "MXNET_EXEC_ENABLE_INPLACE"


@pytest.fixture
def lab() -> Iterator[Lab]:
    made = Lab("mlp", pictures(), batch_size=32)
    yield made
    made.close()


def shown(lab: Lab) -> Any:
    return lab.drawers.view.view


def test_the_training_goes_on_and_b_is_a_replay_of_its_last_steps(lab: Lab) -> None:
    with pytest.raises(ArgumentError, match="Press Train"):
        lab.replays.propose(INPLACE)
    assert "Alt" in lab.drawers.pull(REPLAY).value
    lab.train()
    said = lab.replays.propose(INPLACE)
    assert said.startswith(f"{INPLACE}=0 tried")
    assert lab.session.state == RUNNING and lab.drawers.title == REPLAY
    pair = shown(lab)
    a, b = pair.sides
    assert (a.changes, b.changes) == ({}, {INPLACE: False})
    assert knobs.get(INPLACE) is True
    phases = a.original.texts(a.original.ops()["phase"])
    assert phases.count("update") % STEPS == 0 and "backward" in phases
    recorded = measured(a.original)["makespan"]
    assert a.figures["makespan"] < 3 * recorded, "nothing was under way at the start"
    assert not a.original.running and lab.record is not a.original
    assert b.figures["peak"] >= a.figures["peak"]

    # Paused, other knobs are tried on the same steps.
    lab.pause()
    lab.wait()
    lab.replays.propose("MXNET_CPU_MEM_POOL_TYPE", "Round")
    again = shown(lab)
    assert again is not pair and again.sides[0].original is a.original
    turned = {INPLACE: False, "MXNET_CPU_MEM_POOL_TYPE": "Round"}
    assert again.sides[1].changes == turned
    with pytest.raises(KnobError):
        lab.replays.propose("MXNET_CPU_WORKER_NTHREADS", "many")
    with pytest.raises(ArgumentError, match="cannot be replayed"):
        lab.replays.propose("MXNET_SAFE_ACCUMULATION")
    assert shown(lab) is again
