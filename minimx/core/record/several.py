"""More than one listener at a time: each gets everything, all know the same ids.

A lab may record while a program that runs in it profiles itself. `join` and `leave` are
how records come and go; no other module sets `events.recorder`.
"""

from __future__ import annotations

import threading
from itertools import count
from typing import Any

from minimx.core import events
from minimx.core.events import Owner, Recorder


class Ids:
    """Operation ids, counted from 1. Listeners that meet share one of these."""

    __slots__ = ("__weakref__", "next")

    def __init__(self) -> None:
        self.next = count(1).__next__


class Several:
    """Forwards what the runtime says to each of its members."""

    def __init__(self, members: tuple[Any, ...]) -> None:
        self.members = members
        self.records_calls = any(member.records_calls for member in members)
        self.ids = members[0].ids
        self.new_op = members[0].new_op

    def op(self, *row: Any, **more: Any) -> None:
        """An operation finished."""
        for member in self.members:
            member.op(*row, **more)

    def call(self, name: str, detail: str, t0: int, t1: int) -> None:
        """A call of the interface, by this thread."""
        for member in self.members:
            if member.records_calls:
                member.call(name, detail, t0, t1)

    def dependency(self, src: int, dst: int, kind: str) -> None:
        """Operation `dst` comes after `src`."""
        for member in self.members:
            member.dependency(src, dst, kind)

    def memory(
        self,
        event: str,
        device: str,
        block_id: int,
        requested: int,
        rounded: int,
        address: int,
        owner: Owner,
    ) -> None:
        """A pool event."""
        for member in self.members:
            member.memory(event, device, block_id, requested, rounded, address, owner)

    def communication(
        self, t0: int, t1: int, key: str, src: str, dst: str, nbytes: int, phase: str
    ) -> None:
        """Bytes went from one device or process to another."""
        for member in self.members:
            member.communication(t0, t1, key, src, dst, nbytes, phase)

    def knob(self, name: str, old: Any, new: Any, scope: str) -> None:
        """A knob was turned: records hear of that themselves."""

    def tensor(
        self,
        step: int,
        kind: str,
        layer: str,
        name: str,
        dtype: str,
        used: str,
        scale: float,
        row: Any,
    ) -> None:
        """Somebody looked at an array."""
        for member in self.members:
            member.tensor(step, kind, layer, name, dtype, used, scale, row)

    def scaling(
        self,
        step: int,
        scale: float,
        skipped: bool,
        tensor: str = "",
        layer: str = "",
        many: int = 0,
    ) -> None:
        """A step with a scaled loss was taken, or skipped."""
        for member in self.members:
            member.scaling(step, scale, skipped, tensor, layer, many)

    def metric(self, step: int, name: str, value: float) -> None:
        """A training metric was observed."""
        for member in self.members:
            member.metric(step, name, value)


_changing = threading.RLock()


def listeners() -> tuple[Any, ...]:
    """Who listens now."""
    now = events.recorder
    if now is None:
        return ()
    return now.members if isinstance(now, Several) else (now,)


def join(record: Any) -> None:
    """Let a record hear everything from now on; it counts as the others do."""
    with _changing:
        members = listeners()
        if members:
            record.ids = members[0].ids
        _install((*members, record))


def leave(record: Any) -> None:
    """Let a record hear no more."""
    with _changing:
        _install(tuple(each for each in listeners() if each is not record))


def _install(members: tuple[Any, ...]) -> None:
    now: Recorder | None = None
    if members:
        now = members[0] if len(members) == 1 else Several(members)
    events.recorder = now
