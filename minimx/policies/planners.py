"""Planners: a policy gives each result of a graph a block of memory.

    class FirstFree:
        '''The first block that nobody uses any more, whatever its size.'''

        def assign(self, results):
            ends, found = [], []           # of each block: who reads it last
            for one in results:
                free = [k for k, end in enumerate(ends) if end < one.first]
                block = free[0] if free else len(ends)
                ends[block:block + 1] = [one.last]
                found.append(block)
            return found

    mx.policies.register_planner("FirstFree", FirstFree)
    mx.knobs.MINIMX_MEMORY_PLANNER = "FirstFree"

`assign(results)`: each a `Result`, in the order in which they are computed. The answer
is a list of block numbers, one for each result. Two results that are needed at the same
node must not share a block; a block is as large as its largest result. What is written
over an input in place is one result already, by the rules of `inplace.py`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple

from minimx.core.graph.memory.inplace import Verdict
from minimx.core.graph.memory.sharing import NumberedGraph, Step, StorageSharing
from minimx.policies.asking import Asked, Broken
from minimx.policies.kinds import Entry, Kind, guarded
from minimx.policies.networks import branches, network

#: From the runtime's own decisions to those that count.
Planner = Callable[[StorageSharing], StorageSharing]


class Result(NamedTuple):
    """A result, or several that are written over one another.

    first, last: the numbers of the nodes that write it and read it last; it is needed
    at both. nbytes: its size.
    """

    first: int
    last: int
    nbytes: int


@dataclass(frozen=True)
class Trace:
    """A graph in numbers."""

    name: str
    seed: int
    trains: bool

    @property
    def numbers(self) -> NumberedGraph:
        """The graph."""
        return (network if self.trains else branches)(self.seed).numbers


class Planners(Kind[Planner, Trace]):
    """Of graphs: which results share a block."""

    name = "planner"
    method = "assign"
    families = ("training", "branches")
    unit = "KiB of all blocks"
    bound_says = "results that are needed at the same node lie in different bytes"
    default = "sharing"
    knobs = ("MINIMX_MEMORY_PLANNER",)
    builtins: Mapping[str, Planner] = {
        "sharing": lambda found: found,
        "by_size": lambda found: planned("by_size", found),
        "best match range": lambda found: min(
            [StorageSharing(found.graph, 1 << k, found.inplace) for k in range(6)],
            key=lambda one: one.total,
        ),
    }

    def subject(self, ask: Asked) -> Planner:
        """A planner that asks once for each graph."""
        return partial(_planned, ask)

    def trace(self, family: str, seed: int) -> Trace:
        """The training graph of a network, or a graph of many branches."""
        chance = random.Random(f"{family} {seed}")
        trains = family == "training"
        return Trace(f"{family} {seed}", chance.randrange(10**6), trains)

    def run(self, subject: Planner, trace: Trace) -> float:
        """Plan, and follow what lies where, node by node."""
        found = subject(StorageSharing(trace.numbers, 16, inplace=True))
        check_plan(found)
        return found.total / 1024

    def bound(self, trace: Trace) -> float:
        """The most bytes that are needed at once."""
        every = chains(StorageSharing(trace.numbers, 0, inplace=True))
        change = [0] * (len(trace.numbers.nodes) + 2)
        for one in every:
            change[one.first] += one.nbytes
            change[one.last + 1] -= one.nbytes
        now = most = 0
        for difference in change:
            now += difference
            most = max(most, now)
        return most / 1024

    def _connect(self, entry: Entry) -> None:
        def own(found: StorageSharing) -> StorageSharing:
            return _planned(entry.new(), found)

        _known[entry.name] = guarded(entry, lambda found: found, own)

    def _disconnect(self, name: str) -> None:
        del _known[name]


class BySize:
    """The largest results first, each in the first block that is free meanwhile.

    Y. Pisarchyk, J. Lee, "Efficient memory management for deep neural net inference"
    (2020).
    """

    def assign(self, results: Sequence[Result]) -> list[int]:
        """A block for each result."""
        blocks: list[list[Result]] = []
        found = [0] * len(results)
        for number in sorted(range(len(results)), key=lambda k: -results[k].nbytes):
            one = results[number]
            block = 0
            while block < len(blocks) and _meets(one, blocks[block]):
                block += 1
            blocks[block:] = blocks[block:] or [[]]
            blocks[block].append(one)
            found[number] = block
        return found


def _meets(one: Result, others: Sequence[Result]) -> bool:
    """Whether a result is needed at a node where one of the others is."""
    return any(one.first <= other.last and other.first <= one.last for other in others)


def planned(name: str, found: StorageSharing) -> StorageSharing:
    """The plan of the planner that MINIMX_MEMORY_PLANNER names, in place of `found`."""
    if name not in _known:
        PLANNERS.gone(name)
        return found
    return _known[name](found)


def chains(apart: StorageSharing) -> list[Result]:
    """What the blocks hold in a plan in which no block is used twice."""
    first, last = {}, {}
    for step in apart.steps:
        if step.kind == "new":
            first[step.block] = step.node
        elif step.kind == "free":
            last[step.block] = step.node
    end = len(apart.graph.nodes)
    return [
        Result(first[block], last.get(block, end), nbytes)
        for block, nbytes in enumerate(apart.sizes)
    ]


def _planned(ask: Asked, found: StorageSharing) -> StorageSharing:
    """The plan of a policy, in the form of the runtime's own.

    Devices plan apart, and so do colours: what lies in one block waits for each other.
    """
    apart = StorageSharing(found.graph, 0, found.inplace, found.colours)
    every = chains(apart)
    groups: dict[Hashable, list[int]] = {}
    for block, one in enumerate(every):
        groups.setdefault(_group(apart, block, one), []).append(block)
    slots: dict[int, int] = {}
    count = 0
    for blocks in groups.values():
        answer = _assigned(ask, apart, [every[block] for block in blocks])
        known = {name: count + k for k, name in enumerate(dict.fromkeys(answer))}
        count += len(known)
        slots.update(zip(blocks, (known[name] for name in answer), strict=True))
    return _merged(apart, slots)


def _group(apart: StorageSharing, block: int, one: Result) -> Hashable:
    """Who may share: results on one device that begin and end in one colour."""
    device, shades = apart.devices[block], apart.colours
    if shades is None:
        return device
    last = min(one.last, len(shades) - 1)
    alone = shades[one.first] != shades[last]
    return device, shades[one.first], block if alone else -1


def _assigned(
    ask: Asked, apart: StorageSharing, results: Sequence[Result]
) -> Sequence[int]:
    """The policy's answer. Raises `Broken` where it shares what is needed at once."""
    answer = ask(tuple(results))
    if not isinstance(answer, Sequence) or len(answer) != len(results):
        raise Broken(
            ask.shown((tuple(results),), answer),
            f"the answer is a list of {len(results)} block numbers, one a result",
        )
    latest: dict[int, int] = {}
    for number, (block, one) in enumerate(zip(answer, results, strict=True)):
        if not isinstance(block, int) or isinstance(block, bool):
            raise Broken(
                f"result {number} lies in block {block!r}", "a block is a whole number"
            )
        other = latest.get(block)
        if other is not None and results[other].last >= one.first:
            raise Broken(
                f"block {block} holds result {other} ({_says(apart, results[other])}) "
                f"and result {number} ({_says(apart, one)})",
                "results that are needed at the same node lie in different blocks",
                f"result {number + 1} of {len(results)}",
            )
        latest[block] = number
    return answer


