"""What an operation is, to an engine: a function, and the vars that it touches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from minimx.device import Device
from minimx.engine.origin import Origin
from minimx.engine.trace import Trace
from minimx.engine.var import Claim, Var, distinct

# What kind of work an operation is. It decides on the lane (`lanes.py`).
NORMAL: Final = 0
COPY_FROM_GPU: Final = 1
COPY_TO_GPU: Final = 2
CPU_PRIORITIZED: Final = 3
GPU_PRIORITIZED: Final = 4
NO_SKIP: Final = 5  # runs even if its vars are spoiled
BULK: Final = 6  # several operations in one (`bulking.py`); they look after failures
SEGMENT: Final = 7  # nodes of a graph that its program joined; never bulked again


class CostLike(Protocol):
    """How much work a call is, for the virtual clock; `ops.spec.Cost` fits."""

    @property
    def flops(self) -> int:
        """Floating-point operations."""

    @property
    def bytes_moved(self) -> int:
        """Bytes read plus bytes written."""


class Launches:
    """The cost of an operation that launches kernels one after the other.

    groups: each a series of calls and whether it was recorded before, so that one
    launch starts all of it. recording: it is recorded just now, for later.
    """

    __slots__ = ("bytes_moved", "flops", "groups", "recording")

    def __init__(
        self,
        groups: Sequence[tuple[Sequence[CostLike], bool]],
        recording: bool = False,
    ) -> None:
        self.groups = groups
        self.recording = recording
        every = [cost for costs, _ in groups for cost in costs]
        self.flops = sum(cost.flops for cost in every)
        self.bytes_moved = sum(cost.bytes_moved for cost in every)


class Operation(Claim):
    """One scheduled call of a function.

    It is the only thing that keeps `fn`, and whatever `fn` refers to, alive.
    """

    __slots__ = (
        "cost",
        "device",
        "fn",
        "name",
        "origin",
        "priority",
        "prop",
        "trace",
    )

    trace: Trace | None

    def __init__(
        self,
        fn: Callable[[], object],
        device: Device,
        reads: Sequence[Var],
        writes: Sequence[Var],
        name: str,
        priority: int = 0,
        prop: int = NORMAL,
        cost: CostLike | None = None,
        origin: Origin = (),
    ) -> None:
        # Every push comes by here, so the usual case is told apart without making sets.
        reads = tuple(reads)
        writes = tuple(writes)
        if len(writes) == 1 and len(reads) < 3:
            if writes[0] in reads or (len(reads) == 2 and reads[0] is reads[1]):
                reads, writes = distinct(reads, writes)
        elif len({*reads, *writes}) < len(reads) + len(writes):
            reads, writes = distinct(reads, writes)
        self.fn = fn
        self.device = device
        self.reads = reads
        self.writes = writes
        self.adds = 1
        self.wait = len(reads) + len(writes)
        self.name = name
        self.priority = priority
        self.prop = prop
        self.cost = cost
        self.origin = origin
        self.trace = None
