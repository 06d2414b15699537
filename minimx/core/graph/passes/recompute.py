"""Recomputing a value when a gradient reads it, instead of keeping it.

    Keep             which nodes of a graph are recomputed: what a mirror policy decides
    Recomputation    how a node is computed a second time, if that gives the same value
    Clones           makes the second nodes, `<name>_mirror`, when gradients read them

MXNet calls this mirroring, PyTorch checkpointing, XLA rematerialization. With `relu`
recomputed, the gradient of b = dot(r, w), r = relu(a) reads r_mirror = relu(a), a clone
of r, so that r itself is not kept.

The inputs of a clone are there early, so they do not decide when it runs. But it is
made when the first gradient reads it, and the backward half runs in the order in which
its nodes were made: so a part of the network is recomputed just before its gradient.
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

    remap: whether gradients of nodes that are not recomputed read clones as well. In
        MXNet 1.x they did not, so that values were kept which had been recomputed, too.
    changes: for every node that a policy decided on, what and why. name: the policy's.
    """

    recompute: frozenset[Node] = frozenset()
    remap: bool = True
    changes: tuple[Change, ...] = ()
    name: str = "none"


#: An operator, and its inputs.
OpCall = tuple[Op, tuple[Entry, ...]]


class Recomputation:
    """Which nodes of a graph can be computed a second time, and how."""

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

    def of(self, node: Node) -> OpCall | None:
        """How a node is computed a second time; None where it cannot be.

        Most operators just run once more. BatchNorm, which changes running means, has a
        form that does not, and takes the statistics of the first run as inputs.
        """
        if node.op is None or self.why_not(node) is not None:
            return None
        found = self._declared(node, node.op)
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
        found = self._declared(node, op)
        if found is None and op.mutates:
            return f"it changes {', '.join(op.mutates)}, which must happen once."
        if found is None:
            return "it draws random numbers, and would draw others."
        read = node.inputs if found[1] is None else _named(node, found[1])
        if changed := [entry.name for entry in read if entry in self._changing]:
            return f"it reads {changed[0]}, which the forward half changes."
        return None

    def _declared(self, node: Node, op: Op) -> tuple[Op, tuple[str, ...] | None] | None:
        """`Op.recompute`: an operator, and its inputs if they are not the node's."""
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
    """The second nodes of a graph, as far as gradients have read them."""

    def __init__(self, graph: Graph, keep: Keep, writer: Writer) -> None:
        self._recomputation = Recomputation(graph, writer.specs)
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
        """What the backward half reads in place of an entry: its clone, or itself."""
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
            op, inputs = self._call(node)
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

    def _call(self, node: Node) -> OpCall:
        found = self._recomputation.of(node)
        if found is None:
            raise GradientError(
                f"{node.name} cannot be computed a second time: "
                f"{self._recomputation.why_not(node)} Take it out of `recompute`."
            )
        return found