def _says(apart: StorageSharing, one: Result) -> str:
    nodes = apart.graph.nodes
    end = nodes[one.last].name if one.last < len(nodes) else "the caller"
    return (
        f"written at node {one.first}, {nodes[one.first].name}; read last at node "
        f"{one.last}, {end}"
    )


def _merged(apart: StorageSharing, slots: Mapping[int, int]) -> StorageSharing:
    """The plan in which block k is the slot `slots[k]`."""
    found = copy(apart)
    found.match_range = -1  # there is none
    count = len(set(slots.values()))
    found.sizes, found.devices, found.steps = [0] * count, [None] * count, []
    found.storage = [slots.get(block, block) for block in apart.storage]
    for step in apart.steps:
        slot = slots[step.block]
        before = after = found.sizes[slot]
        kind = step.kind
        if kind == "new":
            after = found.sizes[slot] = max(before, step.after)
            found.devices[slot] = apart.devices[step.block]
            if before:
                kind = "reuse" if after == before else "grow"
        found.steps.append(
            Step(kind, step.node, step.entry, slot, step.wanted, before, after)
        )
    return found


def check_plan(found: StorageSharing) -> None:
    """Raise `Broken` unless every result is intact whenever it is read.

    This follows what each block holds, node by node; it knows nothing of lifetimes.
    """
    graph, storage = found.graph, found.storage
    holds: dict[int, set[int]] = {}  # by block: the results that are there
    same = {
        (n, pair.output): pair.input
        for n, pair, verdict in found.examined
        if verdict is Verdict.SAME
    }
    for n, outs in enumerate(graph.outs):
        step = f"node {n + 1} of {len(graph.nodes)}, {graph.nodes[n].name}"
        for e in graph.reads[n]:
            if storage[e] >= 0 and e not in holds.get(storage[e], ()):
                raise Broken(
                    f"block {storage[e]} no longer holds {_name(graph, e)}",
                    "no block is written over while its result will still be read",
                    step,
                )
        read = {storage[e] for e in graph.reads[n]}
        written: set[int] = set()
        for place, e in enumerate(outs):
            block = storage[e]
            if block < 0:
                continue
            if block in written or (block in read and e not in found.written_over):
                raise Broken(
                    f"{_name(graph, e)} is written into block {block}, which the node "
                    "reads or writes already",
                    "inputs and outputs of a node share no block, but for in place",
                    step,
                )
            if found.sizes[block] < graph.nbytes[e]:
                raise Broken(
                    f"block {block} has {found.sizes[block]:,} bytes for "
                    f"{graph.nbytes[e]:,}",
                    "a block is as large as its largest result",
                    step,
                )
            written.add(block)
            kept = holds.get(block, set()) if (n, place) in same else set()
            holds[block] = {*kept, e}


def _name(graph: NumberedGraph, e: int) -> str:
    return f"the result of {graph.entries[e].node.name}"


#: The values of MINIMX_MEMORY_PLANNER beside the core's own.
_known: dict[str, Planner] = {"by_size": partial(_planned, Asked(BySize(), "assign"))}
PLANNERS: Final[Any] = Planners()
