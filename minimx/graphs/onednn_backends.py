"""The graph backends ONEDNN and ONEDNN_QUANTIZE, in MXNet 1 MKLDNN and MKLDNN_QUANTIZE.

They put a convolution, and the normalization, relu and sum that follow it, into one
operator (`operators/quantized/fused.py`).

ONEDNN is for speed, so it is refused where the library is missing; its regions compute
such operators, with the bits and in the time of the parts that they compute otherwise.
ONEDNN_QUANTIZE prepares a graph for integers of eight bits: layers that stand alone
and dense layers become such operators too, and what is fused is rounded once. It needs
no library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from minimx.core.errors import ArgumentError
from minimx.core.graph.passes.partition import Users, register_backend
from minimx.core.graph.values.ir import Entry, Node
from minimx.core.knobs import knobs
from minimx.core.operators.conv import Convolution
from minimx.core.operators.matmul import FullyConnected
from minimx.core.operators.norm import BatchNorm
from minimx.fast.onednn.library import loaded
from minimx.operators.quantized.fused import FusedConvolution, FusedFullyConnected

#: The remark of a node with the names of those that it replaces.
REPLACED = "__replaced__"


def _is_relu(node: Node) -> bool:
    op = node.op
    if op is None:
        return False
    return "relu" in (op.name, op.name == "Activation" and op.settings["act_type"])


def _layer(node: Node) -> list[Node]:
    """The nodes of a layer that ends here: Convolution, BatchNorm, relu; or nothing."""
    last: list[Node] = []
    if _is_relu(node):
        last, node = [node], node.inputs[0].node
    if type(node.op) is FullyConnected:
        return [node, *last]
    norm: Any = node.op
    if type(norm) is BatchNorm:
        if norm.axis != 1 or norm.output_mean_var or norm.batch:
            return []
        last, node = [node, *last], node.inputs[0].node
    return [node, *last] if type(node.op) is Convolution else []


def _layers(node: Node, users: Users) -> Sequence[Node] | None:
    """The longest pattern that ends here, if any."""
    last: list[Node] = []
    if _is_relu(node) and _is_sum(node.inputs[0].node):
        last, node = [node], node.inputs[0].node
    if not _is_sum(node):
        return _layer(node) or None
    for entry in reversed(node.inputs):  # the later one can wait for the other
        found = _layer(entry.node)
        alone = all(len(users[one]) == 1 for one in found)
        if found and alone and type(found[0].op) is Convolution:
            return [*found, node, *last]
    return None


def _is_sum(node: Node) -> bool:
    return node.op is not None and node.op.name == "elemwise_add"


def _several(node: Node, users: Users) -> Sequence[Node] | None:
    """A pattern of two nodes or more, for oneDNN to compute. Raises ArgumentError."""
    if loaded() is None:
        raise ArgumentError(
            "the backend ONEDNN computes through oneDNN, which is not installed. "
            "pip install 'minimx[onednn]' brings it; the backend MINIMX folds "
            "normalizations into convolutions without it."
        )
    found = _layers(node, users) if knobs.get("MXNET_ONEDNN_ENABLED") else None
    if found is None or len(found) < 2 or type(found[0].op) is not Convolution:
        return None
    return found


def _fused(nodes: Sequence[Node], inputs: Mapping[Entry, Entry]) -> Node:
    """The node that replaces a pattern."""
    first, last = nodes[0], nodes[-1]
    assert first.op is not None
    inside, entries = set(nodes), [*first.inputs]
    settings, words = dict(first.op.settings), ""
    for node in nodes[1:]:
        op: Any = node.op
        added = "with_sum" in settings
        if type(op) is BatchNorm:
            entries += node.inputs[1:]
            settings |= {"with_bn": True, "eps": op.eps, "fix_gamma": op.fix_gamma}
            words += "_bn"
        elif _is_relu(node):
            settings["with_postsum_act" if added else "with_act"] = True
            words += "_act"
        else:
            entries += [e for e in node.inputs if e.node not in inside]
            settings["with_sum"] = True
            words += "_add"
    dense = type(first.op) is FullyConnected
    op = (FusedFullyConnected if dense else FusedConvolution).of(**settings)
    attrs = {**last.attrs, REPLACED: " ".join([node.name for node in nodes])}
    name = f"sg_mkldnn_{first.name}{words}"
    return Node(op, [inputs[e] for e in entries], name, attrs, layer=last.layer)


for _name in ("ONEDNN", "MKLDNN"):
    register_backend(_name, _several, _fused)
    register_backend(f"{_name}_QUANTIZE", _layers, _fused)
