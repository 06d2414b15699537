"""What MXNet 1.9.1 calls the inputs of operators, and the gradients of inputs.

    [input_name(op, place) for place in range(2)]      # ["data", "weight"]
    gradients(op, "fc", (0, 1))[0].names
    # ("fc_backward_output0", "fc_backward_output1")

There, operators that declare names for their inputs use these, and all others number
them. Declared here is a name for every input, so this file knows which do not count.

There, a gradient is computed by nodes of a graph: by one for all inputs, unless the
operator is among those below. Monitors show these names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from minimx.core.ops import Op

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
# Operators that hand on the gradient they are given, without a node.
_CLONES = frozenset(("elemwise_add",))
# Operators at the end of a network, which do not look at gradients of their outputs.
_LOSSES = frozenset(
    {
        "SoftmaxOutput", "LinearRegressionOutput", "LogisticRegressionOutput",
        "MAERegressionOutput", "SVMOutput", "MakeLoss", "make_loss",
        "_contrib_MultiBoxTarget", "_contrib_MultiProposal", "_contrib_Proposal",
    }
)  # fmt: skip
# Operators with a gradient that MXNet knows to be zero, besides those that have none.
_FLAT = frozenset(
    {
        "_npi_around", "ceil", "fix", "floor", "ones_like", "rint", "round", "trunc",
        "zeros_like",
    }
)  # fmt: skip
# Operators whose gradients are called like the inputs.
_LIKE_INPUTS = frozenset(
    {
        "BilinearSampler", "Correlation", "Crop", "GridGenerator", "InstanceNorm",
        "L2Normalization", "MakeLoss", "Pad", "ROIPooling", "SVMOutput", "SequenceLast",
        "SequenceMask", "SequenceReverse", "SliceChannel", "SpatialTransformer",
        "SwapAxis", "_contrib_DeformableConvolution",
        "_contrib_DeformablePSROIPooling", "_contrib_MultiBoxDetection",
        "_contrib_MultiBoxPrior", "_contrib_MultiBoxTarget", "_contrib_MultiProposal",
        "_contrib_PSROIPooling", "_contrib_Proposal", "_contrib_SyncBatchNorm",
    }
)  # fmt: skip
# Operators with a node for each gradient: what comes after the name; zeros begin by 0.
_APART: dict[str, tuple[str, ...]] = {
    "_identity_with_attr_like_rhs": ("backward", "0rhs_backward"),
    "batch_dot": ("backward_lhs", "backward_rhs"),
    "broadcast_like": ("backward", "0rhs_backward"),
    "gather_nd": ("backward", "0backward_indices"),
    "pick": ("backward", "0index_backward"),
    "reshape_like": ("backward", "0rhs_backward"),
    "scatter_nd": ("backward", "0backward_indices"),
}
_CHOICES = ("where", "_npi_where")


class Gradients(NamedTuple):
    """A node that computes gradients.

    names: of them. places: of the inputs that they belong to.
    asks: whether it asks for the gradients of the outputs. is_zero: whether it computes
    nothing.
    """

    names: tuple[str, ...]
    places: tuple[int, ...]
    asks: bool = True
    is_zero: bool = False


def input_name(op: Op, place: int) -> str:
    """What MXNet calls the input at a place."""
    names_of_inputs = _OF_NUMPY.get(op.name)
    if op.variadic:
        return f"{names_of_inputs or 'arg'}{place}"
    if _numbered(op):
        return f"input{place}"
    words = op.inputs if names_of_inputs is None else names_of_inputs
    return str(words[place])


def gradients(
    op: Op, name: str, places: Sequence[int], is_zero: bool = False
) -> list[Gradients]:
    """The nodes that compute the gradients of an operator's inputs.

    name: of the operator's node. places: of the inputs that are no states. is_zero: all
    gradients of the outputs are known to be zero.
    Of an operator that hands on the gradient it is given there are none.
    """
    places = tuple(places)
    like_inputs = op.name in _LIKE_INPUTS
    if is_zero or op.name in _FLAT or not (op.differentiable or like_inputs):
        alone = len(places) == 1
        words = ["0backward" if alone else f"0in{k}_backward" for k in places]
        return _apart(name, words)
    if op.name in _CLONES:
        return []
    if op.name == "add_n":
        return [Gradients(("output",), (place,)) for place in places]
    if op.name in _APART:
        return _apart(name, _APART[op.name])
    names_of_inputs = [f"backward_output{k}" for k in places]
    if like_inputs:
        names_of_inputs = [f"backward_{input_name(op, place)}" for place in places]
    elif op.name in _CHOICES:
        places, names_of_inputs = places[1:], names_of_inputs[:-1]
    elif len(places) == 1:
        names_of_inputs = ["backward_output"]
    names = tuple(f"{name}_{word}" for word in names_of_inputs)
    chosen = _apart(name, ["0cond_backward"]) if op.name in _CHOICES else []
    return [*chosen, Gradients(names, places, op.name not in _LOSSES)]


def _apart(name: str, words: Sequence[str]) -> list[Gradients]:
    """A node for each input."""
    return [
        Gradients(
            (f"{name}_{word.lstrip('0')}_output",), (k,), word[0] != "0", word[0] == "0"
        )
        for k, word in enumerate(words)
    ]


def _numbered(op: Op) -> bool:
    """Whether an operator's inputs have no names."""
    if op.name.endswith(_UPDATES):
        return True
    if len(op.inputs) > 1 or op.name in _NAMED:
        return False
    return op.name in _NAMELESS or not op.name.startswith(_NUMPY)
