"""`SchedulerStepper` without a page: what it shows, and moves of one's own."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

import pytest

import minimx as mx
from minimx.core.errors import ArgumentError
from minimx.core.record import Record
from minimx_widgets import SchedulerStepper
from minimx_widgets.scheduler.levels import LEVELS
from minimx_widgets.scheduler.program import Program, op
from minimx_widgets.scheduler.view import MOST_LINES

FORK = Program.of(
    op("P", reads="a", writes="b", cost=3),
    op("Q", reads="a", writes="c", cost=2),
    op("R", reads="b c", writes="a", cost=1),
    op("S", writes="d", cost=4),
)


@pytest.fixture
def view() -> Iterator[SchedulerStepper]:
    made = SchedulerStepper(FORK, push=0)
    yield made
    made.close()


def test_its_line_says_what_counts(view: SchedulerStepper) -> None:
    assert repr(view) == (
        "SchedulerStepper(4 operations, 2 workers, done after 6 µs, the best is 6 µs, "
        "at most 4 KiB)"
    )


def test_moves_of_ones_own_are_another_line(view: SchedulerStepper) -> None:
    view.show(step=4)  # all four are pushed
    assert view.moment.ready == (0, 1, 3)
    view.start("P", 1)
    view.start("S", 2)
    assert view.shown.name == "mine 1" and view.moment.time == 3
    view.start("Q")
    view.finish()
    assert view.shown.line.over
    assert repr(view).endswith("mine 1 6 µs)")
    view.show("the engine", 4)
    view.start("Q", 1)
    assert [one.name for one in view.lines] == ["the engine", "mine 1", "mine 2"]
    with pytest.raises(ArgumentError, match="R cannot start: it reads b"):
        view.start("R")
    assert view.shown.name == "mine 2", "nothing changed"
    view.wait()
    assert view.moment.time == 2


def test_it_goes_on_in_the_middle_of_ones_own_line_as_a_branch(
    view: SchedulerStepper,
) -> None:
    view.show(step=4)
    view.start("P")
    view.start("Q")
    view.show(step=5)
    view.start("S")
    assert [one.name for one in view.lines] == ["the engine", "mine 1", "mine 2"]
    assert view.lines[1].line.bars != view.lines[2].line.bars


def test_lines_are_not_kept_without_end(view: SchedulerStepper) -> None:
    for _ in range(MOST_LINES + 3):
        view.show("the engine", 4)
        view.start("P")
    assert len(view.lines) == MOST_LINES
    assert view.lines[0].name == "the engine"


def test_it_runs_to_a_breakpoint(view: SchedulerStepper) -> None:
    step = view.run_to("R")
    assert view.step == step and view.moment.kind == "start"
    assert view.moment.time == 3
    with pytest.raises(ArgumentError, match="R does not start after move"):
        view.run_to("R")
    with pytest.raises(ArgumentError, match="no operation 'X'"):
        view.run_to("X")


def test_other_workers_begin_anew(view: SchedulerStepper) -> None:
    view.show(step=4)
    view.start("P")
    view.set_workers(0)
    assert view.workers == 0 and view.step == 0 and len(view.lines) == 1
    assert "NaiveEngine, done after 10 µs" in repr(view)
    with pytest.raises(ArgumentError, match="workers=9"):
        view.set_workers(9)
    assert view.workers == 0


def test_it_says_why(view: SchedulerStepper) -> None:
    view.show(step=0)
    assert "is not pushed yet" in view.why("P")
    view.show(step=4)
    assert view.why("P") == "P is ready: all its variables were granted."
    assert "which Q has yet to write (RAW" in view.why("R")
    with pytest.raises(ArgumentError, match="no line 'the enigne'. Did you mean"):
        view.show("the enigne")
    with pytest.raises(ArgumentError, match="step=99"):
        view.show(step=99)


def test_what_a_page_asks_is_done_or_refused(view: SchedulerStepper) -> None:
    sent: list[dict[str, object]] = []
    view.send = lambda message, buffers=None: sent.append(message)

    def ask(**message: object) -> dict[str, object]:
        view._hear(view, message, None)
        return sent[-1]

    assert ask(kind="start", op=0, worker=1, step=4)["ok"]
    assert view.moment.workers[1] == 0
    refused = ask(kind="start", op=2, step=view.step)
    assert not refused["ok"] and "RAW" in str(refused["text"])
    assert not ask(kind="start", op="x", step=4)["ok"]
    assert ask(kind="why", op=2, step=view.step)["text"] == view.why("R")
    assert not ask(kind="workers", count=12)["ok"]
    assert ask(kind="workers", count=3)["ok"] and view.workers == 3
    assert "<table" in str(ask(kind="table")["html"])


def test_table_and_pictures_show_the_moment(view: SchedulerStepper) -> None:
    view.show(step=-1)
    operations, moves = view.table().parts
    assert operations.rows[2] == ("R", "b c", "a", "1", "0", "3", "4", "1")
    assert len(moves.rows) == len(view.shown.line.moments)
    for dark in (False, True):
        view.show(step=4)
        tree = ElementTree.fromstring(view.svg(dark=dark))
        texts = [node.text for node in tree.iter() if node.text]
        assert "W R" in texts and "R P" in texts and "ready: P, Q, S" in texts


def test_programs_come_in_three_kinds() -> None:
    with Record() as record:
        (mx.nd.ones((4,)) + 1).wait_to_read()
    for given in (record, list(FORK.operations), FORK):
        made = SchedulerStepper(given)
        assert made.program.operations
        made.close()
    with pytest.raises(ArgumentError, match="this is a str"):
        SchedulerStepper("P")  # type: ignore[arg-type]


@pytest.mark.parametrize("number", range(1, len(LEVELS) + 1))
def test_in_each_level_the_engine_can_be_beaten(number: int) -> None:
    one = SchedulerStepper.level(number)
    assert one.exact and one.best < one.lines[0].line.makespan
    assert not one.reached
    one.close()


def test_a_level_is_reached_by_waiting_for_what_is_longer() -> None:
    one = SchedulerStepper.level(2)
    one.show(step=1)
    one.start("short1", 1)
    one.wait()
    one.start("long", 2)
    one.finish()
    assert one.reached and one.shown.line.makespan == one.best == 10
    one.close()
    for wrong in (0, 99, True, "1"):
        with pytest.raises(ArgumentError, match="there are 1 to 6"):
            SchedulerStepper.level(wrong)  # type: ignore[arg-type]
