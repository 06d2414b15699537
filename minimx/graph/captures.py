"""Recorded launches, as CUDA graphs have them: many kernels, one launch.

With `MXNET_ENABLE_CUDA_GRAPHS` the segments of a program whose memory is fixed are
recorded on a GPU. The first run of a segment is an ordinary one, the second records,
later ones replay. Not recorded are operators that draw random numbers, and those that
touch arrays which another call may bring elsewhere: the data and the outputs. If an
array that was recorded has moved, the segment is recorded again.

A simulated GPU computes as ever; what changes is what its launches cost on the virtual
clock (`drivers.Costs`): one launch for each kernel, or a longer one for a recording.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import ref

from minimx.device import Device
from minimx.drivers import backend_of
from minimx.engine import Launches
from minimx.graph.streams import costs
from minimx.knobs import knobs

if TYPE_CHECKING:
    from minimx.graph.program import Segment, Step
    from minimx.nd.array import NDArray

_created = count()
_told = False

# Bits of MXNET_CUDA_GRAPHS_DBG_FILE_FLAGS, as in CUDA's debug print.
VERBOSE, KERNEL_PARAMETERS, HANDLES = 1, 4, 1024


def recordable(device: Device) -> bool:
    """Whether launches on a device are recorded; says once that CUDA's are not yet."""
    global _told
    if device.device_type != "gpu":
        return False
    if backend_of(device) == "cpu":
        return True
    if not _told:
        _told = True
        warnings.warn(
            "MXNET_ENABLE_CUDA_GRAPHS: launches on a CUDA device are not recorded yet; "
            "they go one by one. MXNET_ENABLE_CUDA_GRAPHS=0 silences this.",
            stacklevel=2,
        )
    return False


class Capture:
    """What is known of one segment in one arena."""

    __slots__ = ("_cost", "_places", "_seen", "runs")

    def __init__(self) -> None:
        self.runs = 0
        self._seen: dict[int, ref[Any]] = {}
        self._places: set[int] = set()
        self._cost: Launches | None = None

    def cost(
        self, segment: Segment, env: Sequence[NDArray | None], device: Any, train: bool
    ) -> Launches:
        """What the launches of the next run cost; records where it is time to."""
        now = {i: a.chunk for i in segment.outside if (a := env[i]) is not None}
        before = self._seen
        same = {i for i, c in now.items() if i in before and before[i]() is c}
        self._seen = {i: ref(chunk) for i, chunk in now.items()}
        self.runs += 1
        if self.runs == 1:
            return segment.cost
        if self._cost is not None and self._places <= same:
            _say(f"replaying {_counted(self._cost)} of segment {segment.name}")
            return self._cost
        parts = divided(segment.steps, same)
        self._places = {i for steps, joined in parts if joined for i in _touched(steps)}
        groups = [(costs(steps, segment.streams), joined) for steps, joined in parts]
        self._cost = Launches(groups, parts=segment.parts)
        _tell(segment, parts)
        for steps, joined in parts:
            if joined:
                _created_one(steps, device, train)
        return Launches(groups, recording=True, parts=segment.parts)


def divided(
    steps: Sequence[Step], same: set[int]
) -> list[tuple[tuple[Step, ...], bool]]:
    """Runs of steps that can be recorded, and between them those that cannot."""
    found: list[tuple[tuple[Step, ...], bool]] = []
    run: list[Step] = []
    for step in steps:
        if why_not(step, same) is None:
            run.append(step)
            continue
        if run:
            found.append((tuple(run), True))
        found.append(((step,), False))
        run = []
    if run:
        found.append((tuple(run), True))
    return found


def why_not(step: Step, same: set[int]) -> str | None:
    """Why an operator cannot be recorded; None if it can.

    same: the places of `env` with the array of the call before.
    """
    if step.draws:
        return "it draws random numbers"
    if not _touched([step]) <= same:
        return "it touches an array that changes from call to call"
    return None


def _touched(steps: Sequence[Step]) -> set[int]:
    return {p.outside for step in steps for p in step.args if p.outside >= 0}


def _counted(cost: Launches) -> str:
    sizes = [len(parts) for parts, joined in cost.groups if joined]
    alone = len(cost.groups) - len(sizes)
    return f"{len(sizes)} graphs of {sum(sizes)} operators, and {alone} operators alone"


def _tell(segment: Segment, parts: Sequence[tuple[tuple[Step, ...], bool]]) -> None:
    if not knobs.get("MXNET_CUDA_GRAPHS_VERBOSE"):
        return
    _say(f"recording segment {segment.name}")
    for steps, joined in parts:
        words = ", ".join(step.node.name for step in steps)
        if joined:
            _say(f"  in one graph: {words}")
        else:
            why = why_not(steps[0], set()) if steps[0].draws else "its arrays change"
            _say(f"  outside: {words} ({why})")


def _say(words: str) -> None:
    if knobs.get("MXNET_CUDA_GRAPHS_VERBOSE"):
        print(f"CUDA graphs: {words}")


def _created_one(steps: Sequence[Step], device: Any, train: bool) -> None:
    number = next(_created)
    most = knobs.get("MXNET_CUDA_GRAPHS_MAX_LOG_ENTRIES")
    if number < most:
        print(f"Created CUDA graph {number}")
        if number == most - 1:
            print(
                "Further graphs are not announced (MXNET_CUDA_GRAPHS_MAX_LOG_ENTRIES)"
            )
    prefix = knobs.get("MXNET_CUDA_GRAPHS_DBG_FILE")
    if prefix:
        mode = "trn" if train else "inf"
        path = Path(f"{prefix}-dev{device.device_id}-{mode}-{number}.dot")
        text = dot(steps, number, knobs.get("MXNET_CUDA_GRAPHS_DBG_FILE_FLAGS"))
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            warnings.warn(
                f"MXNET_CUDA_GRAPHS_DBG_FILE: {path} cannot be written ({error}). "
                "Choose a prefix in a folder that exists.",
                stacklevel=2,
            )


def restart_counting() -> None:
    """Number graphs from 0 again."""
    global _created
    _created = count()


knobs.watch("MXNET_CUDA_GRAPHS_MAX_LOG_ENTRIES", lambda *_: restart_counting())


def dot(steps: Sequence[Step], number: int, flags: int) -> str:
    """A recorded graph in the language of Graphviz.

    flags: 1 for everything, 4 for the shapes of what goes in and out, 1024 for where it
    lies; -1 is everything, too.
    """
    every = bool(flags & VERBOSE)
    lines = [f"digraph cuda_graph_{number} {{", "  node [shape=box];"]
    makers: dict[Any, int] = {}
    for place, step in enumerate(steps):
        label = [f"{place}: {step.name}", step.node.name]
        if every or flags & KERNEL_PARAMETERS:
            label += [str(where.spec) for where in step.args]
        if every or flags & HANDLES:
            label += [
                f"arena+{p.offset:#x}" if p.outside < 0 else f"array {p.outside}"
                for p in step.args
            ]
        words = "\\n".join(label).replace('"', "'")
        lines.append(f'  n{place} [label="{words}"];')
        for where in dict.fromkeys(step.args):
            if where in makers:
                lines.append(f"  n{makers[where]} -> n{place};")
        makers |= dict.fromkeys(step.writes, place)
    return "\n".join([*lines, "}", ""])
