"""The switches turn knobs and settings, follow them, and say what came of it."""

from __future__ import annotations

import threading
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Any

import pytest

from minimx.core.errors import ArgumentError, KnobError
from minimx.core.knobs import knobs
from minimx_widgets import FiveSwitches
from minimx_widgets.lab.five import HINT, SWITCHES
from minimx_widgets.lab.stories import STORIES
from minimx_widgets.lab.turns import Turns
from minimx_widgets.training.meter import Facts
from minimx_widgets.training.training import Settings

pytestmark = pytest.mark.usefixtures("knobs_at_rest")

INPLACE, MIRROR = "MXNET_EXEC_ENABLE_INPLACE", "MXNET_BACKWARD_DO_MIRROR"


class Desk:
    """Stands for the lab and for the browser's side of the row."""

    def __init__(self) -> None:
        self.turns = Turns()
        self.row = FiveSwitches(self.change, turns=self.turns)
        self.answers: list[dict[str, Any]] = []
        self.arrived = threading.Condition()
        self.row.send = self.receive

    def change(self, name: str, text: str) -> None:
        if text == "float8":
            raise ArgumentError(f"{name}='float8': choose float32, float16, bfloat16.")
        self.row.show({name: text})

    def receive(self, message: dict[str, Any], buffers: Any = None) -> None:
        with self.arrived:
            self.answers.append(message)
            self.arrived.notify_all()

    def ask(self, **message: Any) -> dict[str, Any]:
        """Send a message and wait for its answer."""
        number = len(self.answers) + 1
        self.row._handle_custom_msg({**message, "id": number}, [])
        with self.arrived:
            assert self.arrived.wait_for(lambda: len(self.answers) >= number, 10)
            return self.answers[number - 1]

    def line(self, switch: str) -> tuple[str, str]:
        line = self.row.state["lines"][switch]
        return line["kind"], line["text"]


@pytest.fixture
def desk() -> Iterator[Desk]:
    made = Desk()
    yield made
    made.row.close()


def test_the_five_of_the_mission_stand_in_a_row(desk: Desk) -> None:
    assert [switch.label for switch in SWITCHES] == [
        "Engine", "Pool", "In-place", "Mirror", "Precision",
    ]  # fmt: skip
    for switch in desk.row.declared:
        assert switch["moves"] and set(switch["views"]) <= {
            "memory", "engine", "training",
        }  # fmt: skip
    parts = {part["name"]: part for s in desk.row.declared for part in s["parts"]}
    for name, part in parts.items():
        assert desk.row.values[name] in [value for value, *_ in part["choices"]], name
    assert [value for value, *_ in parts["policy"]["choices"]] == list(
        knobs.declared["MINIMX_MIRROR"].choices
    )
    for name in ("engine", "pool"):
        knob = knobs.declared[desk.row.target(name)]
        assert {value for value, *_ in parts[name]["choices"]} == set(knob.choices)


@pytest.mark.parametrize(
    ("control", "text", "name", "value"),
    [
        ("engine", "NaiveEngine", "MXNET_ENGINE_TYPE", "NaiveEngine"),
        ("pool", "Round", "MXNET_CPU_MEM_POOL_TYPE", "Round"),
        ("inplace", "0", INPLACE, False),
        ("mirror", "1", MIRROR, True),
        ("policy", "best", "MINIMX_MIRROR", "best"),
    ],
)
def test_a_switch_turns_its_knob(
    desk: Desk, control: str, text: str, name: str, value: Any
) -> None:
    answer = desk.ask(kind="set", name=control, text=text)
    assert answer["ok"], answer
    assert knobs.get(name) == value
    assert desk.row.state["values"][control] == text
    assert desk.row.state["turned"] == [control]


def test_precision_is_a_setting_of_the_lab(desk: Desk) -> None:
    assert desk.ask(kind="set", name="dtype", text="float16")["ok"]
    assert desk.ask(kind="set", name="scaling", text="off")["ok"]
    assert desk.row.state["values"]["dtype"] == "float16"
    assert desk.row.state["turned"] == ["dtype", "scaling"]
    refused = desk.ask(kind="set", name="dtype", text="float8")
    assert not refused["ok"]
    assert refused["text"] == "dtype='float8': choose float32, float16, bfloat16."
    assert desk.row.state["values"]["dtype"] == "float16"
    refused = desk.ask(kind="set", name="pool", text="Squared")
    assert "MXNET_CPU_MEM_POOL_TYPE='Squared'" in refused["text"]


def test_the_pool_is_that_of_the_device_that_trains(desk: Desk) -> None:
    desk.row.show({"device": "gpu(0)"})
    assert desk.row.state["targets"]["pool"] == "MXNET_GPU_MEM_POOL_TYPE"
    assert desk.ask(kind="set", name="pool", text="Round")["ok"]
    assert knobs.MXNET_GPU_MEM_POOL_TYPE == "Round"
    assert knobs.MXNET_CPU_MEM_POOL_TYPE == "Naive"
    desk.row.show({"device": "cpu(0)"})
    assert desk.row.state["values"]["pool"] == "Naive"


def test_knobs_turned_elsewhere_show_in_the_row(desk: Desk) -> None:
    revision = desk.row.state["revision"]
    knobs.set(MXNET_EXEC_NUM_TEMP=2)
    assert desk.row.state["revision"] == revision, "it is none of the five"
    with knobs(MXNET_BACKWARD_DO_MIRROR=1):
        assert desk.row.state["values"]["mirror"] == "1"
        assert desk.row.state["turned"] == ["mirror"]
    assert desk.row.state["turned"] == []


