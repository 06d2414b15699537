"""Further calls of `mx.np`, `mx.npx` and `mx.nd` by name, as in `np_calls.py`.

Of `mx.np` these are the functions that programs for NumPy bring along.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.compat.np_calls import (
    OTHER,
    PLACES,
    POSITIVE,
    ROW,
    SQUARE,
    STACK,
    TRUE,
    WHOLE,
    A,
    B,
    Call,
)
from tests.core.ops.sample import numbers

GAPS = np.where(A > 1, np.nan, A)
SYMMETRIC = SQUARE + SQUARE.T
IMAGE = numbers(4, 5, 3, low=0.0, high=1.0)
SPARSE = np.where(np.arange(5)[:, None] % 2, numbers(5, 3), 0)
BOXES = np.array([[[0.1, 0.1, 0.5, 0.5], [0.2, 0.3, 0.9, 0.8]]])

#: Through these no gradient flows, or MXNet has none.
STEPS = frozenset({
    "allclose", "alltrue", "amax", "amin", "argpartition", "argwhere", "array_equal",
    "array_equiv", "choose", "compress", "corrcoef", "correlate", "count_nonzero",
    "cov", "digitize", "divmod", "extract", "fabs", "float_power", "frexp",
    "heaviside", "histogram2d", "histogram_bin_edges", "i0", "in1d", "interp",
    "intersect1d", "isclose", "isin", "lexsort", "may_share_memory", "modf", "msort",
    "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmedian",
    "nanmin", "nanpercentile", "nanprod", "nanquantile", "ndim", "packbits",
    "partition", "piecewise", "poly", "polyadd", "polydiv", "polyfit", "polyint",
    "polymul", "polysub", "positive", "ptp", "real", "rollaxis",
    "roots", "round_", "searchsorted", "select", "setdiff1d", "setxor1d", "shape",
    "shares_memory", "signbit", "size", "sometrue", "spacing", "take_along_axis",
    "trapz", "tril_indices_from", "trim_zeros", "triu_indices_from", "union1d",
    "unpackbits", "unravel_index", "unwrap", "vander", "cond", "eig", "eigh",
    "eigvals", "lstsq", "matrix_power", "matrix_rank", "multi_dot", "qr", "svd",
    "multibox_target", "isnan", "isinf", "isfinite", "getnnz",
    "ceil", "floor", "trunc", "fix", "rint", "dropout", "constraint_check",
})  # fmt: skip

WITH_GAPS = (
    "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmedian",
    "nanmin", "nanprod",
)  # fmt: skip
OF_ONE = (
    "fabs", "i0", "signbit", "spacing", "positive", "msort", "ptp", "count_nonzero",
    "argwhere", "amax", "amin", "size", "ndim", "shape", "corrcoef", "cov",
    "trapz", "unwrap", "round_", "modf", "frexp", "alltrue", "sometrue", "product",
    "real",
)  # fmt: skip
SETS = ("intersect1d", "setdiff1d", "setxor1d", "union1d", "in1d", "isin")
# Functions of 0 that are 0: of a sparse array they need only what is stored.
ON_ROWS = (
    "abs", "sign", "square", "sqrt", "rint", "ceil", "floor", "trunc", "fix", "round",
    "sin", "tan", "arcsin", "arctan", "sinh", "tanh", "arcsinh", "arctanh", "degrees",
    "radians", "expm1", "log1p", "relu", "negative",
)  # fmt: skip
POLYNOMIALS = ("polyadd", "polydiv", "polymul", "polysub")


def calls() -> Iterator[Call]:
    """All calls."""
    yield from _of_numpy()
    yield from _with_settings()
    yield from _algebra()
    yield from _extensions()
    yield from _classic()
    yield from _sparse()


def _of_numpy() -> Iterator[Call]:
    for name in OF_ONE:
        yield name, (A,), {}
    for name in WITH_GAPS:
        yield name, (GAPS,), {}
        yield name, (GAPS,), {"axis": 1}
    for name in SETS:
        yield name, (WHOLE.ravel(), OTHER.ravel()), {}
    for name in POLYNOMIALS:
        yield name, (ROW[:3], ROW[:2]), {}
    for name in ("divmod", "heaviside", "float_power", "isclose", "allclose"):
        yield name, (POSITIVE, np.abs(B)), {}
    yield "remainder", (POSITIVE, np.abs(B)), {}
    for name in ("array_equal", "array_equiv", "may_share_memory", "shares_memory"):
        yield name, (A, A), {}
    for name in ("tril_indices_from", "triu_indices_from"):
        yield name, (SQUARE,), {}
    for name in ("packbits", "unpackbits"):
        yield name, (np.array([[1, 0, 1, 1], [200, 0, 3, 0]], np.uint8),), {}
    yield "nanpercentile", (GAPS,), {"q": 40}
    yield "nanquantile", (GAPS,), {"q": 0.4, "axis": 1}
    yield "correlate", (ROW, ROW[:2]), {}
    yield "digitize", (A, np.array([-1.0, 0, 1])), {}
    yield "searchsorted", (np.array([-1.0, 0, 1]), ROW), {}
    yield "interp", (ROW, np.array([-1.0, 0, 1]), np.array([3.0, 1, 2])), {}
    yield "choose", (PLACES, np.stack([ROW[:3]] * 3)), {}
    yield "compress", (TRUE[0], A), {"axis": 0}
    yield "extract", (TRUE, WHOLE), {}
    yield "lexsort", (WHOLE,), {}
    yield "roots", (ROW,), {}
    yield "poly", (ROW[:3],), {}
    yield "polyint", (ROW,), {}
    yield "polyfit", (ROW, ROW**2), {"deg": 2}
    yield "vander", (ROW,), {"N": 3}
    yield "histogram_bin_edges", (A,), {"bins": 4}
    yield "histogram2d", (ROW, ROW[::-1].copy()), {"bins": 2}


def _with_settings() -> Iterator[Call]:
    yield "argpartition", (ROW[:3],), {"kth": 1}  # more would be in any order
    yield "partition", (ROW[:3],), {"kth": 1}
    yield "rollaxis", (STACK,), {"axis": 2}
    yield "take_along_axis", (A, np.array([[1], [0], [2]])), {"axis": 1}
    yield "trim_zeros", (np.array([0.0, 1, 2, 0]),), {}
    yield "unravel_index", (np.array([5, 7]),), {"shape": (3, 4)}
    yield "histogram", (A,), {"bins": 4, "range": (-2, 2)}
    yield "ptp", (STACK,), {"axis": 1}
    yield "product", (STACK,), {"axis": 1}
    yield "amax", (STACK,), {"axis": 1}
    yield "round", (A,), {"decimals": 1}
    yield "row_stack", ([A, B],), {}
    yield "broadcast_arrays", (A, ROW), {}
    yield "einsum", (A, B), {"*first": "ij,kj->ik"}
    yield "insert", (ROW,), {"obj": 1, "values": 5}
    yield "cov", (A, B), {}


def _algebra() -> Iterator[Call]:
    for name in ("cond", "qr", "svd"):
        yield f"linalg.{name}", (SQUARE,), {}
    for name in ("eig", "eigh", "eigvals"):
        yield f"linalg.{name}", (SYMMETRIC,), {}
    yield "linalg.lstsq", (SQUARE, ROW[:3]), {"rcond": -1}
    yield "linalg.matrix_power", (SQUARE,), {"n": 3}
    yield "linalg.matrix_rank", (SQUARE,), {}
    yield "linalg.multi_dot", ([A, B.T, SQUARE],), {}
    yield "linalg.tensorsolve", (np.eye(6).reshape(2, 3, 6), numbers(2, 3)), {}
    yield "linalg.norm", (STACK,), {"axis": (1, 2), "ord": "fro"}
    yield "linalg.norm", (A,), {"axis": 0, "keepdims": True}
    yield "linalg.pinv", (STACK,), {}


def _extensions() -> Iterator[Call]:
    yield "npx.dropout", (A,), {"p": 0.5}
    yield "npx.constraint_check", (TRUE | True,), {"msg": "not so"}
    yield "npx.image.flip_top_bottom", (IMAGE,), {}
    yield "npx.image.resize", (IMAGE,), {"size": (7, 6)}
    yield "npx.image.adjust_lighting", (IMAGE * 255,), {"alpha": (0.1, -0.2, 0.3)}
    scores = numbers(1, 2, 2, low=0.1, high=0.9)
    truth = np.array([[[0, 0.1, 0.1, 0.4, 0.5], [-1.0] * 5]])
    yield "npx.multibox_target", (BOXES, truth, scores), {}
    yield "npx.multibox_detection", (scores, numbers(1, 8) / 10, BOXES), {}


def _classic() -> Iterator[Call]:
    """Functions of `mx.nd` that are no operators."""
    for name in ("isnan", "isinf", "isfinite"):
        yield f"nd.contrib.{name}", (GAPS,), {}
    for name in ("add", "subtract", "multiply", "divide", "true_divide", "modulo"):
        yield f"nd.{name}", (POSITIVE, np.abs(B)), {}
    for name in ("maximum", "minimum", "power", "equal", "greater", "lesser_equal"):
        yield f"nd.{name}", (POSITIVE, POSITIVE[:1]), {}
    yield "nd.moveaxis", (STACK,), {"source": 0, "destination": 2}
    yield "nd.concatenate", ([A, B],), {"axis": 1}
    yield "nd.contrib.boolean_mask", (A, np.array([1, 0, 1])), {}
    yield "nd.linspace", (), {"start": 0, "stop": 1, "num": 5, "endpoint": False}
    yield "nd.arange", (), {"start": 1, "stop": 7, "step": 2, "repeat": 2}
    yield "nd.eye", (), {"N": 3, "M": 4, "k": 1}
    yield "nd.full", (), {"shape": (2, 2), "val": 1.5}
    yield "nd.histogram", (A,), {"bins": 4, "range": (-2, 2)}
    yield "nd.split_v2", (A,), {"indices_or_sections": (1, 3), "axis": 1}
    yield "nd.onehot_encode", (PLACES.astype("float32"), np.zeros((3, 4))), {}
    yield "nd.image.flip_left_right", (IMAGE,), {}


def _sparse() -> Iterator[Call]:
    """Operators that exist for sparse arrays, or treat them in their own way."""
    rows = {"*stypes": ["row_sparse"]}
    table = {"*stypes": ["csr"]}
    yield "nd.sparse.retain", (SPARSE, np.array([1.0, 2.0])), {
        "*stypes": ["row_sparse", None],
    }  # fmt: skip
    yield "nd.sparse.dot", (SPARSE, SQUARE), {"*stypes": ["csr", None]}
    yield "nd.sparse.dot", (SPARSE, numbers(5, 2)), {
        "*stypes": ["csr", None], "transpose_a": True,
    }  # fmt: skip
    yield "nd.sparse.add", (SPARSE, 2 * SPARSE), {"*stypes": ["row_sparse"] * 2}
    yield "nd.sparse.sum", (SPARSE,), {**table, "axis": 1}
    yield "nd.sparse.slice", (SPARSE,), {**table, "begin": (1, 0), "end": (4, 3)}
    yield "nd.contrib.getnnz", (SPARSE,), table
    for name in ON_ROWS:
        yield f"nd.sparse.{name}", (np.abs(SPARSE) / 3,), rows
    for name in ("subtract", "multiply", "elemwise_add", "elemwise_mul"):
        yield f"nd.sparse.{name}", (SPARSE, 2 * SPARSE), {"*stypes": ["row_sparse"] * 2}
    for name in ("mean", "norm", "zeros_like"):
        yield f"nd.sparse.{name}", (SPARSE,), table
    for name in ("broadcast_mul", "broadcast_div"):
        yield f"nd.sparse.{name}", (SPARSE, POSITIVE[:1, :3].copy()), {
            "*stypes": ["csr", None],
        }  # fmt: skip
    yield "nd.sparse.concat", (SPARSE, 2 * SPARSE), {"*stypes": ["csr"] * 2, "dim": 0}
    yield "nd.sparse.clip", (SPARSE,), {**rows, "a_min": -1, "a_max": 1}
    yield "nd.sparse.where", (SPARSE, numbers(5, 3), numbers(5, 3, seed=9)), {
        "*stypes": ["csr", None, None],
    }  # fmt: skip
    yield "nd._internal._square_sum", (SPARSE,), {**rows, "axis": 1}
    yield from _lazy_updates()


def _lazy_updates() -> Iterator[Call]:
    """Updates that touch only the rows of a gradient that are stored."""
    weight, state = numbers(5, 3, seed=3), numbers(5, 3, low=0.1, high=1, seed=4)
    settings = {"lr": 0.1, "rescale_grad": 0.5, "*out": [0]}
    decayed = {**settings, "wd": 0.2}
    for name, states, known in (
        ("sgd_update", 0, decayed),
        ("sgd_mom_update", 1, {**decayed, "momentum": 0.9}),
        ("adam_update", 2, decayed),
        ("ftrl_update", 2, decayed),
        ("adagrad_update", 1, settings),
    ):
        stypes = [None, "row_sparse", *[None] * states]
        if name == "adagrad_update":
            stypes = ["row_sparse"] * 3
        given = (weight, SPARSE, *[state] * states)
        yield f"nd.sparse.{name}", given, {**known, "*stypes": stypes}
    yield "nd.contrib.group_adagrad_update", (weight, SPARSE, state[:, :1].copy()), {
        **settings, "*stypes": [None, "row_sparse", None],
    }  # fmt: skip
