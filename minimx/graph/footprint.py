"""How much memory the inner arrays of a graph take, when it runs node by node.

An array lives from the node that makes it to the last one that reads it; what gradients
need lives to the end. Arguments, states and outputs are not counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minimx.graph.infer import infer
from minimx.graph.ir import Entry, Graph, Node


def peak_bytes(
    graph: Graph,
    arguments: Mapping[str, Any],
    states: Mapping[str, Any],
    wanted: set[str],
) -> int:
    """The most bytes that are needed at once, forward.

    arguments, states: the bound arrays; wanted: whose gradients are to be computed.
    """
    bound = {**arguments, **states}
    found = infer(
        graph,
        {name: array.shape for name, array in bound.items()},
        {name: array.spec.dtype for name, array in bound.items()},
    )
    kept = saved_entries(graph, wanted) | set(graph.outputs)
    last = {e: place for place, n in enumerate(graph.nodes) for e in n.inputs}
    now = most = 0
    for place, node in enumerate(graph.nodes):
        if node.op is None:
            continue
        now += sum(_size(found, Entry(node, k)) for k in range(node.visible))
        most = max(most, now)
        for entry in set(node.inputs):
            if last[entry] == place and entry not in kept and entry.node.op is not None:
                now -= _size(found, entry)
    return most


def _size(found: Any, entry: Entry) -> int:
    spec = found.spec(entry)
    return 0 if spec is None else spec.nbytes


def saved_entries(graph: Graph, wanted: set[str]) -> set[Entry]:
    """What gradients ask to keep, for nodes between wanted arguments and outputs."""
    leads = {node for node in graph.arguments if node.name in wanted}
    for node in graph:
        fed = any(entry.node in leads for entry in node.inputs)
        if fed and node.op is not None and node.op.differentiable:
            leads.add(node)
    needed: set[Node] = set()
    waiting = [entry.node for entry in graph.outputs if entry.node in leads]
    while waiting:
        node = waiting.pop()
        if node not in needed:
            needed.add(node)
            waiting += [e.node for e in node.inputs if e.node in leads]
    return {entry for node in needed for entry in _saved(node)}


def _saved(node: Node) -> list[Entry]:
    if node.op is None:
        return []
    found = []
    for word in node.op.saves:
        if word.startswith("out") and (word[3:].isdigit() or word == "out"):
            index = int(word[3:] or 0)
            found += [Entry(node, index)] if index < node.visible else []
        else:
            found.append(node.inputs[node.op.inputs.index(word)])
    return found
