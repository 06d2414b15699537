"""What is marked in a view of a whole record, and in the views that are fed rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from minimx.core.errors import ArgumentError
from minimx.core.record import Record
from minimx_widgets import EngineTimeline, KVStoreView
from minimx_widgets.run import Run
from tests.widgets.pictures.kvstore.test_measured import recorded


class Sending(KVStoreView):
    """A view that keeps what it sends to its page."""

    def __init__(self, *values: Any, **settings: Any) -> None:
        self.sent: list[dict[str, Any]] = []
        super().__init__(*values, **settings)

    def tell(self, message: dict[str, Any]) -> None:
        self.sent.append(message)


@pytest.fixture
def record() -> Record:
    return recorded(2)


@pytest.fixture
def view(record: Record) -> Iterator[Sending]:
    shown = Sending(record=record)
    yield shown
    shown.close()


def test_what_a_cell_marks_is_told_to_the_page_of_every_view(
    view: Sending, record: Record
) -> None:
    timeline = EngineTimeline(record)
    copy = int(view.scene.bars.op[3])
    timeline.select(copy)
    assert [(one["kind"], one["op"]) for one in view.sent] == [("select", copy)]
    assert view.sent[0]["t"] == view.scene.begins + view.scene.bars.start[3]
    assert view.run_id == timeline.run_id == Run.of(record).id
    view.select(0)
    assert timeline.run.selected == 0 and view.sent[-1]["op"] == 0
    timeline.close()


def test_what_a_page_marks_is_not_sent_to_it_again(
    view: Sending, record: Record
) -> None:
    timeline = EngineTimeline(record)
    view._do({"kind": "select", "op": 4})
    assert Run.of(record).selected == 4 and view.sent == []
    assert timeline.state_string == "EngineTimeline:1?op=4"
    timeline._hear(None, {"kind": "select", "op": 5}, None)
    assert Run.of(record).selected == 5 and view.sent == []
    view._do({"kind": "hello"})
    assert [one["op"] for one in view.sent] == [5]
    timeline.close()


def test_the_mark_is_part_of_the_state(view: Sending, record: Record) -> None:
    view.select(7)
    assert view.state_string == "Sending:1?source=measured&op=7"
    assert view.keeps["more"] == {"source": "measured", "op": 7}
    text = view.state_string
    view.select(0)
    assert view.keeps["more"] == {"source": "measured"}
    view.state_string = text
    assert Run.of(record).selected == 7
    with pytest.raises(ArgumentError, match="not the number of an operation"):
        view.state_string = "Sending:1?source=measured&op=-1"
    assert Run.of(record).selected == 7


def test_other_choices_are_in_the_state_of_the_page_at_once(view: Sending) -> None:
    view.choose(store="ring")
    assert view.keeps["more"] == {"store": "ring"}


def test_without_a_record_nothing_can_be_marked(view: Sending, record: Record) -> None:
    view.show(None)
    assert view.run_id == "" and view not in Run.of(record).marking
    view.select(0)
    with pytest.raises(ArgumentError, match="no record is shown"):
        view.select(3)
    view.show(record)
    assert view.run_id == Run.of(record).id


def test_another_record_of_the_run_begins_without_a_mark(
    view: Sending, record: Record
) -> None:
    view.select(3)
    Run.of(record).replace(recorded(1))
    assert view.sent[-1]["op"] == 0 and "op" not in view.keeps["more"]


def test_a_closed_view_follows_no_run(record: Record) -> None:
    view = Sending(record=record)
    view.close()
    Run.of(record).select(3)
    assert view.sent == [] and Run.of(record).marking == []
