"""What monitors call the inputs of an operator: the names that MXNet 1.9.1 gives them.

    [input_name(op, place) for place in range(2)]      # ["data", "weight"]

There, operators that declare names for their inputs use these, and all others number
them. Declared here is a name for every input, so this file knows which do not count.
"""

from __future__ import annotations

from typing import Any

from minimx.graph.ir import Node
from minimx.ops.registry import Op

# Operators with one input, and a name for it.
_NAMED = {
    "Dropout", "GridGenerator", "L2Normalization", "LRN", "LeakyReLU", "MakeLoss",
    "Pad", "Pooling", "SequenceLast", "SequenceMask", "SequenceReverse", "SliceChannel",
    "SwapAxis", "_contrib_BilinearResize2D", "_contrib_MultiBoxPrior",
    "_contrib_index_array", "_contrib_interleaved_matmul_selfatt_qk",
    "_contrib_quadratic", "_contrib_quantize_v2", "_histogram", "_image_normalize",
    "_image_to_tensor", "_linalg_det", "_linalg_extractdiag", "_linalg_extracttrian",
    "_linalg_gelqf", "_linalg_inverse", "_linalg_makediag", "_linalg_maketrian",
    "_linalg_potrf", "_linalg_potri", "_linalg_slogdet", "_linalg_sumlogdiag",
    "_linalg_syevd", "_linalg_syrk", "_ravel_multi_index", "_sample_exponential",
    "_sample_poisson", "_split_v2", "_unravel_index", "all_finite", "col2im", "cumsum",
    "depth_to_space", "diag", "im2col", "log_softmax", "moments", "one_hot", "repeat",
    "reverse", "softmax", "space_to_depth", "squeeze", "tile",
}  # fmt: skip
# Of the operators of NumPy, which have names, those without.
_NUMPY = ("_np_", "_npi_", "_npx_")
_NAMELESS = frozenset(("_npi_argmax", "_npi_argmin"))
# Updates of optimizers number their inputs, however many there are.
_UPDATES = ("_update", "_update_phase1", "_update_phase2")
# NumPy's names, where they are others than those of the data sheets.
_OF_NUMPY = {
    "_npi_concatenate": "data",
    "_npi_hstack": "data",
    "_npi_dstack": "data",
    "_np_atleast_1d": "ary",
    "_np_atleast_2d": "ary",
    "_np_atleast_3d": "ary",
    "_npi_arctan2": ("x1", "x2"),
} | dict.fromkeys(
    [f"_npi_{word}" for word in ("isnan", "isinf", "isposinf", "isneginf", "isfinite")]
    + ["_npi_logical_not", "_npi_bitwise_not", "_npi_around"],
    ("x",),
)


def input_name(op: Op, place: int) -> str:
    """What MXNet calls the input at a place."""
    said = _OF_NUMPY.get(op.name)
    if op.variadic:
        return f"{said or 'arg'}{place}"
    if _numbered(op):
        return f"input{place}"
    words = op.inputs if said is None else said
    return str(words[place])


def as_shown(node: Node) -> Node:
    """The node with the outputs that monitors see: of a BatchNorm all three."""
    op: Any = node.op
    if op.name != "BatchNorm" or op.output_mean_var:
        return node
    whole = type(op).of(**{**op.settings, "output_mean_var": True})
    return node.with_op(whole, node.inputs)


def _numbered(op: Op) -> bool:
    """Whether an operator's inputs have no names."""
    if op.name.endswith(_UPDATES):
        return True
    if len(op.inputs) > 1 or op.name in _NAMED:
        return False
    return op.name in _NAMELESS or not op.name.startswith(_NUMPY)
