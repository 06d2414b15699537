"""The graphs of a recorded run, prepared once more under other knobs.

    programs = programs_of(net, record)
    programs[0].nbytes, programs[0].under(other).nbytes

A record says how large the arena of a graph was, and nothing of the graph. The network
has it: the passes run again over the same graph (`prepare`), with the settings of the
record and with others. Each allocation of an arena is then one of the new size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from minimx.core.cached_op import CachedOp, Key
from minimx.core.drivers import kernels_as_on
from minimx.core.errors import ArgumentError
from minimx.core.extensions import provided
from minimx.core.graph.passes.prepare import Prepared
from minimx.core.graph.running.settings import KNOBS, Settings
from minimx.core.record import Record
from minimx.core.replay import Steps
from minimx.experiments.operations import kept_with

#: Knobs of the passes that are replayed, and what they shape.
PLANNING: Final = (
    "MXNET_EXEC_ENABLE_INPLACE",
    "NNVM_EXEC_MATCH_RANGE",
    "NNVM_AUTO_SEARCH_MATCH_RANGE",
    "MXNET_MEMORY_OPT",
    "NNVM_EXEC_NUM_TEMP",
    "MXNET_EXEC_NUM_TEMP",
    "MXNET_EXEC_INPLACE_GRAD_SUM_CAP",
    "MXNET_BACKWARD_DO_MIRROR",
    "MXNET_BACKWARD_MIRROR_STEP",
    "MINIMX_MIRROR",
    "MXNET_ELIMINATE_COMMON_EXPR",
    "MXNET_NODE_ELIMINATION",
    "MXNET_USE_FUSION",
)
#: So many preparations are kept with a graph.
MOST_KEPT: Final = 64
ARENA: Final = "arena"  # how the owner of its block is called


@dataclass(frozen=True, eq=False)
class GraphProgram:
    """A graph that was called in one way: on one device, in one mode.

    key: what tells its calls apart. settings: the knobs that it is prepared for.
    """

    op: CachedOp
    key: Key
    settings: Settings

    @property
    def device(self) -> str:
        """The device of its arena."""
        return str(self.key[1])

    @property
    def kind(self) -> str:
        """Whose kernels run on it."""
        return kernels_as_on(self.key[1])

    @property
    def prepared(self) -> Prepared:
        """The graph after all passes. Raises `Unplanned` where they cannot plan it."""
        known = kept_with(self.op)
        found: Prepared | None = known.get((self.key, self.settings))
        if found is None:
            if len(known) >= MOST_KEPT:
                known.clear()
            found = self.op.prepared(self.key, self.settings)
            known[self.key, self.settings] = found
        return found

    @property
    def nbytes(self) -> int:
        """The bytes of its arena."""
        ends = [block.offset + block.nbytes for block in self.prepared.plan.blocks]
        return max(ends, default=0)

    def under(self, settings: Settings) -> GraphProgram:
        """The same, prepared for other knobs."""
        return replace(self, settings=settings)


def settings_of(values: Mapping[str, Any]) -> Settings:
    """The settings of passes, from the values of knobs."""
    found = {field: values[knob] for field, knob in KNOBS.items() if knob in values}
    chosen_by = provided("convolution tuner").KNOBS
    return Settings(**found, convolution=tuple(values.get(name) for name in chosen_by))


def programs_of(net: Any, record: Record) -> list[GraphProgram]:
    """The programs of a hybridized block, as they were when a record was made.

    net: the block, a `CachedOp`, or several of either. Raises `ArgumentError` for what
    has no graphs, such as a block that was not hybridized or not called yet.
    """
    settings = settings_of(record.conditions.knobs)
    found = [
        GraphProgram(op, key, settings)
        for op in _cached_ops(net)
        for key, variant in op._variants.items()
        if variant is not None
    ]
    if not found:
        raise ArgumentError(
            "replay: the network has no graph that was called. Call hybridize() before "
            "the run that is recorded, and give the network as it was after that run."
        )
    return found


def _cached_ops(net: Any) -> Iterator[CachedOp]:
    if isinstance(net, CachedOp):
        yield net
        return
    if isinstance(net, Sequence) and not hasattr(net, "_graphs"):
        for each in net:
            yield from _cached_ops(each)
        return
    for ready in getattr(net, "_graphs", {}).values():
        yield ready.op
        if ready.learning is not None:
            yield ready.learning.op
    for child in getattr(net, "_children", {}).values():
        yield from _cached_ops(getattr(child, "block", child))


def new_sizes(
    programs: Sequence[GraphProgram], settings: Settings
) -> dict[tuple[str, int], int]:
    """By device and bytes of an arena: the bytes that it has under other settings.

    Raises `ArgumentError` where arenas of one size become different ones, which a
    record cannot tell apart, or where one without memory gets some.
    """
    found: dict[tuple[str, int], int] = {}
    for program in programs:
        key, after = (program.device, program.nbytes), program.under(settings).nbytes
        if found.setdefault(key, after) != after or (not key[1] and after):
            raise ArgumentError(
                f"replay: the record does not say which graph of {program.device} "
                f"an arena of {key[1]:,} bytes belongs to: for one it becomes "
                f"{found[key]:,} bytes, for another {after:,}. Give only the network "
                "that you ask about, called in one way."
            )
    return found


def resized(
    steps: Steps, record: Record, device: str, sizes: Mapping[tuple[str, int], int]
) -> Steps:
    """The steps of a run whose arenas have other sizes.

    sizes: as from `new_sizes`. Raises `ArgumentError` for an arena of which the
    programs know nothing: then the record is of another network. One that was in use
    before the record started may belong to something else, and stays.
    """
    mem, texts = record.mem(), record.strings
    if ARENA not in texts:
        return steps
    rows = mem[steps.row]
    scratch, live = (
        texts.index(text) if text in texts else -1 for text in ("workspace", "live")
    )
    arena = (rows["name"] == texts.index(ARENA)) & (rows["category"] != scratch)
    requested = steps.requested.copy()
    for place in np.flatnonzero(arena).tolist():
        before = int(requested[place])
        after = sizes.get((device, before))
        if after is None and int(rows["event"][place]) == live:
            continue
        if after is None:
            raise ArgumentError(
                f"replay: the record has an arena of {before:,} bytes on {device}, and "
                "no graph of the network needs one of that size under the knobs of the "
                "record. Give the network that was recorded."
            )
        requested[place] = after
    return replace(steps, requested=requested)


def scratch_changes(programs: Sequence[GraphProgram], settings: Settings) -> bool:
    """Whether workspaces of operators have other sizes under other settings."""
    return any(
        [block.nbytes for block in one.prepared.plan.scratch]
        != [block.nbytes for block in one.under(settings).prepared.plan.scratch]
        for one in programs
    )
