"""Two graphs as one: which nodes a pass kept, rewired, changed, added and removed.

A pass makes new nodes wherever an input changed, so most nodes of the second graph are
strangers to the first. They are known again by name and operator, as a reader would.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass

from minimx.core.graph.passes.report import Change, Passed
from minimx.core.graph.values.ir import Graph, Node

STATES = ("kept", "rewired", "changed", "added", "removed")


@dataclass(frozen=True)
class Part:
    """A node of one graph or of both.

    state: one of `STATES`. decided: the changes that are about it, by number.
    """

    before: Node | None
    after: Node | None
    state: str
    decided: tuple[int, ...]

    @property
    def node(self) -> Node:
        """The node to show: the later one, if there is one."""
        found = self.after or self.before
        assert found is not None
        return found


@dataclass(frozen=True)
class Diff:
    """All nodes and edges of two graphs; an edge is (from, to, state)."""

    parts: tuple[Part, ...]
    edges: tuple[tuple[int, int, str], ...]

    def count(self, state: str) -> int:
        """How many nodes are in a state."""
        return sum(part.state == state for part in self.parts)


def compare(passed: Passed) -> Diff:
    """The graphs before and after a pass as one, with the changes at their nodes."""
    same = _matches(passed.before, passed.after)
    back = {after: before for before, after in same.items()}
    pairs: list[tuple[Node | None, Node | None]] = []
    pairs += [(node, same.get(node)) for node in passed.before]
    pairs += [(None, node) for node in passed.after if node not in back]
    place: dict[Node, int] = {}
    for k, pair in enumerate(pairs):
        place.update({node: k for node in pair if node is not None})
    old, new = _edges(passed.before, place), _edges(passed.after, place)
    about = _about(passed.changes)
    parts = []
    for before, after in pairs:
        name = (after or before).name  # type: ignore[union-attr]
        state = _state(before, after, place)
        parts.append(Part(before, after, state, tuple(about.get(name, ()))))
    kinds = {edge: "kept" if edge in new else "removed" for edge in old}
    kinds |= {edge: "added" for edge in new if edge not in old}
    return Diff(tuple(parts), tuple((a, b, kind) for (a, b), kind in kinds.items()))


def _matches(before: Graph, after: Graph) -> dict[Node, Node]:
    """Nodes of the first graph and what became of them in the second."""
    same = {node: node for node in set(before.nodes) & set(after.nodes)}
    known: dict[tuple[str, str], deque[Node]] = defaultdict(deque)
    for node in after:
        if node not in same:
            known[_key(node)].append(node)
    for node in before:
        if node not in same and known[_key(node)]:
            same[node] = known[_key(node)].popleft()
    return same


def _key(node: Node) -> tuple[str, str]:
    return node.name, "" if node.op is None else node.op.name


def _state(before: Node | None, after: Node | None, place: dict[Node, int]) -> str:
    if before is None:
        return "added"
    if after is None:
        return "removed"
    if before.op is not after.op and before.op != after.op:
        return "changed"
    old = [(place[entry.node], entry.slot) for entry in before.inputs]
    new = [(place[entry.node], entry.slot) for entry in after.inputs]
    return "kept" if old == new else "rewired"


def _edges(graph: Graph, place: dict[Node, int]) -> dict[tuple[int, int], None]:
    """The edges between parts, each once, in the order of the graph."""
    return {
        (place[entry.node], place[node]): None
        for node in graph
        for entry in node.inputs
    }


def _about(changes: Sequence[Change]) -> dict[str, list[int]]:
    """Which changes are about the nodes of a name."""
    found: dict[str, list[int]] = {}
    for number, change in enumerate(changes):
        for name in dict.fromkeys(change.nodes):
            found.setdefault(name, []).append(number)
    return found
