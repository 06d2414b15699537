"""Ctrl-C in a finalizer reaches the program."""

from __future__ import annotations

import _thread
import sys
import time
from typing import Any

import pytest

import minimx  # noqa: F401  (it installs the hook)
from minimx import _interrupts as interrupts


class Slow:
    def __del__(self) -> None:
        _thread.interrupt_main()
        for _ in range(1000):  # where Python looks for it
            pass


def test_an_interrupt_that_a_finalizer_swallows_is_sent_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    interrupts.install()  # pytest has put its own hook in the place of the first one
    with pytest.raises(KeyboardInterrupt):
        Slow()
        time.sleep(20 * interrupts.PAUSE)


def test_other_errors_of_finalizers_are_reported_as_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", seen.append)
    interrupts.install()

    class Bad:
        def __del__(self) -> None:
            raise ValueError("in a finalizer")

    Bad()
    assert [str(one.exc_value) for one in seen] == ["in a finalizer"]
