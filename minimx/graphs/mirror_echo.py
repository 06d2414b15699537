"""Mirroring only where it pays, after Echo (Zheng and others, arXiv 1805.08899).

Computing a node again needs its inputs. So it saves memory only if these inputs are
smaller than what need not be kept: two large arrays added to one of the same size are
better kept as the sum. The nodes in question are taken in regions, as far as they hang
together; a region is trimmed from the side of its inputs, as long as storing the
outputs of a group is no worse than storing what it is computed from.

MXNet has this algorithm in its source since 1.6, but never calls it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from minimx.core.graph.passes.gradient import read_by_gradients
from minimx.core.graph.passes.mirror_rule import remap
from minimx.core.graph.passes.recompute import Keep
from minimx.core.graph.passes.report import Change
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.graph.values.specs import Specs


def echo(graph: Graph, wanted: Sequence[Node], specs: Specs) -> Keep:
    """Computes again what MXNet's rule allows, except where that keeps more."""
    rule = remap(graph, specs)
    reasons = {change.nodes[0]: change for change in rule.changes}
    trim = _Trim(graph, rule.recompute, read_by_gradients(graph, wanted, specs), specs)
    for region in _regions(graph, rule.recompute):
        trim.region(region)
    changes = []
    for node in graph:
        if node.op is None:
            continue
        if node in trim.stored:
            changes.append(Change("kept", (node.name,), trim.stored[node]))
        elif node in rule.recompute:
            changes.append(Change("recomputed", (node.name,), _WORTH))
        else:
            changes.append(reasons[node.name])
    return Keep(rule.recompute - trim.stored.keys(), True, tuple(changes), "echo")


_WORTH = "what it is computed from is kept anyway, or smaller than what it makes."


def _regions(graph: Graph, candidates: frozenset[Node]) -> list[list[Node]]:
    """Candidates that hang together: one reads the other, or both read one value."""
    region: dict[Node, list[Node]] = {node: [node] for node in candidates}
    readers: dict[Entry, Node] = {}
    for node in graph:
        if node not in candidates:
            continue
        for entry in node.inputs:
            if entry.node in candidates:
                _join(region, node, entry.node)
            if entry.node.op is not None:  # variables join everything
                _join(region, node, readers.setdefault(entry, node))
    found = {id(nodes): nodes for nodes in region.values()}
    places = {node: place for place, node in enumerate(graph)}
    return [sorted(nodes, key=places.__getitem__) for nodes in found.values()]


def _join(region: dict[Node, list[Node]], a: Node, b: Node) -> None:
    into, other = region[a], region[b]
    if into is other:
        return
    if len(into) < len(other):
        into, other = other, into
    into += other
    region.update(dict.fromkeys(other, into))


class _Trim:
    """Takes out of regions what is better stored."""

    def __init__(
        self,
        graph: Graph,
        candidates: frozenset[Node],
        backward: dict[Entry, list[Node]],
        specs: Specs,
    ) -> None:
        self._candidates, self._specs = candidates, specs
        #: {node: why its outputs are stored}
        self.stored: dict[Node, str] = {}
        self._readers: dict[Entry, list[Node]] = {}
        for node in graph:
            for entry in dict.fromkeys(node.inputs):
                self._readers.setdefault(entry, []).append(node)
        for entry, nodes in backward.items():
            self._readers.setdefault(entry, []).extend(nodes)
        self._outputs = set(graph.outputs)

    def region(self, nodes: Sequence[Node]) -> None:
        """Trim one region, from its inputs, until nothing more is better stored."""
        undecided = dict.fromkeys(nodes)
        while group := self._better_stored(list(undecided)):
            for node in group:
                del undecided[node]

    def _better_stored(self, undecided: list[Node]) -> list[Node]:
        frontier = [node for node in undecided if self._at_hand(node)]
        edge = set(frontier)
        for group in _sharing(frontier):
            inputs = dict.fromkeys(e for node in group for e in node.inputs)
            kept = [e for e in inputs if e.node.op is not None]
            freed = [e for e in kept if self._only_for(e, edge)]
            new = [e for e in kept if not self._only_for(e, edge)]
            outs = [e for node in group for e in self._outs(node)]
            inside, outside = self._bytes(freed), self._bytes(new) + self._bytes(outs)
            if freed and inside >= outside:
                why = (
                    f"storing it takes {outside} bytes, storing what it is computed "
                    f"from {inside}."
                )
                self.stored |= dict.fromkeys(group, why)
                return group
        return []

    def _at_hand(self, node: Node) -> bool:
        """Whether all that a node is computed from is stored."""
        return all(
            entry.node not in self._candidates or entry.node in self.stored
            for entry in node.inputs
        )

    def _only_for(self, entry: Entry, edge: set[Node]) -> bool:
        if entry in self._outputs:
            return False
        return all(reader in edge for reader in self._readers[entry])

    def _outs(self, node: Node) -> list[Entry]:
        assert node.op is not None
        slots = range(node.op.visible)
        return [e for e in (Entry(node, k) for k in slots) if e in self._readers]

    def _bytes(self, entries: Iterable[Entry]) -> int:
        return sum(self._specs[entry].nbytes for entry in entries)


def _sharing(frontier: Sequence[Node]) -> list[list[Node]]:
    """Groups of nodes that read a value in common, directly or through others."""
    region = {node: [node] for node in frontier}
    readers: dict[Entry, Node] = {}
    for node in frontier:
        for entry in node.inputs:
            if entry.node.op is not None:
                _join(region, node, readers.setdefault(entry, node))
    return list({id(nodes): nodes for nodes in region.values()}.values())
