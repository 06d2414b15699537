"""Modes of recording and training, and what Ctrl-C leaves of them."""

from __future__ import annotations

import random
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from minimx import _interrupts as interrupts
from minimx import nd
from minimx.core import autograd
from minimx.core.autograd.modes import close_scopes
from minimx.core.events import attribution

TRIALS = 150


def modes() -> tuple[bool, bool, str]:
    return autograd.is_recording(), autograd.is_training(), attribution.phase


def enter_and_leave() -> None:
    with autograd.record():
        pass


def nested() -> None:
    with autograd.record(), autograd.predict_mode(), autograd.pause():
        pass


@autograd.record()
def decorated() -> None:
    """Enters one mode again and again, for as long as the program runs."""


def train() -> None:
    x = nd.ones((2,))
    x.attach_grad()
    with autograd.record():
        y = x * x
    y.backward()


@pytest.fixture
def interrupting() -> Iterator[None]:
    """Let the timer do what Ctrl-C does."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    hook = sys.unraisablehook
    interrupts.install()  # again, around that of pytest
    yield
    sys.unraisablehook = hook
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no interval timer")
@pytest.mark.parametrize("work", [enter_and_leave, nested, decorated, train])
def test_an_interrupt_at_any_line_leaves_the_modes_as_they_were(
    work: Callable[[], Any], interrupting: None
) -> None:
    work()  # imports what it needs
    draw, before = random.Random(1), modes()
    for _ in range(TRIALS):
        with pytest.raises(KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, draw.uniform(0.001, 0.003))
            while True:
                work()
        assert modes() == before


def test_an_inner_scope_that_ends_late_does_not_undo_what_an_outer_brought_back() -> (
    None
):
    before = modes()
    inner = autograd.predict_mode()
    with autograd.record():
        inner.__enter__()
        assert modes()[:2] == (True, False)
    assert modes() == before
    del inner
    assert modes() == before


def test_no_scope_reaches_into_the_next_cell() -> None:
    before = modes()
    scope = autograd.record()
    scope.__enter__()
    autograd.pause().__enter__()
    close_scopes()
    assert modes() == before
    old = autograd.set_training(True)
    close_scopes()
    assert autograd.set_training(old) is True
