"""How much work an operation is, and how long that takes by what its device declares.

The virtual clock asks (`virtual.py`), and so does the delay that makes a simulated GPU
as slow as the real one on the wall clock (`delay.py`).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from minimx.core.device import Device
from minimx.core.drivers import Costs, Passage, driver_for, passage
from minimx.core.engine.kinds import COPY_FROM_GPU, COPY_TO_GPU
from minimx.core.events import Work

if TYPE_CHECKING:
    from minimx.core.engine.operation import Operation


class Part(NamedTuple):
    """What one of the operators does that were joined into an operation."""

    name: str
    layer: str
    flops: int
    bytes_moved: int
    dtype: str


class Launches:
    """The cost of an operation that launches kernels one after the other.

    groups: each a series of calls and whether it was recorded before, so that one
    launch starts all of it. recording: it is recorded just now, for later. parts: whose
    work it is, where that is more than one operator's.
    """

    __slots__ = ("bytes_moved", "flops", "groups", "parts", "recording")

    def __init__(
        self,
        groups: Sequence[tuple[Sequence[Work], bool]],
        recording: bool = False,
        parts: tuple[Part, ...] = (),
    ) -> None:
        self.groups = groups
        self.parts = parts
        self.recording = recording
        every = [cost for costs, _ in groups for cost in costs]
        self.flops = sum(cost.flops for cost in every)
        self.bytes_moved = sum(cost.bytes_moved for cost in every)


class Transfer:
    """The cost of one copy between devices of which one at least is a GPU."""

    __slots__ = ("bytes_moved", "flops", "nbytes", "source", "target")

    def __init__(self, source: Device, target: Device, nbytes: int) -> None:
        self.source = source
        self.target = target
        self.nbytes = nbytes
        self.flops = 0
        self.bytes_moved = 2 * nbytes  # read here, written there

    @property
    def passage(self) -> Passage:
        """The wires that it needs, and for how long."""
        first = self.source.device_type == "gpu"
        costs = driver_for(self.source if first else self.target).costs
        return passage(self.source, self.target, costs, self.nbytes)


def declared_ns(operation: Operation) -> int:
    """How long an operation takes, by the costs that its device's driver declares."""
    cost = operation.cost
    if isinstance(cost, Transfer):
        return cost.passage.ns
    costs = driver_for(operation.device).costs
    if cost is None:
        return costs.run_ns(0, 0)
    if isinstance(cost, Launches):
        return sum(_group_ns(costs, *group, cost.recording) for group in cost.groups)
    if operation.prop in (COPY_FROM_GPU, COPY_TO_GPU):
        return costs.copy_ns(cost.bytes_moved / 2)  # read here, written there
    return _run_ns(costs, cost)


def _run_ns(costs: Costs, cost: Work) -> int:
    tensor_cores = getattr(cost, "tensor_cores", False)
    return costs.run_ns(cost.flops, cost.bytes_moved, tensor_cores)


def _group_ns(
    costs: Costs, parts: Sequence[Work], joined: bool, recording: bool
) -> int:
    """How long a series of kernels takes, launched one by one or all at once."""
    apart = sum(_run_ns(costs, part) for part in parts)
    if not joined:
        return apart
    at_once = apart - len(parts) * costs.launch_ns + costs.series_launch_ns
    if recording:  # each kernel is noted, then the whole is launched for the first time
        return at_once + 2 * len(parts) * costs.launch_ns
    return at_once


class Wires:
    """When each wire between devices is free again: it carries one copy at a time."""

    def __init__(self) -> None:
        self._free: dict[str, int] = {}
        self._lock = threading.Lock()

    def occupy(self, operation: Operation, now: int, ns: int) -> int:
        """The moment at which an operation of `ns` ends if it may start `now`.

        A copy waits for its wires, in the order of requests; other work has none.
        """
        cost = operation.cost
        if not isinstance(cost, Transfer):
            return now + ns
        start = self.reserve(cost.passage.wires, now, ns)
        if operation.trace is not None:
            operation.trace.t_sent = start
        return start + ns

    def reserve(self, wires: Sequence[str], now: int, ns: int) -> int:
        """When a copy of `ns` may start; its wires are busy until it ends."""
        with self._lock:
            start = max([now, *(self._free.get(wire, now) for wire in wires)])
            self._free.update(dict.fromkeys(wires, start + ns))
        return start
