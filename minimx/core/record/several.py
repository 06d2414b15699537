"""More than one listener at a time: each gets everything, all know the same ids.

A lab may record while a program that runs in it profiles itself. A record begins to
listen with `join` and ends with `leave`, which set `events.recorder`: None, the only
record, or a `Several` of all. No other module sets it.
"""

from __future__ import annotations

import threading
from itertools import count
from typing import Any

from minimx.core import events
from minimx.core.events import Recorder


class Ids:
    """Operation ids, counted from 1. Listeners that meet share one of these."""

    __slots__ = ("__weakref__", "next")

    def __init__(self) -> None:
        self.next = count(1).__next__


class Several:
    """Forwards each event to several listeners; its methods are as in `Listening`."""

    def __init__(self, listeners: tuple[Any, ...]) -> None:
        self.listeners = listeners
        self.records_calls = any(each.records_calls for each in listeners)
        self.ids = listeners[0].ids
        self.new_op = listeners[0].new_op

    def op(self, *row: Any, **named: Any) -> None:
        """An operation finished."""
        for each in self.listeners:
            each.op(*row, **named)

    def call(self, name: str, detail: str, t0: int, t1: int) -> None:
        """A call of the interface; only for listeners that want calls."""
        for each in self.listeners:
            if each.records_calls:
                each.call(name, detail, t0, t1)

    def dependency(self, *row: Any, **named: Any) -> None:
        """An operation comes after another one."""
        for each in self.listeners:
            each.dependency(*row, **named)

    def memory(self, *row: Any, **named: Any) -> None:
        """A pool event."""
        for each in self.listeners:
            each.memory(*row, **named)

    def communication(self, *row: Any, **named: Any) -> None:
        """Bytes went from one device or process to another."""
        for each in self.listeners:
            each.communication(*row, **named)

    def knob(self, *row: Any, **named: Any) -> None:
        """A knob was turned: not forwarded, each record watches the knobs itself."""

    def tensor(self, *row: Any, **named: Any) -> None:
        """The numbers of an array were counted."""
        for each in self.listeners:
            each.tensor(*row, **named)

    def scaling(self, *row: Any, **named: Any) -> None:
        """A step with a scaled loss was taken, or skipped."""
        for each in self.listeners:
            each.scaling(*row, **named)

    def metric(self, *row: Any, **named: Any) -> None:
        """A training metric was observed."""
        for each in self.listeners:
            each.metric(*row, **named)


_changing = threading.RLock()


def listeners() -> tuple[Any, ...]:
    """All that listen now."""
    now = events.recorder
    if now is None:
        return ()
    return now.listeners if isinstance(now, Several) else (now,)


def join(record: Any) -> None:
    """Let a record listen from now on; it counts operations on as the others do."""
    with _changing:
        others = listeners()
        if others:
            record.ids = others[0].ids
        _install((*others, record))


def leave(record: Any) -> None:
    """Let a record listen no more."""
    with _changing:
        _install(tuple(each for each in listeners() if each is not record))


def _install(found: tuple[Any, ...]) -> None:
    now: Recorder | None = None
    if found:
        now = found[0] if len(found) == 1 else Several(found)
    events.recorder = now
