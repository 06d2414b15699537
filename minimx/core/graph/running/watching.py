"""What monitors see of a node."""

from __future__ import annotations

from typing import Any

from minimx.core.graph.values.ir import Node

# Operators that can put out what they normalize by.
_STATISTICS = ("BatchNorm", "GroupNorm", "LayerNorm", "_contrib_SyncBatchNorm")


def as_shown(node: Node) -> Node:
    """The node with the outputs that monitors see: of normalizations all three."""
    op: Any = node.op
    if op.name not in _STATISTICS or op.output_mean_var:
        return node
    whole = type(op).of(**{**op.settings, "output_mean_var": True})
    return node.with_op(whole, node.inputs)
