"""Common sub-expressions: equal parts of a graph are computed once.

    y = sin(x) * sin(x)    becomes    s = sin(x); y = s * s

Two nodes are equal if they apply the same operator, with the same settings and remarks,
to the same outputs of the same nodes. The later one gives way. Names do not count, and
variables are never equal: the same array may be given for two of them today and another
one tomorrow.

Never equal are operators that draw random numbers, that change an input, that keep a
state, or that are run by Python: two dropouts of one array are two dropouts.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence

from minimx.core.graph.passes.report import Change, Passed
from minimx.core.graph.values.ir import Entry, Graph, Node, outputs_of, retraced
from minimx.core.ops.registry import Op, lookup


def share(graph: Graph, among: Collection[Node] | None = None) -> Passed:
    """The graph with every value computed once.

    Nodes are taken in order, inputs first, so that equal inputs are one entry already
    when two nodes are compared. among: the nodes that may be merged; all by default. If
    two outputs of the graph become one, the later one gets a copy, so that they stay
    two arrays. MXNet's pass `EliminateCommonExpr`, MXNET_ELIMINATE_COMMON_EXPR.

    Applied before gradients are taken, as MXNet does, a merged node gets the sum of the
    gradients of its duplicates and passes it on once: the same number, but for the
    order in which it is rounded. Applied to forward and backward together, not a bit
    differs.
    """
    first: dict[Hashable, Node] = {}
    changes: list[Change] = []

    def change(node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry] | None:
        if not repeatable(node) or (among is not None and node not in among):
            return None
        key = (node.op, inputs, frozenset(node.attrs.items()))
        equal = first.get(key)
        if equal is None:
            equal = node if inputs == node.inputs else node.with_inputs(inputs)
            first[key] = equal
        else:
            changes.append(_merged(equal, node))
        return outputs_of(equal)

    after, moved = retraced(graph, change)
    after = _with_copies(graph, after, changes)
    return Passed("share", graph, after, tuple(changes), moved)


def repeatable(node: Node) -> bool:
    """Whether a second run on the same inputs gives the same and has no side effect."""
    return node.op is not None and bool(node.inputs) and pure(node.op)


def pure(op: Op) -> bool:
    """Whether all that an operator does is to compute its outputs from its inputs."""
    has_state = op.mutates or op.state_inputs or op.eager is not None
    return op.deterministic and not op.needs_rng and not has_state


def _merged(equal: Node, node: Node) -> Change:
    assert node.op is not None
    of = " and ".join(entry.name for entry in equal.inputs)
    reason = f"both are {node.op.name} of {of}"
    return Change("merged", (equal.name, node.name), reason)


def _with_copies(before: Graph, after: Graph, changes: list[Change]) -> Graph:
    """The graph with a copy for each output that has become another output."""
    count: dict[Entry, int] = {}
    origin: dict[Entry, Entry] = {}
    outputs = []
    for was, entry in zip(before.outputs, after.outputs, strict=True):
        if origin.setdefault(entry, was) == was:
            outputs.append(entry)
            continue
        number = count[entry] = count.get(entry, -1) + 1
        name = f"{entry.node.name}_{number}_copy"
        copy = Node(lookup("_copy").of(), [entry], name, layer=entry.node.layer)
        reason = f"{entry.name} is two outputs of the graph now"
        changes.append(Change("copied", (copy.name,), reason))
        outputs.append(Entry(copy))
    return Graph(outputs, after.order) if count else after
