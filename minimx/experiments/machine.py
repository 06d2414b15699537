"""The simulated machine of a recorded run, and what its work costs on another one.

    other = Machine.of({**record.conditions.knobs, "MINIMX_SIM_GPU_PRESET": "V100"})
    durations(Operations.of(record), Machine.of(record.conditions.knobs), other)

Where the clock is virtual, an operation on another GPU takes what that one declares.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np

from minimx.core.drivers.base import Costs
from minimx.core.drivers.machine import Passage, card, passage
from minimx.core.knobs import knobs as registry
from minimx.experiments.operations import Copy, Operations, device_of

#: The knobs of a simulated machine that say how long work takes.
SPEEDS: Final = (
    "MINIMX_SIM_GPU_PRESET",
    "MINIMX_SIM_LAUNCH",
    "MINIMX_SIM_HOST_BANDWIDTH",
    "MINIMX_SIM_LINKS",
    "MXNET_ENABLE_GPU_P2P",
)


@dataclass(frozen=True)
class Machine:
    """Simulated GPUs and their links, by the values of knobs.

    costs: of each GPU. links: of `MINIMX_SIM_LINKS`. p2p: whether GPUs may copy
    directly.
    """

    costs: Costs
    links: str
    p2p: bool

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Machine:
        """The machine that knobs describe; those that are missing have their defaults.

        A cost that has its default counts as not set: it is that of the preset.
        """

        def get(name: str) -> Any:
            return values.get(name, registry.declared[name].default)

        def is_set(name: str) -> bool:
            return bool(get(name) != registry.declared[name].default)

        links, p2p = get("MINIMX_SIM_LINKS"), get("MXNET_ENABLE_GPU_P2P")
        return cls(card(get, is_set).costs, str(links), bool(p2p))

    def wires(self, copy: Copy) -> tuple[str, ...]:
        """The wires that a copy keeps busy."""
        return _passage(self, copy).wires

    def copy_ns(self, copy: Copy) -> int:
        """How long a copy takes."""
        return _passage(self, copy).ns


@lru_cache(4096)
def _passage(machine: Machine, copy: Copy) -> Passage:
    values = {"MINIMX_SIM_LINKS": machine.links, "MXNET_ENABLE_GPU_P2P": machine.p2p}
    ends = device_of(copy.source), device_of(copy.target)
    return passage(*ends, machine.costs, copy.nbytes, values.__getitem__)


def durations(
    operations: Operations, before: Machine, after: Machine, factor: float = 1.0
) -> list[int]:
    """How long the operations of a record take on another machine, in nanoseconds.

    before: the machine of the record. factor: which part of the declared time passed in
    it: 1 on the virtual clock, on the wall clock the value of `MINIMX_SIM_DELAY`. Only
    what ran on simulated GPUs changes, by the difference of the declared costs.
    """
    if before == after:
        return operations.ns
    ns = np.asarray(operations.ns, np.int64)
    change = np.zeros(len(ns))
    on_gpu = np.asarray([text.startswith("gpu") for text in operations.device], bool)
    rows = operations.rows
    change[on_gpu] = _declared(rows[on_gpu], after) - _declared(rows[on_gpu], before)
    work = rows["work"]
    for place in np.flatnonzero((work > 0) & on_gpu).tolist():
        change[place] = _launches(operations, place, before, after, factor)
    for place, copy in operations.copies.items():
        change[place] = after.copy_ns(copy) - before.copy_ns(copy)
    found: list[int] = np.maximum(ns + np.rint(change * factor), 0).astype(int).tolist()
    return found


def _declared(rows: Any, machine: Machine) -> Any:
    """The roofline of `Costs.run_ns`, for a table of operations."""
    costs = machine.costs
    busy = np.maximum(
        rows["flops"] / costs.flops, rows["nbytes"] / costs.memory_bandwidth
    )
    return costs.launch_ns + np.rint(busy * 1e9)


def _launches(
    operations: Operations, place: int, before: Machine, after: Machine, factor: float
) -> float:
    """The change of a joined operation: several launches, and the work of its parts.

    How many launches is concluded from its recorded time.
    """
    parts = operations.record.table("parts")
    mine = parts[parts["work"] == operations.rows["work"][place]]
    old, new = (
        float(np.sum(_declared(mine, one) - one.costs.launch_ns))
        for one in (before, after)
    )
    took = operations.ns[place] / factor if factor else 0.0
    launch = before.costs.launch_ns
    count = round((took - old) / launch) if launch else len(mine)
    count = min(max(count, 1), max(len(mine), 1))
    return count * (after.costs.launch_ns - launch) + new - old
