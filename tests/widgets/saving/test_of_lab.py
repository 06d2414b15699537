"""A lab saves its run, and brings back what an earlier kernel has left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import minimx as mx
from minimx.core.errors import ArgumentError
from minimx_widgets import Lab, kernel, open_run
from minimx_widgets.saving import last
from tests.widgets.image_data import pictures

pytestmark = pytest.mark.usefixtures("knobs_at_rest")
Make = Callable[..., Lab]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Labs of a notebook whose last runs lie in a folder of the test."""
    monkeypatch.setattr(kernel, "in_kernel", lambda: True)
    monkeypatch.setattr("minimx.core.kernels.threads.cache_dir", lambda: tmp_path)
    monkeypatch.setattr(last, "_mine", set())
    monkeypatch.chdir(tmp_path)
    made: list[Lab] = []

    def one(**settings: Any) -> Lab:
        made.append(Lab("mlp", pictures(), batch_size=32, epochs=1, **settings))
        return made[-1]

    yield one
    for lab in made:
        lab.close()


def trained(lab: Lab) -> Lab:
    """A lab after its one epoch, with its last state written."""
    lab.run()
    end = time.monotonic() + 20
    path = lab._last.path
    assert path is not None
    while not path.exists():
        assert time.monotonic() < end, "the last state was not written"
        time.sleep(0.02)
    lab.close()  # after what its thread is doing
    return lab


def test_a_run_is_saved_with_its_views(make: Make, tmp_path: Path) -> None:
    lab = make(seed=5)
    lab.memory.measure = "rounded"
    lab.run()
    path = lab.save(tmp_path / "monday")
    run = open_run(path)
    names = [state.partition("?")[0] for state in run.states]
    assert names == ["TrainingMonitor:1", "EngineTimeline:1", "MemoryTimeline:1"]
    assert "MemoryTimeline:1?measure=rounded" in run.states
    assert "seed=5" in run.lab["state"]
    assert run.record.rows("ops") == lab.record.rows("ops")
    said = lab.command("save")
    assert said.startswith("Written to mlp-given-")
    assert len(list(tmp_path.glob("mlp-given-*.npz"))) == 1
    run.close()


def test_what_an_earlier_kernel_left_is_brought_back(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = make()
    lab.set("batch_size", "16")
    lab.engine.colour = "layer"
    mx.knobs.set(MXNET_CPU_WORKER_NTHREADS=2)
    steps = trained(lab).fit.step  # type: ignore[union-attr]
    mx.knobs.reset()
    same_kernel = make()
    assert same_kernel.controls.status["left"] == "", "it knows that itself"
    monkeypatch.setattr(last, "_mine", set())

    other = make()
    assert other.controls.status["left"].startswith(f"mlp on (given), step {steps}, ")
    said = other.command("recall")
    assert "The weights went with the kernel" in said
    assert other.settings.batch_size == 16
    assert mx.knobs.MXNET_CPU_WORKER_NTHREADS == 2
    assert other.engine.state_string == "EngineTimeline:1?colour=layer"
    assert other.record.rows("ops") > 0 and not other.record.running
    assert other.controls.status["left"] == ""
    with pytest.raises(ArgumentError, match="no earlier kernel"):
        other.recall()
    other.run()
    assert other.fit is not None and other.fit.step == steps


def test_training_anew_leaves_what_was_left(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = trained(make())._last.path
    assert path is not None
    monkeypatch.setattr(last, "_mine", set())
    before = path.read_bytes()
    other = make()
    assert other.controls.status["left"]
    other.run()
    assert other.controls.status["left"] == ""
    other.close()  # and writes no more
    path.write_bytes(before[:500])
    monkeypatch.setattr(last, "_mine", set())
    assert make().controls.status["left"] == "", "cut off: nothing is offered"


def test_outside_of_a_notebook_nothing_is_written(
    make: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(kernel, "in_kernel", lambda: False)
    make().run()
    assert not (tmp_path / "last runs").exists()


def test_settings_that_this_lab_does_not_offer_are_refused(make: Make) -> None:
    lab = make()
    before = lab.state_string
    for state in (
        "Lab:1?network=evil",
        "Lab:1?seed=-1",
        "Lab:1?batch_size=2&devices=4",
    ):
        with pytest.raises(ArgumentError, match="stays as it was"):
            lab.state_string = state
        assert lab.state_string == before
