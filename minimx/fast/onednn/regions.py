"""Regions of a graph for prediction that oneDNN computes as one operator each.

    gather(graph, specs)      the graph with a node for each region
    Region                    the operator: chains of nodes, see `chains`

Inside of a region values stay in the layouts that oneDNN chose, and what follows a
convolution is computed before its results are stored. A convolution is in a region
where the choice of algorithms falls on oneDNN anyway. How the library shares the sums
of a dense layer among threads is its own affair, so MXNET_ENFORCE_DETERMINISM=1 leaves
dense layers out; all else has the same bits with any number of threads. Graphs with a
backward half are left alone, as are graphs on GPUs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

from minimx.core.errors import MXNetError
from minimx.core.graph.passes.report import Change, Passed
from minimx.core.graph.values.ir import Graph, Node
from minimx.core.graph.values.specs import Specs
from minimx.core.kernels.threads import count
from minimx.core.knobs import knobs
from minimx.core.ops.registry import Kernel
from minimx.core.ops.spec import Cost, Spec
from minimx.fast.fusion.fused_operator import FusedOp
from minimx.fast.fusion.groups import Contraction
from minimx.fast.onednn.chains import gathered, step
from minimx.fast.onednn.library import aligned, loaded, primitives
from minimx.fast.onednn.network import FORCE_FC_AB_FORMAT, Network

_FIRST = ("Convolution", "FullyConnected", "_sg_mkldnn_conv")


def passes() -> Iterator[Callable[[Graph, Specs], Passed]]:
    """The pass, where oneDNN is wanted and there."""
    if knobs.get("MXNET_ONEDNN_ENABLED") and loaded() is not None:
        yield gather


def gather(graph: Graph, specs: Specs) -> Passed:
    """The graph with each region as one node. specs: those of all entries."""
    learns = any(node.forward for node in graph)
    if learns or not any(n.op is not None and n.op.name in _FIRST for n in graph):
        return Passed("gather", graph, graph)
    steps = {node: word for node in graph if (word := step(node, specs))}
    regions = gathered(graph.nodes, steps, graph.outputs)
    after, contracted = graph, Contraction(graph, specs, regions, Region)
    while regions:
        after = contracted.graph()
        known = [nodes for nodes in regions if _is_known(contracted.node(nodes))]
        if len(known) == len(regions):
            break
        regions, contracted = known, Contraction(graph, specs, known, Region)
    if not regions:
        return Passed("gather", graph, graph)
    changes = [
        Change(
            "gathered",
            (contracted.node(nodes).name, *(node.name for node in nodes)),
            f"oneDNN computes these {len(nodes)} operators in layouts of its own",
        )
        for nodes in regions
    ]
    return Passed("gather", graph, after, tuple(changes), contracted.made)


def _is_known(node: Node) -> bool:
    """Whether oneDNN has primitives for all of a region."""
    assert isinstance(node.op, Region)
    try:
        node.op.prepared(count())
    except MXNetError:
        return False
    return True


@dataclass(frozen=True, eq=False)
class Region(FusedOp):
    """Several operators that oneDNN computes; see `FusedOp` for the fields."""

    name: ClassVar[str] = "_onednn_region"
    ignores = ()

    def _overlays(self) -> dict[str, tuple[str, ...]]:
        return {}

    @cached_property
    def _same(self) -> Any:
        """What regions that can share their primitives have in common."""
        place = {node: k for k, node in enumerate(self.graph)}
        wires = [
            (node.op, *[(place[e.node], e.slot) for e in node.inputs])
            for node in self.graph
        ]
        outs = [(place[e.node], e.slot) for e in self.graph.outputs]
        return "region", *wires, *outs, self.specs, knobs.get(FORCE_FC_AB_FORMAT)

    def prepared(self, threads: int) -> Network:
        """Its primitives; raises MXNetError for shapes that oneDNN does not know."""
        dnnl = loaded()
        assert dnnl is not None
        make = partial(Network, dnnl, self.graph, self.known, threads)
        found: Network = primitives.take((self._same, threads), make)
        return found

    def workspace(self, *specs: Spec) -> int:
        """What lies between the chains, and copies of weights that are not kept."""
        return self.prepared(count()).nbytes

    def kernel(self, *specs: Spec) -> Kernel:
        """All chains, one after the other; copies of weights are kept in graphs."""
        threads = count()

        def run(*args: Any, weights: Mapping[int, Any] | None = None) -> None:
            number = min(threads, count())  # 1 after a fork
            made = self.prepared(number)
            *arrays, workspace = args
            if workspace.size < made.nbytes:
                workspace = aligned(made.nbytes)
            made.run(arrays, workspace, weights or {})

        def for_arrays(arrays: Mapping[int, Any], step: Any) -> Kernel:
            return partial(run, weights={k: x.chunk for k, x in arrays.items()})

        run.for_arrays = for_arrays  # type: ignore[attr-defined]
        return run

    def cost(self, *specs: Spec) -> Cost:
        """All operations, but every input read once and every output written once."""
        moved = sum(spec.nbytes for spec in (*specs, *self.infer(*specs)))
        return Cost(self.unfused.flops, moved)