def test_a_switch_that_cannot_act_says_why(desk: Desk) -> None:
    desk.row.show({"graph": "imperative"})
    why = ("cannot", "acts on graphs; this network runs imperatively")
    assert desk.line("inplace") == desk.line("mirror") == why
    assert desk.line("engine") == desk.line("pool") == ("", "")
    desk.row.show({"graph": "hybridized"})
    assert desk.line("inplace") == ("", "")
    desk.turns.turned("MINIMX_MIRROR", "remap", "best")
    assert desk.line("mirror") == ("cannot", "acts with MXNET_BACKWARD_DO_MIRROR=1")
    desk.turns.turned("scaling", "dynamic", "off", "setting")
    assert desk.line("precision") == (
        "cannot",
        "only float16 is scaled; layers compute in float32",
    )
    desk.row.show({"dtype": "float16"})
    assert desk.line("precision")[0] == "turn"


def test_after_a_turn_a_switch_says_what_came_of_it(desk: Desk) -> None:
    for step in range(1, 11):
        desk.turns.stepped(step, Facts(peak=10.0))
    desk.turns.turned(INPLACE, "1", "0")
    assert desk.line("inplace") == (
        "turn",
        "measured from the second step after it on",
    )
    for step in range(11, 14):
        desk.turns.stepped(step, Facts(peak=13.0))
    assert desk.line("inplace")[1] == "measuring… 2 of 5 steps"
    answer = desk.row.state["lines"]["inplace"]["answer"]
    assert answer == "", "nothing lights up yet"
    for step in range(14, 20):
        desk.turns.stepped(step, Facts(peak=13.0))
    assert desk.line("inplace")[1] == "step peak 10 B → 13 B ▲ 30 %"
    settled = desk.row.state["lines"]["inplace"]["answer"]
    assert settled
    desk.turns.note(INPLACE, "bound again at step 12")
    assert desk.line("inplace")[1] == "bound again at step 12"
    assert desk.row.state["lines"]["inplace"]["answer"] not in ("", settled)
    assert desk.line("mirror") == ("", "")


@pytest.mark.parametrize("name", STORIES)
def test_a_story_turns_what_its_page_says_and_nothing_else(
    desk: Desk, name: str
) -> None:
    knobs.set(MXNET_CPU_MEM_POOL_TYPE="Round", MXNET_EXEC_ENABLE_INPLACE=0)
    desk.row.show({"dtype": "bfloat16"})
    assert desk.ask(kind="story", name=name)["ok"]
    story = STORIES[name]
    for knob, wanted in story.knobs.items():
        declared = knobs.declared[knob]
        expected = declared.default if wanted is None else declared.check(wanted)
        assert knobs.get(knob) == expected
    for setting, text in story.settings.items():
        assert hasattr(Settings(), setting)
        assert desk.row._settings[setting] == text


def test_stories_are_told_with_their_pages_and_a_wrong_name_is_refused(
    desk: Desk,
) -> None:
    told = dict(desk.row.stories)
    assert "Settings for Minimum Memory Usage" in told["minimum memory"]
    assert knobs.MXNET_BACKWARD_DO_MIRROR is False
    desk.row.story("minimum memory")
    assert knobs.MXNET_BACKWARD_DO_MIRROR is True
    assert knobs.MINIMX_MIRROR == "best"
    desk.row.story("debug")
    assert knobs.MXNET_ENGINE_TYPE == "NaiveEngine"
    assert desk.row._settings["graph"] == "imperative"
    desk.row.story("defaults")
    assert knobs.diff() == {}
    with pytest.raises(KnobError, match="Did you mean debug"):
        desk.row.story("debugg")


def test_the_hint_goes_when_it_was_read(desk: Desk) -> None:
    assert desk.row.hint == HINT
    desk.row._handle_custom_msg({"kind": "hint", "id": 1}, [])
    desk.ask(kind="table")  # done after the hint
    assert desk.row.hint == ""


def test_the_faces_show_values_and_lines(desk: Desk) -> None:
    knobs.set(MXNET_EXEC_ENABLE_INPLACE=0)
    assert repr(desk.row) == (
        "FiveSwitches(engine=ThreadedEnginePerDevice, pool=Naive, inplace=off, "
        "mirror=off, policy=remap, dtype=float32, scaling=dynamic)"
    )
    desk.row.show({"graph": "imperative"})
    for dark in (False, True):
        words = " ".join(ET.fromstring(desk.row.svg(dark=dark)).itertext())
        assert "In-place" in words
        assert "imperatively" in words
    assert "MXNET_BACKWARD_DO_MIRROR" in repr(desk.row.table())
    assert "image/svg+xml" in desk.row._repr_mimebundle_()[0]


def test_a_closed_row_leaves_no_thread_and_no_watcher() -> None:
    desk = Desk()
    desk.ask(kind="table")
    assert desk.row._inbox is not None
    worker = desk.row._inbox.thread
    desk.row.close()
    assert worker is not None
    assert not worker.is_alive()
    revision = desk.row.state["revision"]
    knobs.set(MXNET_EXEC_ENABLE_INPLACE=0)
    desk.turns.turned(INPLACE, "1", "0")
    assert desk.row.state["revision"] == revision
