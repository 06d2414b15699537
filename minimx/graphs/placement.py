"""On which device each node of a graph runs, where groups of nodes were given devices.

with mx.AttrScope(ctx_group="front"):
    hidden = mx.sym.FullyConnected(data, num_hidden=64)
net.simple_bind(mx.cpu(), group2ctx={"front": mx.gpu(0)}, data=(32, 100))
"""

from __future__ import annotations

from collections.abc import Mapping

from minimx.core.device import Device
from minimx.core.graph.values.ir import Graph, Node


def placement(
    graph: Graph, groups: Mapping[str, Device], default: Device
) -> dict[Node, Device]:
    """The device of every node.

    An operator of no group runs where the first of its inputs with a device comes from,
    else on `default`; a variable of no group lies where it is used first.
    """
    found: dict[Node, Device] = {}
    for node in graph:
        own = groups.get(node.attrs.get("__ctx_group__", ""))
        if own is not None:
            found[node] = own
        elif node.op is not None:
            sources = (found.get(entry.node) for entry in node.inputs)
            found[node] = next((d for d in sources if d is not None), default)
    for node in graph:
        for entry in node.inputs:
            found.setdefault(entry.node, found[node])
    return {node: found.get(node, default) for node in graph}
