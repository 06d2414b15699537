"""The gradient of a graph, as nodes: forward and backward half in one graph.

    training = differentiate(graph, wanted, specs)
    training.graph.outputs    # those of the graph, then a gradient for each variable

For y = exp(x) * x, with the gradient of x wanted:

    e = exp(x)
    y = elemwise_mul(e, x)                             # the forward half ends here
    y_backward = _backward_elemwise_mul_lhs(dy, x)     # dy * x: the gradient of e
    y_backward2 = _backward_elemwise_mul_rhs(dy, e)    # dy * e: a gradient of x
    e_backward = _backward_exp(y_backward, e)          # another one of x
    x_grad_sum = add_n(y_backward2, e_backward)        # the gradient of x

dy is a new variable, the head gradient of y. The order is that of the tape
(`minimx.core.autograd.walk`): from the last node to the first, by the operators' own
rules (`Op.grad`), and what arrives at one entry is summed in the order of arrival. So
the numbers are the tape's, to the bit. The rules compute with traced values
(`minimx.core.graph.values.traced`), which write nodes down. A mirror policy
(`minimx.core.graph.passes.mirror`) says of which values they read clones: nodes that
compute a value of the forward half a second time.

The nodes of the backward half run in the order in which the rules made them. It is
MXNet's pass `Gradient` (`src/nnvm/gradient.cc`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from minimx.core.dtypes import FLOAT16
from minimx.core.errors import GradientError
from minimx.core.graph.memory.inplace import ignored
from minimx.core.graph.passes.recompute import Clones, Keep, value_named
from minimx.core.graph.passes.report import Change, Passed
from minimx.core.graph.values.infer import has_own
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.graph.values.specs import Specs
from minimx.core.graph.values.traced import Traced, Writer
from minimx.core.ops.registry import GradContext, Op, bind, lookup
from minimx.core.ops.spec import Spec

#: The remark of a node that is not to be fused with others: there it would wait for
#: what they wait for.
ALONE = {"__alone__": "True"}


@dataclass(frozen=True)
class Training:
    """A graph that computes outputs, and gradients from the gradients of the outputs.

    graph: its outputs are the `heads` forward outputs, then a gradient for each wanted
        variable, in the order of `wanted`; its `order` is that in which it should run.
    head_grads: for each forward output the variable that holds its gradient. One that
        no gradient depends on is no part of the graph.
    forward: the nodes of the forward half, variables included.
    specs: of all entries of the graph.
    zeros: the wanted variables to which no gradient flows; their gradient is zeros.
    source: for each node of the backward half, the forward node that it belongs to.
    clones: the nodes that compute something a second time. They look like the nodes
        whose copies they are, and must not be merged with them.
    before: the graph without gradients. changes: what was decided, for views.
    """

    graph: Graph
    heads: int
    head_grads: tuple[Node, ...]
    forward: frozenset[Node]
    specs: Specs
    zeros: frozenset[Node]
    source: Mapping[Node, Node]
    clones: frozenset[Node]
    before: Graph
    changes: tuple[Change, ...] = ()

    @property
    def passed(self) -> Passed:
        """The pass as `prepare` lists it: the graph before and after, and changes."""
        return Passed("gradient", self.before, self.graph, self.changes)

    @property
    def external(self) -> tuple[Entry, ...]:
        """The entries in memory of the caller: variables, outputs and gradients."""
        given = [Entry(node) for node in self.graph.variables]
        return tuple(dict.fromkeys([*given, *self.graph.outputs]))

    @property
    def gradients(self) -> tuple[Entry, ...]:
        """The outputs that are gradients."""
        return self.graph.outputs[self.heads :]


def differentiate(
    graph: Graph,
    wanted: Sequence[Node],
    specs: Specs,
    keep: Keep | None = None,
    cap: int = 8,
    flows: Sequence[bool] | None = None,
    writing: type[Writer] = Writer,
) -> Training:
    """The graph with the gradients of some of its variables.

    wanted: variables; one that the graph does not have gets zeros.
    specs: of all entries, the hidden ones too (`every_spec`), and of the wanted
        variables. Settings such as `training` must be resolved (`run.as_run`).
    keep: which values backward finds kept, and which it computes a second time; by
        default all are kept.
    cap: so many gradients of one entry, or more, are added one by one, fewer by one
        `add_n` (MXNET_EXEC_INPLACE_GRAD_SUM_CAP). The sum is the same; of float16
        numbers, which `add_n` adds in single precision, it is not, and they are always
        added by one.
    flows: which outputs have a gradient, if not all do.
    writing: makes the nodes, and knows what comes out of them.
    Raises GradientError where a gradient would flow through an operator without one, or
    through shapes that are not known.
    """
    for node in wanted:
        if node.op is not None:
            raise GradientError(
                f"{node!r} is no variable: gradients are asked for variables. Make the "
                "outputs of this node a variable of a graph of its own."
            )
    writer = writing(specs, [node.name for node in graph])
    builder = _GradientBuilder(graph, wanted, writer, keep or Keep(), cap)
    head_grads = tuple(
        builder.start(entry, flows is None or flows[number])
        for number, entry in enumerate(graph.outputs)
    )
    builder.run()
    entries = [builder.gradient_of(node) for node in wanted]
    builder.source |= {clone: node for node, clone in builder.clones.made.items()}
    return Training(
        Graph([*graph.outputs, *entries], [*graph.nodes, *builder.order()]),
        len(graph.outputs),
        head_grads,
        frozenset(graph.nodes),
        builder.writer.specs,
        frozenset(builder.zeros),
        builder.source,
        frozenset(builder.clones.made.values()),
        graph,
        (*builder.policy_changes(), *builder.changes),
    )


def read_by_gradients(
    graph: Graph, wanted: Sequence[Node], specs: Specs
) -> dict[Entry, list[Node]]:
    """For each value of the forward half, the nodes of the backward half that read it.

    As it is when everything is kept. Variables are left out: they stay anyway.
    """
    training = differentiate(graph, wanted, specs)
    found: dict[Entry, list[Node]] = {}
    for node in training.graph:
        if node in training.forward:
            continue
        unread = ignored(node.op, len(node.inputs)) if node.op else ()
        read = [e for k, e in enumerate(node.inputs) if k not in unread]
        for entry in dict.fromkeys(read):
            if entry.node in training.forward and entry.node.op is not None:
                found.setdefault(entry, []).append(node)
    return found


@dataclass
class _Arrived:
    """The gradients of an entry so far, and how many nodes were made before each."""

    values: list[Traced] = field(default_factory=list)
    when: list[int] = field(default_factory=list)


class _GradientBuilder:
    """Makes the backward half of a graph, from its outputs to its variables.

    writer: makes the nodes. clones: makes those that compute a value a second time.
    arrived: the gradients of each entry that are not summed yet.
    """

    def __init__(
        self, graph: Graph, wanted: Sequence[Node], writer: Writer, keep: Keep, cap: int
    ) -> None:
        self.graph, self.keep, self.cap, self.writer = graph, keep, cap, writer
        self.clones = Clones(graph, keep, self.writer)
        self.arrived: dict[Entry, _Arrived] = {}
        #: Nodes that a gradient has reached, be it one of zeros.
        self.reached: set[Node] = set()
        self.needs_grad = _needing_gradients(graph, wanted)
        self.source: dict[Node, Node] = {}
        self.zeros: list[Node] = []
        self.changes: list[Change] = []
        # Nodes that add gradients one by one run as soon as their operands are there:
        # for each, how many other nodes come before it.
        self._early: dict[Node, int] = {}

    def start(self, entry: Entry, flows: bool) -> Node:
        """A new variable for the gradient of an output; flows: whether it has one."""
        node = Node(None, (), self.writer.unused(f"{entry.name}_head_grad"))
        if entry.node in self.needs_grad:
            spec = self.writer.specs.get(entry)
            if spec is None:
                raise _unplanned(entry.node)
            self.writer.specs[Entry(node)] = spec
            flows = flows and _differentiable(entry.node)
            self.add(entry, self.writer.value(Entry(node)) if flows else None)
        return node

    def add(self, entry: Entry, gradient: Traced | None) -> None:
        """Note a gradient; None is one of zeros, which is not computed."""
        self.reached.add(entry.node)
        if gradient is not None:
            arrived = self.arrived.setdefault(entry, _Arrived())
            arrived.values.append(gradient)
            arrived.when.append(len(self.writer.made))

    def run(self) -> None:
        """Apply the rules, from the last node to the first."""
        for node in reversed(self.graph.nodes):
            if node.op is None or node not in self.reached:
                continue
            first = len(self.writer.made)
            with self.writer.about(node, f"{node.name}_backward"):
                self._step(node, node.op)
            self.source |= dict.fromkeys(self.writer.made[first:], node)

    def _step(self, node: Node, op: Op) -> None:
        """Sum what has arrived at a node, and hand it on to its inputs."""
        douts = [self.total(Entry(node, k)) for k in range(node.visible)]
        needs = [entry.node in self.needs_grad for entry in node.inputs]
        found: Sequence[Traced | None] = [None] * len(needs)
        if _differentiable(node) and any(dout is not None for dout in douts):
            found = self._apply_rule(node, op, douts, needs)
        for entry, needed, gradient in zip(node.inputs, needs, found, strict=True):
            if needed:
                self.add(entry, gradient)

    def _apply_rule(
        self, node: Node, op: Op, douts: Sequence[Traced | None], needs: list[bool]
    ) -> Sequence[Traced | None]:
        """The gradients of a node's inputs, by the rule of its operator.

        douts: the gradients of its outputs, None for zeros. needs: which inputs lead
        back to a wanted variable; the others get None.
        """
        specs = self.writer.specs
        if Entry(node) not in specs or any(e not in specs for e in node.inputs):
            raise _unplanned(node)
        if not has_own(op, "grad"):
            raise GradientError(
                f"{node.name}: {op.name} has no gradient, and one is asked for of what "
                "it is computed from. Put stop_gradient (BlockGrad) behind it, or give "
                "the variables before it grad_req='null'."
            )
        wants = tuple(
            needed and _differentiable(entry.node)
            for needed, entry in zip(needs, node.inputs, strict=True)
        )
        at = GradContext(tuple(specs[e] for e in node.inputs), self._outs(node), wants)
        read = self.clones.reader(node)
        saved = [self.writer.value(read(value_named(node, name))) for name in op.saves]
        example = next(dout for dout in douts if dout is not None)
        full = [
            example._zeros_like_spec(at.outs[k]) if dout is None else dout
            for k, dout in enumerate(douts)
        ]
        found = op.grad(at, tuple(full) if op.visible > 1 else full[0], *saved)
        return [
            gradient if want else None
            for gradient, want in zip(found, wants, strict=False)
        ]

    def _outs(self, node: Node) -> tuple[Spec, ...]:
        outs: list[Spec] = []
        while (spec := self.writer.specs.get(Entry(node, len(outs)))) is not None:
            outs.append(spec)
        return tuple(outs)

    # -- sums -------------------------------------------------------------------------

    def total(self, entry: Entry) -> Traced | None:
        """The sum of what has arrived at an entry; None where nothing has."""
        arrived = self.arrived.pop(entry, None)
        if arrived is None:
            return None
        first, *others = arrived.values
        if not others:
            return first
        with self.writer.about(entry.node, f"{entry.name}_grad_sum"):
            if len(arrived.values) < self.cap or first.spec.dtype == FLOAT16:
                return bind(lookup("add_n").of(), *arrived.values)  # type: ignore[no-any-return]
            return self._add_one_by_one(entry, arrived)

    def _add_one_by_one(self, entry: Entry, arrived: _Arrived) -> Traced:
        """The sum of gradients, each added as soon as it is there."""
        total = arrived.values[0].entry
        add = lookup("_grad_add").of()
        for value, when in zip(arrived.values[1:], arrived.when[1:], strict=True):
            node = self.writer.apply(add, (total, value.entry), ALONE)
            self._early[node] = when
            total = Entry(node)
        count = len(arrived.values)
        self.changes.append(
            Change(
                "folded",
                (entry.node.name,),
                f"{count} gradients arrive, and the cap is {self.cap}: they are added "
                "one by one, so that they need not all be there at once.",
            )
        )
        return self.writer.value(total)

    def gradient_of(self, node: Node) -> Entry:
        """The gradient of a wanted variable, or zeros."""
        entry, first = Entry(node), len(self.writer.made)
        found = self.total(entry)
        if found is None:
            self.zeros.append(node)
            spec = self.writer.specs[entry]
            op = lookup("_zeros").of(shape=spec.shape, dtype=spec.dtype.name)
            with self.writer.about(node, f"{node.name}_grad"):
                made = self.writer.apply(op, ())
            found = self.writer.value(Entry(made))
        self.source |= dict.fromkeys(self.writer.made[first:], node)
        self.arrived[entry] = _Arrived([found], [0])  # it may be wanted twice
        return found.entry

    def policy_changes(self) -> list[Change]:
        """What the mirror policy decided, but for clones that no gradient has read."""
        made = {node.name for node in self.clones.made}
        return [
            change
            for change in self.keep.changes
            if change.rule != "recomputed" or change.nodes[0] in made
        ]

    def order(self) -> list[Node]:
        """The nodes of the backward half as they are to run."""
        keys = {node: (number, 1) for number, node in enumerate(self.writer.made)}
        keys |= {node: (when, 0) for node, when in self._early.items()}
        return sorted(self.writer.made, key=keys.__getitem__)


def _differentiable(node: Node) -> bool:
    """Whether gradients flow through a node, or end in it, a variable."""
    return node.op is None or node.op.differentiable


def _needing_gradients(graph: Graph, wanted: Sequence[Node]) -> frozenset[Node]:
    """The wanted variables, and the nodes that are computed from them."""
    found = set(wanted)
    for node in graph:
        if any(entry.node in found for entry in node.inputs):
            found.add(node)
    return frozenset(found)


def _unplanned(node: Node) -> GradientError:
    what = "a variable" if node.op is None else node.op.name
    return GradientError(
        f"{node.name}: the shapes around {what} are not known before it runs, so that "
        "its gradient has no place in a graph. Compute with autograd instead, without "
        "hybridizing."
    )
