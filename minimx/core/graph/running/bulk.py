"""Bulk segments: which nodes reach the engine as one operation.

    limits(settings, training=True)     # (15, 15)
    segments(graph, 15, 15)             # the nodes, 15 by 15

A segment is some nodes that follow each other in the order of the graph. It waits for
all inputs of its nodes, and its results are there when all of them have run: fewer
operations for the engine, less that can run at the same time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from minimx.core.graph.running.settings import Settings
from minimx.core.graph.values.ir import Node


class Segment(NamedTuple):
    """Nodes that are pushed as one. ended: why it does not go on."""

    nodes: tuple[Node, ...]
    ended: str

    @property
    def name(self) -> str:
        """What the engine calls it: its operators; in brackets if it may be several."""
        names = ",".join([node.op.name for node in self.nodes if node.op is not None])
        return f"[{names}]"


def limits(settings: Settings, training: bool) -> tuple[int | None, int | None]:
    """The most nodes of a segment, forward and backward; None is as many as there are.

    1 joins nothing. A graph that only predicts is one segment.
    """
    if not training:
        size = None if settings.bulk_exec_inference else 1
        return size, size
    if not settings.bulk_exec_train:
        return 1, 1
    return (
        max(1, settings.bulk_exec_max_node_train_fwd),
        max(1, settings.bulk_exec_max_node_train_bwd),
    )


def segments(
    nodes: Iterable[Node],
    forward_limit: int | None,
    backward_limit: int | None,
    forward: Collection[Node] | None = None,
    alone: Collection[Node] = (),
) -> tuple[Segment, ...]:
    """Cut the nodes of a graph, in its order, into segments; variables are left out.

    forward: the nodes of the forward pass, without it all; a segment never holds nodes
    of both. alone: those that cannot be joined, such as operators that Python runs,
    that are watched, or that are on another device.
    """
    found: list[Segment] = []
    run: list[Node] = []
    was_forward = True

    def end(why: str) -> None:
        if run:
            found.append(Segment(tuple(run), why))
            run.clear()

    for node in nodes:
        if node.op is None:
            continue
        is_forward = forward is None or node in forward
        if is_forward != was_forward:
            end("the backward pass begins" if was_forward else "forward nodes follow")
            was_forward = is_forward
        if node in alone:
            end(f"{node.name} cannot be joined")
            found.append(Segment((node,), "it cannot be joined"))
            continue
        run.append(node)
        limit = forward_limit if is_forward else backward_limit
        if limit is not None and len(run) >= max(1, limit):
            end(f"{limit} nodes are the most" if limit > 1 else "nothing is joined")
    end("the graph ends")
    return tuple(found)
