"""Operators of the registry under the names that `npx` gives them.

`npx.fully_connected` is `FullyConnected`, `npx.multibox_prior` is
`_contrib_MultiBoxPrior`. Operators of a user's own keep their names.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from minimx.core.ops.registry import ALIASES, REGISTRY, lookup
from minimx.nd import functions
from minimx.nd.help import examples, with_example
from minimx.np.multiarray import ndarray

EXAMPLES = Path(__file__).with_name("examples.txt")

# Operators that MXNet's npx calls by their own names, and without `_contrib_`.
_SAME = (
    "all_finite", "batch_dot", "broadcast_like", "cast", "digamma", "erf", "erfinv",
    "gamma", "gammaln", "gather_nd", "hard_sigmoid", "norm", "one_hot", "pick", "relu",
    "reshape_like", "shape_array", "sigmoid", "slice", "smooth_l1", "topk",
)  # fmt: skip
_CONTRIB = (
    "arange_like", "bipartite_matching", "boolean_mask", "box_iou", "box_nms",
    "index_copy",
)  # fmt: skip
#: What npx calls an operator.
NAMES = {
    **{name: name for name in _SAME},
    **{name: f"_contrib_{name}" for name in _CONTRIB},
    "activation": "Activation",
    "batch_flatten": "Flatten",
    "batch_norm": "BatchNorm",
    "convolution": "Convolution",
    "ctc_loss": "CTCLoss",
    "deconvolution": "Deconvolution",
    "deformable_convolution": "_contrib_DeformableConvolution",
    "dropout": "Dropout",
    "embedding": "Embedding",
    "fully_connected": "FullyConnected",
    "group_norm": "GroupNorm",
    "instance_norm": "InstanceNorm",
    "l2_normalization": "L2Normalization",
    "layer_norm": "LayerNorm",
    "leaky_relu": "LeakyReLU",
    "modulated_deformable_convolution": "_contrib_ModulatedDeformableConvolution",
    "multibox_detection": "_contrib_MultiBoxDetection",
    "multibox_prior": "_contrib_MultiBoxPrior",
    "multibox_target": "_contrib_MultiBoxTarget",
    "pooling": "Pooling",
    "rnn": "RNN",
    "roi_align": "_contrib_ROIAlign",
    "roi_pooling": "ROIPooling",
    "sequence_mask": "SequenceMask",
    "stop_gradient": "BlockGrad",
}
#: Behind functions of `layers.py`, which take more words.
_BEHIND = {"softmax": "softmax", "log_softmax": "log_softmax"}

_made: dict[str, Callable[..., Any]] = {}
functions.function_caches.append(_made)


def _is_own(name: str) -> bool:
    """Whether an operator was registered by a user."""
    sheet = REGISTRY.get(ALIASES.get(name, name))
    return sheet is not None and not sheet.__module__.startswith("minimx.")


def names() -> list[str]:
    """What is offered: the names of `NAMES`, and the user's own operators."""
    own = (name for name in (*REGISTRY, *ALIASES) if _is_own(name))
    return sorted({*NAMES, *(name for name in own if not name.startswith("_"))})


def operator_of(name: str) -> str | None:
    """The registry's name of the operator that `npx` calls so; None without one."""
    known = NAMES.get(name) or _BEHIND.get(name)
    if known is None and not name.startswith("_") and _is_own(name):
        return name
    return known


def function(name: str) -> Callable[..., Any] | None:
    """The `npx` function of an operator, None if there is none of that name."""
    if name not in _made:
        operator = operator_of(name)
        if operator is None:
            return None
        _made[name] = _make(operator, name, name)
    return _made[name]


def _make(operator: str, public: str, place: str) -> Callable[..., Any]:
    made = functions.make(lookup(operator), public, ndarray)
    made.__module__ = "minimx.npx"
    # The examples of the operators are written for mx.nd.
    made.__doc__ = with_example(made.__doc__ or "", examples(EXAMPLES).get(place, ""))
    return made


def functions_of(prefix: str, place: str) -> dict[str, Callable[..., Any]]:
    """The functions of all operators whose names begin with a prefix.

    place: what stands before their names where they are offered, such as "image."
    """
    return {
        name: _make(name, (short := name.removeprefix(prefix)), place + short)
        for name in (*REGISTRY, *ALIASES)
        if name.startswith(prefix)
    }
