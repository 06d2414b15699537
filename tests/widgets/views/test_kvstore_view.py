"""The view of a store without a browser: choices, faults, faces, what the page gets."""

from __future__ import annotations

import re
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from minimx import autograd, gluon, nd
from minimx.core.errors import ArgumentError, MXNetError
from minimx.core.record import Record
from minimx.kvstore.simulation import Cluster, Layer, Link, Workload
from minimx_widgets import KVStoreView
from minimx_widgets.pictures.kvstore import scaling
from minimx_widgets.pictures.kvstore.trial import STORES
from minimx_widgets.views import kvstore_view
from tests.widgets.pictures.kvstore.test_measured import recorded

WIRE = Link(1e-3, 1e6)
SWITCH = Cluster("test", WIRE, WIRE, memory=1e18, host_memory=1e18)
NET = Workload((Layer("top", 1000, 1e-3, 2e-3), Layer("bottom", 500, 1e-3, 2e-3)))


@pytest.fixture
def view() -> Iterator[KVStoreView]:
    shown = KVStoreView(NET, cluster=SWITCH, store="local", workers=2)
    yield shown
    shown.close()


def facts(view: KVStoreView) -> dict[str, Any]:
    found: dict[str, Any] = view.frozen[0]
    return found


def hear(view: KVStoreView, wait: bool = False, **message: Any) -> dict[str, Any]:
    """Do what a page asks, and return the last answer; wait for one with a text."""
    sent: list[dict[str, Any]] = []
    view.send = sent.append
    view._answer(message)
    if wait:
        until(lambda: any("text" in answer for answer in sent))
    del view.send
    return max(sent, key=lambda answer: "text" in answer)


def test_the_line_has_the_key_numbers(view: KVStoreView) -> None:
    # One link of the host for all: pushes of `top` at 2–8 and 8–14 ms, pulls at 14–20
    # and 20–26; of `bottom` pulls at 26–30 and 30–34; then two forward passes of 1 ms.
    assert repr(view) == (
        "KVStoreView(local, 2 workers, test, modelled, step 36.0 ms, computing 6 ms, "
        "6.2 % of communication hidden, waits 30.0 ms, efficiency 17 %)"
    )


def test_choices_change_what_is_drawn_and_nothing_else(view: KVStoreView) -> None:
    before = facts(view)["revision"]
    view.choose(store="ring", workers=4, dial=2)
    assert "ring, 4 workers" in repr(view)
    assert facts(view)["revision"] == before + 1, "one change, one message"
    view.choose(workload="perceptron", cluster="Ethernet")
    assert facts(view)["workload"] == "perceptron"
    assert facts(view)["cluster"] == "Ethernet"
    view.choose(workload="yours", cluster="test")
    assert [key[0] for key in facts(view)["keys"]] == ["top", "bottom"]
    for bad, words in (
        ({"stores": "ring"}, "Did you mean store"),
        ({"store": "rong"}, "Did you mean ring"),
        ({"workers": "many"}, "many"),
        ({"source": "measured"}, "Give a record"),
    ):
        with pytest.raises((ArgumentError, ValueError), match=words):
            view.choose(**bad)
    assert "ring, 4 workers" in repr(view)


def test_knobs_are_tried_not_turned(view: KVStoreView) -> None:
    view.choose(store="p3")
    few = len(view.scene.bars)
    view.try_knob("MXNET_KVSTORE_SLICE_THRESHOLD", "100")
    assert len(view.scene.bars) > 3 * few
    assert facts(view)["tried"] == ["MXNET_KVSTORE_SLICE_THRESHOLD"]
    assert facts(view)["values"]["MXNET_KVSTORE_SLICE_THRESHOLD"] == "100"
    assert view.code().startswith("with mx.knobs(MXNET_KVSTORE_SLICE_THRESHOLD=100)")
    view.reset()
    assert len(view.scene.bars) == few
    with pytest.raises(ArgumentError, match="Did you mean MXNET_KVSTORE_BIGARRAY_BOU"):
        view.try_knob("MXNET_KVSTORE_BIGARRAY_BOUNDS", 1)


def test_a_click_slows_a_link_then_cuts_it_then_mends_it(view: KVStoreView) -> None:
    step = view.prediction.step_seconds
    link = "worker 0 → switch"
    assert hear(view, kind="link", name=link)["ok"]
    assert view.prediction.step_seconds > step
    assert facts(view)["faults"] == ["worker 0 → switch at ×0.25"]
    hear(view, kind="link", name=link)
    assert facts(view)["lesson"].startswith("no way from worker 0 to host")
    assert "no way from worker 0 to host" in repr(view)
    ET.fromstring(view.svg())
    hear(view, kind="link", name=link)
    assert view.prediction.step_seconds == step and facts(view)["faults"] == []
    hear(view, kind="worker", number=1)
    assert facts(view)["faults"] == ["worker 1 ×2 slower"]
    hear(view, kind="repair")
    assert facts(view)["faults"] == []
    refused = hear(view, kind="link", name="worker 0 → moon")
    assert refused["ok"] is False and "no link" in refused["text"]


def test_the_page_gets_all_bars_in_one_message(view: KVStoreView) -> None:
    found, buffers = view.frozen
    layout = found["tables"]["bars"]
    assert [name for name, _ in layout] == [
        *("row", "kind", "key", "start", "end", "route", "nbytes", "op")
    ]
    starts = np.frombuffer(buffers[3], "<f8")
    assert starts.tolist() == view.scene.bars.start.tolist()
    assert all(isinstance(buffer, bytes) for buffer in buffers)
    assert max(max(route) for route in found["routes"]) < len(found["wires"])


