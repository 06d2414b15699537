"""What one training step costs, read off the record: memory, pushes, driver calls.

    meter = Meter(record, "cpu(0)")
    meter.skip()                  # what happened up to now belongs to no step
    meter.begin()                 # before a step
    ...                           # the step
    facts = meter.end()           # Facts(peak=..., reserved=..., ms=..., ...)

A step ends when the loop goes on to the next one. What the engine still does for it
counts in the next one, so that numbers of single steps move a little, while nothing is
counted twice or lost and medians of several steps stay. A peak alone may be missing
from a step; it is in the next one (`lab/turns.py` takes the higher of the two).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from minimx.core import events
from minimx.core.record import Record
from minimx.core.record.tables import TABLES
from minimx_widgets.training.exchange import Exchange, Steps
from minimx_widgets.units import counted, human_bytes

#: Names of metrics in the record. PEAK: bytes in use at most during a step. RESERVED:
#: bytes that the pool holds at its end. PLANNED: bytes of the plan of a graph's memory.
PEAK, RESERVED, PLANNED = "step peak", "step reserved", "planned"
MILLISECONDS, PUSHES, DRIVER_CALLS = "step ms", "step pushes", "step driver calls"
LOSS_SCALE, SKIPPED = "loss scale", "skipped"
#: Between devices: bytes in all, copies, bytes over the busiest link, the time in which
#: a copy ran, and the share of it in which a device computed.
EXCHANGED, COPIES, BUSIEST = "step exchanged", "step copies", "step busiest link"
EXCHANGE_MS, HIDDEN = "step exchange ms", "step exchange hidden"


@dataclass(frozen=True)
class Facts:
    """What is known of a step; None for what is not.

    peak, reserved: bytes of the device that is fullest. planned: bytes of the plan for
    one device. exchanged, copies, busiest, exchange_ms, hidden: what devices sent each
    other; see `exchange`. ms: milliseconds on the record's clock. pushes,
    driver_calls: how many. accuracy: of the training batches, 0 to 1. skipped: steps
    whose update was left out because gradients overflowed, since training began.
    """

    peak: float | None = None
    reserved: float | None = None
    ms: float | None = None
    pushes: float | None = None
    driver_calls: float | None = None
    loss: float | None = None
    accuracy: float | None = None
    skipped: float | None = None
    planned: float | None = None
    exchanged: float | None = None
    copies: float | None = None
    busiest: float | None = None
    exchange_ms: float | None = None
    hidden: float | None = None

    def metrics(self) -> dict[str, float]:
        """What of it goes into the record, by the names of metrics."""
        found = {metric: getattr(self, name) for name, metric in METRICS.items()}
        return {name: value for name, value in found.items() if value is not None}

    def but(self, **changed: float | None) -> Facts:
        """The same with other values."""
        return replace(self, **changed)


NAMES = tuple(field.name for field in fields(Facts))
METRICS = {
    "peak": PEAK,
    "reserved": RESERVED,
    "ms": MILLISECONDS,
    "pushes": PUSHES,
    "driver_calls": DRIVER_CALLS,
    "planned": PLANNED,
    "skipped": SKIPPED,
    "exchanged": EXCHANGED,
    "copies": COPIES,
    "busiest": BUSIEST,
    "exchange_ms": EXCHANGE_MS,
    "hidden": HIDDEN,
}

_BEGINS = ("live", "alloc", "hit")
PHASE, INSIDE = (list(TABLES["ops"]).index(name) for name in ("phase", "inside"))


class _Account:
    """What a record says of one device's memory, in bytes."""

    def __init__(self) -> None:
        self.in_use: dict[int, int] = {}  # block → bytes asked for
        self.live = self.peak = self.held = 0
        self.driver_calls = 0

    def take(self, event: str, block: int, requested: int, rounded: int) -> None:
        """An event of the table `mem`."""
        if event in _BEGINS and block not in self.in_use:
            self.in_use[block] = requested
            self.live += requested
            self.peak = max(self.peak, self.live)
        elif event == "free":
            self.live -= self.in_use.pop(block, 0)
        if event in ("alloc", "live", "cached"):
            self.held += rounded
        elif event in ("release", "flush"):
            self.held -= rounded
        self.driver_calls += event in ("alloc", "release", "flush")

    def begin(self) -> None:
        """A step begins."""
        self.peak, self.driver_calls = self.live, 0


class Meter:
    """Counts what a record hears between `begin` and `end`, for some devices.

    devices: by the names of their memory; they may be others from step to step.
    several: whether more than one device trains. exchanged: what they sent each other
    in a step that has ended, two before the newest, in words.
    """

    def __init__(self, record: Record, *devices: str) -> None:
        self._record = record
        self.devices: Sequence[str] = devices
        self.several, self.exchanged = False, ""
        self._steps = Steps()
        self._positions = {"mem": 0, "ops": 0, "comm": 0}
        self._accounts: defaultdict[str, _Account] = defaultdict(_Account)
        self._began = 0

    def skip(self) -> None:
        """Leave out the memory that was used since the last step, as by an evaluation.

        Its operations are left out in any case: by their phase.
        """
        self._memory()
        self._next()

    def _next(self) -> None:
        for account in self._accounts.values():
            account.begin()

    def begin(self) -> None:
        """The time of a step begins."""
        self._began = events.clock()

    def end(self) -> Facts:
        """What happened since the last step ended, and the time since `begin`."""
        took = events.clock() - self._began
        self._memory()
        mine = [self._accounts[device] for device in self.devices]
        ops, comm = self._new("ops"), self._new("comm")
        facts = Facts(
            peak=max(account.peak for account in mine),
            reserved=max(account.held for account in mine),
            ms=took / 1e6,
            # What was joined into one counts as one.
            pushes=sum(row[PHASE] != "evaluate" and not row[INSIDE] for row in ops),
            driver_calls=sum(account.driver_calls for account in mine),
        )
        self._next()
        if not self.several:
            self._steps = Steps()
            return self._with_exchange(facts, None)
        return self._with_exchange(facts, self._steps.ended(self._began, ops, comm))

    def _with_exchange(self, facts: Facts, sent: Exchange | None) -> Facts:
        self.exchanged = ""
        if sent is None:
            return facts
        self.exchanged = (
            f"{human_bytes(sent.nbytes)} in {counted(sent.copies, 'copy')}, "
            f"{100 * sent.hidden:.0f} % of it while computing"
        )
        return facts.but(
            exchanged=sent.nbytes,
            copies=sent.copies,
            busiest=sent.busiest or None,
            exchange_ms=sent.ns / 1e6,
            hidden=sent.hidden,
        )

    def _new(self, table: str) -> list[tuple[Any, ...]]:
        first, rows = self._record.rows_since(table, self._positions[table])
        self._positions[table] = first + len(rows)
        return rows

    def _memory(self) -> None:
        """Follow the memory of the devices up to now."""
        for _, _, event, device, block, requested, rounded, *_ in self._new("mem"):
            self._accounts[device].take(event, block, requested, rounded)
