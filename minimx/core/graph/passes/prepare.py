"""The one pipeline: from a graph as it was written to all that a program must know.

    prepared = prepare(graph, specs, wanted, training=True, settings=Settings.now())
    for passed in prepared.passes:
        print(passed)

Pure: the same graph, specs and settings give the same result for an
executor, a hybridized block, or a view that shows what another setting would do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
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

    graph: forward and backward in one; its outputs are the `heads` forward outputs,
        then one gradient for each of `wanted`.
    variables: in the order of the caller. wanted: those whose gradients are computed.
    head_grads: for each forward output the variable that holds its gradient.
    external: the entries that are not in the arena, in the order of a program's `env`.
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

    variables: a spec for each, in the order in which the caller will give the arrays.
    wanted: those whose gradients are asked for. training: what operators such as
    dropout are to do. sizes: how many nodes forward and backward are joined into one
    operation of the engine; None joins all of a half, and without it the settings say.
    flows: which outputs have a gradient, if not all do. kind: of the device.
    Raises `Unplanned` where an operator's result cannot be planned ahead.
    """
    settings = settings or Settings()
    graph = _decided(graph, variables, training)
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
    for step in _simplified(graph, specs, heads, clones, settings, training):
        passes.append(step)
        graph, specs = step.after, _carried(step, specs)
    external = dict.fromkeys(
        [*map(Entry, variables), *map(Entry, head_grads), *graph.outputs]
    )
    graph, ahead = _forward_first(graph, heads)
    plan = plan_memory(graph, specs, external, settings, kind=kind)
    sizes = limits(settings, training) if sizes is None else sizes
    joined = [s for s in segments(graph, *sizes, ahead) if not plan.skips >= {*s.nodes}]
    return Prepared(
        graph=graph,
        heads=heads,
        variables=tuple(variables),
        wanted=tuple(wanted),
        head_grads=head_grads,
        external=tuple(external),
        specs=specs,
        plan=plan,
        forward=tuple(s for s in joined if s.nodes[0] in ahead),
        backward=tuple(s for s in joined if s.nodes[0] not in ahead),
        passes=tuple(passes),
        settings=settings,
        flows=flows or (True,) * heads,
    )


def _decided(graph: Graph, variables: Mapping[Node, Spec], training: bool) -> Graph:
    """The graph with all settings that shapes and the mode of running decide."""
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
        # It may never be asked for; the tape will tell if it is.
        raise Unplanned(str(error)) from error


def _simplified(
    graph: Graph,
    specs: Specs,
    heads: int,
    clones: Collection[Node],
    settings: Settings,
    training: bool,
) -> Iterator[Passed]:
    """The passes that leave less to do, one after the other."""

    def done(passed: Passed) -> Passed:
        nonlocal graph, specs
        graph, specs = passed.after, _carried(passed, specs)
        return passed

    if settings.eliminate_common_expr:
        # What is computed again on purpose must not be merged with the first time.
        yield done(share(graph, [node for node in graph if node not in clones]))
    if settings.node_elimination:
        yield done(eliminate(graph, specs, training))
        yield done(fold_constants(graph, specs))
    if settings.use_fusion:
        fuse = provided("fusion").fuse
        yield done(fuse(graph, specs, _ahead(graph, heads), settings.fusion_least))


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
    ahead = _ahead(graph, heads)
    order = (*(n for n in graph if n in ahead), *(n for n in graph if n not in ahead))
    return Graph(graph.outputs, order), ahead


def _ahead(graph: Graph, heads: int) -> set[Node]:
    """The nodes of the forward half."""
    return set(Graph(graph.outputs[:heads]).nodes)


def _unplanned(graph: Graph, specs: Specs) -> Unplanned:
    first = next(node for node in graph if Entry(node) not in specs)
    return Unplanned(f"{first!r} cannot be planned ahead")
