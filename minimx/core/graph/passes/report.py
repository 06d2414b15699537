"""What a pass did to a graph, and why: the account that views draw."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from minimx.core.graph.values.ir import Entry, Graph, NewEntries, Node
from minimx.core.graph.values.specs import Specs
from minimx.core.ops.spec import Spec


@dataclass(frozen=True)
class Change:
    """One decision of a pass.

    rule: a word or two that name it, such as `merged` or `kept`.
    nodes: the names of the nodes it is about; the one that stays comes first.
    reason: one sentence, in the present tense.
    """

    rule: str
    nodes: tuple[str, ...]
    reason: str

    def __str__(self) -> str:
        return f"{self.rule} {', '.join(self.nodes)}: {self.reason}"


@dataclass(frozen=True)
class Passed:
    """A graph before and after a pass, with every decision on the way.

    moved: for each node of `before`, which entries of `after` its outputs are; a node
    that is not in it is gone. Empty if every node is the same in both.
    """

    name: str
    before: Graph
    after: Graph
    changes: tuple[Change, ...] = ()
    moved: NewEntries = field(default_factory=dict, repr=False)

    def carried(self, specs: Specs) -> dict[Entry, Spec]:
        """The specs of `before`, by the entries of `after` that they became.

        New entries have none; `prepare` completes them.
        """
        if not self.moved:
            return dict(specs)
        found = {}
        for (node, slot), spec in specs.items():
            outs = self.moved.get(node, ())
            try:
                found[outs[slot]] = spec
            except IndexError:  # an output that is not read any more
                continue
        for was, now in zip(self.before.outputs, self.after.outputs, strict=True):
            if now not in found and was in specs:  # replaced by a new node
                found[now] = specs[was]
        return found

    def followed(self, nodes: Collection[Node]) -> frozenset[Node]:
        """The nodes of `after` that compute what these nodes of `before` did."""
        if not self.moved:
            return frozenset(nodes)
        entries = [self.moved.get(node, ()) for node in nodes]
        return frozenset([entry.node for outs in entries for entry in outs])

    def __str__(self) -> str:
        size = f"{len(self.before)} → {len(self.after)} nodes"
        return "\n".join([f"{self.name}: {size}", *map(str, self.changes)])
