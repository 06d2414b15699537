"""Dividing a graph into colours: nodes of one colour cannot run at the same time.

Results of different colours share no storage, workspaces of different colours neither;
so nodes of different colours never wait for each other on account of memory alone.
"""

from __future__ import annotations

from collections.abc import Collection

from minimx.core.graph.values.ir import Graph, Node


def colours(
    graph: Graph, count: int, important: Collection[Node] | None = None
) -> dict[Node, int]:
    """A colour from 0 to count - 1 for every node.

    Each colour but the last is a path: the one with the most nodes that have no colour
    yet. All others get the last colour, although some of them might run in parallel.
    important: the nodes that count; by default all operators. MXNet's
    `ColorNodeGroup` (`src/nnvm/graph_algorithm.h`).
    """
    if important is None:
        important = [node for node in graph if node.op is not None]
    left = set(important)
    found: dict[Node, int] = {}
    colour = 0
    while colour < count - 1 and left:
        for node in longest_path(graph, left):
            if node in left:
                found[node] = colour
        left.difference_update(found)
        colour += 1
    return {node: found.get(node, colour) for node in graph}


def longest_path(graph: Graph, important: Collection[Node]) -> list[Node]:
    """The path with the most important nodes, from inputs towards outputs.

    Of equal ones, the one that starts last in the order of the graph.
    """
    best = dict.fromkeys(graph.nodes, 0)
    following: dict[Node, Node | None] = dict.fromkeys(graph.nodes)
    longest, start = 0, None
    for node in reversed(graph.nodes):
        best[node] += node in important
        if best[node] > longest:
            longest, start = best[node], node
        for entry in node.inputs:
            if best[node] > best[entry.node]:
                best[entry.node], following[entry.node] = best[node], node
    path: list[Node] = []
    while start is not None:
        path.append(start)
        start = following[start]
    return path
