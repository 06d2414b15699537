"""What would another pool have done? A recorded run's requests, served again.

    record = Record.load("run.npz")
    replay_pool(record, "gpu(0)", knobs={"MXNET_GPU_MEM_POOL_TYPE": "Round"}).stats

The requests and returns of the run go, in their order, through the real `Pool` over a
driver that only counts. Nothing is allocated and nobody is disturbed: a replay has its
own listener, so a running record sees nothing of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from minimx.device import Device
from minimx.drivers.counting import CountingDriver
from minimx.errors import ArgumentError, OutOfMemory
from minimx.events import Owner, attribution
from minimx.knobs import knobs as registry
from minimx.record import Curve, Record
from minimx.storage import Block, Policy, Pool, Stats
from minimx.storage.policy import from_knobs

BEGINS = ("live", "alloc", "hit", "oom")


@dataclass(frozen=True, eq=False)
class PoolReplay:
    """The outcome of a replay.

    stats: the pool's books at the end. refused: the requests that did not fit, as
    their rows in the `mem` table of the original record. record: the replayed events,
    at the times and for the operations of the original ones.
    """

    device: str
    policy: Policy
    stats: Stats
    refused: tuple[int, ...]
    record: Record

    def curve(self, quantity: str = "requested", by: str = "category") -> Curve:
        """What was in use over time; see `minimx.record.memory_curve`."""
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
) -> PoolReplay:
    """Serve the recorded requests of one device by another policy.

    policy: how the pool decides; by default what the record's knobs say, with the
    changes in `knobs`. capacity: the memory of the device in bytes; by default that of
    the recorded device. A request that does not fit is counted and left out.

    Raises `KnobError` for knobs that do not exist or contradict one another, and
    `ArgumentError` for a device that the record knows nothing of.
    """
    place = str(device)
    if capacity is None:
        capacity = _recorded_capacity(record, place)
    if policy is None:
        policy = from_knobs(place.split("(")[0], _knobs_of(record, knobs or {}).get)
    listener = Record(capacity=record.capacity)
    pool = Pool(
        CountingDriver(Device(*_parsed(place)), capacity),
        policy,
        bus=SimpleNamespace(recorder=listener),
    )
    running = attribution.running
    try:
        refused = _serve(record, place, pool, listener)
    finally:
        attribution.running = running
    return PoolReplay(place, policy, pool.stats(), tuple(refused), listener)


class _Moment:
    """The clock of a replay: it shows what it was set to."""

    now = 0

    def __call__(self) -> int:
        return self.now


def _serve(record: Record, place: str, pool: Pool, listener: Record) -> list[int]:
    """Send the requests and returns of a device through a pool."""
    mem = record.mem()
    rows = np.flatnonzero(mem["device"] == _number(record, place))
    texts = record.strings
    mem = mem[rows]
    lent: dict[int, Block] = {}
    refused = []
    moment = listener.clock = _Moment()
    names = ("t", "op", "event", "block", "requested")
    columns = (mem[name].tolist() for name in names)
    requests = zip(rows.tolist(), *columns, _owners(mem, texts), strict=True)
    for row, t, op, event, block, requested, owner in requests:
        moment.now, attribution.running, kind = t, op, texts[event]
        if kind == "free":
            if block in lent:
                lent.pop(block).free()
        elif kind in BEGINS and block not in lent:
            try:
                served = pool.alloc(requested, owner)
            except OutOfMemory:
                refused.append(row)
                continue
            if kind == "oom":
                served.free()  # the run ended here; we only wanted to know
            else:
                lent[block] = served
    return refused


def _owners(mem: Any, texts: list[str]) -> list[Owner]:
    """The owner of each row, one object per combination."""
    columns = ("name", "layer", "phase", "category")
    numbers = list(zip(*(mem[name].tolist() for name in columns), strict=True))
    known = {key: Owner(*(texts[number] for number in key)) for key in set(numbers)}
    return [known[key] for key in numbers]


def _number(record: Record, text: str) -> int:
    texts = record.strings
    return texts.index(text) if text in texts else -1


def _recorded_capacity(record: Record, place: str) -> int:
    sizes = record.conditions.devices
    if place not in sizes:
        known = ", ".join(sizes) or "no device"
        raise ArgumentError(
            f"replay_pool: the record knows the memory of {known}, not of {place!r}. "
            "Choose one of them, or say capacity=."
        )
    return sizes[place]


def _parsed(place: str) -> tuple[str, int]:
    """The type and number in a device's name, such as `gpu(0)`."""
    kind, _, rest = place.partition("(")
    number = rest.removesuffix(")")
    if not number.isdigit():
        raise ArgumentError(f"replay_pool: {place!r} is not a device such as 'gpu(0)'.")
    return kind, int(number)


def _knobs_of(record: Record, changes: Mapping[str, object]) -> dict[str, Any]:
    """All knob values: today's, overruled by the record's, overruled by the changes."""
    checked = {}
    for name, value in changes.items():
        declared = registry.declared[registry.resolve(name)]
        checked[declared.name] = declared.check(value)
    return {**registry.snapshot(), **record.conditions.knobs, **checked}
