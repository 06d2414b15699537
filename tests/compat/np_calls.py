"""Calls of `mx.np` and `mx.npx` by name, which are put to MXNet as well.

A call is a name, its arrays, and its settings by name. Gradients are compared too, but
for those of `STEPS`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.core.ops.sample import numbers

Call = tuple[str, tuple[Any, ...], dict[str, Any]]

A, B = numbers(3, 4), numbers(3, 4, seed=5)
POSITIVE, SMALL = numbers(3, 4, low=0.2, high=3), numbers(3, 4, low=-0.9, high=0.9)
ROW, SQUARE = numbers(4), numbers(3, 3) + 4 * np.eye(3)
STACK = numbers(2, 3, 4)
WHOLE = np.array([[7, -3, 4], [0, 12, 5]], np.int32)
OTHER = np.array([[2, 2, -3], [5, 4, 1]], np.int32)
TRUE = np.array([[True, False, True], [False, False, True]])
PLACES = np.array([2, 0, 1], np.int32)

ANYWHERE = (
    "abs", "absolute", "negative", "square", "exp", "expm1", "sin", "cos", "tan",
    "sinh", "cosh", "tanh", "arctan", "arcsinh", "cbrt", "sign", "floor", "ceil",
    "rint", "trunc", "fix", "degrees", "radians", "deg2rad", "rad2deg", "isnan",
    "isinf", "isfinite", "isposinf", "isneginf", "logical_not",
)  # fmt: skip
ABOVE_ZERO = ["sqrt", "log", "log2", "log10", "log1p", "reciprocal"]
BETWEEN = ["arcsin", "arccos", "arctanh"]
PAIRS = (
    "add", "subtract", "multiply", "divide", "true_divide", "maximum", "minimum",
    "hypot", "arctan2", "copysign", "equal", "not_equal", "greater", "greater_equal",
    "less", "less_equal", "logical_and", "logical_or", "logical_xor",
)  # fmt: skip
WHOLE_PAIRS = ["bitwise_and", "bitwise_or", "bitwise_xor", "lcm", "mod"]
REDUCTIONS = ["sum", "mean", "max", "min", "prod", "std", "var"]
# Through these no gradient flows, or MXNet has none.
STEPS = frozenset({
    "sign", "floor", "ceil", "rint", "trunc", "fix", "isnan", "isinf", "isfinite",
    "isposinf", "isneginf", "logical_not", "equal", "not_equal", "greater",
    "greater_equal", "less", "less_equal", "logical_and", "logical_or", "logical_xor",
    "argmax", "argmin", "argsort", "any", "all", "bincount", "histogram", "unique",
    "nonzero", "flatnonzero", "one_hot", "topk", "around", "round", "trace",
    "meshgrid", "indices", "shape_array", "arange_like", "std", "var", "atleast_1d",
    "atleast_2d", "atleast_3d", "pinv", "eigvalsh", "multibox_prior",
    "multibox_detection", "roi_pooling", "to_tensor", "normalize",
})  # fmt: skip


def calls() -> Iterator[Call]:
    """All calls."""
    for name in ANYWHERE:
        yield name, (A,), {}
    for name in ABOVE_ZERO:
        yield name, (POSITIVE,), {}
    for name in BETWEEN:
        yield name, (SMALL,), {}
    yield "arccosh", (POSITIVE + 1,), {}
    for name in PAIRS:
        yield name, (A, B), {}
        yield name, (A, ROW), {}
    yield "power", (POSITIVE, B), {}
    yield "ldexp", (A, B), {}
    for name in WHOLE_PAIRS:
        yield name, (np.abs(WHOLE), np.abs(OTHER)), {}
    yield "invert", (WHOLE,), {}
    yield from _reductions()
    yield from _arrangements()
    yield from _algebra()
    yield from _choices()
    yield from _layers()
    yield from _from_nothing()


def _from_nothing() -> Iterator[Call]:
    yield "zeros", (), {"shape": (2, 3)}
    yield "ones", (), {"shape": (2,), "dtype": "int32"}
    yield "full", (), {"shape": (2, 2), "fill_value": 1.5}
    yield "arange", (), {"start": 1, "stop": 7, "step": 2}
    yield "linspace", (), {"start": 0, "stop": 1, "num": 5, "endpoint": False}
    yield "logspace", (), {"start": 0, "stop": 2, "num": 4}
    yield "eye", (), {"N": 3, "M": 4, "k": 1}
    yield "identity", (), {"n": 3}
    yield "indices", (), {"dimensions": (2, 3)}
    for name in ("hanning", "hamming", "blackman"):
        yield name, (), {"M": 6}


def _reductions() -> Iterator[Call]:
    for name in REDUCTIONS:
        yield name, (A,), {}
        yield name, (STACK,), {"axis": 1}
        yield name, (STACK,), {"axis": (0, 2), "keepdims": True}
    for name in ("argmax", "argmin"):
        yield name, (A,), {}
        yield name, (A,), {"axis": 1}
    for name in ("any", "all"):
        yield name, (TRUE,), {"axis": 1}
    yield "average", (A,), {"axis": 1}
    yield "cumsum", (A,), {"axis": 1}
    yield "diff", (A,), {"axis": 1, "n": 2}
    yield "ediff1d", (ROW,), {}
    yield "trace", (SQUARE,), {"offset": 1}
    yield "percentile", (A,), {"q": 30, "axis": 1}
    yield "quantile", (A,), {"q": 0.3}


def _arrangements() -> Iterator[Call]:
    yield "reshape", (A,), {"newshape": (2, -1)}
    yield "transpose", (STACK,), {"axes": (2, 0, 1)}
    yield "swapaxes", (STACK,), {"axis1": 0, "axis2": 2}
    yield "moveaxis", (STACK,), {"source": 0, "destination": 2}
    yield "expand_dims", (A,), {"axis": 1}
    yield "squeeze", (A[:, None],), {"axis": 1}
    yield "ravel", (A,), {}
    yield "flip", (STACK,), {"axis": (0, 2)}
    yield "flipud", (A,), {}
    yield "fliplr", (A,), {}
    yield "roll", (A,), {"shift": 2, "axis": 1}
    yield "rot90", (A,), {"k": 3}
    yield "tile", (A,), {"reps": (2, 1)}
    yield "repeat", (A,), {"repeats": 2, "axis": 1}
    yield "broadcast_to", (ROW,), {"shape": (3, 4)}
    yield "pad", (A,), {"pad_width": ((1, 2), (0, 1)), "mode": "edge"}
    yield "diag", (SQUARE,), {"k": -1}
    yield "diagflat", (ROW,), {}
    yield "diagonal", (SQUARE,), {}
    yield "tril", (SQUARE,), {"k": 1}
    yield "resize", (A,), {"new_shape": (2, 7)}
    for name in ("concatenate", "stack", "vstack", "hstack", "dstack", "column_stack"):
        yield name, ([A, B],), {}
    for name in ("atleast_1d", "atleast_2d", "atleast_3d"):
        yield name, (ROW,), {}
    yield "split", (A,), {"indices_or_sections": 2, "axis": 1}
    yield "array_split", (A,), {"indices_or_sections": 3, "axis": 1}
    yield "hsplit", (A,), {"indices_or_sections": 2}
    yield "vsplit", (A,), {"indices_or_sections": 3}
    yield "dsplit", (STACK,), {"indices_or_sections": 2}
    yield "meshgrid", (ROW, ROW[:2]), {}


def _algebra() -> Iterator[Call]:
    yield "dot", (A, B.T), {}
    yield "matmul", (STACK, B.T), {}
    yield "inner", (A, B), {}
    yield "outer", (ROW, ROW[:3]), {}
    yield "vdot", (A, B), {}
    yield "tensordot", (STACK, A), {"axes": ((1, 2), (0, 1))}
    yield "polyval", (ROW[:3], A), {}
    yield "linalg.norm", (A,), {}
    yield "linalg.norm", (A,), {"axis": 1}
    yield "linalg.inv", (SQUARE,), {}
    yield "linalg.det", (SQUARE,), {}
    yield "linalg.slogdet", (SQUARE,), {}
    yield "linalg.cholesky", (SQUARE @ SQUARE.T,), {}
    yield "linalg.solve", (SQUARE, A), {}
    yield "linalg.pinv", (A,), {}
    yield "linalg.tensorinv", (np.eye(6).reshape(2, 3, 6) + 0.1,), {"ind": 2}
    yield "linalg.eigvalsh", (SQUARE + SQUARE.T,), {}


def _choices() -> Iterator[Call]:
    yield "where", (TRUE, WHOLE, OTHER), {}
    yield "clip", (A,), {"a_min": -1, "a_max": 0.5}
    yield "take", (A, PLACES), {"axis": 0}
    yield "sort", (A,), {"axis": 1}
    yield "argsort", (A,), {"axis": 1}
    yield "unique", (WHOLE,), {}
    yield "nonzero", (WHOLE,), {}
    yield "bincount", (PLACES,), {}
    yield "around", (A,), {"decimals": 1}
    yield "nan_to_num", (np.where(A > 1, np.nan, A),), {}
    yield "zeros_like", (A,), {}
    yield "ones_like", (A,), {}
    yield "full_like", (A,), {"fill_value": 3}
    yield "insert", (A,), {"obj": 1, "values": 5, "axis": 1}
    yield "delete", (A,), {"obj": 1, "axis": 1}
    yield "append", (A, B), {"axis": 0}
    yield "flatnonzero", (WHOLE,), {}
    yield "diag_indices_from", (SQUARE,), {}
    yield "bitwise_not", (WHOLE,), {}
    yield "copy", (A,), {}


def _layers() -> Iterator[Call]:
    for name in ("relu", "sigmoid", "erf", "gamma", "gammaln"):
        yield f"npx.{name}", (POSITIVE,), {}
    yield "npx.erfinv", (SMALL,), {}
    for name in ("softmax", "log_softmax"):
        yield f"npx.{name}", (STACK,), {"axis": 1}
    yield "npx.activation", (A,), {"act_type": "softrelu"}
    yield "npx.leaky_relu", (A,), {"act_type": "elu", "slope": 0.5}
    yield "npx.batch_dot", (STACK, STACK), {"transpose_b": True}
    yield "npx.fully_connected", (A, B, ROW[:3]), {"num_hidden": 3}
    yield "npx.one_hot", (PLACES,), {"depth": 4}
    yield "npx.pick", (A, PLACES), {}
    yield "npx.topk", (A,), {"k": 2, "ret_typ": "value"}
    yield (
        "npx.sequence_mask",
        (STACK, np.array([1.0, 2.0, 2.0])),
        {
            "use_sequence_length": True,
            "value": -1,
        },
    )
    yield "npx.reshape", (STACK,), {"newshape": (-2, -5)}
    yield "npx.reshape_like", (A, A.T), {}
    yield "npx.batch_flatten", (STACK,), {}
    yield "npx.smooth_l1", (A,), {"scalar": 1.0}
    yield "npx.layer_norm", (A, ROW, ROW), {}
    yield "npx.pooling", (numbers(1, 2, 5, 4),), {"kernel": (2, 2), "pool_type": "avg"}
    yield (
        "npx.convolution",
        (numbers(1, 2, 5, 4), numbers(3, 2, 2, 2), ROW[:3]),
        {
            "kernel": (2, 2),
            "num_filter": 3,
        },
    )
    yield "npx.embedding", (PLACES, A), {"input_dim": 3, "output_dim": 4}
    yield "npx.gather_nd", (A, np.array([[0, 2], [1, 3]])), {}
    yield "npx.arange_like", (A,), {"axis": 1}
    yield "npx.multibox_prior", (numbers(1, 3, 2, 2),), {"sizes": (0.5, 0.2)}
    yield (
        "npx.deconvolution",
        (numbers(1, 2, 3, 3), numbers(2, 3, 2, 2)),
        {
            "kernel": (2, 2),
            "num_filter": 3,
            "no_bias": True,
        },
    )
    yield (
        "npx.batch_norm",
        (numbers(3, 2, 4), *(POSITIVE[k, :2] for k in (0, 1, 2, 0))),
        {
            "fix_gamma": False,
        },
    )
    yield (
        "npx.roi_pooling",
        (numbers(1, 2, 5, 5), np.array([[0.0, 0, 0, 3, 3]])),
        {
            "pooled_size": (2, 2),
            "spatial_scale": 1.0,
        },
    )
    yield "npx.cast", (A,), {"dtype": "float16"}
    yield "npx.slice", (A,), {"begin": (0, 1), "end": (2, 3)}
    yield "npx.nonzero", (WHOLE,), {}
    yield "npx.shape_array", (STACK,), {}
    yield "npx.image.flip_left_right", (numbers(3, 4, 3),), {}
    yield (
        "npx.image.crop",
        (numbers(4, 5, 3),),
        {"x": 1, "y": 0, "width": 2, "height": 3},
    )
    yield "npx.image.normalize", (numbers(3, 2, 2),), {"mean": 0.5, "std": 2.0}
    yield "npx.image.to_tensor", (np.arange(24, dtype=np.uint8).reshape(2, 4, 3),), {}
