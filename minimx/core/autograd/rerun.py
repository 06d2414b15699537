"""Gradients of a call that is one node on the tape, by running it again in pieces.

A cached op is one node, and its backward is not recorded. To differentiate that again
(`create_graph`), the forward is run once more, call by call, and what was recorded of
it is walked back, recorded as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minimx.core.autograd.modes import state
from minimx.core.autograd.tape import TapeNode
from minimx.core.autograd.walk import Pending, run_backward, sum_of, walking
from minimx.core.ops.registry import GradContext, Op, Value


def gradients_through(
    forward: Callable[[Sequence[Value]], Sequence[Value]],
    inputs: Sequence[Value],
    douts: Sequence[Value | None],
    wants: Sequence[bool],
) -> list[Value | None]:
    """Gradients through a function, recorded down to its inputs.

    forward(inputs): computes the function with operators. inputs: its arrays; douts:
    the gradients of its outputs, None where none arrives. wants: for which inputs a
    gradient is returned; the others get None. For the `grad` of an operator.
    """
    cuts: dict[int, TapeNode] = {}
    values = [x._alias() for x in inputs]
    for k, (x, value) in enumerate(zip(inputs, values, strict=True)):
        if wants[k] and x._entry is not None:
            spec = (x.spec,)
            cuts[k] = TapeNode(_SubgraphInput(), [x._entry], spec, spec, [], 0)
            value._entry = (cuts[k], 0)
    heads = list(forward(values))
    pairs = [
        (head, dout)
        for head, dout in zip(heads, douts, strict=True)
        if head._entry is not None and dout is not None
    ]
    pending = Pending(retain=True, stops=list(cuts.values()))
    with walking(state.training, create_graph=True):
        run_backward([h for h, _ in pairs], [d for _, d in pairs], pending, True)
    found: list[Value | None] = [None] * len(values)
    for k, cut in cuts.items():
        lists = pending.arrived.get(cut)
        found[k] = sum_of(lists[0]) if lists else None
    return found


class _SubgraphInput(Op):
    """An input of a part of the tape: the walk of that part ends here."""

    name = "_subgraph_input"

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Sequence[Value | None]:
        """The gradient as it comes."""
        return [dout]
