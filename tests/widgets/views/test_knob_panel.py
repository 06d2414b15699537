"""The panel turns knobs, shows who else did, and survives what is refused."""

from __future__ import annotations

import threading
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Any

import pytest

from minimx.core.errors import KnobError
from minimx.core.knobs import PlannedKnobWarning, knobs
from minimx_widgets import KnobPanel
from tests.core.knobs import made_up

pytestmark = pytest.mark.usefixtures("knobs_at_rest")


class Desk:
    """Stands for the browser's side of a panel."""

    def __init__(self, panel: KnobPanel) -> None:
        self.panel = panel
        self.answers: list[dict[str, Any]] = []
        self.arrived = threading.Condition()
        panel.send = self.receive

    def receive(self, message: dict[str, Any], buffers: Any = None) -> None:
        with self.arrived:
            self.answers.append(message)
            self.arrived.notify_all()

    def ask(self, **message: Any) -> dict[str, Any]:
        """Send a message and wait for its answer."""
        number = len(self.answers) + 1
        self.panel._handle_custom_msg({**message, "id": number}, [])
        with self.arrived:
            assert self.arrived.wait_for(lambda: len(self.answers) >= number, 10)
            return self.answers[number - 1]


@pytest.fixture
def desk() -> Iterator[Desk]:
    panel = KnobPanel()
    yield Desk(panel)
    panel.close()


def test_every_declared_knob_is_on_the_panel(desk: Desk) -> None:
    names = [knob["name"] for knob in desk.panel.declared]
    assert names == list(knobs.declared)
    assert all(knob["meaning"] and knob["group"] for knob in desk.panel.declared)


def test_turning_a_knob_applies_it_and_says_so(desk: Desk) -> None:
    answer = desk.ask(kind="set", name="MXNET_ENGINE_TYPE", text="NaiveEngine")
    assert answer["ok"]
    assert knobs.MXNET_ENGINE_TYPE == "NaiveEngine"
    assert desk.panel.state["values"]["MXNET_ENGINE_TYPE"] == "NaiveEngine"
    assert desk.panel.state["changed"] == ["MXNET_ENGINE_TYPE"]


def test_a_refused_value_changes_nothing_and_suggests_a_better_one(desk: Desk) -> None:
    answer = desk.ask(kind="set", name="MXNET_ENGINE_TYPE", text="NativeEngine")
    assert not answer["ok"]
    assert "Did you mean NaiveEngine" in answer["text"]
    assert desk.panel.changed == {}
    assert desk.ask(kind="set", name="MXNET_ENGINE_TYPE", text="NaiveEngine")["ok"]


def test_an_error_of_whoever_watches_a_knob_is_shown_too(desk: Desk) -> None:
    def broken(name: str, new: Any, old: Any) -> None:
        if new == 64:
            raise ZeroDivisionError("engine trouble")

    stop = knobs.watch("MXNET_CPU_WORKER_NTHREADS", broken)
    answer = desk.ask(kind="set", name="MXNET_CPU_WORKER_NTHREADS", text="64")
    stop()
    assert answer["text"] == "ZeroDivisionError: engine trouble"
    assert desk.panel.changed == {}


def test_a_knob_turned_elsewhere_shows_on_the_panel(desk: Desk) -> None:
    knobs.set(MXNET_CPU_MEM_POOL_TYPE="Round")
    assert desk.panel.state["values"]["MXNET_CPU_MEM_POOL_TYPE"] == "Round"
    assert 'MXNET_CPU_MEM_POOL_TYPE="Round"' in desk.panel.state["code"]


def test_reset_brings_the_default_back(desk: Desk) -> None:
    knobs.set(MXNET_CPU_MEM_POOL_TYPE="Round", MXNET_CPU_WORKER_NTHREADS=2)
    desk.ask(kind="reset", names=["MXNET_CPU_WORKER_NTHREADS"])
    assert list(desk.panel.changed) == ["MXNET_CPU_MEM_POOL_TYPE"]
    desk.ask(kind="reset", names=[])
    assert desk.panel.changed == {}
    assert desk.ask(kind="reset", names=[])["ok"]


def test_a_preset_turns_its_knobs_and_names_what_does_not_act_yet(desk: Desk) -> None:
    answer = desk.ask(kind="preset", name="debug errors")
    assert answer["ok"]
    assert knobs.MXNET_ENGINE_TYPE == "NaiveEngine"
    with made_up.declared(knobs):
        answer = desk.ask(kind="set", name=made_up.NAME, text="1")
    assert made_up.KNOB.planned_in in answer["text"]


