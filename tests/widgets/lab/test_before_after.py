"""The strip compares the last turn, lists all of them, and goes back."""

from __future__ import annotations

import threading
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from minimx.core.errors import ArgumentError
from minimx.core.knobs import knobs
from minimx_widgets import BeforeAfter
from minimx_widgets.lab.before_after import LISTED
from minimx_widgets.lab.turn_text import FIGURES
from minimx_widgets.lab.turns import Turns
from minimx_widgets.training.meter import Facts

pytestmark = pytest.mark.usefixtures("knobs_at_rest")

ENGINE, POOL = "MXNET_ENGINE_TYPE", "MXNET_CPU_MEM_POOL_TYPE"
INPLACE = "MXNET_EXEC_ENABLE_INPLACE"
MIB = 2.0**20


class Desk:
    """Stands for the browser's side of the strip."""

    def __init__(self, **settings: Any) -> None:
        self.turns = Turns()
        self.step = 0
        self.strip = BeforeAfter(self.turns, **settings)
        self.answers: list[dict[str, Any]] = []
        self.arrived = threading.Condition()
        self.strip.send = self.receive

    def receive(self, message: dict[str, Any], buffers: Any = None) -> None:
        with self.arrived:
            self.answers.append(message)
            self.arrived.notify_all()

    def ask(self, **message: Any) -> dict[str, Any]:
        number = len(self.answers) + 1
        self.strip._handle_custom_msg({**message, "id": number}, [])
        with self.arrived:
            assert self.arrived.wait_for(lambda: len(self.answers) >= number, 10)
            return self.answers[number - 1]

    def steps(self, count: int, **facts: float) -> None:
        for _ in range(count):
            self.step += 1
            self.turns.stepped(self.step, Facts(**facts))

    def row(self, name: str) -> dict[str, Any]:
        rows = self.strip.state["rows"]
        return next(row for row in rows if row["name"] == name)


@pytest.fixture
def make() -> Iterator[Callable[..., Desk]]:
    """Desks that are closed when the test is over."""
    made: list[Desk] = []

    def one(**settings: Any) -> Desk:
        made.append(Desk(**settings))
        return made[-1]

    yield one
    for desk in made:
        desk.strip.close()


def test_before_anything_is_turned_it_says_what_will_be_here(
    make: Callable[..., Desk],
) -> None:
    desk = make()
    desk.steps(5, peak=MIB)
    assert repr(desk.strip) == "BeforeAfter(no turn yet)"
    assert "Nothing was turned yet" in desk.strip.state["empty"]
    assert [row["name"] for row in desk.strip.state["rows"]] != []
    of_one_device = {figure.name for figure in FIGURES}
    assert {row["name"] for row in desk.strip.state["rows"]} == of_one_device
    assert desk.strip.history == []
    assert "No turn yet" in repr(desk.strip.table())
    assert "Nothing was turned yet" in desk.strip.svg()


def test_the_last_turn_is_compared_as_soon_as_it_is_measured(
    make: Callable[..., Desk],
) -> None:
    desk = make()
    desk.steps(10, peak=15.5 * MIB, planned=3 * MIB)
    desk.turns.turned(INPLACE, "1", "0")
    state = desk.strip.state
    assert state["title"] == "In-place on → off"
    assert state["progress"] == "measured from the second step after it on"
    assert desk.row("peak")["before"] == "15.5 MiB"
    assert desk.row("peak")["after"] == "–"
    desk.steps(4, peak=20.8 * MIB, planned=4.2 * MIB)
    assert desk.strip.state["progress"] == "measuring… 3 of 5 steps"
    assert desk.strip.history[0]["change"] == "measuring… 3 of 5 steps"
    desk.steps(3, peak=20.8 * MIB, planned=4.2 * MIB)
    assert desk.strip.state["settled"]
    peak = desk.row("peak")
    assert (peak["after"], peak["change"], peak["verdict"]) == (
        "20.8 MiB", "▲ 34 %", "worse",
    )  # fmt: skip
    assert desk.row("planned")["source"] == "planned"
    (line,) = desk.strip.history
    assert line["change"] == "step peak 15.5 MiB → 20.8 MiB ▲ 34 %"
    assert (line["number"], line["step"], line["back"]) == (1, 10, "on")
    desk.turns.note(INPLACE, "bound again at step 11")
    assert desk.strip.state["note"] == "bound again at step 11"


