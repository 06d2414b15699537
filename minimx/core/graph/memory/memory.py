"""The memory plan: where every result of a graph lies, before anything is computed.

MXNet plans memory when a graph is bound; PyTorch's eager mode allocates as it runs.

    plan = plan_memory(graph, specs, external, settings)
    plan.storage[entry]       the block it lies in, or EXTERNAL or DYNAMIC
    plan.blocks[k].offset     where the block begins in the arena of its device
    plan.total                the bytes of all blocks: what MXNet's executor prints
    print(plan)               node by node, with the reason of every decision

In three steps: `StorageSharing` (`sharing.py`) gives every result a block, for each
match range that is to be tried; the plan with the fewest bytes is taken; then blocks,
and behind them the workspaces of operators, are laid out one after the other in one
arena for each device.

A plan is made for one order of nodes: an operation may run earlier or later than there
only if it waits for those that read or write its blocks. It touches no array.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from minimx.core.extensions import provided
from minimx.core.graph.memory.colours import colours as coloured
from minimx.core.graph.memory.inplace import Verdict
from minimx.core.graph.memory.sharing import (  # fmt: skip
    DYNAMIC,
    EXTERNAL,
    Examined,
    NumberedGraph,
    Step,
    StorageSharing,
    numbered,
)
from minimx.core.graph.passes.report import Change
from minimx.core.graph.running.settings import Settings
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.graph.values.specs import Specs, plan_of

__all__ = ["DYNAMIC", "EXTERNAL", "Block", "Lifetime", "MemoryPlan", "plan_memory"]

#: Blocks begin at multiples of this, so that kernels may load whole vectors.
ALIGNMENT = 64


class Block(NamedTuple):
    """A part of an arena, which several results use one after the other.

    offset: where it begins in the arena of its device, in bytes.
    """

    id: int
    nbytes: int
    device: Hashable
    offset: int


class Lifetime(NamedTuple):
    """When a result is live: the numbers of the nodes that write it and read it last.

    For an output, which must not be overwritten, `last` is the number of all nodes.
    """

    first: int
    last: int


@dataclass(frozen=True)
class MemoryPlan:
    """What `plan_memory` decided.

    storage: for each entry the id of its block, or EXTERNAL (the caller's) or DYNAMIC
        (not known before it is computed).
    inplace: for entries that lie in the block of an input of their node, the position
        of that input.
    unread: outputs without a reader; their kernel writes them all the same.
    skips: nodes with nothing to compute: their outputs lie where their inputs lie.
    blocks: the storage. scratch: the workspaces, in the same arenas behind the blocks.
    workspace: for nodes that need one, its index in `scratch`.
    total: the bytes of all blocks, without workspaces and gaps.
    match_range: the range that was taken; -1: another planner decided. candidates: the
        total of each one tried.
    colours: the colour of each node, if results of different colours are kept apart.
    steps: every decision in its order.
    examined: each pair of an input and an output that might share a block, and the
        verdict. numbers: the graph as lists of numbers, from which it was made.
    """

    graph: Graph
    storage: Mapping[Entry, int]
    inplace: Mapping[Entry, int]
    unread: frozenset[Entry]
    skips: frozenset[Node]
    blocks: tuple[Block, ...]
    scratch: tuple[Block, ...]
    workspace: Mapping[Node, int]
    total: int
    match_range: int
    candidates: Mapping[int, int]
    colours: Mapping[Node, int] | None
    steps: tuple[Step, ...]
    examined: tuple[Examined, ...] = field(repr=False)
    numbers: NumberedGraph = field(repr=False)

    @cached_property
    def offsets(self) -> dict[Entry, int]:
        """Where each planned entry begins in the arena of its device, in bytes."""
        return {
            entry: self.blocks[block].offset
            for entry, block in self.storage.items()
            if block >= 0
        }

    @cached_property
    def arenas(self) -> dict[Hashable, int]:
        """The bytes of the arena of each device, workspaces included."""
        ends: dict[Hashable, int] = {}
        for block in (*self.blocks, *self.scratch):
            end = block.offset + block.nbytes
            ends[block.device] = max(ends.get(block.device, 0), end)
        return ends

    @cached_property
    def lifetimes(self) -> dict[Entry, Lifetime]:
        """From which node to which one each planned entry is needed."""
        numbers, found = self.numbers, {}
        last = {}
        for n, reads in enumerate(numbers.reads):
            last.update(dict.fromkeys(reads, n))
        entries = numbers.entries
        kept = set(self.graph.outputs)
        for n, outs in enumerate(numbers.outs):
            for e in outs:
                if self.storage[entries[e]] >= 0:
                    end = len(numbers.nodes) if entries[e] in kept else last.get(e, n)
                    found[entries[e]] = Lifetime(n, end)
        return found

    @cached_property
    def nbytes(self) -> dict[Entry, int]:
        """The bytes of each planned entry."""
        every = zip(self.numbers.entries, self.numbers.nbytes, strict=True)
        return {entry: size for entry, size in every if self.storage[entry] >= 0}

    @property
    def bytes_apart(self) -> int:
        """The bytes that the planned entries would take if none shared anything."""
        return sum(self.nbytes.values())

    @cached_property
    def peak(self) -> int:
        """The most bytes of planned entries that are needed at once.

        No plan in this order of nodes can do with less, unless it writes results over
        inputs.
        """
        change = [0] * (len(self.numbers.nodes) + 2)
        for entry, life in self.lifetimes.items():
            change[life.first] += self.nbytes[entry]
            change[life.last + 1] -= self.nbytes[entry]
        now = most = 0
        for difference in change:
            now += difference
            most = max(most, now)
        return most

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """What was decided on each pair that might share a block, and why."""
        found: tuple[Change, ...] = provided("memory plan texts").sharing(
            self.numbers, self.storage, self.examined
        )
        return found

    @cached_property
    def reasons(self) -> dict[Entry, str]:
        """For each entry, why it lies where it lies."""
        found: dict[Entry, str] = provided("memory plan texts").explain(self)
        return found

    def __str__(self) -> str:
        return str(provided("memory plan texts").table(self))


def plan_memory(
    graph: Graph,
    specs: Specs,
    external: Collection[Entry],
    settings: Settings,
    colours: Mapping[Node, int] | None = None,
    *,
    places: Mapping[Node, Hashable] | None = None,
    item_bytes: int | None = None,
    kind: str = "cpu",
) -> MemoryPlan:
    """Give every result of a graph a block of storage, and each block an offset.

    specs: of all entries (`every_spec`); one that is missing is DYNAMIC. external:
    entries that lie outside, such as the outputs that a caller receives; variables
    always do. An output that is planned is never overwritten.
    colours: for each node; results of different colours share no block. Without it the
    settings say whether the graph is coloured.
    settings: the knobs that count; see `Settings`.
    places: the device of each node, where there are several.
    item_bytes: the bytes of every element; None: those of its type. MXNet 1.x counts 4;
    such a plan is for comparison, it is too small for wider types.
    kind: the kind of device, "cpu" or "gpu", where there is one; it decides which
    workspaces operators need.
    Raises ShapeError or DTypeError where an operator does not accept what it gets.
    """
    numbers = numbered(graph, specs, external, places, item_bytes)
    if colours is None and colour_count(settings) > 1:
        colours = coloured(graph, colour_count(settings))
    shades = None if colours is None else [colours[node] for node in graph.nodes]
    tried = [
        StorageSharing(numbers, match_range, settings.enable_inplace, shades)
        for match_range in ranges(settings)
    ]
    candidates = {sharing.match_range: sharing.total for sharing in tried}
    best = min(tried, key=lambda sharing: sharing.total)
    if settings.planner != "sharing":
        best = provided("policies").planned(settings.planner, best)
    blocks, ends = _laid_out([*zip(best.sizes, best.devices, strict=True)], {})
    workspace, wanted = _workspaces(graph, specs, settings, places, kind)
    scratch, _ = _laid_out(wanted, ends)
    entries = numbers.entries
    return MemoryPlan(
        graph=graph,
        storage=dict(zip(entries, best.storage, strict=True)),
        inplace={entries[e]: place for e, place in best.written_over.items()},
        unread=frozenset([entries[e] for e in best.unread]),
        skips=_skips(numbers, best),
        blocks=blocks,
        scratch=scratch,
        workspace=workspace,
        total=best.total,
        match_range=best.match_range,
        candidates=candidates,
        colours=colours,
        steps=tuple(best.steps),
        examined=tuple(best.examined),
        numbers=numbers,
    )


def ranges(settings: Settings) -> list[int]:
    """The match ranges to try: the one that is set, or 1, 2, 4, … up to it."""
    most = settings.match_range
    if not (settings.auto_search_match_range or settings.memory_opt) or not most:
        return [most]
    return [1 << k for k in range(most.bit_length())]


def colour_count(settings: Settings) -> int:
    """Into how many colours a graph is divided.

    MXNET_EXEC_NUM_TEMP counts up to the number of workers that a device has, as it did
    in MXNet 0.8; NNVM_EXEC_NUM_TEMP, its successor, counts as it is.
    """
    return max(settings.num_temp, workspace_count(settings))


def workspace_count(settings: Settings) -> int:
    """The most workspaces of a graph on each device."""
    return min(settings.exec_num_temp, settings.gpu_worker_nthreads)


def _laid_out(
    wanted: list[tuple[int, Hashable]], ends: Mapping[Hashable, int]
) -> tuple[tuple[Block, ...], dict[Hashable, int]]:
    """Blocks one behind the other in the arenas; and where those end now."""
    ends, blocks = dict(ends), []
    for k, (nbytes, device) in enumerate(wanted):
        offset = ends.get(device, 0)
        blocks.append(Block(k, nbytes, device, offset))
        ends[device] = offset + -(-nbytes // ALIGNMENT) * ALIGNMENT
    return tuple(blocks), ends


def _workspaces(
    graph: Graph,
    specs: Specs,
    settings: Settings,
    places: Mapping[Node, Hashable] | None,
    kind: str,
) -> tuple[dict[Node, int], list[tuple[int, Hashable]]]:
    """Which nodes share a workspace, and how large each is.

    As in MXNet 0.8 the nodes that ask for one are coloured by themselves, and those of
    one colour and device share one.
    """
    requests = {}
    for node in graph:
        if node.op is not None and Entry(node) in specs:
            nbytes = plan_of(node, specs, kind).workspace
            if nbytes:
                requests[node] = nbytes
    shades = coloured(graph, workspace_count(settings), requests) if requests else {}
    shared: dict[tuple[Hashable, int], int] = {}
    found: dict[Node, int] = {}
    sizes: list[tuple[int, Hashable]] = []
    for node, nbytes in requests.items():
        device = places.get(node) if places else None
        k = found[node] = shared.setdefault((device, shades[node]), len(sizes))
        if k == len(sizes):
            sizes.append((0, device))
        sizes[k] = (max(nbytes, sizes[k][0]), device)
    return found, sizes


def _skips(numbers: NumberedGraph, sharing: StorageSharing) -> frozenset[Node]:
    """The nodes all of whose outputs lie where the same elements lie already."""
    same: dict[int, int] = {}
    for n, _, verdict in sharing.examined:
        if verdict is Verdict.SAME:
            same[n] = same.get(n, 0) + 1
    return frozenset(
        [numbers.nodes[n] for n, k in same.items() if k == len(numbers.outs[n])]
    )
