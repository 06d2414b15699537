"""How much memory the steps of a training took between two turns of knobs."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

import numpy as np

from minimx.core.record import Record
from minimx_widgets.packing import Array
from minimx_widgets.tables import Table
from minimx_widgets.training.meter import PEAK, PLANNED
from minimx_widgets.units import human_bytes


@dataclass(frozen=True)
class Stretch:
    """The steps from one turn to the next.

    turned: what began it, as "NAME=value", or "" at the start. first, last: steps.
    peak: the median of the peaks of its steps, in bytes. planned: bytes of the newest
    plan, None without one.
    """

    turned: str
    first: int
    last: int
    peak: float
    planned: float | None


def stretches(record: Record) -> list[Stretch]:
    """All stretches that have a step, in order; none for a record without steps."""
    peaks, planned = _metric(record, PEAK), _metric(record, PLANNED)
    knobs, strings = record.knobs(), record.strings
    moments = [int(row["t"]) for row in knobs]
    texts = [f"{strings[row['name']]}={strings[row['new']]}" for row in knobs]
    starts = [-(1 << 62), *moments]
    ends = [*moments, 1 << 62]
    found = []
    for turned, start, end in zip(["", *texts], starts, ends, strict=True):
        mine = peaks[(peaks["t"] >= start) & (peaks["t"] < end)]
        plans = planned[(planned["t"] >= start) & (planned["t"] < end)]
        if len(mine):
            plan = float(plans["value"][-1]) if len(plans) else None
            steps = (int(mine["step"][0]), int(mine["step"][-1]))
            peak = float(median(mine["value"].tolist()))
            found.append(Stretch(turned, *steps, peak, plan))
    return found


def table(record: Record) -> Table | None:
    """The stretches for reading; None for a record without steps."""
    rows = [
        (
            one.turned or "(start)",
            f"{one.first} to {one.last}",
            human_bytes(one.peak),
            "" if one.planned is None else human_bytes(one.planned),
        )
        for one in stretches(record)
    ]
    heads = ("since", "steps", "peak of a step", "planned")
    return Table.of(heads, rows, "Steps between turns, medians") if rows else None


def _metric(record: Record, name: str) -> Array:
    rows, strings = record.metrics(), record.strings
    number = strings.index(name) if name in strings else -1
    return np.asarray(rows[rows["name"] == number])
