"""What monitors see of a backward pass, in MXNet 1.9.1's names and order.

    steps = backward_steps(graph, wanted)
    [name for step in steps for name in step.names]
    # ["softmax_backward_output0", "softmax_backward_output1", "fc_backward_output0", …]

There the backward pass is a graph too: for most operators one node, which computes the
gradients of all inputs; where several gradients meet a node `sum_grad`; for the
gradient of an output a node `_head_grad_0_id`. It runs depth first, from the gradients
that are asked for. Here is no such graph when a monitor watches, only a tape; so this
file writes down how it would look.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.knobs import knobs
from minimx.operators.mxnet_names import gradients


@dataclass(eq=False)
class Step:
    """A node of the backward pass.

    kind: "head" (the gradient of an output), "rule" (what an operator's rule gives),
        "sum" or "zeros" (where no gradient comes).
    about: the number of the output; the operator's node; the entry whose gradient it is
    names: of what it gives, where they are known.
    places: of a rule, the inputs whose gradients these are.
    upto: of a sum, how many gradients are in it.
    is_zero: nothing is computed, and no sum has it in it.
    ends: the places in `names` that are the whole gradient of a variable, which it is.
    """

    kind: str
    about: Any
    names: tuple[str, ...]
    needs: tuple[Step, ...] = ()
    places: tuple[int, ...] = ()
    upto: int = 0
    is_zero: bool = False
    ends: dict[int, Node] = field(default_factory=dict)


#: One of the things that a step gives.
_Given = tuple[Step, int]


def backward_steps(graph: Graph, wanted: Sequence[Node]) -> list[Step]:
    """The steps that gradients of some variables take, in order.

    wanted: the variables with gradients, in the order of the graph's arguments.
    """
    arrived: dict[Entry, list[_Given]] = {}
    for k, entry in enumerate(graph.outputs):
        head = Step("head", k, (f"_head_grad_{k}_id_output",))
        arrived.setdefault(entry, []).append((head, 0))
    for node in reversed(graph.nodes):
        if node.op is None:
            continue
        outs = [Entry(node, k) for k in range(node.visible)]
        douts = [_total(entry, arrived.get(entry, [])) for entry in outs]
        for place, given in _given_by(node, douts):
            arrived.setdefault(node.inputs[place], []).append(given)
    ends: list[_Given] = []
    for variable in wanted:
        entry = Entry(variable)
        given = step, index = _total(entry, arrived.get(entry, []))
        if (copies := ends.count(given)) > 0:  # it is another variable's as well
            name = re.sub(r"_output\d*$", f"_{copies}_copy_output", step.names[index])
            step, index = Step("sum", entry, (name,), (step,), upto=1), 0
        step.ends[index] = variable
        ends += [given] if not copies else [given, (step, 0)]
    return _depth_first([step for step, _ in ends])


def _total(entry: Entry, given: Sequence[_Given]) -> _Given:
    """The sum of what comes to an entry, without what is zero."""
    if not given:
        return Step("zeros", entry, ("zeros_without_dtype_output",)), 0
    given = [one for one in given if not one[0].is_zero] or given[:1]
    if len(given) == 1:
        return given[0]
    steps = tuple(step for step, _ in given)
    count = len(steps)
    if count < knobs.get("MXNET_EXEC_INPLACE_GRAD_SUM_CAP"):
        return Step("sum", entry, ("sum_grad_output",), steps, upto=count), 0
    so_far = steps[0]
    for k, step in enumerate(steps[1:], 1):
        # A rule that only this sum asks adds in place, and no monitor sees the sum.
        silent = step.kind == "rule" and given.count(given[k]) == 1
        names = () if silent else (f"sum_grad_{k}_output",)
        so_far = Step("sum", entry, names, (so_far, step), upto=k + 1)
    return Step("sum", entry, ("sum_grad_final_output",), (so_far,), upto=count), 0


def _given_by(node: Node, douts: Sequence[_Given]) -> list[tuple[int, _Given]]:
    """What comes to the inputs of a node, by place."""
    assert node.op is not None
    states = node.states()
    places = [k for k, entry in enumerate(node.inputs) if entry not in states]
    needs = tuple(step for step, _ in douts)
    is_zero = all(step.is_zero for step in needs)
    found: list[tuple[int, _Given]] = []
    nodes = gradients(node.op, node.name, places, is_zero)
    for names, at, asks, nothing in nodes:
        needed = needs if asks else ()
        step = Step("rule", node, names, needed, at, is_zero=nothing)
        found += [(place, (step, k)) for k, place in enumerate(at)]
    return found if nodes else [(place, douts[0]) for place in places]


def _depth_first(ends: Sequence[Step]) -> list[Step]:
    """Every step once, each after those that it needs."""
    found: dict[Step, None] = {}
    waiting = [(step, False) for step in reversed(ends)]
    while waiting:
        step, ready = waiting.pop()
        if ready:
            found[step] = None
        elif step not in found:
            waiting.append((step, True))
            waiting += [(one, False) for one in reversed(step.needs)]
    return list(found)
