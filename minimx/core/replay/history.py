"""What a pool did, event by event: as a record remembers it, or as a replay decided.

Both are the same columns, so that they can be compared, drawn and counted alike. An
event belongs to a step: what the program did to cause it, which is to allocate memory
or to free some. The same program has the same steps under every policy:

    step    program        events under Round    events under Unpooled
    0       alloc 5,000    ALLOC                 ALLOC
    1       free it        FREE                  FREE
    2       alloc 6,000    HIT                   RELEASE, ALLOC
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from minimx.core.record import MEMORY_EVENTS, Record
from minimx.core.record.tables import Array, allocation_changes

LIVE, CACHED, ALLOC, HIT, FREE, RELEASE, FLUSH, OOM = range(len(MEMORY_EVENTS))
# What becomes of a freed block; see `History.fate`.
USED_AGAIN, GIVEN_BACK, IDLE_AT_END = 1, 2, 3
# `Owner.op` of what the program decides, not the pool: `empty_cache`, `direct_free`.
BY_PROGRAM, FOR_GOOD = "empty_cache", "direct_free"
COLUMNS = ("step", "event", "block", "requested", "size", "address")


@dataclass(frozen=True, eq=False)
class Steps:
    """What the program did to one device, in its order, (n,) each.

    row: in the record's `mem` table. t: nanoseconds. kind: +1 for an allocation, -1 for
    a free, -2 for a free that returns the block to the device (`direct_free`), 0 for a
    request that was refused, 2 where the program wanted all idle blocks to go back
    (`empty_cache`). block: the number of the allocation. requested: bytes.
    """

    row: Array
    t: Array
    kind: Array
    block: Array
    requested: Array

    @classmethod
    def of(cls, record: Record, device: str) -> Steps:
        """The steps of a recorded run on one device, such as "gpu(0)"."""
        mem, row, event, kind = _of_device(record, device)
        kind[_by_program(record, mem, event)] = 2
        kind[(kind == -1) & (mem["name"] == _number(record.strings, FOR_GOOD))] = -2
        keep = (kind != 0) | (event == OOM)
        mem = mem[keep]
        return cls(row[keep], mem["t"], kind[keep], mem["block"], mem["requested"])

    def __len__(self) -> int:
        return len(self.row)


@dataclass(frozen=True, eq=False)
class History:
    """The events of one device's pool, (n,) each.

    step: the number of the program's step that brought the event about. event: a
    position in `MEMORY_EVENTS`. block: the number of the allocation. requested: bytes
    that the program wanted. size: bytes of the block. address: where it starts on the
    device. capacity: bytes of the device.
    """

    device: str
    capacity: int
    step: Array
    event: Array
    block: Array
    requested: Array
    size: Array
    address: Array

    @classmethod
    def of(cls, device: str, capacity: int, numbers: Sequence[int]) -> History:
        """A history from one flat list, six numbers an event in the order of `COLUMNS`.

        device: its name. capacity: its bytes.
        """
        columns = np.array(numbers, np.int64).reshape(-1, len(COLUMNS)).T
        return cls(device, capacity, *columns)

    @classmethod
    def recorded(cls, record: Record, device: str) -> History:
        """What really happened on a device, as far back as the record goes."""
        mem, _, event, sign = _of_device(record, device)
        repeated = (sign == 0) & np.isin(event, (LIVE, ALLOC, HIT, FREE))
        mem, event, sign = mem[~repeated], event[~repeated], sign[~repeated]
        own = (sign != 0) | (event == OOM) | _by_program(record, mem, event)
        return cls(
            device,
            record.conditions.devices.get(device, 0),
            np.cumsum(own) - own,
            event,
            mem["block"],
            mem["requested"],
            mem["rounded"],
            mem["address"],
        )

    def __len__(self) -> int:
        return len(self.event)

    @cached_property
    def in_use(self) -> Array:
        """The bytes of blocks in use after each event."""
        return np.asarray(np.cumsum(self._change * self.size))

    def in_use_of(self, which: Array) -> Array:
        """The bytes of blocks in use of some events, a mask (n,), after each event."""
        return np.asarray(np.cumsum(self._change * self.size * which))

    @cached_property
    def asked(self) -> Array:
        """The requested bytes of blocks in use after each event."""
        return np.asarray(np.cumsum(self._change * self.requested))

    @cached_property
    def reserved(self) -> Array:
        """The bytes that the pool holds, in use and idle, after each event."""
        taken = np.isin(self.event, (LIVE, CACHED, ALLOC))
        given = np.isin(self.event, (RELEASE, FLUSH))
        change = taken.astype(np.int64) - given
        return np.asarray(np.cumsum(change * self.size))

    @cached_property
    def fate(self) -> Array:
        """What becomes of the freed block, for each FREE; 0 for other events.

        A block that goes back to the device before it is used a second time is
        stranded: its size was not requested any more. Whether one that is idle at the
        end is stranded as well depends on whether the program goes on.
        """
        fate = np.zeros(len(self), np.uint8)
        idle: dict[int, int] = {}  # by address: the row of the FREE
        events, addresses = self.event.tolist(), self.address.tolist()
        for row, (event, address) in enumerate(zip(events, addresses, strict=True)):
            if event == FREE:
                idle[address] = row
            elif event == HIT and address in idle:
                fate[idle.pop(address)] = USED_AGAIN
            elif event == RELEASE and address in idle:
                fate[idle.pop(address)] = GIVEN_BACK
            elif event == FLUSH:
                fate[[*idle.values()]] = GIVEN_BACK
                idle.clear()
        fate[[*idle.values()]] = IDLE_AT_END
        return fate

    def count(self, event: int) -> int:
        """How often an event happened; a flush that found nothing does not count."""
        empty = (self.event == FLUSH) & (self.size == 0)
        return int(np.count_nonzero((self.event == event) & ~empty))

    @property
    def calls(self) -> int:
        """How often the driver was asked for memory, and gave some."""
        return self.count(ALLOC)

    @property
    def peak_reserved(self) -> int:
        """The most bytes that the pool held of the device."""
        return int(self.reserved.max(initial=0))

    def at_step(self, step: int) -> int:
        """The last event of a step; -1 before the first."""
        return int(np.searchsorted(self.step, step, side="right")) - 1

    @property
    def _change(self) -> Array:
        begins = np.isin(self.event, (LIVE, ALLOC, HIT))
        return np.asarray(begins.astype(np.int64) - (self.event == FREE))


def _of_device(record: Record, device: str) -> tuple[Array, Array, Array, Array]:
    """One device's rows of `mem`, their numbers, their events, and what changes.

    The last is that of `allocation_changes`.
    """
    mem = record.mem()
    row = np.flatnonzero(mem["device"] == _number(record.strings, device))
    mem = mem[row]
    codes = np.full(len(record.strings) + 1, -1)  # the last: of unknown texts
    for code, text in enumerate(MEMORY_EVENTS):
        codes[_number(record.strings, text)] = code
    event = codes[mem["event"]]
    begins = np.isin(event, (LIVE, ALLOC, HIT))
    return mem, row, event, allocation_changes(mem["block"], begins, event == FREE)


def _by_program(record: Record, mem: Array, event: Array) -> Array:
    name = _number(record.strings, BY_PROGRAM)
    return np.asarray((event == FLUSH) & (mem["name"] == name))


def _number(texts: list[str], text: str) -> int:
    return texts.index(text) if text in texts else -1
