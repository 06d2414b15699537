"""Which nodes of a graph oneDNN computes in one call: a chain of them.

    Convolution, then BatchNorm, an addition and relu, each only if it is there
    _sg_mkldnn_conv, which is all of that already
    FullyConnected, then relu
    BatchNorm, then relu
    Pooling, Concat: alone

What follows the first node is done to each of its results before that is stored. A
chain goes on only where nothing else reads what lies inside it. Those of the last two
lines are left to other kernels unless they read what oneDNN has computed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from minimx.core.dtypes import FLOAT32
from minimx.core.graph.values.ir import Entry, Node
from minimx.core.graph.values.specs import Specs
from minimx.core.kernels.convolution import FORWARD
from minimx.core.knobs import knobs
from minimx.core.operators.conv import Convolution
from minimx.core.operators.join import Concat
from minimx.core.operators.matmul import FullyConnected
from minimx.core.operators.norm import BatchNorm
from minimx.core.operators.pooling import Pooling
from minimx.fast.onednn.products import WORTH
from minimx.operators.quantized.fused import FusedConvolution

Chain = list[Node]

#: What may follow, in this order.
_AFTER: Final = {"norm": 1, "add": 2, "relu": 3}


def step(node: Node, specs: Specs) -> str | None:
    """Which step of a chain a node can be, if any; it need not be in one."""
    op = node.op
    kinds = {specs[e].dtype for e in node.inputs}
    if op is None or kinds != {FLOAT32}:
        return None
    data = specs[node.inputs[0]]
    if type(op) is Convolution:
        known = data.ndim == 4 and data.size > 0
        return "convolution" if known and _by_onednn(op, data) else None
    if type(op) is FusedConvolution:
        known = data.ndim == 4 and data.size > 0 and not (op.with_bn and op.fix_gamma)
        return "fused" if known and _by_onednn(op, data) else None
    if type(op) is FullyConnected:
        rows, features = op.rows(data)
        large = rows * features * op.num_hidden >= WORTH
        if knobs.get("MXNET_ENFORCE_DETERMINISM"):  # threads may share out a sum
            return None
        return "product" if large and specs[node.inputs[1]].ndim == 2 else None
    if type(op) is Pooling:
        known = op.pool_type == "max" or (
            op.pool_type == "avg" and op.pooling_convention == "valid"
        )
        return "pooling" if known and data.ndim == 4 and not op.is_last else None
    if type(op) is Concat:
        return "concat" if data.ndim == 4 and op.dim == 1 else None
    if type(op) is BatchNorm:
        plain = op.axis == 1 and not (op.batch or op.fix_gamma or op.output_mean_var)
        return "norm" if plain and data.ndim == 4 else None
    if op.name == "elemwise_add":
        return "add" if data.ndim == 4 else None
    bends = op.name == "Activation" and op.settings["act_type"] == "relu"
    bends = bends or op.name == "relu"
    return "relu" if bends and data.ndim in (2, 4) else None


def _by_onednn(op: Convolution, data: Any) -> bool:
    return op.algorithm(FORWARD, data).name == "onednn"


def chains(
    nodes: Iterable[Node], steps: dict[Node, str], outputs: Collection[Entry]
) -> list[Chain]:
    """The chains among nodes that are in order, each after its inputs.

    steps: what each of them can be. outputs: what is wanted of them. Chains come in the
    order of their last nodes, which is one in which they can be computed. Some nodes
    may be in none.
    """
    order = {node: place for place, node in enumerate(nodes)}
    uses = Counter(entry for node in order for entry in node.inputs)
    uses.update(outputs)
    ends: dict[Node, Chain] = {}  # by their last nodes, so far
    for node in order:
        word = steps.get(node)
        if word is None:
            continue
        if word not in _AFTER:
            ends[node] = [node]
            continue
        before = node.inputs if word == "add" else node.inputs[:1]
        open_ones = [
            ends[e.node]
            for e in before
            if e.node in ends
            and uses[e] == 1
            and e.slot == 0
            and _goes_on(ends[e.node], steps, word)
        ]
        if open_ones:
            chain = max(open_ones, key=lambda one: order[one[-1]])
            del ends[chain[-1]]
            chain.append(node)
            ends[node] = chain
        elif word == "norm":
            ends[node] = [node]
    return sorted(ends.values(), key=lambda one: order[one[-1]])


def _goes_on(chain: Sequence[Node], steps: dict[Node, str], word: str) -> bool:
    """Whether a step may be the next of a chain."""
    first, last = steps[chain[0]], steps[chain[-1]]
    if first in ("pooling", "concat", "fused") or (
        first in ("product", "norm") and word != "relu"
    ):
        return False
    return _AFTER.get(last, 0) < _AFTER[word]


def gathered(
    nodes: Sequence[Node], steps: dict[Node, str], outputs: Collection[Entry]
) -> list[list[Node]]:
    """The regions of a graph that consist of whole chains.

    Nodes of a region are computed together: none of them waits for something outside
    that waits for the region.
    """
    steps = dict(steps)
    while True:
        depth: dict[Node, int] = {}
        regions: dict[int, list[Node]] = {}
        for node in nodes:
            inside = node in steps
            depth[node] = max(
                [depth[e.node] + (e.node in steps and not inside) for e in node.inputs],
                default=0,
            )
            if inside:
                regions.setdefault(depth[node], []).append(node)
        alone = [
            node
            for found in regions.values()
            for node in _alone(found, steps, nodes, outputs)
        ]
        if not alone:
            return list(regions.values())
        for node in alone:
            del steps[node]


def _alone(
    region: list[Node],
    steps: dict[Node, str],
    nodes: Sequence[Node],
    outputs: Collection[Entry],
) -> list[Node]:
    """The nodes of a region that shall not be in it."""
    inside = set(region)
    wanted = [e for n in nodes if n not in inside for e in n.inputs] + [*outputs]
    found = chains(region, steps, [e for e in wanted if e.node in inside])
    kept = {n for one in found if not _stays_out(one, steps, inside) for n in one}
    return [node for node in region if node not in kept]


def _stays_out(chain: Chain, steps: dict[Node, str], inside: Collection[Node]) -> bool:
    """Whether a chain reads parameters from inside, or only what others computed."""
    first = steps[chain[0]]
    data = chain[0].inputs if first == "concat" else chain[0].inputs[:1]
    reads_it = any(e.node in inside for e in data)
    if first not in ("convolution", "product", "fused") and not reads_it:
        return True
    with_parameters = [n for n in chain if steps[n] not in ("add", "relu", "concat")]
    return any(e.node in inside for n in with_parameters for e in _parameters(n))


def _parameters(node: Node) -> Sequence[Entry]:
    """The inputs of a node that are no data; what a fused node adds is data."""
    return node.inputs[1:-1] if getattr(node.op, "with_sum", False) else node.inputs[1:]
