"""A record: what the runtime did, remembered in columns.

    with Record() as record:
        ...                              # train
    record.ops()["t_end"]                # NumPy columns
    record.save("run.npz")

While it runs, a record is a listener: the runtime calls its methods `op`, `memory` and
so on (`listening.py`), which append a row to a `Ring`. Everything else is done when it
is read: rows become arrays, texts become numbers (`tables.py`).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from minimx.core import events, rng, storage
from minimx.core.errors import MXNetError
from minimx.core.events import Owner
from minimx.core.extensions import provided
from minimx.core.knobs import knobs
from minimx.core.record.listening import Listening
from minimx.core.record.several import join, leave, listeners
from minimx.core.record.tables import (
    TABLES,
    Array,
    Contents,
    Row,
    Strings,
    to_array,
)

# Knobs whose values tell where a user's files are; not for a file that is passed on.
PRIVATE_KNOBS = ("path", "url")

Cursor = tuple[int, ...]  # a position in every table, and in the string table


@dataclass(frozen=True)
class Batch:
    """The rows that are new since a cursor.

    tables: table name -> structured array. strings: the new texts, whose numbers
    follow on those that were known. cursor: where to go on. lost: table name -> rows
    that were dropped before they were read.
    """

    tables: Mapping[str, Array]
    strings: tuple[str, ...]
    cursor: Cursor
    lost: Mapping[str, int]

    def __getitem__(self, table: str) -> Array:
        return self.tables[table]

    def __len__(self) -> int:
        return sum(map(len, self.tables.values()))


@dataclass
class Conditions:
    """The circumstances under which a record was made.

    knobs: all values at the start, but for paths. seed: that of the random numbers.
    clock: "wall" or "virtual". cores: of this machine. devices: the memory of each
    device in bytes. t_start, t_stop: nanoseconds; 0 while unknown.
    """

    knobs: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    clock: str = "wall"
    cores: int = 0
    devices: dict[str, int] = field(default_factory=dict)
    t_start: int = 0
    t_stop: int = 0


class Record(Listening):
    """What happened between `start` and `stop`, the newest `capacity` rows per table.

    It can be read at any time, also while it runs, and others may run beside it. The
    columns of each table stand in `minimx.core.record.tables`. A record starts once;
    between `pause` and `resume` nothing is recorded.
    """

    def __init__(self, capacity: int | None = None, calls: bool = False) -> None:
        """capacity: rows that each table keeps; by default MINIMX_RECORD_CAPACITY.

        calls: note calls of the interface as well, in the table of that name.
        """
        super().__init__(capacity or int(knobs.get("MINIMX_RECORD_CAPACITY")), calls)
        self.conditions = Conditions()
        self._saved: dict[str, Array] = {}  # what a file brought
        self._saved_dropped: dict[str, int] = {}
        # Whole tables as they were last read, with the positions of their rows.
        self._read_last: dict[str, tuple[tuple[int, int], Array]] = {}
        self._strings = Strings()
        self._reading = threading.RLock()
        self._started = False
        self._in_use_at_pause: dict[tuple[str, int], Any] | None = None
        self._unwatch: list[Callable[[], None]] = []
        self._turning = 0  # when the knobs were turned whose rows come next

    # Starting and stopping

    @property
    def running(self) -> bool:
        """Whether this record listens now."""
        return self in listeners()

    def start(self) -> Record:
        """Listen from now on. Memory that is in use already is noted first.

        Raises `MXNetError` if this one has run.
        """
        if self._started:
            raise MXNetError(
                "Record.start: this record has run, and a record runs once. Make a new "
                "Record()."
            )
        self.conditions = Conditions(
            knobs=_public_knobs(),
            seed=rng.current_seed(),
            clock=str(knobs.get("MINIMX_CLOCK")),
            cores=os.cpu_count() or 0,
            t_start=self._now(),
        )
        self._started = True
        self._unwatch = [
            knobs.before(self._knob_turns),
            knobs.watch("*", self._knob_turned),
        ]
        join(self)
        self._note_in_use()
        return self

    def stop(self) -> Record:
        """Listen no more. Stopping twice does no harm."""
        if self.running:
            leave(self)
            self.conditions.t_stop = self._now()
            self._note_devices()
        while self._unwatch:
            self._unwatch.pop()()
        return self

    def pause(self) -> None:
        """Record nothing for a while. What is in use is remembered until `resume`."""
        if self.running:
            leave(self)
            self._in_use_at_pause = _in_use()

    def resume(self) -> None:
        """Go on after `pause`; memory that came or went meanwhile is noted first."""
        before, self._in_use_at_pause = self._in_use_at_pause, None
        if before is None:
            return
        join(self)
        now = _in_use()
        for event, those, others in (("free", before, now), ("live", now, before)):
            for key in those.keys() - others.keys():
                device, block = key[0], those[key]
                self.memory(event, device, *block)

    def __enter__(self) -> Record:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    # Reading

    def ops(self) -> Array:
        """The operations that finished, in that order.

        Joined ones have rows, and so have their parts; see `pushes`.
        """
        return self.table("ops")

    def pushes(self) -> Array:
        """The operations as the engine got them: what was joined is one row.

        They alone say how long a worker was busy: what ran inside a joined operation
        ran in its time.
        """
        ops = self.ops()
        pushed: Array = ops[ops["inside"] == 0]
        return pushed

    def deps(self) -> Array:
        """Which operation waited for which."""
        return self.table("deps")

    def mem(self) -> Array:
        """What happened to memory."""
        return self.table("mem")

    def knobs(self) -> Array:
        """The knobs that were turned."""
        return self.table("knobs")

    def comm(self) -> Array:
        """What was sent from where to where."""
        return self.table("comm")

    def metrics(self) -> Array:
        """The observed metrics."""
        return self.table("metrics")

    def tensors(self) -> Array:
        """The looks at arrays."""
        return self.table("tensors")

    def exponents(self) -> Array:
        """What each look counted, by power of two."""
        return self.table("exponents")

    def scalings(self) -> Array:
        """The steps whose loss was scaled."""
        return self.table("scaling")

    def table(self, name: str) -> Array:
        """A table by name, as one structured array."""
        return self._read(name, 0)[1]

    def rows(self, name: str) -> int:
        """How many rows a table has, without reading it."""
        saved = self._saved.get(name)
        return len(self._rings[name]) if saved is None else len(saved)

    @property
    def strings(self) -> list[str]:
        """The string table: text columns of tables read so far hold indices into it."""
        return self._strings.texts

    def texts(self, numbers: Any) -> list[str]:
        """The texts of a text column.

        >>> record = Record()
        >>> record.metric(1, "loss", 0.5)
        >>> record.texts(record.metrics()["name"])
        ['loss']
        """
        return [self._strings.texts[i] for i in np.asarray(numbers).tolist()]

    @property
    def dropped(self) -> dict[str, int]:
        """How many rows of each table had to go because the ring was full."""
        return {
            name: ring.dropped + self._saved_dropped.get(name, 0)
            for name, ring in self._rings.items()
        }

    def since(self, cursor: Cursor | None = None) -> Batch:
        """The rows that came after a cursor, for views that follow a running record.

        Without a cursor: all that are kept. The batch brings the next cursor.
        """
        *positions, known = cursor or (0,) * (len(TABLES) + 1)
        tables, lost, reached = {}, {}, []
        with self._reading:
            for name, position in zip(TABLES, positions, strict=True):
                first, tables[name] = self._read(name, position)
                lost[name] = max(first - position, 0)
                reached.append(first + len(tables[name]))
            strings = tuple(self._strings.texts[known:])
        after = (*reached, known + len(strings))
        return Batch(tables, strings, after, {k: n for k, n in lost.items() if n})

    def rows_since(self, name: str, position: int) -> tuple[int, list[Row]]:
        """The rows of a running record's table from a position on, as Python values.

        Returns the position of the first of them as well, which is higher than asked
        for where older rows were dropped. Quicker than `since` for a few rows, as texts
        stay texts. The columns stand in `minimx.core.record.tables`.
        """
        return self._rings[name].since(position)

    def memory_curve(
        self,
        device: object = None,
        quantity: str = "requested",
        by: str = "category",
    ) -> Any:
        """What was in use over time, a `Curve` of `minimx.tools.record_curves`.

        device: such as `mx.gpu()`; by default all of them together. quantity:
        "requested" bytes, "rounded" ones of blocks, or "reserved", what the pools hold
        of the devices. by: what they are split by, "category", "device" or "phase".
        Raises ArgumentError for other quantities and splits.
        """
        place = None if device is None else str(device)
        with self._reading:
            mem, complete = self.mem(), not self.dropped["mem"]
            curve = provided("record curves").memory_curve
            return curve(mem, self._strings, place, quantity, by, complete)

    def __repr__(self) -> str:
        peak = storage.human(self.memory_curve().peak)
        return (
            f"Record({self.rows('ops'):,} ops, {self.rows('mem'):,} memory events, "
            f"peak {peak}, {sum(self.dropped.values()):,} dropped)"
        )

    # Files

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write everything to one `.npz` file; returns its path."""
        self._note_devices()
        with self._reading:
            tables = {name: self.table(name) for name in TABLES}
            about = self.strings, self.dropped, vars(self.conditions)
            written: Path = _files().save(Path(path), tables, *about)
            return written

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Record:
        """Read a file that `save` wrote. Raises `DataError` for anything else."""
        return cls.of(_files().load(Path(path)))

    @classmethod
    def of(cls, found: Contents) -> Record:
        """A record of what a file, or another record, remembers; it does not run."""
        record = cls()
        record._started = True
        record.conditions = Conditions(**found.conditions)
        record._saved = found.tables
        record._saved_dropped = found.dropped
        record._strings = Strings(found.strings)
        return record

    # The inside

    def _read(self, name: str, position: int) -> tuple[int, Array]:
        """The rows of a table from a position on, and the position of the first."""
        saved = self._saved.get(name)
        if saved is not None:
            first = min(position, len(saved))
            return first, saved[first:]
        first, rows = self._rings[name].since(position)
        with self._reading:
            if position:
                return first, to_array(name, rows, self._strings)
            which = (first, len(rows))
            known = self._read_last.get(name)
            if known is None or known[0] != which:
                known = which, to_array(name, rows, self._strings)
                self._read_last[name] = known
            return first, known[1].copy()  # the reader may change it

    def _knob_turns(self) -> None:
        """Note the time: events that follow from a turned knob must come after it."""
        self._turning = self._now()

    def _knob_turned(self, name: str, new: Any, old: Any) -> None:
        declared = knobs.declared[name]
        if declared.type in PRIVATE_KNOBS:
            old = new = f"({declared.type})"
        self.knob(name, old, new, declared.scope, self._turning)

    def _note_in_use(self) -> None:
        """Start the memory table with what was in use and idle before."""
        for (device, _), block in _in_use().items():
            self.memory("live", device, *block)
        for pool in storage.pools():
            if cached := pool.stats().cached:
                self.memory("cached", pool.name, 0, 0, cached, 0, events.owner(""))

    def _note_devices(self) -> None:
        if not self._saved:
            sizes = {pool.name: pool.driver.total_bytes for pool in storage.pools()}
            self.conditions.devices.update(sizes)


def _in_use() -> dict[tuple[str, int], tuple[int, int, int, int, Owner]]:
    """What is in use, by device and block: id, requested, rounded, address, owner."""
    return {
        (pool.name, block.id): (
            block.id,
            block.requested,
            block.size,
            block.address,
            block.owner,
        )
        for pool in storage.pools()
        for block in pool.in_use()
    }


def _files() -> Any:
    """How records are written to files, and read; outside the core."""
    return provided("record files")


def _public_knobs() -> dict[str, Any]:
    """The values of all knobs that say nothing about where this program runs."""
    return {
        name: value
        for name, value in knobs.snapshot().items()
        if knobs.declared[name].type not in PRIVATE_KNOBS
    }
