"""The one pipeline: from a graph as it was written to all that a program must know.

    prepared = prepare(graph, specs, wanted, training=True, settings=Settings.now())
    for passed in prepared.passes:
        print(passed)

What is done to a graph, in this order, and the field of `Settings` that switches it:

    resolve      settings that wait for shapes or for the mode
    partition    a backend replaces patterns of nodes            subgraph_backend
    gradient     the backward half is appended, where gradients
                 are wanted; a mirror policy says which values
                 it computes a second time                       backward_do_mirror
    share        common sub-expressions are computed once        eliminate_common_expr
    eliminate    nodes without effect go, constants are folded   node_elimination
    gather       what oneDNN computes is one operator, on a CPU   convolution
    fuse         pointwise operators become one kernel           use_fusion
    plan         every result gets a place in memory             enable_inplace, …
    segments     nodes are joined into operations of the engine  bulk_exec_train, …

Pure: the same graph, specs and settings give the same result for an executor, a
hybridized block, or a view that shows what another setting would do.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from minimx.core.errors import GradientError, OperatorError
from minimx.core.extensions import provided
from minimx.core.graph.memory.memory import MemoryPlan, plan_memory
from minimx.core.graph.passes.cse import share
from minimx.core.graph.passes.expand import expanded
from minimx.core.graph.passes.gradient import Training, differentiate
from minimx.core.graph.passes.mirror import chosen
from minimx.core.graph.passes.partition import backend_named, partition
from minimx.core.graph.passes.report import Passed
from minimx.core.graph.passes.simplify import eliminate, fold_constants
from minimx.core.graph.running.bulk import Segment, limits, segments
from minimx.core.graph.running.run import as_run
from minimx.core.graph.running.settings import Settings
from minimx.core.graph.values.infer import resolved
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.graph.values.specs import Specs, every_spec, plan_of
from minimx.core.ops.spec import Spec

Nodes = tuple[Node, ...]


@dataclass(frozen=True)
class Prepared:
    """A graph, ready to be run.

    graph: forward and backward half in one; its outputs are `heads` forward outputs
        (MXNet's name for the outputs of a graph), then one gradient for each of
        `wanted`.
    variables: in the order of the caller. wanted: those whose gradients are computed.
    head_grads: for each forward output the variable that holds its gradient.
    external: the entries whose arrays the caller brings, in the order of a program's
        `env`: variables, head gradients, outputs and gradients. All others are in the
        arena.
    specs, plan: shape and element type of every entry, and where it lies.
    forward, backward: the nodes in the order in which they run, by operations of the
        engine; those of `plan.skips` among them have nothing to do.
    passes: what each pass changed, in their order. settings: the knobs it was made for.
    flows: for which outputs backward takes a gradient.
    """

    graph: Graph
    heads: int
    variables: Nodes
    wanted: Nodes
    head_grads: Nodes
    external: tuple[Entry, ...]
    specs: Specs
    plan: MemoryPlan
    forward: tuple[Segment, ...]
    backward: tuple[Segment, ...]
    passes: tuple[Passed, ...]
    settings: Settings
    flows: tuple[bool, ...]

    @property
    def outputs(self) -> tuple[Entry, ...]:
        """The forward outputs."""
        return self.graph.outputs[: self.heads]

    @property
    def gradients(self) -> tuple[Entry, ...]:
        """The gradients of `wanted`."""
        return self.graph.outputs[self.heads :]


class Unplanned(OperatorError):
    """A graph holds what cannot be planned ahead; it is run operator by operator."""


def prepare(
    graph: Graph,
    variables: Mapping[Node, Spec],
    wanted: Sequence[Node] = (),
    *,
    training: bool = False,
    settings: Settings | None = None,
    sizes: tuple[int | None, int | None] | None = None,
    flows: tuple[bool, ...] | None = None,
    kind: str = "cpu",
) -> Prepared:
    """Run all passes over a graph.

    variables: a spec for each, in the order of the caller's arrays. wanted: those whose
    gradients are computed. training: whether operators such as dropout act as in
    training. settings: the knobs; by default at their defaults. sizes: the most nodes
    of a segment, forward and backward (None: all of a half); by default as `settings`
    say. flows: which outputs have a gradient, if not all do. kind: of the device,
    "cpu", "cuda" or "gpu". Raises `Unplanned` where a result cannot be planned ahead,
    ShapeError or DTypeError where an operator refuses what it gets.
    """
    settings = settings or Settings()
    graph = _resolved(graph, variables, training)
    passes: list[Passed] = []
    if backend_named(settings.subgraph_backend) is not None:
        learns = training or bool(wanted)
        passes.append(partition(graph, settings.subgraph_backend, learns))
        graph = passes[0].after
    specs, heads = _all_specs(graph, variables), len(graph.outputs)
    head_grads: Nodes = ()
    clones = frozenset[Node]()
    if wanted:
        made = _differentiated(graph, wanted, specs, settings, flows)
        passes.append(made.passed)
        graph, specs, clones = made.graph, made.specs, made.clones
        head_grads = made.head_grads
    for simplify in _simplifications(heads, clones, settings, training, kind):
        passed = simplify(graph, specs)
        passes.append(passed)
        graph, specs = passed.after, _carried(passed, specs)
    outside = [*map(Entry, variables), *map(Entry, head_grads), *graph.outputs]
    external = tuple(dict.fromkeys(outside))
    graph, forward = _forward_first(graph, heads)
    plan = plan_memory(graph, specs, external, settings, kind=kind)
    halves = _segments(graph, sizes or limits(settings, training), forward, plan)
    return Prepared(
        graph=graph,
        heads=heads,
        variables=tuple(variables),
        wanted=tuple(wanted),
        head_grads=head_grads,
        external=external,
        specs=specs,
        plan=plan,
        forward=halves[True],
        backward=halves[False],
        passes=tuple(passes),
        settings=settings,
        flows=flows or (True,) * heads,
    )


def _resolved(graph: Graph, variables: Mapping[Node, Spec], training: bool) -> Graph:
    """The graph with the settings that depend on shapes and on the mode of running."""
    if any(node.op is not None and node.op.unresolved for node in graph):
        graph = resolved(graph, {node.name: spec for node, spec in variables.items()})
    return as_run(expanded(graph, variables), training)


def _all_specs(graph: Graph, variables: Mapping[Node, Spec]) -> Specs:
    specs = every_spec(graph, variables)
    if any(entry not in specs for entry in graph.outputs):
        raise _unplanned(graph, specs)
    return specs


def _differentiated(
    graph: Graph,
    wanted: Sequence[Node],
    specs: Specs,
    settings: Settings,
    flows: Sequence[bool] | None,
) -> Training:
    cap = settings.inplace_grad_sum_cap
    try:
        keep = chosen(graph, wanted, specs, settings)
        return differentiate(graph, wanted, specs, keep, cap, flows)
    except GradientError as error:
        # The gradient may never be computed; if it is, the tape raises its own error.
        raise Unplanned(str(error)) from error


def _simplifications(
    heads: int, clones: Collection[Node], settings: Settings, training: bool, kind: str
) -> Iterator[Callable[[Graph, Specs], Passed]]:
    """The passes that leave less to compute, in their order.

    clones: nodes that compute a value a second time on purpose. kind: of the device.
    """
    if settings.eliminate_common_expr:
        # A clone must not be merged with the node that it repeats.
        yield lambda graph, specs: share(graph, [n for n in graph if n not in clones])
    if settings.node_elimination:
        yield lambda graph, specs: eliminate(graph, specs, training)
        yield fold_constants
    if kind == "cpu":
        yield from provided("oneDNN regions").passes()
    if settings.use_fusion:
        fuse, least = provided("fusion").fuse, settings.fusion_least
        yield lambda graph, specs: fuse(graph, specs, _forward(graph, heads), least)


def _carried(passed: Passed, specs: Specs) -> Specs:
    """The specs of all entries after a pass, those of new nodes too."""
    found = passed.carried(specs)
    for node in passed.after:
        if node.op is not None and Entry(node) not in found:
            outs = enumerate(plan_of(node, found).outs)
            found |= {Entry(node, slot): spec for slot, spec in outs}
    return found


def _forward_first(graph: Graph, heads: int) -> tuple[Graph, set[Node]]:
    """The graph in the order in which it runs, and the nodes of its forward half."""
    forward = _forward(graph, heads)
    backward = (node for node in graph if node not in forward)
    order = (*(node for node in graph if node in forward), *backward)
    return Graph(graph.outputs, order), forward


def _segments(
    graph: Graph,
    sizes: tuple[int | None, int | None],
    forward: Collection[Node],
    plan: MemoryPlan,
) -> dict[bool, tuple[Segment, ...]]:
    """The segments of the forward half (True) and of the backward half (False).

    Those in which nothing is computed are left out.
    """
    found = [
        s for s in segments(graph, *sizes, forward) if not plan.skips >= {*s.nodes}
    ]
    return {
        half: tuple(s for s in found if (s.nodes[0] in forward) is half)
        for half in (True, False)
    }


def _forward(graph: Graph, heads: int) -> set[Node]:
    """The nodes of the forward half: what the first `heads` outputs need."""
    return set(Graph(graph.outputs[:heads]).nodes)


def _unplanned(graph: Graph, specs: Specs) -> Unplanned:
    first = next(node for node in graph if Entry(node) not in specs)
    return Unplanned(f"{first!r} cannot be planned ahead")
