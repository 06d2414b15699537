"""How the segments of a program are launched on a GPU: two streams, recorded launches.

A simulated GPU computes like the CPU, and its clock counts what the launches would
cost; on a CUDA device they happen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from minimx.core.arrays.array import NDArray
from minimx.core.device import Device
from minimx.core.drivers import during
from minimx.core.graph.memory.arena import Arena
from minimx.core.graph.running.segments import Launcher, Segment, Step
from minimx.core.ops.spec import Cost
from minimx.cuda import streams
from minimx.cuda.captures import Capture, recordable
from minimx.cuda.replays import replay


class GpuLauncher(Launcher):
    """The segments of one program on one GPU.

    records: whether runs after the first may be recorded (MXNET_ENABLE_CUDA_GRAPHS).
    """

    def __init__(self, device: Device, records: bool, train: bool) -> None:
        self.device = device
        self.streams = streams.streams(device)
        self._records = records and recordable(device)
        self._train = train

    def lay_out(self, steps: Sequence[Step]) -> None:
        """The two of a pair have their scratch memory behind one another."""
        streams.lay_out(steps, self.streams)

    def costs(self, steps: Sequence[Step]) -> list[Cost]:
        """Those of a pair that runs on two streams are one."""
        return streams.costs(steps, self.streams)

    def work(
        self, segment: Segment, arena: Arena, env: Sequence[NDArray | None], *more: Any
    ) -> tuple[Callable[[], None], Any]:
        """Kernel after kernel, or a recording of them; and what that costs."""
        run, cost = super().work(segment, arena, env, *more)
        known, parts = None, ((tuple(segment.steps), False),)
        if self._records:
            new = Capture(self._train)
            known = arena.captures.setdefault(segment.number, new)
            cost, parts = known.next(segment, env, self.device)
        if self.device.backend == "cpu":
            return run, cost
        if known is not None or self.streams > 1:
            run = partial(replay, segment, known, parts, arena, env, *more)
        return during(self.device, run), cost
