"""One lab trains at a time; another one waits, loses nothing, and can take over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import minimx as mx
from minimx_widgets import Lab
from minimx_widgets.lab import labs
from tests.widgets.image_data import pictures

pytestmark = pytest.mark.usefixtures("knobs_at_rest")


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Lab]]:
    monkeypatch.setattr(labs, "_current", None)
    made: list[Lab] = []

    def one(**settings: Any) -> Lab:
        chosen = {"network": "mlp", "data": pictures(), "batch_size": 32, "epochs": 0}
        made.append(Lab(**{**chosen, **settings}))
        return made[-1]

    yield one
    for lab in made:
        lab.close()


def steps(lab: Lab, count: int) -> None:
    for _ in range(count):
        lab.step()
        assert lab.wait(60)


def losses(lab: Lab) -> list[float]:
    return [float(value) for value in lab.monitor.series("loss")[1]]


def step_of(lab: Lab) -> int:
    assert lab.fit is not None
    return lab.fit.step


def test_the_current_lab_is_the_one_that_trained_last(make: Callable[..., Lab]) -> None:
    with pytest.raises(mx.base.MXNetError, match=r"Lab\.current: no lab"):
        Lab.current()
    first, second = make(), make()
    steps(first, 1)
    assert Lab.current() is first
    steps(second, 1)
    assert Lab.current() is second
    third = make()
    assert Lab.current() is second, "a lab that was only made changes nothing"
    assert "takes over from mlp on (given)" in third.controls.status["words"]


def test_taking_over_in_turn_loses_no_step(make: Callable[..., Lab]) -> None:
    alone, first, second = make(), make(), make(network="lenet")
    steps(alone, 10)
    steps(first, 4)
    steps(second, 2)
    status = first.controls.status
    assert status["state"] == "paused"
    assert status["words"].startswith("Paused, as lenet on (given) took over")
    assert "paused" in repr(first)
    assert (first.record.running, second.record.running) == (False, True)
    steps(first, 6)
    assert second.controls.status["state"] == "paused"
    assert "took over" not in first.controls.status["words"]
    assert step_of(first) == 10
    assert losses(first)[:9] == losses(alone)[:9]
    steps(second, 1)
    assert step_of(second) == 3


def test_stop_gives_up_a_training_that_was_left(make: Callable[..., Lab]) -> None:
    first, second = make(), make()
    for stop in (first.stop, lambda: first.command("stop")):
        steps(first, 2)
        steps(second, 1)
        stop()
        assert first.controls.status["state"] == "stopped"
        assert "took over" not in first.controls.status["words"]
        steps(first, 1)
        assert step_of(first) == 1


def test_a_left_training_survives_a_setting_that_begins_afresh(
    make: Callable[..., Lab],
) -> None:
    first, second = make(), make()
    steps(first, 3)
    steps(second, 1)
    first.set("seed", "5")
    assert first.controls.status["undo"] == "mlp on (given), step 3"
    first.undo()
    assert first.controls.status["state"] == "paused"
    steps(first, 1)
    assert (step_of(first), first.settings.seed) == (4, 0)


def test_a_reset_clears_the_figures_and_undo_brings_them_back(
    make: Callable[..., Lab],
) -> None:
    lab = make()
    steps(lab, 10)
    seen = losses(lab)
    assert lab.result.test_accuracy > 0
    lab.set("network", "lenet")
    status = lab.controls.status
    assert (status["state"], status["step"], status["loses"]) == ("ready", 0, "")
    assert losses(lab) == []
    assert "test=" not in repr(lab)
    lab.command("undo")
    status = lab.controls.status
    assert (status["state"], status["step"]) == ("paused", 10)
    assert status["loses"] == "step 10 of epoch 2"
    assert status["undo"] == ""
    assert losses(lab)[: len(seen)] == seen
