"""The graph: nodes that name an operator and where its inputs come from.

    Node     a variable (`op` is None), or one use of an operator
    Entry    one output of one node
    Graph    some entries, and with them all that they are computed from

The graph of y = exp(x) + x, with two operators and one variable:

    x = Node(None, (), "x")
    e = Node(lookup("exp").of(), [Entry(x)], "e")
    y = Node(lookup("elemwise_add").of(), [Entry(e), Entry(x)], "y")
    Graph([Entry(y)]).nodes            # (x, e, y): each after its inputs

So edges lead from a node back to its inputs, as in MXNet's `nnvm::Graph`. Nothing
points from a node to those that read it; a pass that needs them walks over all nodes.

Operator, inputs and name of a node never change; for another graph there are new
nodes (`rewritten`). `attrs` are remarks as text, such as `__lr_mult__`, which do not
change what is computed; they may be added later, and every graph with that node sees
them, as in MXNet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import count
from typing import Any, NamedTuple

from minimx.core.errors import OperatorError
from minimx.core.events import attribution
from minimx.core.ops.registry import Op

_numbers = count()


class Node:
    """A variable, or one use of an operator; equal only to itself.

    attrs: remarks, see above. explicit: settings that were given although they are at
        their defaults; a graph that is written as text shows them too.
    layer: the path of the layer that it works for, such as `lenet0/conv1`; by default
        the one that makes the node. forward: the name of the node whose gradient it
        is a part of, or which it computes a second time; else "".
    number: counts the nodes as they are made.
    """

    __slots__ = (
        "attrs", "explicit", "forward", "inputs", "layer", "name", "number", "op"
    )  # fmt: skip

    def __init__(
        self,
        op: Op | None,
        inputs: Sequence[Entry],
        name: str,
        attrs: Mapping[str, str] | None = None,
        explicit: Iterable[str] = (),
        layer: str | None = None,
        forward: str = "",
    ) -> None:
        self.op = op
        self.inputs = tuple(inputs)
        self.name = name
        self.attrs = dict(attrs or {})
        self.explicit = frozenset(explicit)
        self.layer = attribution.layer if layer is None else layer
        self.forward = forward
        self.number = next(_numbers)

    def with_inputs(self, inputs: Sequence[Entry]) -> Node:
        """A new node, the same but for its inputs."""
        return self.with_op(self.op, inputs)

    def with_op(self, op: Op | None, inputs: Sequence[Entry]) -> Node:
        """A new node, the same but for operator and inputs.

        It has the same name, a copy of the remarks, and a `number` of its own. op: None
        makes it a variable.
        """
        return Node(
            op,
            inputs,
            self.name,
            self.attrs,
            self.explicit,
            self.layer,
            self.forward,
        )

    @property
    def visible(self) -> int:
        """How many outputs a user sees; some operators have hidden ones behind them."""
        return 1 if self.op is None else self.op.visible

    def output_names(self) -> list[str]:
        """What its outputs are called: `fc1_output`; that of a variable as itself."""
        if self.op is None:
            return [self.name]
        named: Sequence[str] = self.op.output_names
        if not named:
            one = self.op.visible == 1
            named = ["output"] if one else [f"output{k}" for k in range(self.visible)]
        return [f"{self.name}_{output}" for output in named[: self.visible]]

    def states(self) -> list[Entry]:
        """The inputs that it changes, such as the running means of BatchNorm."""
        if self.op is None or not (wanted := self.op.state_inputs or self.op.mutates):
            return []
        named = zip(self.inputs, self.op.inputs, strict=True)
        return [entry for entry, name in named if name in wanted]

    def __repr__(self) -> str:
        kind = "variable" if self.op is None else self.op.name
        return f"<{kind} {self.name}>"


class Entry(NamedTuple):
    """One output of a node; slot: which one, from 0. Hidden ones come last."""

    node: Node
    slot: int = 0

    @property
    def name(self) -> str:
        """What the output is called."""
        return self.node.output_names()[self.slot]


class Graph:
    """What some entries are computed from.

    outputs: in the order of the caller; one may appear twice. order: the nodes, or some
    of them, in the order in which they are to run; what a node needs comes before it in
    any case. Nodes that no output needs are no part of the graph.
    """

    def __init__(self, outputs: Sequence[Entry], order: Iterable[Node] = ()) -> None:
        self.outputs = tuple(outputs)
        self.order = tuple(order)

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """Every node once, each after its inputs.

        In the order of a depth-first walk from the outputs, or as `order` says. Raises
        OperatorError where nodes need each other.
        """
        needed: dict[Node, None] = {}
        for entry in self.outputs:
            _visit(entry.node, needed)
        if not self.order:
            return tuple(needed)
        done: dict[Node, None] = {}
        for node in (*(n for n in self.order if n in needed), *needed):
            _visit(node, done)
        return tuple(done)

    def as_made(self) -> Graph:
        """The same graph, to run in the order in which its nodes were made."""
        return Graph(self.outputs, sorted(self.nodes, key=lambda node: node.number))

    @cached_property
    def variables(self) -> tuple[Node, ...]:
        """All variables: arguments and states."""
        return tuple(node for node in self.nodes if node.op is None)

    @cached_property
    def states(self) -> tuple[Node, ...]:
        """The variables that some node changes; MXNet's auxiliary states."""
        changed = {entry.node for node in self.nodes for entry in node.states()}
        return tuple(node for node in self.variables if node in changed)

    @cached_property
    def arguments(self) -> tuple[Node, ...]:
        """The variables that no node changes."""
        states = set(self.states)
        return tuple(node for node in self.variables if node not in states)

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)


