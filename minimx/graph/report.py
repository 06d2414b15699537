"""What a pass did to a graph, and why: the account that views draw."""

from __future__ import annotations

from dataclasses import dataclass

from minimx.graph.ir import Graph


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
    """A graph before and after a pass, with every decision on the way."""

    name: str
    before: Graph
    after: Graph
    changes: tuple[Change, ...] = ()

    def __str__(self) -> str:
        size = f"{len(self.before)} → {len(self.after)} nodes"
        return "\n".join([f"{self.name}: {size}", *map(str, self.changes)])
