"""The training graph of a symbol as MXNet 1.9.1 builds it, for its planner's numbers.

Its backward operators are not ours: one `_backward_FullyConnected` computes all three
gradients, and the gradient of tanh reads input and output. Only what a planner sees is
written down here: inputs, outputs, what may share memory, what is ignored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from minimx.core.graph.memory.memory import MemoryPlan, plan_memory
from minimx.core.graph.running.settings import Settings
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.ops.registry import Op
from minimx.core.ops.spec import Spec
from tests.core.graph.nets import specs_of


class Told(Op):
    """An operator of which only the outside is known."""

    name = "told"
    # Its facts are no settings, so each is an operator of its own.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __init__(self, count: int, outs: Sequence[Spec], **facts: Any) -> None:
        super().__post_init__()
        facts["inputs"] = tuple(f"in{k}" for k in range(count))
        self.outs = tuple(outs)
        self.__dict__.update(facts)
        self.__dict__["visible"] = len(outs)

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        return self.outs


#: What MXNet declares: (which of the gradients, inputs and outputs a backward operator
#: takes, its pairs in their order).
BACKWARD: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "FullyConnected": (("dout", "in0", "in1"), {"out": "in1"}),
    "Convolution": (("dout", "in0", "in1"), {}),
    "Activation": (("dout", "out", "in0"), {"out": "in0"}),
    "relu": (("dout", "out"), {"out": "in0"}),
    "sin": (("dout", "in0"), {"out": ("in0", "in1")}),
    "BatchNorm": (("dout", "out1", "out2", "in0", "in1", "in2", "in3", "in4"), {}),
}


def training(graph: Graph, specs: Mapping[Entry, Spec]) -> tuple[Graph, Any]:
    """Forward and backward in one graph, and the specs of all entries."""
    found = dict(specs)
    (head,) = graph.outputs
    dhead = Entry(Node(None, (), "head_grad"))
    found[dhead] = specs[head]

    def node(name: str, inputs: list[Entry], outs: list[Spec], **facts: Any) -> Node:
        made = Node(Told(len(inputs), outs, **facts), inputs, name)
        found.update({Entry(made, k): spec for k, spec in enumerate(outs)})
        return made

    like = node(
        "like", [dhead, head], [specs[head]], unchanged={"out": "in0"}, ignores=("in1",)
    )
    arrived: dict[Entry, list[Entry]] = {head: [Entry(like)]}

    def gradient(entry: Entry) -> Entry:
        parts = arrived[entry]
        if len(parts) == 1:
            return parts[0]
        return Entry(node("sum", parts, [specs[entry]], inplace={"out": "in0"}))

    states = {entry for n in graph for entry in n.states()}
    for forward in reversed(graph.nodes):
        if forward.op is None:
            continue
        dout = gradient(Entry(forward))
        if forward.op.name == "add_n":
            for entry in forward.inputs:
                arrived.setdefault(entry, []).append(dout)
            continue
        kind = forward.op.name
        if kind == "Activation" and forward.op.settings["act_type"] == "relu":
            kind = "relu"
        words, inplace = BACKWARD[kind]
        known = {"dout": dout, "out": Entry(forward)}
        known |= {f"out{k}": Entry(forward, k) for k in (1, 2)}
        known |= {f"in{k}": entry for k, entry in enumerate(forward.inputs)}
        wanted = [entry for entry in forward.inputs if entry not in states]
        back = node(
            f"{forward.name}_backward",
            [known[word] for word in words],
            [specs[entry] for entry in wanted],
            inplace=inplace,
        )
        for place, entry in enumerate(wanted):
            arrived.setdefault(entry, []).append(Entry(back, place))
    grads = [gradient(Entry(variable)) for variable in graph.arguments]
    return Graph([head, *grads]), found


def plan_as_mxnet(symbol: Any, settings: Settings, shape: Any) -> MemoryPlan:
    """The plan of the training graph that MXNet builds.

    The output is in planned memory there; gradients have arrays of their own.
    """
    specs = specs_of(symbol.graph, data=shape)
    graph, found = training(symbol.graph, specs)
    return plan_memory(graph, found, graph.outputs[1:], settings)
