"""How a segment is launched on a CUDA device that records, or has two streams for it.

    launch = partial(replay, segment, turn, arena, env, scratch, streams)

What is recorded and what is not was decided when the run was pushed (`captures`). Here,
in the engine, addresses are known: a recording is made, launched, or made again if the
arrays have moved. What CUDA refuses to record goes on one by one, and is said once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from minimx.core.device import Device
from minimx.cuda.captures import Capture, Parts, created, say, touched
from minimx.cuda.streams import grouped

if TYPE_CHECKING:
    from minimx.core.arrays.array import NDArray
    from minimx.core.graph.memory.arena import Arena
    from minimx.core.graph.running.segments import Segment, Step

Launch = Callable[[], None]


def replay(
    segment: Segment, known: Capture | None, parts: Parts, arena: Arena, *call: Any
) -> None:
    """Run a segment; inside `working` of its device.

    parts: its steps, in runs that are to be recorded and others. call: what else
    `Segment.run` gets, the arrays from outside first.
    """
    env: Sequence[NDArray | None] = call[0]
    calls = iter(segment.calls(arena))
    kept = {}
    for steps, recorded in parts:
        launches = [partial(segment.launch, next(calls), arena, *call) for _ in steps]
        groups = _paired(grouped(steps, segment.streams), launches)
        if known is None or not recorded:
            for launch in groups:
                launch()
            continue
        found = known.recordings.get(steps)
        addresses = tuple(_address(env[i]) for i in sorted(touched(steps)))
        if found is not None and found.addresses == addresses:
            found.launch()
        else:
            found = _record(segment, known, steps, arena.device, groups, addresses)
        if found is not None:
            kept[steps] = found
    if known is not None:
        known.recordings = kept  # those of runs that are divided otherwise go


def _address(array: NDArray | None) -> int:
    assert array is not None
    array.chunk.memory()  # an output has none before it is written
    assert array.chunk.block is not None
    return int(array.chunk.block.address) + array.offset


def _paired(
    groups: Sequence[tuple[Step, ...]], launches: Sequence[Launch]
) -> list[Launch]:
    """One launch for each group: the two of a pair run side by side."""
    from minimx.cuda.kernels.recording import together

    each = iter(launches)
    return [
        next(each) if len(group) == 1 else partial(together, next(each), next(each))
        for group in groups
    ]


def _record(
    segment: Segment,
    known: Capture,
    steps: tuple[Step, ...],
    device: Device,
    launches: Sequence[Launch],
    addresses: tuple[int, ...],
) -> Any:
    """Run the launches and record them; None, and a warning, if they cannot be."""
    from minimx.cuda.kernels.recording import Recorded, Refused

    try:
        made = Recorded(launches, addresses)
    except Refused as refused:
        groups = grouped(steps, segment.streams)
        guilty = steps if refused.number is None else groups[refused.number]
        names = ", ".join(step.node.name for step in guilty)
        known.refuse(guilty, f"CUDA did not record it: {refused.__cause__}")
        warnings.warn(
            f"MXNET_ENABLE_CUDA_GRAPHS: {names} could not be recorded, and is launched "
            f"by itself from now on. {refused.__cause__}",
            stacklevel=2,
        )
        return None
    created(steps, device, known.train)
    say(f"  {made.nodes} kernels in one graph, {made.nbytes:,} bytes of scratch memory")
    return made
