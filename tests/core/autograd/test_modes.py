"""Modes of recording and training, and what Ctrl-C leaves of them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from minimx.core import autograd
from minimx.core.autograd.modes import close_scopes
from minimx.core.events import attribution

#: Interrupts a loop again and again, by a timer that does what Ctrl-C does, and prints
#: which modes that has left. It is a process of its own: an interrupt at any line may
#: leave other things behind that tests count on.
PROGRAM = """
import random, signal
from minimx import autograd, nd
from minimx.core.events import attribution

x = nd.ones((2,))
x.attach_grad()

def enter_and_leave():
    with autograd.record():
        pass

def nested():
    with autograd.record(), autograd.predict_mode(), autograd.pause():
        pass

decorated = autograd.record()(lambda: None)  # enters one mode again and again

def train():
    with autograd.record():
        y = x * x
    y.backward()

def modes():
    return autograd.is_recording(), autograd.is_training(), attribution.phase

signal.signal(signal.SIGALRM, signal.default_int_handler)
draw, before, left, interrupted = random.Random(1), modes(), set(), 0
for work in enter_and_leave, nested, decorated, train:
    work()  # imports what it needs
    for _ in range(150):
        try:
            signal.setitimer(signal.ITIMER_REAL, draw.uniform(0.001, 0.003))
            while True:
                work()
        except KeyboardInterrupt:
            interrupted += 1
        left.add(modes())
print(interrupted, left == {before})
"""


def modes() -> tuple[bool, bool, str]:
    return autograd.is_recording(), autograd.is_training(), attribution.phase


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no interval timer")
def test_an_interrupt_at_any_line_leaves_the_modes_as_they_were() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=100
    )
    assert done.stdout.splitlines()[-1:] == ["600 True"], done.stderr


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
