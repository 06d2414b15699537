"""Recorded launches, as CUDA graphs have them: many kernels, one launch.

With `MXNET_ENABLE_CUDA_GRAPHS` the segments of a program whose memory is fixed are
recorded on a GPU. The first run of a segment is an ordinary one, the second records,
later ones replay. Not recorded are operators that draw random numbers, and those that
touch arrays which another call may bring elsewhere: the data and the outputs; on a CUDA
device neither are those that visit the host. If an array that was recorded has moved,
the segment is recorded again.

This file decides, when a run is pushed. On a CUDA device `replays` does as it says. A
simulated GPU computes as ever; what changes is what its launches cost on the virtual
clock (`drivers.Costs`): one launch for each kernel, or a longer one for a recording.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import ref

from minimx.core.device import Device
from minimx.core.drivers import backend_of
from minimx.core.engine import Launches
from minimx.core.knobs import knobs
from minimx.cuda.streams import costs

if TYPE_CHECKING:
    from minimx.core.arrays.array import NDArray
    from minimx.core.graph.running.segments import Segment, Step

#: Runs of steps, and whether each is recorded as a whole.
Parts = Sequence[tuple[tuple["Step", ...], bool]]

_created = count()
_warned = False

# Bits of MXNET_CUDA_GRAPHS_DBG_FILE_FLAGS, as in CUDA's debug print.
VERBOSE, KERNEL_PARAMETERS, HANDLES = 1, 4, 1024


def recordable(device: Device) -> bool:
    """Whether launches on a device are recorded; says once if its CUDA cannot."""
    global _warned
    if device.device_type != "gpu":
        return False
    if backend_of(device) == "cpu":
        return True
    from minimx.cuda.kernels import native

    if native.driver() is not None:
        return True
    if not _warned:
        _warned = True
        warnings.warn(
            "MXNET_ENABLE_CUDA_GRAPHS: numba's CUDA simulator runs every kernel as "
            "it comes and records none. MXNET_ENABLE_CUDA_GRAPHS=0 silences this.",
            stacklevel=2,
        )
    return False


class Capture:
    """What is known of one segment in one arena, and what of it was recorded.

    train: whether it trains. recordings: what was recorded on a CUDA device, by the
    steps; only for the engine. refused: which steps CUDA would not record, and why.
    """

    __slots__ = (
        "_cost", "_indices", "_parts", "_seen", "recordings", "refused", "runs",
        "train",
    )  # fmt: skip

    def __init__(self, train: bool = False) -> None:
        self.runs = 0
        self.train = train
        self.recordings: dict[tuple[Step, ...], Any] = {}
        self.refused: dict[Step, str] = {}
        self._seen: dict[int, tuple[ref[Any], int]] = {}
        self._indices: set[int] = set()
        self._parts: Parts = ()
        self._cost: Launches | None = None

    def next(
        self, segment: Segment, env: Sequence[NDArray | None], device: Device
    ) -> tuple[Launches, Parts]:
        """What the launches of the next run cost, and how its steps are divided.

        env: the arrays of the call, by index; None where there is none. Call it once
        for each run, in the order of the runs: it counts them and remembers where the
        arrays are. The first run is ordinary; then parts are recorded, or replayed if
        no array that they touch has moved.
        """
        now = {
            i: (ref(a.chunk), a.offset)
            for i in segment.outside
            if (a := env[i]) is not None
        }
        before, self._seen = self._seen, now
        same = {i for i, place in now.items() if before.get(i) == place}
        self.runs += 1
        if self.runs == 1:
            return segment.cost, [(tuple(segment.steps), False)]
        if self._cost is not None and self._indices <= same:
            say(f"replaying {_counted(self._cost)} of segment {segment.name}")
            return self._cost, self._parts
        self._parts = parts = divided(segment.steps, same, self.refused)
        self._indices = {i for steps, joined in parts if joined for i in touched(steps)}
        groups = [(costs(steps, segment.streams), joined) for steps, joined in parts]
        self._cost = Launches(groups, parts=segment.parts)
        _report(segment, parts, self.refused)
        for steps, joined in parts:
            if joined and backend_of(device) == "cpu":
                created(steps, device, self.train)
        return Launches(groups, recording=True, parts=segment.parts), parts

    def refuse(self, steps: Sequence[Step], why: str) -> None:
        """CUDA could not record these; the next run is divided without them."""
        self.refused |= dict.fromkeys(steps, why)
        self._cost = None


def divided(
    steps: Sequence[Step], same: set[int], refused: Mapping[Step, str]
) -> list[tuple[tuple[Step, ...], bool]]:
    """The steps in order, in runs: (the steps, whether they can be recorded)."""
    found: list[tuple[tuple[Step, ...], bool]] = []
    run: list[Step] = []
    for step in steps:
        if why_not(step, same, refused) is None:
            run.append(step)
            continue
        if run:
            found.append((tuple(run), True))
        found.append(((step,), False))
        run = []
    if run:
        found.append((tuple(run), True))
    return found


def why_not(step: Step, same: set[int], refused: Mapping[Step, str]) -> str | None:
    """Why an operator cannot be recorded; None if it can.

    same: the indices in `env` with the array of the call before. refused: steps that
    CUDA would not record, and why.
    """
    if step.draws:
        return "it draws random numbers"
    if not step.native:
        return "it visits the host"
    if step in refused:
        return refused[step]
    if not touched([step]) <= same:
        return "it touches an array that changes from call to call"
    return None


def touched(steps: Sequence[Step]) -> set[int]:
    """The indices in `env` that steps read or write."""
    return {p.outside for step in steps for p in step.args if p.outside >= 0}


def _counted(cost: Launches) -> str:
    sizes = [len(parts) for parts, joined in cost.groups if joined]
    alone = len(cost.groups) - len(sizes)
    return f"{len(sizes)} graphs of {sum(sizes)} operators, and {alone} operators alone"


def _report(segment: Segment, parts: Parts, refused: Mapping[Step, str]) -> None:
    say(f"recording segment {segment.name}")
    for steps, joined in parts:
        names = ", ".join(step.node.name for step in steps)
        if joined:
            say(f"  in one graph: {names}")
        else:
            why = why_not(steps[0], set(), refused)
            say(f"  outside: {names} ({why})")


def say(text: str) -> None:
    """Print something about recordings (MXNET_CUDA_GRAPHS_VERBOSE)."""
    if knobs.get("MXNET_CUDA_GRAPHS_VERBOSE"):
        print(f"CUDA graphs: {text}")


def created(steps: Sequence[Step], device: Device, train: bool) -> None:
    """Announce and draw a graph that was just recorded.

    MXNET_CUDA_GRAPHS_MAX_LOG_ENTRIES: how many are announced.
    MXNET_CUDA_GRAPHS_DBG_FILE: the prefix of a file in Graphviz's language for each. A
    file that cannot be written is a warning.
    """
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
        text = "\n".join(label).replace('"', "'")
        lines.append(f'  n{place} [label="{text}"];')
        for where in dict.fromkeys(step.args):
            if where in makers:
                lines.append(f"  n{makers[where]} -> n{place};")
        makers |= dict.fromkeys(step.writes, place)
    return "\n".join([*lines, "}", ""])
