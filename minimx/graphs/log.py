"""What is printed of graphs when they are made ready to run, for those who ask for it.

MXNET_EXEC_VERBOSE_LOGGING       the nodes with what goes in and comes out
MXNET_MEM_PLAN_VERBOSE_LOGGING   the memory plan with its reasons
"""

from __future__ import annotations

from collections.abc import Iterator

from minimx.core.graph.memory.memory import MemoryPlan
from minimx.core.graph.values.ir import Entry, Graph
from minimx.core.graph.values.specs import Specs
from minimx.core.knobs import knobs
from minimx.graphs.memory_reasons import name_of, size_of


def announce(graph: Graph, specs: Specs, plan: MemoryPlan | None = None) -> None:
    """Print what the knobs ask for."""
    if knobs.get("MXNET_EXEC_VERBOSE_LOGGING"):
        print("\n".join(nodes(graph, specs)))
    if plan is not None and knobs.get("MXNET_MEM_PLAN_VERBOSE_LOGGING"):
        print(plan, end="")


def nodes(graph: Graph, specs: Specs) -> Iterator[str]:
    """The nodes of a graph in their order, a line for each input and output."""
    for number, node in enumerate(graph.nodes):
        if node.op is None:
            yield f"node {number} {node.name}: variable"
            continue
        yield f"node {number} {node.name}: {node.op.name}"
        for entry in node.inputs:
            yield f"  input {_described(entry, specs)}"
        slot = 0
        while (entry := Entry(node, slot)) in specs or slot < node.visible:
            yield f"  output {_described(entry, specs)}"
            slot += 1


def _described(entry: Entry, specs: Specs) -> str:
    spec = specs.get(entry)
    if spec is None:
        return f"{name_of(entry)}: not known beforehand"
    return f"{name_of(entry)}: {spec} ({size_of(spec.nbytes)})"
