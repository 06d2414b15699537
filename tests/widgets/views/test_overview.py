"""The overview of a run: what it says without a browser."""

from __future__ import annotations

import threading
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minimx import gluon, nd
from minimx.core import autograd
from minimx.core.errors import ProfilerError
from minimx.core.record import Record
from minimx.profiler import roofs
from minimx.profiler.roofs import Roof
from minimx_widgets import EngineTimeline, Overview

TITLE = "{http://www.w3.org/2000/svg}title"
ROOF = Roof(flops=80e9, bandwidth=12e9, threads=2)


def trained(hybrid: bool = False, steps: int = 3) -> Record:
    """A small LeNet that learned for some steps."""
    net = gluon.nn.HybridSequential(prefix="lenet_")
    with net.name_scope():
        net.add(gluon.nn.Conv2D(8, 5, activation="relu"), gluon.nn.MaxPool2D())
        net.add(gluon.nn.Conv2D(16, 3, activation="relu"), gluon.nn.MaxPool2D())
        net.add(gluon.nn.Dense(32, activation="tanh"), gluon.nn.Dense(10))
    net.initialize()
    if hybrid:
        net.hybridize(static_alloc=True)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"momentum": 0.9})
    data = np.random.default_rng(0).random((32 * (steps + 1), 1, 28, 28), np.float32)
    labels = np.zeros(len(data), np.float32)
    batches = iter(gluon.data.DataLoader(gluon.data.ArrayDataset(data, labels), 32))
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()

    def step() -> None:
        x, y = next(batches)
        with autograd.record():
            loss = loss_of(net(x), y)
        loss.backward()
        trainer.step(32)
        nd.waitall()

    step()
    with Record(calls=True) as record:
        for _ in range(steps):
            step()
    return record


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose roof is known."""
    monkeypatch.setattr(roofs, "known", lambda *_: ROOF)


@pytest.fixture
def view(record: Record) -> Iterator[Overview]:
    shown = Overview(record)
    yield shown
    shown.close()


def operators(view: Overview) -> list[str]:
    return [each["name"] for each in view.state["operators"]]


def test_the_line_has_the_key_numbers(view: Overview) -> None:
    assert repr(view) == (
        "Overview(5 operations, 3 lanes, most time: FullyConnected, peak 3.91 KiB)"
    )
    assert len(repr(view)) < 110


def test_the_page_is_made_of_the_account(view: Overview) -> None:
    state = view.state
    assert operators(view)[0] == "FullyConnected"
    assert all(sum(ns) == state["span"] for _, ns in state["lanes"])
    paths = [each["path"] for each in state["blocks"]]
    assert paths[:3] == ["", "lenet", "lenet/conv0"]
    assert state["memory"]["categories"] == [["activation", 3000], ["parameter", 1000]]
    assert state["roofs"] == []
    said = repr(view.table())
    assert "FullyConnected" in said and "lenet" in said and "activation" in said
    assert any("Record(calls=True)" in note for note in state["notes"])


@pytest.mark.parametrize("dark", [True, False])
def test_the_picture_is_sound(measured: None, tmp_path: Path, dark: bool) -> None:
    view = Overview(trained())
    path = view.save(tmp_path / "overview.svg", dark=dark)
    root = ET.parse(path).getroot()
    titles = [node.text or "" for node in root.iter(TITLE)]
    assert titles[0] == repr(view)
    assert any(text.startswith("Convolution: ") for text in titles)
    assert len(list(root.iter())) < 5000
    words = " ".join(root.itertext())
    assert "80.0 GFLOP/s" in words and "Memory at its peak" in words
    view.close()


def test_an_empty_record_is_shown_as_such() -> None:
    view = Overview(Record())
    assert repr(view) == "Overview(0 operations, 0 lanes, most time: none, peak 0 B)"
    assert ET.fromstring(view.svg()).get("role") == "img"
    assert view.place_of(7) == (-1, "")
    view.close()


def test_selection_is_shared_with_the_other_views(view: Overview) -> None:
    other = EngineTimeline(view.run)
    other.select(3)
    assert view.run.selected == 3
    view._answer({"kind": "op", "op": 3})
    name = view.record.texts(view.record.ops()["name"][2:3])[0]
    chosen = view.state["selected"]
    assert chosen["op"] == 3
    assert operators(view)[chosen["operator"]] == name
    view._answer({"kind": "op", "op": 0})
    assert view.state["selected"] == {"op": 0, "operator": -1, "path": ""}
    other.close()


def test_an_operation_that_was_joined_belongs_to_its_parts() -> None:
    record = trained(hybrid=True)
    view = Overview(record)
    ops = record.ops()
    joined = int(ops["op"][ops["work"] > 0][0])
    operator, layer = view.place_of(joined)
    assert operator >= 0 and layer == "lenet"
    assert view.state["operators"][operator]["guessed"] > 0
    view.close()


def test_a_running_record_is_looked_at_again() -> None:
    with Record() as record:
        view = Overview(record)
        before = view.state["count"]
        nd.ones((3,)).wait_to_read()
        view._answer({"kind": "refresh"})
        assert view.state["count"] == before + 1
        assert view.state["running"]
    view.close()


def test_measuring_brings_the_roof_and_can_be_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[Any, ...]] = []

    def measured(dtype: str, threads: int | None, canceled: Any) -> Roof:
        asked.append((dtype, threads))
        if canceled():
            raise ProfilerError("canceled")
        return ROOF

    monkeypatch.setattr(roofs, "measured", measured)
    told: list[Any] = []
    view = Overview(trained(steps=1))
    monkeypatch.setattr(view, "tell", told.append)
    assert view.state["roofs"] == []
    view.measure()
    monkeypatch.setattr(roofs, "known", lambda *_: ROOF)
    view.refresh()
    assert [flops for flops, *_ in view.state["roofs"]] == [ROOF.flops]
    assert {dtype for dtype, _ in asked} == {"float32"}
    monkeypatch.setattr(view._stop, "is_set", lambda: True)
    view._answer({"kind": "measure"})
    assert told == [{"kind": "answer", "ok": False, "text": "canceled"}]
    view.close()


def test_a_page_gets_its_answers_in_another_thread(view: Overview) -> None:
    before, revision = threading.active_count(), view.state["revision"]
    view._hear(None, {"kind": "refresh"}, None)
    for thread in threading.enumerate():
        if thread.name.endswith("(_answer)"):
            thread.join(10)
    assert view.state["revision"] == revision + 1
    assert threading.active_count() <= before
    view._hear(None, {"kind": "select", "op": 2}, None)
    assert view.run.selected == 2
