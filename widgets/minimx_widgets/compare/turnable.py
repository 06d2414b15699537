"""Which knobs of a record can be turned in a replay, and to what."""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.errors import ArgumentError
from minimx.core.knobs import knobs
from minimx.core.record import Record
from minimx.core.storage.policy import PREFIXES, knob_names
from minimx.experiments.graphs import PLANNING
from minimx.experiments.groups import BULKS, CAPACITY, ENGINE, REPLAYED, THREADS
from minimx.experiments.machine import SPEEDS
from minimx.experiments.memory import devices_of


def turnable(record: Record, net: Any = None) -> list[str]:
    """The knobs that a replay of a record can turn and that act on something in it.

    net: the hybridized block that was recorded, if it is known: knobs of the passes
    over its graph are among them then.
    """
    names = [ENGINE]
    texts = record.texts(np.unique(record.ops()["device"]))
    devices = {name.partition("(")[0] for name in texts}
    names += [name for name in THREADS if name.split("_")[1].lower() in devices]
    names += BULKS
    for kind in PREFIXES:
        if any(name.partition("(")[0] == kind for name in devices_of(record)):
            names += knob_names(kind)
    if net is not None:
        names += PLANNING
    if "gpu" in devices:
        names.append(CAPACITY)
        virtual = record.conditions.clock == "virtual"
        if virtual or float(record.conditions.knobs.get("MINIMX_SIM_DELAY") or 0):
            names += SPEEDS
    return [name for name in names if name in REPLAYED]


def proposed(name: str, now: str, text: str = "") -> str:
    """What to try of a knob: a text that differs from `now`, else another value.

    That is the opposite of a truth value, the next one of several choices, or the first
    other value under which the example of the knob shows it acting. Raises
    `ArgumentError` where none of these is known.
    """
    declared = knobs.declared[knobs.resolve(name)]
    now = declared.format(declared.parse(now)) if now else now
    if text and declared.format(declared.parse(text)) != now:
        return text
    values = [declared.format(value) for value in declared.choices or ()]
    if declared.type == "bool":
        values = ["0", "1"]
    if now in values:
        place = values.index(now)
        values = values[place + 1 :] + values[:place]
    elif not values and declared.example is not None:
        values = list(declared.example.expect)
    for value in values:
        other = declared.format(declared.parse(value))
        if other and other != now:
            return other
    raise ArgumentError(
        f"{declared.name}: no other value than {now!r} is known to try. Type one into "
        "its field first, and press Alt+Enter there."
    )