def test_pinning_moves_a_knob_up_and_down(desk: Desk) -> None:
    desk.ask(kind="pin", name="MXNET_HOME")
    assert "MXNET_HOME" in desk.panel.state["pinned"]
    desk.ask(kind="pin", name="MXNET_HOME")
    assert "MXNET_HOME" not in desk.panel.state["pinned"]


def test_the_code_puts_the_same_values_in_force(desk: Desk) -> None:
    knobs.set(MXNET_ENGINE_TYPE="NaiveEngine", MXNET_CPU_WORKER_NTHREADS=3)
    code = desk.panel.code()
    knobs.reset()
    seen: dict[str, Any] = {}
    exec(code.replace("...", "seen.update(knobs.diff())"), {
        "mx": type("mx", (), {"knobs": knobs}), "knobs": knobs, "seen": seen,
    })  # fmt: skip
    assert {name: new for name, (_, new) in seen.items()} == {
        "MXNET_ENGINE_TYPE": "NaiveEngine",
        "MXNET_CPU_WORKER_NTHREADS": 3,
    }
    assert knobs.diff() == {}


def test_an_exercise_may_show_a_few_knobs_only() -> None:
    panel = KnobPanel(only=["MXNET_ENGINE_TYPE"], pinned=["MXNET_ENGINE_TYPE"])
    assert [knob["name"] for knob in panel.declared] == ["MXNET_ENGINE_TYPE"]
    assert repr(panel) == "KnobPanel(1 knob, 1 live, none turned)"
    panel.close()
    with pytest.raises(KnobError, match="Did you mean"):
        KnobPanel(only=["MXNET_ENGINE_TYP"])


def test_the_faces_show_what_was_turned(desk: Desk) -> None:
    knobs.set(MXNET_CPU_MEM_POOL_TYPE="Round")
    assert "turned: MXNET_CPU_MEM_POOL_TYPE=Round" in repr(desk.panel)
    for dark in (False, True):
        words = " ".join(ET.fromstring(desk.panel.svg(dark=dark)).itertext())
        assert "Round" in words
    assert "MXNET_CPU_MEM_POOL_TYPE" in repr(desk.panel.table())


def test_a_closed_panel_leaves_no_thread_and_no_watcher() -> None:
    panel = KnobPanel()
    desk = Desk(panel)
    desk.ask(kind="pin", name="MXNET_HOME")
    assert panel._inbox is not None
    worker = panel._inbox.thread
    panel.close()
    assert worker is not None
    assert not worker.is_alive()
    revision = panel.state["revision"]
    knobs.set(MXNET_CPU_WORKER_NTHREADS=2)
    assert panel.state["revision"] == revision


def test_planned_knobs_warn_in_code_as_they_do_on_the_panel() -> None:
    with made_up.declared(knobs), pytest.warns(PlannedKnobWarning, match=made_up.NAME):
        knobs.set(MXNET_MADE_UP=True)


def test_the_page_gets_the_example_of_every_live_knob(desk: Desk) -> None:
    for knob in desk.panel.declared:
        assert (knob["trial"] is not None) is knob["live"], knob["name"]
    (engine,) = (k for k in desk.panel.declared if k["name"] == "MXNET_ENGINE_TYPE")
    trial = engine["trial"]
    assert trial["acts_in"] == "minimx.core.engine._make"
    assert trial["code"] in trial["program"].replace(8 * " ", "")
    assert "NaiveEngine: ['python']" in trial["prints"]


def test_a_knob_that_cannot_act_says_so_in_place_of_applied() -> None:
    why = {"MXNET_USE_FUSION": "acts on graphs; this network runs imperatively"}
    desk = Desk(KnobPanel(cannot=lambda: why))
    try:
        assert desk.panel.state["cannot"] == why
        said = desk.ask(kind="set", name="MXNET_USE_FUSION", text="0")
        assert said["ok"]
        assert "without effect on this run (acts on graphs;" in said["text"]
        why.clear()
        desk.panel.refresh()
        assert desk.panel.state["cannot"] == {}
        said = desk.ask(kind="set", name="MXNET_USE_FUSION", text="1")
        assert "applied" in said["text"]
    finally:
        desk.panel.close()


def test_a_knob_is_tried_by_whoever_offers_it_and_not_turned() -> None:
    tried: list[tuple[str, str]] = []

    def compare(name: str, text: str) -> str:
        tried.append((name, text))
        return "tried"

    panel = KnobPanel(compare=compare)
    assert panel.comparable and not KnobPanel().comparable
    message = {"kind": "compare", "name": "MXNET_ENGINE_TYPE", "text": "NaiveEngine"}
    assert panel._do(message) == "tried"
    assert tried == [("MXNET_ENGINE_TYPE", "NaiveEngine")] and panel.changed == {}
    panel.close()
    with pytest.raises(ValueError, match="not a message"):
        KnobPanel()._do(message)
