"""A decision as words on the nodes: whoever reads them decides the same."""

from __future__ import annotations

import pytest

import minimx as mx
from minimx.core.graph.memory.memory import plan_memory
from minimx.core.graph.passes.gradient import differentiate
from minimx.core.graph.passes.mirror import POLICIES, chosen
from minimx.core.graph.passes.mirror_rule import forced, marked
from minimx.core.graph.running.run import as_run
from minimx.core.graph.running.settings import Settings
from minimx.core.graph.values.specs import every_spec
from tests.core.graph.nets import convolutions, variables_of


@pytest.mark.parametrize("policy", POLICIES)
def test_what_nodes_say_is_what_the_policy_decided(policy: str) -> None:
    graph = as_run(convolutions().graph, training=True)
    variables = variables_of(graph, data=(2, 16, 16, 16))
    specs, wanted = every_spec(graph, variables), graph.arguments
    keep = POLICIES[policy](graph, wanted, specs, Settings())
    told = marked(graph, keep)
    assert told.variables == graph.variables
    assert {n.name for n in told if forced(n)} == {n.name for n in keep.recompute}
    assert not any(forced(n) for n in graph), "the graph itself says nothing"

    again = every_spec(told, variables)
    rule = "remap" if keep.remap else "1.x"
    read = chosen(told, wanted, again, Settings(mirror=rule))
    assert {n.name for n in read.recompute} == {n.name for n in keep.recompute}
    plans = [
        plan_memory(made.graph, made.specs, made.external, Settings())
        for made in (
            differentiate(graph, wanted, specs, keep),
            differentiate(told, wanted, again, read),
        )
    ]
    assert plans[0].total == plans[1].total


def test_what_was_said_before_is_overruled() -> None:
    x = mx.sym.var("x")
    y = mx.sym.sin(mx.sym.sin(x, name="a", attr={"force_mirroring": "True"}), name="b")
    graph = y.graph
    b = next(node for node in graph if node.name == "b")
    told = marked(graph, POLICIES["1.x"](graph, (), {}, Settings()))
    assert [forced(n) for n in told if n.op] == [False, False], "it has no plan"
    specs = every_spec(graph, variables_of(graph, x=(2, 2)))
    everything = POLICIES["1.x"](graph, graph.variables, specs, Settings())
    assert b in everything.recompute
    assert all(forced(n) for n in marked(graph, everything) if n.op)