def _visit(start: Node, done: dict[Node, None]) -> None:
    """Append a node to `done`, behind all that it needs: a depth-first walk.

    Without recursion, since graphs may be deeper than Python's stack.
    """
    waiting: list[tuple[Node, int]] = [(start, 0)]
    open_nodes: set[Node] = set()
    while waiting:
        node, position = waiting.pop()  # of the input that is next
        if position == 0:
            if node in done:
                continue
            if node in open_nodes:
                raise OperatorError(
                    f"the graph runs in a circle through {node!r}: its inputs need its "
                    "outputs. A graph must lead from variables to outputs."
                )
            open_nodes.add(node)
        if position < len(node.inputs):
            waiting.append((node, position + 1))
            waiting.append((node.inputs[position].node, 0))
        else:
            open_nodes.discard(node)
            done[node] = None


#: A rule for rewriting: (node, its inputs in the new graph) -> what replaces the node,
#: an entry for each of its outputs; or None to keep it (with its new inputs).
Change = Callable[[Node, tuple[Entry, ...]], Sequence[Entry] | None]
#: Where the outputs of each node of one graph are found in another.
NewEntries = Mapping[Node, Sequence[Entry]]


def rewritten(graph: Graph, change: Change) -> Graph:
    """The graph with some nodes replaced; what replaces a node runs in its turn.

    change: called for every node, inputs before those that read them. To replace `sin`
    by `cos`, with `cos = lookup("cos").of()`:

        def change(node, inputs):
            if node.op is None or node.op.name != "sin":
                return None
            return outputs_of(node.with_op(cos, inputs))
    """
    return retraced(graph, change)[0]


def retraced(graph: Graph, change: Change) -> tuple[Graph, NewEntries]:
    """The graph with some nodes replaced (`rewritten`), and where each node went.

    Where others read hidden outputs of a node, what replaces it needs entries for those
    too.
    """
    made: dict[Node, Sequence[Entry]] = {}

    def moved(entry: Entry) -> Entry:
        return made[entry.node][entry.slot]

    for node in graph:
        inputs = tuple(map(moved, node.inputs))
        outs = change(node, inputs)
        if outs is None:
            outs = outputs_of(
                node if inputs == node.inputs else node.with_inputs(inputs)
            )
        made[node] = outs
    order: list[Node] = []
    if graph.order:
        for node in graph:
            outs = made[node]
            if isinstance(outs, _Outputs):
                order.append(outs.node)
            else:
                order += [entry.node for entry in outs]
    return Graph([moved(entry) for entry in graph.outputs], order), made


def outputs_of(node: Node) -> Sequence[Entry]:
    """All visible outputs of a node; an index beyond them gives a hidden one."""
    return _Outputs(node)


class _Outputs(Sequence[Entry]):
    """See `outputs_of`."""

    def __init__(self, node: Node) -> None:
        self.node = node

    def __getitem__(self, index: Any) -> Any:
        return Entry(self.node, index)

    def __iter__(self) -> Iterator[Entry]:
        return (Entry(self.node, slot) for slot in range(len(self)))

    def __len__(self) -> int:
        return self.node.visible
