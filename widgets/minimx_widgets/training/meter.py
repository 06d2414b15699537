"""What one training step costs, read off the record: memory, pushes, driver calls.

    meter = Meter(record, "cpu(0)")
    meter.skip()                  # what happened up to now belongs to no step
    meter.begin()                 # before a step
    ...                           # the step
    facts = meter.end()           # Facts(peak=..., reserved=..., ms=..., ...)

A step ends when the loop goes on to the next one. What the engine still does for it
counts in the next one, so that numbers of single steps move a little, while nothing is
counted twice or lost and medians of several steps stay.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from minimx.core import events
from minimx.core.record import Record
from minimx.core.record.tables import TABLES

#: Names of metrics in the record. PEAK: bytes in use at most during a step. RESERVED:
#: bytes that the pool holds at its end. PLANNED: bytes of the plan of a graph's memory.
PEAK, RESERVED, PLANNED = "step peak", "step reserved", "planned"
MILLISECONDS, PUSHES, DRIVER_CALLS = "step ms", "step pushes", "step driver calls"
LOSS_SCALE, SKIPPED = "loss scale", "skipped"


@dataclass(frozen=True)
class Facts:
    """What is known of a step; None for what is not.

    peak, reserved, planned: bytes. ms: milliseconds on the record's clock. pushes,
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
}

_BEGINS = ("live", "alloc", "hit")
PHASE, INSIDE = (list(TABLES["ops"]).index(name) for name in ("phase", "inside"))


class Meter:
    """Counts what a record hears between `begin` and `end`, for one device."""

    def __init__(self, record: Record, device: str) -> None:
        self._record, self._device = record, device
        self._positions = {"mem": 0, "ops": 0}
        self._in_use: dict[int, int] = {}  # block → bytes asked for
        self._live = self._peak = self._held = 0
        self._driver_calls = 0
        self._began = 0

    def skip(self) -> None:
        """Leave out the memory that was used since the last step, as by an evaluation.

        Its operations are left out in any case: by their phase.
        """
        self._memory()
        self._peak, self._driver_calls = self._live, 0

    def begin(self) -> None:
        """The time of a step begins."""
        self._began = events.clock()

    def end(self) -> Facts:
        """What happened since the last step ended, and the time since `begin`."""
        took = events.clock() - self._began
        self._memory()
        facts = Facts(
            peak=self._peak,
            reserved=self._held,
            ms=took / 1e6,
            pushes=self._pushes(),
            driver_calls=self._driver_calls,
        )
        self._peak, self._driver_calls = self._live, 0
        return facts

    def _new(self, table: str) -> list[tuple[Any, ...]]:
        first, rows = self._record.rows_since(table, self._positions[table])
        self._positions[table] = first + len(rows)
        return rows

    def _pushes(self) -> int:
        """New operations of training; what was joined into one counts as one."""
        rows = self._new("ops")
        return sum(row[PHASE] != "evaluate" and not row[INSIDE] for row in rows)

    def _memory(self) -> None:
        """Follow the memory of the device up to now."""
        for _, _, event, device, block, requested, rounded, *_ in self._new("mem"):
            if device != self._device:
                continue
            if event in _BEGINS and block not in self._in_use:
                self._in_use[block] = requested
                self._live += requested
                self._peak = max(self._peak, self._live)
            elif event == "free":
                self._live -= self._in_use.pop(block, 0)
            if event in ("alloc", "live", "cached"):
                self._held += rounded
            elif event in ("release", "flush"):
                self._held -= rounded
            self._driver_calls += event in ("alloc", "release", "flush")
