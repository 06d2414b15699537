"""A session can be paused, stepped and stopped at any time, and never hangs."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import nullcontext

import pytest

from minimx_widgets.training.session import Program, Progress, Session


class Machine:
    """A program whose pieces the test lets through one by one."""

    def __init__(self, pieces: int, fail_at: int = 0) -> None:
        self.pieces, self.fail_at = pieces, fail_at
        self.allowed = threading.Semaphore(0)
        self.done = 0
        self.closed = False

    def program(self) -> Program:
        try:
            for piece in range(1, self.pieces + 1):
                assert self.allowed.acquire(timeout=10)
                if piece == self.fail_at:
                    raise ArithmeticError(f"piece {piece} broke")
                self.done = piece
                yield Progress(piece, self.pieces, f"piece {piece}")
        finally:
            self.closed = True

    def let(self, pieces: int) -> None:
        self.allowed.release(pieces)


class Watcher:
    """Remembers the states of a session and waits for them."""

    def __init__(self) -> None:
        self.states: list[str] = []
        self.changed = threading.Condition()

    def __call__(self, session: Session) -> None:
        with self.changed:
            self.states.append(session.state)
            self.changed.notify_all()

    def wait_for(self, state: str) -> None:
        with self.changed:
            found = self.changed.wait_for(lambda: self.states[-1:] == [state], 10)
            assert found, self.states


def started(pieces: int, fail_at: int = 0) -> tuple[Session, Machine, Watcher]:
    machine, watcher = Machine(pieces, fail_at), Watcher()
    return Session(machine.program, watcher), machine, watcher


def test_a_program_runs_to_its_end() -> None:
    session, machine, _ = started(3)
    machine.let(3)
    session.train()
    assert session.wait(10)
    assert (session.state, machine.done, session.progress.done) == ("done", 3, 3)


def test_a_pause_comes_between_two_pieces_and_training_goes_on_after_it() -> None:
    session, machine, watcher = started(3)
    session.train()
    session.pause()
    machine.let(1)
    watcher.wait_for("paused")
    assert machine.done == 1
    assert session.alive
    machine.let(2)
    session.train()
    assert session.wait(10)
    assert machine.done == 3


def test_a_step_does_one_piece_and_pauses() -> None:
    session, machine, watcher = started(3)
    machine.let(3)
    for done in (1, 2):
        session.step()
        watcher.wait_for("paused")
        assert session.wait(10)
        assert machine.done == done
        watcher.states.clear()
    session.stop()


def test_pieces_that_are_no_training_step_do_not_count() -> None:
    def program() -> Program:
        for piece in range(4):
            yield Progress(piece, 4, "", steps=piece, step=piece % 2 == 1)

    session = Session(program)
    session.step()
    assert session.wait(10)
    assert session.progress.steps == 1
    session.stop()


def test_stop_ends_a_running_and_a_paused_program() -> None:
    for pause in (False, True):
        session, machine, watcher = started(100)
        session.train()
        if pause:
            session.pause()
        machine.let(1)
        if pause:
            watcher.wait_for("paused")
        session.stop(wait=False)
        machine.let(1)
        session.stop()
        assert session.state == "stopped"
        assert machine.closed
        assert machine.done <= 2


def test_waiting_returns_at_a_pause_because_nobody_may_be_there_to_go_on() -> None:
    session, machine, _ = started(5)
    session.train()
    session.pause()
    machine.let(1)
    assert session.wait(10)
    assert session.state == "paused"
    session.stop()


@pytest.mark.parametrize(("fail_at", "end"), [(0, "done"), (1, "failed")])
def test_waiting_ends_after_the_page_has_heard(fail_at: int, end: str) -> None:
    machine, heard = Machine(1, fail_at), []

    def slow(session: Session) -> None:
        state = session.state
        time.sleep(0.05 if state == end else 0)
        heard.append(state)

    session = Session(machine.program, slow)
    machine.let(1)
    session.train()
    with pytest.raises(ArithmeticError) if fail_at else nullcontext():
        session.wait()
    assert heard[-1] == end


def test_waiting_gives_up_after_its_time() -> None:
    session, machine, _ = started(1)
    session.train()
    assert not session.wait(0.05)
    machine.let(1)
    assert session.wait(10)


def test_an_error_is_raised_by_waiting_and_the_session_can_begin_again() -> None:
    session, machine, _ = started(3, fail_at=2)
    machine.let(3)
    session.train()
    with pytest.raises(ArithmeticError, match="piece 2 broke"):
        session.wait(10)
    assert session.state == "failed"
    machine.fail_at = 0
    machine.let(3)
    session.train()
    assert session.wait(10)
    assert session.error is None


def test_an_error_while_a_program_is_made_is_an_error_of_the_session() -> None:
    def broken() -> Program:
        raise LookupError("no data")

    session = Session(broken)
    session.train()
    with pytest.raises(LookupError, match="no data"):
        session.wait(10)


def test_reset_forgets_everything() -> None:
    session, machine, _ = started(2)
    machine.let(2)
    session.train()
    session.wait(10)
    session.reset()
    assert (session.state, session.progress.done) == ("ready", 0)
    assert not session.alive


def test_commands_without_a_program_under_way_do_nothing() -> None:
    session, _, _ = started(1)
    session.pause()
    session.stop()
    assert session.state == "ready"
    assert session.wait(0)


def test_the_switch_interval_is_the_caller_s_again_afterwards() -> None:
    before = sys.getswitchinterval()
    session, machine, _ = started(1)
    machine.let(1)
    session.train()
    session.wait(10)
    session.stop()
    assert sys.getswitchinterval() == before
