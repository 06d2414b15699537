"""A feed brings views everything once, and nobody who looks pays for nobody looking."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minimx.core.record import Record
from minimx_widgets import EngineTimeline, MemoryTimeline, TrainingMonitor
from minimx_widgets.base import View
from minimx_widgets.run import Run


class Browser:
    """Stands for the page of one view: keeps its frames, acknowledges at once."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.messages: list[tuple[dict[str, Any], list[Any]]] = []
        self.arrived = threading.Condition()
        view.send = self.receive

    def receive(
        self, message: dict[str, Any], buffers: list[Any] | None = None
    ) -> None:
        with self.arrived:
            copies = [bytes(buffer) for buffer in buffers or []]
            self.messages.append((message, copies))
            self.arrived.notify_all()
        if message["kind"] == "frame":
            self.say(kind="ack", seq=message["seq"])

    def say(self, **message: Any) -> None:
        self.view._hear(self.view, message, [])

    def wait_for(self, condition: Callable[[], bool]) -> None:
        with self.arrived:
            assert self.arrived.wait_for(condition, timeout=10), self.messages

    def rows(self, table: str, column: str) -> list[float]:
        """All values of a column, from the newest full frame on."""
        out: list[float] = []
        for message, buffers in list(self.messages):
            if message["kind"] != "frame":
                continue
            if message["full"]:
                out = []
            place = 0
            for name, layout in message["tables"].items():
                for column_name, code in layout:
                    if (name, column_name) == (table, column):
                        out += np.frombuffer(buffers[place], f"<{code}").tolist()
                    place += 1
        return out


@pytest.fixture
def feeds() -> set[str]:
    """The names of feed threads that run before the test."""
    return {t.name for t in threading.enumerate() if t.name.startswith("minimx views")}


def test_views_of_a_record_share_a_run(record: Record) -> None:
    assert EngineTimeline(record).run is MemoryTimeline(record).run
    assert EngineTimeline(record).run is not EngineTimeline(Record()).run


def test_without_a_browser_no_thread_is_started(
    record: Record, feeds: set[str]
) -> None:
    view = EngineTimeline(record)
    repr(view), view.svg(), view.table(), view._repr_mimebundle_()
    assert {
        t.name for t in threading.enumerate() if t.name.startswith("minimx views")
    } == feeds
    view.run.close()


def test_a_browser_gets_everything_and_then_what_is_new(record: Record) -> None:
    view = EngineTimeline(record)
    browser = Browser(view)
    browser.say(kind="hello")
    browser.wait_for(lambda: len(browser.rows("ops", "op")) == 5)
    record.op(6, "late", "", "other", "cpu(0)", "cpu(0)/0", 1, 1, 1, 2, 0, 0, False)
    browser.wait_for(lambda: browser.rows("ops", "op") == [1, 2, 3, 4, 5, 6])
    view.run.close()
    assert not view.run.feed.running


def test_a_second_page_gets_everything_again_and_the_first_loses_nothing(
    record: Record,
) -> None:
    view = MemoryTimeline(record)
    browser = Browser(view)
    browser.say(kind="hello")
    browser.wait_for(lambda: len(browser.rows("mem", "t")) == 6)
    browser.say(kind="hello")
    browser.wait_for(lambda: sum(m["full"] for m, _ in browser.messages) == 2)
    assert sum(browser.rows("mem", "requested")) == 1000
    view.run.close()


def test_strings_and_marks_arrive_with_their_rows(record: Record) -> None:
    view = TrainingMonitor(record)
    browser = Browser(view)
    browser.say(kind="hello")
    browser.wait_for(lambda: bool(browser.rows("metrics", "value")))
    head = browser.messages[0][0]
    names = [head["strings"][int(i)] for i in browser.rows("metrics", "name")]
    assert names.count("loss") == 4
    assert head["knobs"][0]["name"] == "MXNET_CPU_MEM_POOL_TYPE"
    assert head["phases"][2] > 0
    view.run.close()


def test_another_record_makes_all_views_begin_again(record: Record) -> None:
    run = Run(record)
    view = EngineTimeline(run)
    browser = Browser(view)
    browser.say(kind="hello")
    browser.wait_for(lambda: len(browser.rows("ops", "op")) == 5)
    other = Record()
    other.op(1, "only", "", "other", "cpu(0)", "w", 1, 1, 1, 2, 0, 0, False)
    run.replace(other)
    browser.wait_for(lambda: browser.rows("ops", "op") == [1])
    run.close()


def test_a_page_hears_that_a_record_has_ended() -> None:
    record = Record().start()
    view = EngineTimeline(record)
    browser = Browser(view)
    browser.say(kind="hello")
    try:
        browser.wait_for(lambda: any(m.get("live") for m, _ in browser.messages))
        record.stop()
        browser.wait_for(lambda: browser.messages[-1][0].get("live") is False)
    finally:
        record.stop()
        view.run.close()


def test_status_alone_is_news(record: Record) -> None:
    view = TrainingMonitor(record)
    browser = Browser(view)
    browser.say(kind="hello")
    browser.wait_for(lambda: bool(browser.messages))
    view.run.status = {"state": "paused"}
    browser.wait_for(
        lambda: any(m.get("status") == {"state": "paused"} for m, _ in browser.messages)
    )
    view.run.close()


def test_a_selection_in_a_browser_reaches_the_run(record: Record) -> None:
    view = EngineTimeline(record)
    browser = Browser(view)
    browser.say(kind="select", op=4)
    assert view.run.selected == 4
    view.select(2)
    assert browser.messages[-1][0] == {"kind": "select", "op": 2, "t": 62_000}
    view.select(99)
    assert browser.messages[-1][0] == {"kind": "select", "op": 99, "t": None}
    view.run.close()


def test_what_was_marked_before_a_page_looked_is_marked_on_it(record: Record) -> None:
    view = EngineTimeline(record)
    view.select(2)
    browser = Browser(view)
    browser.say(kind="hello")
    browser.wait_for(lambda: len(browser.messages) >= 2)
    assert browser.messages[0][0]["kind"] == "frame"
    assert browser.messages[1][0] == {"kind": "select", "op": 2, "t": 62_000}
    view.run.close()


def test_a_table_is_sent_when_asked_for(record: Record) -> None:
    view = EngineTimeline(record)
    browser = Browser(view)
    browser.say(kind="hello")
    browser.say(kind="table")
    browser.wait_for(lambda: any(m["kind"] == "table" for m, _ in browser.messages))
    html = next(m["html"] for m, _ in browser.messages if m["kind"] == "table")
    assert "FullyConnected" in html
    view.run.close()


def test_a_frozen_view_carries_its_record_in_its_state(record: Record) -> None:
    view = EngineTimeline(record)
    view.freeze()
    header, buffers = view.frozen
    assert header["full"]
    assert not header["live"]
    name, code = next(iter(header["tables"].values()))[0]
    assert name == "op"
    assert np.frombuffer(buffers[0], f"<{code}").tolist() == [1, 2, 3, 4, 5]
    view.run.close()


def test_the_bundle_offers_text_picture_and_widget(record: Record) -> None:
    view = MemoryTimeline(record)
    data, _ = view._repr_mimebundle_()
    assert data["text/plain"] == repr(view)
    assert data["image/svg+xml"].startswith("<svg")
    widget = data["application/vnd.jupyter.widget-view+json"]
    assert widget["model_id"] == view.model_id
    view.run.close()
