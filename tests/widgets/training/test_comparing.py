"""Two settings of one training: what either side measures, and what stays behind."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.core import storage
from minimx.core.device import cpu, gpu
from minimx.core.errors import ArgumentError
from minimx.core.knobs import knobs
from minimx_widgets.training.comparing import Comparison, Side
from minimx_widgets.training.session import DONE, STOPPED, Session
from minimx_widgets.training.training import Settings
from tests.widgets.image_data import pictures

pytestmark = pytest.mark.usefixtures("knobs_at_rest")

DATA = pictures()


def settings(**changes: Any) -> Settings:
    chosen = {"network": "mlp", "data": DATA, "batch_size": 32}
    return Settings(**{**chosen, **changes})


def compared(first: Side, second: Side, steps: int = 12) -> Comparison:
    """A comparison that went through."""
    comparison = Comparison(first, second, steps=steps)
    session = Session(comparison.program)
    session.train()
    assert session.wait(120)
    assert session.state == DONE and comparison.finished
    return comparison


def knob_sides(**turned: Any) -> tuple[Side, Side]:
    """As it is, and with knobs turned."""
    mine = settings()
    return Side("A", "as it is", mine), Side("B", "turned", mine, turned)


def test_without_a_difference_both_sides_measure_the_same() -> None:
    knobs.set(MXNET_ENGINE_TYPE="NaiveEngine")  # what is freed when is then certain
    found = compared(*knob_sides())
    a, b = found.outcomes
    assert found.first_difference == 0
    assert a.losses.tolist() == b.losses.tolist() and len(a.losses) == 12
    assert a.test == b.test
    for figure in ("peak", "reserved", "planned", "pushes"):
        mine, other = ([getattr(f, figure) for f in o.facts[2:]] for o in (a, b))
        assert mine == other


def test_in_place_moves_the_peak_and_no_loss() -> None:
    knobs.set(MXNET_ENGINE_TYPE="NaiveEngine")
    found = compared(*knob_sides(MXNET_EXEC_ENABLE_INPLACE=False))
    assert found.differences == ["MXNET_EXEC_ENABLE_INPLACE"]
    before, after = found.turn.before, found.turn.after
    assert before is not None and after is not None
    assert before.planned is not None and after.planned is not None
    assert before.peak is not None and after.peak is not None
    assert after.planned > before.planned
    assert after.peak - before.peak == after.planned - before.planned
    assert found.first_difference == 0
    assert knobs.get("MXNET_EXEC_ENABLE_INPLACE") is True


def test_a_setting_is_compared_too() -> None:
    slow = Side("A", "slow", settings(learning_rate=1e-4))
    quick = Side("B", "quick", settings(learning_rate=1e-2))
    found = compared(slow, quick, steps=30)
    assert found.differences == ["learning_rate"]
    assert found.first_difference == 2  # the first step begins with the same weights
    before, after = found.turn.before, found.turn.after
    assert before is not None and after is not None
    assert before.loss is not None and after.loss is not None
    assert after.loss < before.loss


def test_a_side_gives_what_a_training_of_its_own_gives() -> None:
    from minimx_widgets import Lab

    lab = Lab("mlp", DATA, batch_size=32)
    try:
        for _ in range(9):
            lab.step()
            assert lab.wait(60)
        alone = lab.monitor.series("loss")[1][:8].tolist()
    finally:
        lab.close()
    found = compared(*knob_sides(), steps=8)
    assert found.outcomes[0].losses.tolist() == alone


def test_memory_of_others_is_left_out() -> None:
    knobs.set(MXNET_ENGINE_TYPE="NaiveEngine")
    alone = compared(*knob_sides()).turn.before
    held = mx.nd.ones((1 << 20,))
    held.wait_to_read()
    beside = compared(*knob_sides()).turn.before
    assert alone is not None and beside is not None
    assert alone.peak == beside.peak
    assert held.shape == (1 << 20,)


def test_random_numbers_of_the_program_go_on_as_if_nothing_had_run() -> None:
    mx.random.seed(5)
    mx.nd.random.uniform(shape=(3,)).asnumpy()
    expected = mx.nd.random.uniform(shape=(3,)).asnumpy().tolist()
    mx.random.seed(5)
    mx.nd.random.uniform(shape=(3,)).asnumpy()
    compared(*knob_sides(), steps=5)
    assert mx.nd.random.uniform(shape=(3,)).asnumpy().tolist() == expected


def test_what_does_not_fit_ends_its_side_and_says_so() -> None:
    big = settings(device="gpu(0)", batch_size=8, network=huge)
    found = compared(Side("A", "too large", big), Side("B", "small", settings()))
    a, b = found.outcomes
    assert "memory" in a.error.lower() and a.test is None
    assert b.error == "" and len(b.facts) == 12
    assert found.turn.before is None and found.turn.after is not None


def huge() -> Any:
    """A layer that is larger than any simulated device."""
    units = storage.stats(gpu(0)).device_total // 16
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(units, in_units=64), mx.gluon.nn.Dense(10))
    return net


def test_a_stop_puts_knobs_back_and_leaves_no_memory() -> None:
    gc.collect()
    mx.nd.waitall()
    before = storage.stats(cpu()).live_requested
    comparison = Comparison(*knob_sides(MXNET_ENGINE_TYPE="NaiveEngine"), steps=2000)
    session = Session(comparison.program)
    session.train()
    while not comparison.outcomes[0].facts:
        assert not session.wait(0.02)
    session.stop()
    assert session.state == STOPPED and not comparison.finished
    assert knobs.get("MXNET_ENGINE_TYPE") == "ThreadedEnginePerDevice"
    del session
    gc.collect()
    mx.nd.waitall()
    assert storage.stats(cpu()).live_requested <= before


def test_knobs_that_others_turn_meanwhile_are_named() -> None:
    comparison = Comparison(*knob_sides(), steps=5)
    program = comparison.program()
    next(program)
    knobs.set(MXNET_EXEC_BULK_EXEC_TRAIN=False)
    for _ in program:
        pass
    assert comparison.disturbed == ["MXNET_EXEC_BULK_EXEC_TRAIN"]


def test_a_network_that_two_trainings_would_share_is_refused() -> None:
    net = mx.gluon.nn.Dense(10)
    side = Side("A", "given", settings(network=net))
    with pytest.raises(ArgumentError, match="a function that makes the network"):
        Comparison(side, side)


@pytest.mark.parametrize("steps", [0, 4, 5001])
def test_how_many_steps_there_can_be(steps: int) -> None:
    with pytest.raises(ArgumentError, match="from 5 to 5,000"):
        Comparison(*knob_sides(), steps=steps)


def test_the_last_steps_are_kept_whole() -> None:
    found = compared(*knob_sides())
    for outcome in found.outcomes:
        phases = outcome.kept.texts(outcome.kept.ops()["phase"])
        assert phases.count("update") >= 2 and "backward" in phases
        assert np.all(outcome.kept.ops()["t_end"] > 0)
