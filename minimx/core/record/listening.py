"""What fills a record: the methods that the runtime calls, one for each kind of event.

    recorder = events.recorder          # None while no record is on
    if recorder is not None:
        recorder.dependency(3, 7, "RAW")

Each appends one tuple, a row of the table that `tables.TABLES` describes, and returns:
no lock and no search, so that they may be called from any thread and cost little. Times
are nanoseconds of `events.clock`, quantities of memory bytes.
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

# The operator `_exponents` counts zeros, infinite and NaN, adds up squares, and then,
# from here on, counts for each power of two.
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
        self._add_use = self._rings["uses"].add
        self._add_dependency = self._rings["deps"].add
        self._add_memory = self._rings["mem"].add
        self._add_call = self._rings["calls"].add

    def _now(self) -> int:
        return (self.clock or events.clock)()

    def new_op(self) -> int:
        """A fresh operation id, from 1."""
        return self.ids.next()

    def op(self, *row: Any, **named: Any) -> None:
        """An operation finished; the arguments are those of `events.Finished`.

        Its cost is split into columns; the parts of a joined operation are noted once,
        in the table `parts`, and the row has their number. The blocks of memory that it
        read and wrote are rows of `uses`.
        """
        finished = Finished(*row, **named)
        flops = nbytes = work = 0
        dtype = ""
        if (cost := finished.cost) is not None:
            flops, nbytes = cost.flops, cost.bytes_moved
            dtype = getattr(cost, "dtype", "")
            if finished.graph and (parts := getattr(cost, "parts", ())):
                work = self._number(parts)
        if (operation := finished.operation) is not None and not finished.failed:
            op_id, add = finished.op_id, self._add_use
            for var in operation.reads:
                if var.block is not None:
                    add((op_id, var.block.id, False))
            for var in operation.writes:
                if var.block is not None:
                    add((op_id, var.block.id, True))
        more = (flops, nbytes, dtype, work, finished.inside, finished.line)
        self._add_op((*finished[:14], *more))

    def _number(self, parts: tuple[tuple[Any, ...], ...]) -> int:
        """The number of a joined operation's parts; the first time they are noted."""
        known = self._works.get(id(parts))
        if known is None:
            mine = self._next_work(), parts  # which stay alive, and keep their id
            known = self._works.setdefault(id(parts), mine)
            if known is mine:
                for part in parts:
                    self._rings["parts"].add((mine[0], *part))
        return known[0]

    def call(self, name: str, detail: str, t0: int, t1: int) -> None:
        """A call of the interface by this thread, from t0 to t1.

        name: MXNet's function of the C interface, such as `MXNDArrayWaitAll`. detail:
        what it was called for, such as the name of an operator.
        """
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
        """A mark that a program sets itself, by `mx.profiler`'s tasks and counters.

        event: one of `tables.MARK_EVENTS`. kind: of the object, such as "Task". domain,
        name: its names. number: which of several of that name. value: of a counter.
        """
        thread = threading.current_thread().name
        row = (self._now(), event, kind, domain, name, number, float(value), thread)
        self._rings["marks"].add(row)

    def dependency(self, src: int, dst: int, kind: str) -> None:
        """Operation `dst` comes after `src`, both by id.

        kind: why. "RAW": it reads what `src` writes; "WAR": it writes what `src` reads;
        "WAW": both write it; "BULK": it was a part of `src`.
        """
        self._add_dependency((src, dst, kind))

    def memory(
        self, event: str, device: str, block_id: int, requested: int, rounded: int,
        address: int, owner: Owner,
    ) -> None:  # fmt: skip
        """A pool event, noted with the operation that this thread runs.

        event: one of `tables.MEMORY_EVENTS`. device: such as "gpu(0)". block_id: the
        number of the allocation. requested, rounded: bytes that were requested, and of
        the block. address: where it starts on the device. owner: for what it is.
        """
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
        """A knob was turned from old to new, at time t; by default now.

        scope: when that acts, see `Knob.scope`.
        """
        moment = self._now() if t is None else t
        self._rings["knobs"].add((moment, name, str(old), str(new), scope))

    def communication(
        self, t0: int, t1: int, key: str, src: str, dst: str, nbytes: int, phase: str
    ) -> None:
        """Bytes went from one device or process to another, from t0 to t1.

        key: of the parameter in a store, "" for other copies. src, dst: such as "host"
        and "gpu(0)". phase: of the operation, such as "backward".
        """
        self._rings["comm"].add((t0, t1, key, src, dst, nbytes, phase))

    def metric(self, step: int, name: str, value: float) -> None:
        """A training metric was observed: its value after a step."""
        self._rings["metrics"].add((self._now(), step, name, float(value)))

    def tensor(
        self, step: int, kind: str, layer: str, name: str, dtype: str, used: str,
        scale: float, row: Any,
    ) -> None:  # fmt: skip
        """The numbers of an array were counted, by powers of two.

        step: of training. kind: one of `tables.TENSOR_KINDS`. layer, name, dtype: of
        the array. used: the type in which its layer computes. scale: the factor of the
        loss at that time. row: what the operator `_exponents` gives, a vector.
        """
        look = self._next_look()
        zeros, infinite, nan = (int(number) for number in row[:3])
        counts = row[HEAD:]
        size = zeros + infinite + nan + int(counts.sum())
        self._rings["tensors"].add(
            (look, self._now(), step, kind, layer, name, dtype, used, float(scale))
            + (size, zeros, infinite, nan, float(row[3]))
        )
        add = self._rings["exponents"].add
        for number in np.flatnonzero(counts).tolist():
            add((look, number + POWERS[0], int(counts[number])))

    def scaling(
        self, step: int, scale: float, skipped: bool, tensor: str = "",
        layer: str = "", many: int = 0,
    ) -> None:  # fmt: skip
        """A step with a scaled loss was taken, or skipped.

        scale: the factor of the loss. tensor, layer: the first gradient that
        overflowed, "" if none did; many: how many did.
        """
        row = (self._now(), step, float(scale), skipped, tensor, layer, many)
        self._rings["scaling"].add(row)
