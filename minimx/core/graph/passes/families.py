"""Which family an operator belongs to: what pictures of graphs colour nodes by.

A family says what kind of work a node is: heavy products, cheap arithmetic,
mere movement. It follows from the room of `minimx/core/ops` that the operator lives in,
so a new operator needs no entry of its own.
"""

from __future__ import annotations

from minimx.core.graph.values.ir import Node

#: family: what it is, in a few words.
FAMILIES: dict[str, str] = {
    "variable": "arguments and states",
    "product": "convolutions, matrix products, recurrent layers",
    "norm": "normalisation",
    "elementwise": "arithmetic on each element, activations",
    "reduce": "sums, means, pooling, softmax, losses",
    "shape": "reshaping, slicing, joining, looking up",
    "random": "random numbers and dropout",
    "fused": "several operators generated as one",
    "other": "everything else",
}

_FILES: dict[str, str] = {
    "product": (
        "conv deconv matmul linalg rnn attention transformer correlation deformable "
        "np_contraction np_linalg np_matrix quantize columns products fused"
    ),
    "norm": "norm norm_batch norm_groups",
    "elementwise": "pointwise elementwise scalar nn np_elementwise mixed precision",
    "reduce": (
        "reduce np_reduce pooling roi softmax statistics np_statistics outputs ctc"
    ),
    "shape": (
        "views shape np_shape join np_join indexing sequence creation places resize "
        "sorting triangles storage moves"
    ),
    "random": "random random_more random_pdf np_random sampling",
    "fused": "fused_operator",
}
_FAMILY = {file: name for name, files in _FILES.items() for file in files.split()}


def family(node: Node) -> str:
    """The family of a node, one of `FAMILIES`."""
    if node.op is None:
        return "variable"
    if node.op.needs_rng or not node.op.deterministic:
        return "random"
    file = type(node.op).__module__.rpartition(".")[2]
    return _FAMILY.get(file, "other")
