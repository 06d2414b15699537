"""Backends: who replaces patterns of a graph by operators of their own.

    register_backend("MINE", match, replace)
    passed = partition(graph, "MINE")

match(node, users) -> nodes
    The pattern that ends with `node`: these nodes are to be replaced, `node` the last
    of them; or None. users: for each node, those that read an output of it.
replace(nodes, inputs) -> node
    The node that replaces them. inputs: for each entry that the pattern reads from
    outside, the entry of the new graph.

Later nodes are tried first, so that a long pattern wins over its beginning. A pattern
is only replaced if no other node reads what is inside it. MXNet calls such a backend a
subgraph property (`SubgraphProperty`).

The backend MINIMX is in `minimx.graphs.folding`, ONEDNN in `onednn_backends` beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from minimx.core.errors import ArgumentError, did_you_mean
from minimx.core.graph.passes.report import Change, Passed
from minimx.core.graph.values.ir import Entry, Graph, Node, outputs_of, retraced
from minimx.core.knobs import knobs

Users = Mapping[Node, Sequence[Node]]
Match = Callable[[Node, Users], Sequence[Node] | None]
Replace = Callable[[Sequence[Node], Mapping[Entry, Entry]], Node]


@dataclass(frozen=True)
class Backend:
    """A registered backend. training: whether its operators have gradients."""

    name: str
    match: Match
    replace: Replace
    training: bool = False


BACKENDS: dict[str, Backend] = {}

#: Backends of MXNet that are libraries which minimx does not contain.
_FOREIGN = ("TENSORRT",)


def register_backend(
    name: str, match: Match, replace: Replace, training: bool = False
) -> Backend:
    """Enter a backend under a name, which counts in any letter case.

    match, replace: see above. training: whether its operators have gradients; if not,
    graphs for training are left as they are. Raises ArgumentError if the name is taken.
    """
    key = name.upper()
    if key in BACKENDS or key in ("", "NONE"):
        raise ArgumentError(
            f"the backend {name!r} is there already. Choose another name, or take it "
            "out of minimx.core.graph.passes.partition.BACKENDS first."
        )
    made = BACKENDS[key] = Backend(name, match, replace, training)
    return made


def backend_named(name: str) -> Backend | None:
    """The backend of that name; None for NONE. Raises ArgumentError for others."""
    key = name.upper()
    if key in ("", "NONE"):
        return None
    found = BACKENDS.get(key)
    if found is not None:
        return found
    offered = ", ".join(sorted(backend.name for backend in BACKENDS.values()))
    if key in _FOREIGN:
        raise ArgumentError(
            f"the backend {name!r} is a library that is not built into minimx. Folding "
            f"of convolutions and normalizations is done by one of: {offered}."
        )
    hint = did_you_mean(name, [backend.name for backend in BACKENDS.values()])
    raise ArgumentError(
        f"there is no backend {name!r}; there are: {offered}, and NONE.{hint}"
    )


def partition(graph: Graph, backend: str, training: bool = False) -> Passed:
    """The graph with the patterns of a backend replaced.

    training: gradients will be taken, or statistics of the batch are wanted; backends
    for prediction then replace nothing. Raises ArgumentError for an unknown backend.
    """
    chosen = backend_named(backend)
    if chosen is None:
        return Passed("partition", graph, graph)
    if training and not chosen.training:
        why = f"{chosen.name} is for prediction"
        return Passed("partition", graph, graph, (Change("kept", (), why),))
    return _Partition(graph, chosen).passed()


class _Partition:
    """A graph on its way through a backend."""

    def __init__(self, graph: Graph, backend: Backend) -> None:
        self.graph = graph
        self.backend = backend
        self.users: dict[Node, list[Node]] = {node: [] for node in graph}
        for node in graph:
            for source in dict.fromkeys(entry.node for entry in node.inputs):
                self.users[source].append(node)
        self.heads = {entry.node for entry in graph.outputs}
        self.changes: list[Change] = []
        #: The patterns, by their last nodes.
        self.found: dict[Node, Sequence[Node]] = {}

    def passed(self) -> Passed:
        """Look for patterns from the last node to the first, then rewrite."""
        claimed: set[Node] = set()
        for node in reversed(self.graph.nodes):
            if node.op is None or node in claimed:
                continue
            nodes = self.backend.match(node, self.users)
            if nodes is not None and self._free(nodes, claimed):
                self.found[node] = nodes
                claimed.update(nodes)
        made: dict[Node, Sequence[Entry]] = {}

        def change(node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry] | None:
            made[node] = outputs_of(
                node if inputs == node.inputs else node.with_inputs(inputs)
            )
            nodes = self.found.get(node)
            if nodes is not None:
                made[node] = outputs_of(self._replaced(nodes, made))
            return made[node]

        after, places = retraced(self.graph, change)
        return Passed("partition", self.graph, after, tuple(self.changes), places)

    def _free(self, nodes: Sequence[Node], claimed: set[Node]) -> bool:
        """Whether only the last node of a pattern is needed outside."""
        inside, last = set(nodes), nodes[-1]
        if inside & claimed:
            return False
        for node in nodes:
            others = [user for user in self.users[node] if user not in inside]
            if node is not last and (others or node in self.heads):
                who = others[0].name if others else "the caller"
                reason = f"{who} needs {node.name} as well"
                names = tuple(n.name for n in nodes)
                self.changes.append(Change("kept", names, reason))
                return False
        return True

    def _replaced(
        self, nodes: Sequence[Node], made: Mapping[Node, Sequence[Entry]]
    ) -> Node:
        inside = set(nodes)
        inputs = {
            entry: made[entry.node][entry.slot]
            for node in nodes
            for entry in node.inputs
            if entry.node not in inside
        }
        new = self.backend.replace(nodes, inputs)
        names = (new.name, *(node.name for node in nodes))
        reason = f"{self.backend.name} has {' and '.join(_titles(nodes))} in one"
        self.changes.append(Change("replaced", names, reason))
        return new


def _titles(nodes: Sequence[Node]) -> list[str]:
    return [node.op.name for node in nodes if node.op is not None]


def print_summary(passes: Sequence[Passed], backend: str) -> None:
    """Print what a backend has replaced, if MXNET_SUBGRAPH_VERBOSE is on.

    passes: those of a graph, of which only the backend's are printed, one line each.
    """
    if backend_named(backend) is None or not knobs.get("MXNET_SUBGRAPH_VERBOSE"):
        return
    for passed in passes:
        count = sum(change.rule == "replaced" for change in passed.changes)
        size = f"{len(passed.before)} nodes became {len(passed.after)}"
        if passed.name == "partition":
            print(f"Subgraph backend {backend} is activated: {count} patterns, {size}.")
