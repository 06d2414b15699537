"""Operators that sparse arrays are made of, asked on dense ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.core.ops.sample import Sample, numbers

REALS = ("float32", "float64")
_X = numbers(4, 3)
_IDS = np.array([2, 0, 2], np.int64)


def _retained(x: Any, rows: Any) -> Any:
    out = np.zeros_like(x)
    out[rows] = x[rows]
    return out


def _looked_up(dout: Any, ids: Any) -> Any:
    out = np.zeros((4, 3))
    np.add.at(out, ids, dout)
    return out


def _adagrad(w: Any, g: Any, h: Any) -> Any:
    g = np.clip(0.5 * g, -0.4, 0.4)
    return w - 0.1 * g / np.sqrt(h + g * g + 1e-7)


ROWS = [
    Sample("cast_storage", (_X,), {"stype": "default"}, lambda x: x),
    Sample("_sparse_retain", (_X, np.array([0, 3])), {}, _retained),
    Sample("_square_sum", (_X,), {"axis": 1}, lambda x: (x * x).sum(1)),
    Sample(
        "_square_sum",
        (_X,),
        {"axis": 0, "keepdims": True},
        lambda x: (x * x).sum(0, keepdims=True),
        tolerance=16,
    ),
    Sample(
        "_contrib_getnnz",
        (np.array([[0.0, 1.0], [2.0, 3.0]]),),
        {},
        lambda x: np.array([3]),
        smooth=False,
    ),
    Sample(
        "_contrib_getnnz",
        (np.array([[0.0, 1.0], [2.0, 3.0]]),),
        {"axis": 1},
        lambda x: np.array([1, 2]),
        smooth=False,
    ),
    Sample(
        "_contrib_SparseEmbedding",
        (_IDS, _X),
        {"input_dim": 4, "output_dim": 3},
        lambda ids, w: w[ids],
    ),
    Sample(
        "_backward_sparse_embedding",
        (numbers(3, 3), _IDS),
        {"shape": (4, 3)},
        _looked_up,
    ),
    Sample(
        "_scatter_plus_scalar", (_X,), {"scalar": 2.0}, lambda x: x + 2, dtypes=REALS
    ),
    Sample(
        "_scatter_minus_scalar", (_X,), {"scalar": 2.0}, lambda x: x - 2, dtypes=REALS
    ),
    Sample(
        "_scatter_elemwise_div",
        (_X, numbers(4, 3, low=0.5, seed=1)),
        {},
        lambda a, b: a / b,
    ),
    Sample(
        "_sparse_adagrad_update",
        (_X, numbers(4, 3, seed=1), numbers(4, 3, low=0.1, seed=2)),
        {"lr": 0.1, "rescale_grad": 0.5, "clip_gradient": 0.4},
        _adagrad,
        smooth=False,
    ),
]
