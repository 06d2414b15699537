"""The graph backend MINIMX: convolutions with what follows them folded in.

It folds a batch normalization into the convolution before it, and applies the
activation that follows, all in one operator (`operators/layers/folded.py`). It is for
prediction, and rounds otherwise than the three.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from minimx.core.graph.passes.partition import Users, register_backend
from minimx.core.graph.values.ir import Entry, Node
from minimx.core.operators.conv import Convolution
from minimx.core.operators.nn import ACTIVATIONS
from minimx.core.operators.norm import BatchNorm
from minimx.operators.layers.folded import FoldedConvolution


def _folds(node: Node, users: Users) -> Sequence[Node] | None:
    """Convolution, BatchNorm and perhaps an activation."""
    nodes = [node]
    if _activation(node) is not None:
        nodes.insert(0, node.inputs[0].node)
    norm = nodes[0].op
    if type(norm) is not BatchNorm or norm.axis != 1 or norm.output_mean_var:
        return None
    conv = nodes[0].inputs[0].node
    if type(conv.op) is not Convolution or norm.batch:
        return None
    return [conv, *nodes]


def _activation(node: Node) -> str | None:
    """Which activation a node is, if any."""
    assert node.op is not None
    word = node.op.settings.get("act_type") if node.op.name == "Activation" else None
    word = word or node.op.name
    return word if word in ACTIVATIONS else None


def _fold(nodes: Sequence[Node], inputs: Mapping[Entry, Entry]) -> Node:
    conv, norm, *activations = nodes
    assert conv.op is not None
    assert norm.op is not None
    settings = {
        **conv.op.settings,
        "act_type": _activation(activations[0]) if activations else None,
    }
    settings |= {word: norm.op.settings[word] for word in ("eps", "fix_gamma")}
    entries = [inputs[e] for e in (*conv.inputs, *norm.inputs[1:])]
    last = nodes[-1]
    name = f"sg_minimx_{conv.name}_bn{'_act' * bool(activations)}"
    op = FoldedConvolution.of(**settings)
    return Node(op, entries, name, last.attrs, layer=last.layer)


register_backend("MINIMX", _folds, _fold)
