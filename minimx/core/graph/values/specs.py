"""The spec of every entry of a graph whose variables are known, hidden ones included.

    specs = every_spec(graph, {x: Spec.of((32, 784), FLOAT32)})
    specs[Entry(node)].shape

`infer` (`infer.py`) finds shapes from a few known ones, in any direction. Passes come
later, when the specs of all variables are known; they take specs from the operators'
plans, which know hidden outputs as well.
"""

from __future__ import annotations

from collections.abc import Mapping

from minimx.core.errors import DTypeError, ShapeError
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.ops.registry import Plan
from minimx.core.ops.spec import Spec

Specs = Mapping[Entry, Spec]


def plan_of(node: Node, specs: Specs, kind: str = "cpu") -> Plan:
    """The plan of an operator's node for what goes into it, on a kind of device.

    Raises ShapeError or DTypeError, with the name of a node that does not accept it.
    """
    assert node.op is not None
    try:
        op = node.op.for_device(kind) if node.op.for_device else node.op
        return op.plan(tuple([specs[entry] for entry in node.inputs]))
    except (ShapeError, DTypeError) as reason:
        raise type(reason)(f"{node.name}: {reason}") from None


def every_spec(graph: Graph, variables: Mapping[Node, Spec]) -> dict[Entry, Spec]:
    """The specs of all outputs of all nodes.

    variables: a spec for each variable of the graph. Operators whose result cannot be
    planned (`Plan.eager`) have no specs, nor has what depends on them. Raises
    ShapeError or DTypeError where an operator does not accept what it gets.
    """
    found: dict[Entry, Spec] = {Entry(node): spec for node, spec in variables.items()}
    for node in graph:
        if node.op is None or any(entry not in found for entry in node.inputs):
            continue
        plan = plan_of(node, found)
        if plan.eager is None:
            found |= {Entry(node, slot): spec for slot, spec in enumerate(plan.outs)}
    return found
