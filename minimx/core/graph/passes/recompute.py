"""Computing a value again, when a gradient asks for it, instead of keeping it.

    Keep      which nodes of a graph are computed again: what a mirror policy decides
    again     how a node is computed a second time, if that gives the same
    Clones    makes the second nodes, `<name>_mirror`, where they are asked for

A clone needs nothing late, so that its inputs do not say when it is to run. It is made
when the first gradient reads it, and the order of the joint graph is the order of
making: a stretch of the network is computed again just before its gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from minimx.core.errors import GradientError
from minimx.core.graph.passes.report import Change
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.graph.values.specs import Specs
from minimx.core.graph.values.traced import Writer
from minimx.core.ops.registry import Op


@dataclass(frozen=True)
class Keep:
    """Which values are kept for the gradient: all but the outputs of `recompute`.

    remap: gradients of nodes that are not computed again read from those that are.
        MXNet 1.x did not, and so kept what it had computed again as well.
    changes: for every node that was in question, what was decided and why.
    """

    recompute: frozenset[Node] = frozenset()
    remap: bool = True
    changes: tuple[Change, ...] = ()
    name: str = "none"


#: An operator, and the entries that it takes.
Again = tuple[Op, tuple[Entry, ...]]


class Repeats:
    """Which nodes of a graph can be computed again, and how."""

    def __init__(self, graph: Graph, specs: Specs) -> None:
        self._graph, self._specs = graph, specs

    @cached_property
    def _changing(self) -> frozenset[Entry]:
        """The variables that some node writes to while the graph runs."""
        return frozenset(
            entry
            for node in self._graph
            if node.op is not None and node.op.mutates
            for entry in node.states()
        )

    def of(self, node: Node) -> Again | None:
        """How a node is computed a second time; None where it cannot be."""
        if node.op is None or self.why_not(node) is not None:
            return None
        found = self._again(node, node.op)
        assert found is not None
        op, names = found
        return op, node.inputs if names is None else _named(node, names)

    def why_not(self, node: Node) -> str | None:
        """Why a node cannot be computed a second time; None where it can."""
        op = node.op
        if op is None:
            return "it is a variable: there is nothing to compute."
        if any(entry not in self._specs for entry in (*node.inputs, Entry(node))):
            return "it runs without a plan."
        found = self._again(node, op)
        if found is None and op.mutates:
            return f"it changes {', '.join(op.mutates)}, which must happen once."
        if found is None:
            return "it draws random numbers, and would draw others."
        read = node.inputs if found[1] is None else _named(node, found[1])
        if changed := [entry.name for entry in read if entry in self._changing]:
            return f"it reads {changed[0]}, which the forward half changes."
        return None

    def _again(self, node: Node, op: Op) -> tuple[Op, tuple[str, ...] | None] | None:
        return op.recompute(*[self._specs[entry] for entry in node.inputs])


def _named(node: Node, names: tuple[str, ...]) -> tuple[Entry, ...]:
    assert node.op is not None
    return tuple(value_named(node, name) for name in names)


def value_named(node: Node, name: str) -> Entry:
    """The entry that `saves` calls by this name: an input, or an output of the node.

    "out", "out1", … are outputs, "data0", … inputs of an operator with any number of
    them.
    """
    op = node.op
    assert op is not None
    if name == "out" or (name.startswith("out") and name[3:].isdigit()):
        return Entry(node, int(name[3:] or 0))
    if op.variadic:
        return node.inputs[int(name.removeprefix("data"))]
    place: int = op.inputs.index(name)
    return node.inputs[place]


class Clones:
    """The nodes of a graph a second time, as far as they are asked for."""

    def __init__(self, graph: Graph, keep: Keep, writer: Writer) -> None:
        self._repeats = Repeats(graph, writer.specs)
        self._keep = keep
        self._writer = writer
        #: {node: its clone}
        self.made: dict[Node, Node] = {}

    def reader(self, node: Node) -> Callable[[Entry], Entry]:
        """Where the gradient of a node finds the values that it needs."""
        if self._keep.remap or node in self._keep.recompute:
            return self.instead
        return lambda entry: entry

    def instead(self, entry: Entry) -> Entry:
        """What stands for an entry in the backward half: the clone's, or itself."""
        if entry.node not in self._keep.recompute:
            return entry
        if entry.node not in self.made:
            self._make(entry.node)
        clone = self.made[entry.node]
        same = clone.op is entry.node.op or entry.slot < clone.visible
        return Entry(clone, entry.slot) if same else entry

    def _make(self, start: Node) -> None:
        """Make a clone, and first those that it is computed from."""
        waiting = [start]
        while waiting:
            node = waiting[-1]
            op, inputs = self._again(node)
            missing = [
                entry.node
                for entry in inputs
                if entry.node in self._keep.recompute
                and entry.node not in self.made
                and entry.node is not node
            ]
            if missing:
                waiting += missing
                continue
            waiting.pop()
            if node in self.made:
                continue
            entries = [e if e.node is node else self.instead(e) for e in inputs]
            with self._writer.about(node, f"{node.name}_mirror"):
                self.made[node] = self._writer.apply(op, entries)

    def _again(self, node: Node) -> Again:
        found = self._repeats.of(node)
        if found is None:
            raise GradientError(
                f"{node.name} cannot be computed a second time: "
                f"{self._repeats.why_not(node)} Take it out of `recompute`."
            )
        return found
