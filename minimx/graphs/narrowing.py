"""Variables that may have the two-byte type of a graph in mixed precision themselves.

    names = narrowable(converted, rules, parameters, every=True)
    graph = saying(converted, dict.fromkeys(names, dtype))

A parameter that all read in two bytes need not be converted again at every run:
it can be converted once, and be stored in half the memory.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from minimx.core.dtypes import DType, code_of, resolve
from minimx.core.graph.values.ir import Entry, Graph, Node, outputs_of, rewritten
from minimx.core.ops.casting import Rules, group
from minimx.operators.arrays.precision import AmpCast, AmpMulticast


def narrowable(
    graph: Graph, rules: Rules, free: Collection[str], every: bool
) -> set[str]:
    """The variables of which all readers want the type that the rules aim at.

    graph: with its conversions. free: the names to choose among. every: not only those
    that are converted because of a neighbour, as the weight of an operator is which
    computes in the type that comes. These can hardly be meant to be in float32.
    """
    target = resolve(rules.target)
    names = {node.name for node in graph.variables} & {*free}
    readers: dict[Entry, list[Node]] = {}
    for node in graph:
        for entry in node.inputs:
            readers.setdefault(entry, []).append(node)

    def follows(users: Sequence[Node]) -> bool:
        groups = {group(user.op, rules, user.name)[0] for user in users}
        return groups == {"either"}

    def wants(reader: Node) -> bool:
        if isinstance(reader.op, AmpMulticast):
            alone = all(
                e.node.op is None and e.node.name in free for e in reader.inputs
            )
            return every and alone
        if not isinstance(reader.op, AmpCast) or resolve(reader.op.dtype) != target:
            return False
        return every or follows(readers.get(Entry(reader), ()))

    return {
        node.name
        for node in graph.variables
        if node.name in names
        and (every or "__dtype__" not in node.attrs)
        and Entry(node) in readers
        and all(wants(reader) for reader in readers[Entry(node)])
    }


def saying(graph: Graph, dtypes: Mapping[str, DType]) -> Graph:
    """The graph with variables, by name, that say their types; the given one stays."""

    def change(node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry] | None:
        if node.op is not None or node.name not in dtypes:
            return None
        declared = node.with_inputs(())
        declared.attrs["__dtype__"] = str(code_of(dtypes[node.name]))
        return outputs_of(declared)

    return rewritten(graph, change)