@pytest.mark.parametrize("store", STORES)
def test_a_choice_is_drawn_within_a_tenth_of_a_second(store: str) -> None:
    layers = tuple(Layer(f"l{k}", 40_000, 5e-4, 1e-3, rows=40) for k in range(30))
    view = KVStoreView(Workload(layers), store=store, cluster="Ethernet", workers=8)
    took = []
    for k in range(3):
        began = time.process_time()  # of this process: other tests may run beside
        view.try_knob("MXNET_KVSTORE_REDUCTION_NTHREADS", str(2 + k))
        took.append(time.process_time() - began)
    view.close()
    assert min(took) < 0.1


def test_the_curve_is_computed_beside_and_keeps_the_one_before(
    view: KVStoreView,
) -> None:
    hear(view, kind="hello")
    until(lambda: view.curve.get("done"))
    first = dict(view.curve)
    assert first["workers"] == list(scaling.UP_TO_4096)
    assert first["efficiency"][0] > first["efficiency"][-1]
    began = time.monotonic()
    hear(view, kind="set", name="store", text="ring")
    hear(view, kind="set", name="store", text="device")
    assert time.monotonic() - began < 1, "choices do not wait for a curve"
    until(lambda: view.curve["done"] and view.curve["title"].startswith("device"))
    assert view.curve["ghost"]["step"] == first["step"]
    assert view.scaling["efficiency"] == view.curve["efficiency"]
    assert "4,096" in repr(view.table())


def until(condition: Any) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_curve_ends_where_there_is_no_way(view: KVStoreView) -> None:
    view.cut("worker 3 → switch")  # which two workers do not use
    assert view.scene.lesson == ""
    assert view.scaling["workers"] == [1, 2]
    assert "cut" in view.scaling["lesson"]


def test_what_was_measured_is_shown_and_said_to_be() -> None:
    view = KVStoreView(NET, cluster=SWITCH, record=recorded(2))
    assert repr(view).startswith("KVStoreView(2 devices, measured, step ")
    assert facts(view)["source"] == "measured"
    assert "efficiency" not in repr(view)
    assert "(measured): places" in repr(view.table())
    ET.fromstring(view.svg())
    hear(view, kind="set", name="source", text="modelled")
    assert "modelled" in repr(view)
    view.show(Record())
    assert "no communication" in repr(view)
    view.show(None)
    assert facts(view)["sources"] == ["modelled"]
    view.close()


def test_this_machine_is_a_cluster_once_it_was_measured(
    view: KVStoreView, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = replace(SWITCH, name="this machine", measured=True)
    monkeypatch.setattr(kvstore_view, "measure_machine", lambda: here)
    said = hear(view, kind="measure", wait=True)
    assert said["ok"] and "Cluster(this machine, measured" in said["text"]
    assert facts(view)["cluster"] == "this machine" in facts(view)["clusters"]
    assert "this machine" in repr(view)
    view.choose(cluster="Ethernet")
    view.choose(cluster="this machine")

    def fails() -> Cluster:
        raise MXNetError("measuring this machine failed: mpiexec ended with 1")

    monkeypatch.setattr(kvstore_view, "measure_machine", fails)
    said = hear(view, kind="measure", wait=True)
    assert not said["ok"] and "mpiexec ended with 1" in said["text"]


def test_the_workload_is_that_of_the_last_recorded_step() -> None:
    net = gluon.nn.HybridSequential(prefix="net_")
    net.add(gluon.nn.Dense(8, in_units=4), gluon.nn.Dense(2, in_units=8))
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    view = KVStoreView(net=lambda: net)
    assert facts(view)["workload"] == "vgg16"
    with pytest.raises(ArgumentError, match="nothing was recorded"):
        view.choose(workload="recorded")
    view.close()
    with Record() as record:
        for _ in range(3):
            with autograd.record():
                loss = net(nd.ones((3, 4))).sum()
            loss.backward()
            trainer.step(3)
            nd.waitall()
    view = KVStoreView(record=record, net=net, store="ring", workers=4)
    assert view.trial.workload.nbytes == 4 * (4 * 8 + 8 + 8 * 2 + 2)
    assert [key.name for key in view.scene.keys] == [
        one.name for one in reversed([*net.collect_params().values()])
    ]
    assert facts(view)["source"] == "modelled", "one device sends nothing"
    view.close()


@pytest.mark.parametrize("dark", [False, True])
def test_the_picture_is_well_formed_and_says_it_all(
    view: KVStoreView, dark: bool
) -> None:
    text = view.svg(dark=dark, width=700)
    ET.fromstring(text)
    for word in ("worker 1", "host", "switch", "push", "4,096 workers", "modelled"):
        assert word in text
    assert text == view.svg(dark=dark, width=700)


def test_tables_say_what_colours_say(view: KVStoreView) -> None:
    view.slow("worker 1 → switch")
    text = repr(view.table())
    assert "worker 1 → switch  0.00025 GB/s  slow" in text
    assert re.search(r"switch → host +0.001 GB/s +as it is +11.7 KiB", text)
    assert "bottom" in text and "priority" in text


def test_a_closed_view_leaves_no_thread(view: KVStoreView) -> None:
    hear(view, kind="hello")
    thread = view._scaler._thread  # type: ignore[union-attr]
    view.close()
    assert thread is None or not thread.is_alive()
