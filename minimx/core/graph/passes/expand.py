"""Operators that are functions of other operators, replaced by what they come to.

`_npi_std` is a mean, a difference and a root; which ones depends on the shape and the
element type that it meets. So a graph keeps it as one node, under the name that MXNet
reads, until the specs of its inputs are known. Then its `expansion` is asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from minimx.core.graph.values.ir import Entry, Graph, Node, outputs_of, rewritten
from minimx.core.graph.values.specs import plan_of
from minimx.core.ops.spec import Spec


def expanded(graph: Graph, variables: Mapping[Node, Spec]) -> Graph:
    """The graph without operators that have an expansion, where specs allow.

    variables: a spec for each variable. What depends on an operator whose result
    cannot be planned ahead stays as it is.
    """
    if all(node.op is None or node.op.expansion is None for node in graph):
        return graph
    specs = {Entry(node): spec for node, spec in variables.items()}

    def learn(node: Node) -> None:
        if node.op is None or any(entry not in specs for entry in node.inputs):
            return
        plan = plan_of(node, specs)
        if plan.eager is None:
            specs.update({Entry(node, k): spec for k, spec in enumerate(plan.outs)})

    def change(node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry] | None:
        if node.op is None:
            return None
        if node.op.expansion is None or any(entry not in specs for entry in inputs):
            kept_node = node if inputs == node.inputs else node.with_inputs(inputs)
            learn(kept_node)
            return outputs_of(kept_node)
        inside, fed = node.op.expansion(tuple([specs[entry] for entry in inputs]))
        found = _spliced(inside, dict(zip(fed, inputs, strict=True)), node)
        for part in Graph(found):
            if Entry(part) not in specs:
                learn(part)
        return found

    return rewritten(graph, change)


def _spliced(inside: Graph, given: Mapping[Node, Entry], node: Node) -> list[Entry]:
    """The outputs of a graph whose variables are entries of another one.

    Its nodes work for the layer of `node` and have its remarks; the last has its name.
    """
    last = {entry.node for entry in inside.outputs}
    alone = len(last) == 1

    def change(part: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry]:
        if part in given:
            return [given[part]]
        own = alone and part in last
        name = node.name if own else f"{node.name}_{part.name}"
        return outputs_of(
            Node(
                part.op,
                inputs,
                name,
                node.attrs,
                part.explicit,
                node.layer,
                node.forward,
            )
        )

    return list(rewritten(inside, change).outputs)
