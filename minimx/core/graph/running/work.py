"""Whose work a segment is: operator by operator, so that records can tell.

A segment runs as one operation of the engine, and a fused operator as one loop. What
each of the operators inside would be asked about, its layer and its cost, is settled
here, once, when a program is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from minimx.core.engine.costs import Part
from minimx.core.graph.values.specs import plan_of

if TYPE_CHECKING:
    from minimx.core.graph.running.program import Step


def parts_of(steps: Sequence[Step]) -> tuple[Part, ...]:
    """The operators inside of some steps, in order; none if there is only one."""
    found = [part for step in steps for part in _of(step)]
    return tuple(found) if len(found) > 1 else ()


def _of(step: Step) -> Iterator[Part]:
    """A step's operators. Those of a fused one share the bytes that its loop moves.

    Each gets as much of them as it would have moved alone, in proportion.
    """
    op: Any = step.node.op
    cost = step.cost
    if not op.operators:
        yield Part(step.name, step.node.layer, cost.flops, cost.bytes_moved, cost.dtype)
        return
    nodes = op.operators
    alone = [plan_of(node, op.known).cost for node in nodes]
    wanted = max(sum(each.bytes_moved for each in alone), 1)
    reached = accumulate((each.bytes_moved for each in alone), initial=0)
    shares = pairwise(cost.bytes_moved * upto // wanted for upto in reached)
    for node, each, (start, end) in zip(nodes, alone, shares, strict=True):
        layer = node.layer or step.node.layer
        name = node.op.name if node.op else ""
        yield Part(name, layer, each.flops, end - start, each.dtype)