def test_turns_made_together_are_named_together(make: Callable[..., Desk]) -> None:
    desk = make()
    desk.steps(10, ms=10.0)
    desk.turns.turned(POOL, "Naive", "Round")
    desk.steps(10, ms=10.0)
    knobs_of_a_preset = [(ENGINE, "ThreadedEngine", "NaiveEngine"), (INPLACE, "1", "0")]
    for turn in knobs_of_a_preset:
        desk.turns.turned(*turn)
    assert desk.strip.state["together"] == ["Engine ThreadedEngine → NaiveEngine"]
    desk.steps(10, ms=20.0)
    assert [line["number"] for line in desk.strip.history] == [3, 2, 1]
    assert desk.strip.history[1]["change"] == "step time 10.0 ms → 20.0 ms ▲ 100 %"


def test_a_turn_that_was_overtaken_says_that_it_was_not_measured(
    make: Callable[..., Desk],
) -> None:
    desk = make()
    desk.steps(10, ms=10.0)
    desk.turns.turned(POOL, "Naive", "Round")
    desk.steps(1, ms=10.0)
    desk.turns.turned(POOL, "Round", "Naive")
    assert "too soon" in desk.strip.history[1]["change"]


def test_a_line_goes_back_to_what_was_before_it(make: Callable[..., Desk]) -> None:
    desk = make()

    def note(name: str, new: Any, old: Any) -> None:
        desk.turns.turned(name, str(old), str(new))

    stop = knobs.watch("*", note)
    knobs.set(MXNET_CPU_MEM_POOL_TYPE="Round")
    knobs.set(MXNET_ENGINE_TYPE="NaiveEngine")
    answer = desk.ask(kind="back", number=1)
    stop()
    assert answer["ok"], answer
    assert answer["text"].startswith("Pool put back to Naive in ")
    assert knobs.MXNET_CPU_MEM_POOL_TYPE == "Naive"
    assert knobs.MXNET_ENGINE_TYPE == "NaiveEngine"
    assert [line["number"] for line in desk.strip.history] == [3, 2, 1]


def test_a_lab_goes_back_itself_and_what_it_refuses_is_told(
    make: Callable[..., Desk],
) -> None:
    asked: list[int] = []

    def go_back(number: int) -> None:
        asked.append(number)
        raise ArgumentError("Lab.go_back: not now")

    desk = make(go_back=go_back)
    desk.turns.turned("dtype", "float32", "float16", "setting")
    answer = desk.ask(kind="back", number=1)
    assert (answer["ok"], answer["text"]) == (False, "Lab.go_back: not now")
    assert asked == [1]
    alone = make()
    alone.turns.turned("dtype", "float32", "float16", "setting")
    assert "is a setting of a lab" in alone.ask(kind="back", number=1)["text"]


def test_a_long_history_is_listed_in_part_and_kept_whole(
    make: Callable[..., Desk],
) -> None:
    desk = make()
    for i in range(LISTED + 10):
        desk.turns.turned("MXNET_EXEC_NUM_TEMP", str(i), str(i + 1))
        desk.steps(8, ms=10.0)
    numbers = [line["number"] for line in desk.strip.history]
    assert numbers == list(range(LISTED + 10, 10, -1))
    _, all_of_them = desk.strip.table().parts
    assert len(all_of_them.rows) == LISTED + 10


def test_the_faces_show_the_last_turn(make: Callable[..., Desk]) -> None:
    desk = make()
    desk.steps(10, peak=15.5 * MIB, loss=1.0)
    desk.turns.turned(INPLACE, "1", "0")
    desk.steps(10, peak=20.8 * MIB, loss=float("nan"))
    assert repr(desk.strip) == "BeforeAfter(1 turn, last: In-place on → off)"
    for dark in (False, True):
        words = " ".join(ET.fromstring(desk.strip.svg(dark=dark)).itertext())
        assert "▲ 34 %" in words
        assert "In-place on → off" in words
        assert "nan" in words
    table = repr(desk.strip.table())
    assert "15.5 MiB" in table
    assert "planned" not in table
    assert desk.ask(kind="table")["html"].startswith("<table>")


def test_a_closed_strip_leaves_no_thread_and_no_watcher() -> None:
    desk = Desk()
    desk.ask(kind="table")
    assert desk.strip._inbox is not None
    worker = desk.strip._inbox.thread
    desk.strip.close()
    assert worker is not None
    assert not worker.is_alive()
    desk.turns.turned(POOL, "Naive", "Round")
    assert desk.strip.history == []
