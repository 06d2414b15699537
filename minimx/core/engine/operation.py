"""What an operation is, to an engine: a function, and the vars that it touches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from minimx.core.device import Device
from minimx.core.engine.kinds import NORMAL
from minimx.core.engine.origin import Origin
from minimx.core.engine.trace import Trace
from minimx.core.engine.var import Claim, Var, distinct
from minimx.core.events import Work

#: Fewer bytes than this and four times as many operations take less time than a change
#: of turns: a product of 16 x 64 by 64 x 256 numbers takes 10 microseconds.
SHORT: Final = 1 << 18


class Operation(Claim):
    """One scheduled call of a function.

    short: it is known to take less time than threads need to take turns. The operation
    is the only thing that keeps `fn`, and whatever `fn` refers to, alive.
    """

    __slots__ = (
        "cost", "device", "fn", "name", "origin", "priority", "prop", "short", "trace",
    )  # fmt: skip

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
        cost: Work | None = None,
        origin: Origin = (),
    ) -> None:
        # Every push comes by here, so the usual case is recognised without sets.
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
        self.short = cost is not None and cost.flops < 4 * SHORT > 4 * cost.bytes_moved
        self.origin = origin
        self.trace = None
