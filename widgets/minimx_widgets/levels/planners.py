"""Levels of the memory planner: results of a graph, and the storage ids they share.

    game = PlannerGame(net, data=(16, 1, 8, 8))

A block has no address while a graph is planned, so it may still grow: it becomes as
large as the largest result in it. What is written in place over an input is one result
already (MXNET_EXEC_ENABLE_INPLACE). `policy` writes the decisions as a class for
`mx.policies.register_planner`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from minimx.core.graph.memory.sharing import StorageSharing
from minimx.core.graph.passes.prepare import prepare
from minimx.core.graph.running.settings import Settings
from minimx.policies.asking import Asked
from minimx.policies.networks import Network
from minimx.policies.planners import PLANNERS, Planner, Result, chains, check_plan
from minimx_widgets.levels.game import Cost
from minimx_widgets.levels.sharing import Item, Shared, Sharing
from minimx_widgets.training.subject import Subject
from minimx_widgets.units import counted, human_bytes


class PlannerGame(Sharing):
    """The results of a graph in the order in which they are computed.

    net: a Symbol or a HybridBlock, with the shapes of its inputs by name. inplace:
    whether results may be written over inputs that are read for the last time.
    training: whether the gradients are computed as well.
    """

    letter, first, axis = "id ", 0, "node"

    def __init__(
        self,
        net: Any,
        name: str = "graph",
        lesson: str = "",
        *,
        inplace: bool = True,
        training: bool = False,
        **shapes: Any,
    ) -> None:
        self.graph = network_of(net, shapes, training).numbers
        self.inplace = inplace
        self.apart = StorageSharing(self.graph, 0, inplace)
        self.results = chains(self.apart)
        super().__init__(_items(self.apart, self.results), name, lesson)

    def question(self, state: Shared) -> str:
        """The result."""
        if self.over(state):
            return "All results have a storage id."
        one = self.items[state.placed]
        return (
            f"Node {one.first} computes {one.owner}: {one.nbytes:,} bytes, read last "
            f"by {one.reader}. Which storage id?"
        )

    def refusal(self, state: Shared, block: int) -> str:
        """Two results that are needed at the same node."""
        holder = self.holder(state, block)
        if holder is None:
            return ""
        one = self.items[state.placed]
        if holder.last == one.first:
            return (
                f"{one.name} and {holder.name} cannot share {self.label(block)}: "
                f"{one.name} itself reads {holder.name}, and would write over it while "
                "it reads."
            )
        return (
            f"{one.name} and {holder.name} cannot share {self.label(block)}: "
            f"{holder.reader} at node {holder.last} still reads {holder.name}, which "
            f"{one.name} would have written over at node {one.first}."
        )

    def missing(self, wanted: Sequence[int], free: Sequence[int]) -> tuple[int, int]:
        """The largest array grows the largest free block, and so on down.

        No other pairing of arrays and blocks grows them by less in all.
        """
        grown = sum(max(w - f, 0) for w, f in zip_longest(wanted, free, fillvalue=0))
        return grown, max(len(wanted) - len(free), 0)

    def numbers(self, state: Shared) -> tuple[tuple[str, str], ...]:
        """Bytes planned, storage ids, and the bytes without sharing."""
        nbytes, blocks = self.cost(state)
        alone = sum(one.nbytes for one in self.items)
        return (
            ("planned", human_bytes(nbytes)),
            ("storage ids", str(blocks)),
            ("without sharing", human_bytes(alone)),
        )

    def says(self, cost: Cost) -> str:
        """Bytes and storage ids."""
        nbytes, blocks = cost
        return f"{human_bytes(nbytes)} in {counted(blocks, 'storage id')}"

    # -- the real planner --------------------------------------------------------------

    def compared(self) -> dict[str, Cost]:
        """The plans of the built-in planners, by name."""
        return {name: self._planned(one) for name, one in PLANNERS.builtins.items()}

    def ran(self, policy: type) -> Cost:
        """What a class with `assign` costs in the real planner."""
        return self._planned(PLANNERS.subject(Asked(policy(), PLANNERS.method)))

    def _planned(self, planner: Planner) -> Cost:
        plan = planner(StorageSharing(self.graph, 16, self.inplace))
        check_plan(plan)
        return plan.total, len(plan.sizes)

    def blocks_of(self, state: Shared) -> list[int]:
        """The block of each result, in the order of the graph."""
        found = [0] * state.placed
        for number, block in enumerate(state.blocks):
            for item in block.items:
                found[item] = number
        return found

    def policy(self, state: Shared, name: str) -> str:
        """The decisions as a class for `mx.policies.register_planner`, as source."""
        return f'''class {name}:
    """What I chose for {len(self.items)} results: {self.says(self.cost(state))}."""

    RESULTS = {[tuple(one) for one in self.results]!r}  # (first, last, bytes)
    BLOCKS = {self.blocks_of(state)!r}

    def assign(self, results):
        if [tuple(one) for one in results] == self.RESULTS:
            return self.BLOCKS
        ends, found = [], []  # another graph: the first block that is free meanwhile
        for one in results:
            free = [k for k, end in enumerate(ends) if end < one.first]
            block = free[0] if free else len(ends)
            ends[block : block + 1] = [one.last]
            found.append(block)
        return found
'''


def network_of(net: Any, shapes: Mapping[str, Any], training: bool = False) -> Network:
    """The graph of a net that runs, in numbers; with all gradients for training."""
    subject = Subject.of(net, shapes, "PlannerGame")
    made = prepare(
        subject.graph,
        subject.variables,
        subject.wanted if training else (),
        training=training,
        settings=Settings(use_fusion=False),
    )
    return Network(made.plan.numbers, made.specs)


def _items(apart: StorageSharing, results: Sequence[Result]) -> list[Item]:
    graph = apart.graph
    inside: dict[int, list[str]] = {}  # by block: the nodes that write into it
    for step in apart.steps:
        if step.kind in ("new", "over"):
            inside.setdefault(step.block, []).append(graph.nodes[step.node].name)
    found = []
    for block, one in enumerate(results):
        first, *over = inside[block]
        owner = f"{first}, with {', '.join(over)} written over it" if over else first
        last = (
            graph.nodes[one.last].name if one.last < len(graph.nodes) else "the caller"
        )
        found.append(Item(first, one.first, one.last, one.nbytes, owner, last))
    return found
