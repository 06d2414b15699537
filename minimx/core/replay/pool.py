"""What would another pool have done? A recorded run's requests, served again.

    record = Record.load("run.npz")
    replay_pool(record, "gpu(0)", knobs={"MXNET_GPU_MEM_POOL_TYPE": "Round"}).stats

The allocations and frees of the run go, in their order, through the real `Pool` over a
driver that only counts, and gives addresses as the simulated GPU does. Nothing is
allocated and nothing is disturbed: a replay has its own listener, so a running record
sees nothing of it. It begins with an empty pool; knobs that were turned during the run
are turned again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np

from minimx.core.device import Device
from minimx.core.drivers.counting import CountingDriver
from minimx.core.errors import ArgumentError, OutOfMemory
from minimx.core.events import Owner, attribution
from minimx.core.knobs import knobs as registry
from minimx.core.record import MEMORY_EVENTS, Curve, Record
from minimx.core.replay.history import COLUMNS, FLUSH, History, Steps
from minimx.core.storage import Block, Policy, Pool, Stats
from minimx.core.storage.policy import BYPASS, PREFIXES, from_knobs, knob_names

NO_OWNER = Owner("", "", "other", "temporary")


@dataclass(frozen=True, eq=False)
class PoolReplay:
    """The outcome of a replay.

    stats: the pool's counters at the end. history: what it did, event by event.
    refused: the requests that did not fit, as their rows in the `mem` table of the
    original record. steps: what the program had done.
    """

    original: Record
    device: str
    policy: Policy
    stats: Stats
    refused: tuple[int, ...]
    steps: Steps
    history: History

    @cached_property
    def record(self) -> Record:
        """The replayed events, at the times and for the operations of the original."""
        return _as_record(self)

    def curve(self, quantity: str = "requested", by: str = "category") -> Curve:
        """What was in use over time, under the other policy.

        quantity, by: which bytes, and what they are split by, as in
        `Record.memory_curve`.
        """
        return self.record.memory_curve(self.device, quantity, by)

    def __repr__(self) -> str:
        refused = f"; {len(self.refused):,} refused" if self.refused else ""
        return f"<replay of {self.stats.line()}{refused}>"


def replay_pool(
    record: Record,
    device: Device | str,
    *,
    policy: Policy | None = None,
    knobs: Mapping[str, object] | None = None,
    capacity: int | None = None,
    steps: Steps | None = None,
) -> PoolReplay:
    """Serve the recorded requests of one device by another policy.

    policy: how the pool decides; by default what the record's knobs say, with the
    changes in `knobs`. capacity: the memory of the device in bytes; by default that of
    the recorded device. A request that does not fit is counted and left out. steps:
    those of the record, if they are known already.

    Raises `KnobError` for knobs that do not exist or contradict one another, and
    `ArgumentError` for a device that the record knows nothing of.
    """
    place = str(device)
    if capacity is None:
        capacity = _recorded_capacity(record, place)
    where = Device(*parsed(place))
    turned: Iterator[tuple[int, Policy]] = iter(())
    if policy is None:
        turned = _policies(record, where.device_type, knobs or {})
        policy = next(turned)[1]
    steps = Steps.of(record, place) if steps is None else steps
    listener = Listener()
    bus = SimpleNamespace(recorder=listener)
    pool = Pool(CountingDriver(where, capacity), policy, bus=bus)
    refused = serve(steps, pool, listener, turned)
    stats = pool.stats()
    history = History.of(place, capacity, listener.numbers)
    return PoolReplay(record, place, policy, stats, refused, steps, history)


class Listener:
    """Notes what a pool does, as one flat list of numbers."""

    def __init__(self) -> None:
        self.step = 0
        self.numbers: list[int] = []
        self.codes = {event: code for code, event in enumerate(MEMORY_EVENTS)}

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
        """A pool event, in the order of `COLUMNS`."""
        code = self.codes[event]
        self.numbers += (self.step, code, block_id, requested, rounded, address)


def serve(
    steps: Steps,
    pool: Pool,
    listener: Listener,
    turned: Iterator[tuple[int, Policy]],
) -> tuple[int, ...]:
    """Send what the program did through a pool; returns the rows that were refused."""
    blocks: dict[int, Block] = {}
    refused = []
    columns = (steps.kind, steps.block, steps.requested)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    turns = deque((int(np.searchsorted(steps.t, t)), policy) for t, policy in turned)
    for step, (kind, block, requested) in enumerate(rows):
        listener.step = step
        while turns and step >= turns[0][0]:
            pool.set_policy(turns.popleft()[1])
        if kind < 0:
            if block in blocks:
                freed = blocks.pop(block)
                freed.free() if kind == -1 else freed.direct_free()
        elif kind == 2:
            pool.release_all()
        else:
            try:
                served = pool.alloc(requested, NO_OWNER)
            except OutOfMemory:
                refused.append(int(steps.row[step]))
                continue
            if kind == 0:
                served.free()  # the run ended here; we only wanted to know
            else:
                blocks[block] = served
    listener.step = len(steps)  # the last frees are worked off only now
    for _, policy in turns:
        pool.set_policy(policy)
    return tuple(refused)


def _policies(
    record: Record, kind: str, changes: Mapping[str, object]
) -> Iterator[tuple[int, Policy]]:
    """The policy at the start, and each that a turned knob brought, with its time.

    A knob among the changes keeps its value, however it was turned during the run.
    """
    values = _knobs_of(record, changes)
    yield 0, from_knobs(kind, values.get)
    if kind not in PREFIXES:
        return
    ours = {*knob_names(kind), BYPASS} - {registry.resolve(name) for name in changes}
    table, texts = record.knobs(), record.strings
    turns = (table[column].tolist() for column in ("t", "name", "new"))
    for t, name, new in zip(*turns, strict=True):
        if texts[name] in ours:
            declared = registry.declared[texts[name]]
            values[declared.name] = declared.parse(texts[new])
            yield t, from_knobs(kind, values.get)


def _as_record(replay: PoolReplay) -> Record:
    """A replay as rows of `mem`, each for the operation that caused it."""
    history, steps = replay.history, replay.steps
    record = Record(capacity=max(len(history), 1))
    mem, texts = replay.original.mem(), replay.original.strings
    owners = _owners(mem, texts)
    moment, began = _Moment(), dict[int, int]()
    record.clock = moment
    columns = (getattr(history, name).tolist() for name in COLUMNS)
    running = attribution.running
    try:
        for step, event, block, requested, size, address in zip(*columns, strict=True):
            row = int(steps.row[min(step, len(steps) - 1)])
            moment.now, attribution.running = int(mem["t"][row]), int(mem["op"][row])
            owner = NO_OWNER if event == FLUSH else owners[began.setdefault(block, row)]
            name = MEMORY_EVENTS[event]
            record.memory(name, replay.device, block, requested, size, address, owner)
    finally:
        attribution.running = running
    return record


class _Moment:
    """The clock of a replay: it shows what it was set to."""

    now = 0

    def __call__(self) -> int:
        return self.now


def _owners(mem: Any, texts: list[str]) -> list[Owner]:
    """The owner of each row, one object per combination."""
    columns = ("name", "layer", "phase", "category")
    numbers = list(zip(*(mem[name].tolist() for name in columns), strict=True))
    known = {key: Owner(*(texts[number] for number in key)) for key in set(numbers)}
    return [known[key] for key in numbers]


def _recorded_capacity(record: Record, place: str) -> int:
    sizes = record.conditions.devices
    if place not in sizes:
        known = ", ".join(sizes) or "no device"
        raise ArgumentError(
            f"replay_pool: the record knows the memory of {known}, not of {place!r}. "
            "Choose one of them, or say capacity=."
        )
    return sizes[place]


def parsed(place: str) -> tuple[str, int]:
    """The type and number in a device's name, such as `gpu(0)`."""
    kind, _, rest = place.partition("(")
    number = rest.removesuffix(")")
    if not number.isdigit():
        raise ArgumentError(f"replay: {place!r} is not a device such as 'gpu(0)'.")
    return kind, int(number)


def _knobs_of(record: Record, changes: Mapping[str, object]) -> dict[str, Any]:
    """All knob values: today's, overruled by the record's, overruled by the changes."""
    checked = {}
    for name, value in changes.items():
        declared = registry.declared[registry.resolve(name)]
        checked[declared.name] = declared.check(value)
    return {**registry.snapshot(), **record.conditions.knobs, **checked}
