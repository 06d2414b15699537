"""What fills a record: the methods that the runtime calls, one for each kind of event.

They append a tuple and return: no lock, no look at a string, so that they may be called
from any thread and cost little.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from minimx.core import events
from minimx.core.dtypes import POWERS
from minimx.core.events import Finished, Owner
from minimx.core.record.ring import Ring
from minimx.core.record.several import Ids
from minimx.core.record.tables import TABLES

# Where the counts begin in what the operator `_exponents` gives for an array.
HEAD = 4


class Listening:
    """Rings of rows, one a table, and what fills them."""

    def __init__(self, capacity: int, calls: bool) -> None:
        self.records_calls = calls
        self.capacity = capacity
        self.clock: Callable[[], int] | None = None  # unless set, that of all events
        self.ids = Ids()
        self._rings = {name: Ring(capacity) for name in TABLES}
        # The parts of joined operations that are noted, by the id of their tuple.
        self._works: dict[int, tuple[int, tuple[Any, ...]]] = {}
        self._next_work = count(1).__next__
        self._next_look = count(1).__next__
        self._add_op = self._rings["ops"].add
        self._add_dependency = self._rings["deps"].add
        self._add_memory = self._rings["mem"].add
        self._add_call = self._rings["calls"].add

    def _now(self) -> int:
        return (self.clock or events.clock)()

    def new_op(self) -> int:
        """A fresh operation id, from 1."""
        return self.ids.next()

    def op(self, *row: Any, **named: Any) -> None:
        """An operation finished; the arguments are those of `events.Finished`."""
        finished = Finished(*row, **named)
        flops = nbytes = work = 0
        dtype = ""
        if (cost := finished.cost) is not None:
            flops, nbytes = cost.flops, cost.bytes_moved
            dtype = getattr(cost, "dtype", "")
            if finished.graph and (parts := getattr(cost, "parts", ())):
                work = self._number(parts)
        self._add_op((*finished[:-2], flops, nbytes, dtype, work, finished.inside))

    def _number(self, parts: tuple[tuple[Any, ...], ...]) -> int:
        """The number of a joined operation's parts; at first sight they are noted."""
        known = self._works.get(id(parts))
        if known is None:
            mine = self._next_work(), parts  # which stay alive, and keep their id
            known = self._works.setdefault(id(parts), mine)
            if known is mine:
                for part in parts:
                    self._rings["parts"].add((mine[0], *part))
        return known[0]

    def call(self, name: str, detail: str, t0: int, t1: int) -> None:
        """A call of the interface, by this thread, between two moments."""
        self._add_call((t0, t1, name, detail, threading.current_thread().name))

    def mark(
        self,
        event: str,
        kind: str,
        domain: str,
        name: str,
        number: int = 0,
        value: float = 0.0,
    ) -> None:
        """The program says where it is: an event of `tables.MARK_EVENTS`."""
        thread = threading.current_thread().name
        row = (self._now(), event, kind, domain, name, number, float(value), thread)
        self._rings["marks"].add(row)

    def dependency(self, src: int, dst: int, kind: str) -> None:
        """Operation `dst` had to wait for `src`; kind is RAW, WAR or WAW."""
        self._add_dependency((src, dst, kind))

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
        """A pool event of `tables.MEMORY_EVENTS`, linked to the running operation."""
        self._add_memory(
            (
                (self.clock or events.clock)(),
                events.attribution.running,
                event,
                device,
                block_id,
                requested,
                rounded,
                address,
                owner.op,
                owner.layer,
                owner.phase,
                owner.category,
            )
        )

    def knob(
        self, name: str, old: Any, new: Any, scope: str, t: int | None = None
    ) -> None:
        """A knob was turned, at a moment of the record's clock; by default now."""
        moment = self._now() if t is None else t
        self._rings["knobs"].add((moment, name, str(old), str(new), scope))

    def communication(
        self, t0: int, t1: int, key: str, src: str, dst: str, nbytes: int, phase: str
    ) -> None:
        """Bytes went from one device or process to another between two moments."""
        self._rings["comm"].add((t0, t1, key, src, dst, nbytes, phase))

    def metric(self, step: int, name: str, value: float) -> None:
        """A training metric was observed."""
        self._rings["metrics"].add((self._now(), step, name, float(value)))

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
        """Somebody looked at an array; row: what `_exponents` counted, as an array."""
        look = self._next_look()
        zeros, infinite, nan = (int(number) for number in row[:3])
        counts = row[HEAD:]
        size = zeros + infinite + nan + int(counts.sum())
        self._rings["tensors"].add(
            (look, self._now(), step, kind, layer, name, dtype, used, float(scale))
            + (size, zeros, infinite, nan, float(row[3]))
        )
        add = self._rings["exponents"].add
        for place in np.flatnonzero(counts).tolist():
            add((look, place + POWERS[0], int(counts[place])))

    def scaling(
        self,
        step: int,
        scale: float,
        skipped: bool,
        tensor: str = "",
        layer: str = "",
        many: int = 0,
    ) -> None:
        """A step with a scaled loss was taken, or skipped: what overflowed, if any."""
        row = (self._now(), step, float(scale), skipped, tensor, layer, many)
        self._rings["scaling"].add(row)
