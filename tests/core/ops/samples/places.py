"""Rows for sequences, places, running sums, counts, and several element types."""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.dtypes import POWERS
from tests.core.ops.sample import Sample, numbers

X = numbers(4, 3, 2)
LENGTHS = np.array([1, 4, 2], "float32")
LENGTHS_4 = np.array([1, 3, 2, 3], "int32")
USED = {"use_sequence_length": True}
MATRIX = numbers(3, 4)
COLUMNS = np.array([0, 3, 1], "int64")


def masked(value: float, axis: int = 0) -> Any:
    def oracle(x: Any, lengths: Any) -> Any:
        out = x.copy()
        for b, n in enumerate(lengths.astype(int)):
            out[(slice(n, None), b) if axis == 0 else (b, slice(n, None))] = value
        return out

    return oracle


def last(x: Any, lengths: Any, axis: int = 0) -> Any:
    ends = lengths.astype(int) - 1
    batch = np.arange(len(ends))
    return x[ends, batch] if axis == 0 else x[batch, ends]


def unlast(d: Any, lengths: Any) -> Any:
    out = np.zeros((4, 3, 2))
    out[lengths.astype(int) - 1, np.arange(3)] = d
    return out


def backwards(x: Any, lengths: Any) -> Any:
    out = x.copy()
    for b, n in enumerate(lengths.astype(int)):
        out[:n, b] = x[:n, b][::-1]
    return out


def changed(part: Any, value: Any) -> Any:
    def oracle(x: Any, *more: Any) -> Any:
        out = x.copy()
        out[part] = more[0] if value is None else value
        return out

    return oracle


SEQUENCES = [
    Sample("SequenceMask", (X,), {}, np.copy),
    Sample("SequenceMask", (X, LENGTHS), {**USED, "value": -1}, masked(-1)),
    Sample("SequenceMask", (X, LENGTHS_4), {**USED, "axis": 1}, masked(0, 1)),
    Sample("SequenceLast", (X,), {}, lambda x: x[-1]),
    Sample("SequenceLast", (X,), {"axis": 1}, lambda x: x[:, -1]),
    Sample("SequenceLast", (X, LENGTHS), USED, last),
    Sample(
        "SequenceLast",
        (X, LENGTHS_4),
        {**USED, "axis": 1},
        lambda x, n: last(x, n, 1),
    ),
    Sample(
        "_backward_SequenceLast",
        (X[0], LENGTHS),
        {**USED, "axis": 0, "shape": (4, 3, 2)},
        unlast,
    ),
    Sample("SequenceReverse", (X,), {}, lambda x: x[::-1]),
    Sample("SequenceReverse", (X, LENGTHS), USED, backwards),
]
PLACES = [
    Sample(
        "_ravel_multi_index",
        (np.array([[0, 1, 2], [3, 0, 1]], "float32"),),
        {"shape": (-1, 4)},
        lambda i: i[0] * 4 + i[1],
    ),
    Sample(
        "_unravel_index",
        (np.array([[0, 7], [11, 4]], "int32"),),
        {"shape": (3, 4)},
        lambda i: np.stack(np.unravel_index(i, (3, 4))),
    ),
    Sample(
        "_onehot_encode",
        (COLUMNS.astype("float32"), MATRIX),
        {},
        lambda i, m: np.eye(4)[i.astype(int)],
    ),
    Sample(
        "fill_element_0index",
        (MATRIX, numbers(3), COLUMNS),
        {},
        lambda x, v, i: changed((np.arange(3), i), v)(x),
    ),
    Sample(
        "_scatter_set_nd",
        (MATRIX, numbers(2), np.array([[0, 2], [1, 3]])),
        {"shape": (3, 4)},
        lambda x, v, i: changed(tuple(i), v)(x),
    ),
    Sample(
        "_scatter_set_nd",
        (MATRIX, numbers(2, 4), np.array([[2, 0]])),
        {"shape": (3, 4)},
        lambda x, v, i: changed(tuple(i), v)(x),
    ),
    Sample(
        "_slice_assign",
        (MATRIX, numbers(2, 2)),
        {"begin": (1, None), "end": (3, None), "step": (1, 2)},
        changed(np.s_[1:3, ::2], None),
    ),
    Sample(
        "_slice_assign_scalar",
        (MATRIX,),
        {"scalar": 7.0, "begin": (None, 3), "end": (None, 0), "step": (2, -1)},
        changed(np.s_[::2, 3:0:-1], 7.0),
    ),
    Sample("_identity_with_attr_like_rhs", (MATRIX, MATRIX), {}, lambda x, y: x,
           smooth=(True, False)),
    Sample("_zeros_without_dtype", (), {"shape": (2, 3)}, lambda: np.zeros((2, 3))),
]  # fmt: skip
STATISTICS = [
    Sample("cumsum", (X,), {}, np.cumsum, tolerance=64),
    Sample("cumsum", (X,), {"axis": -2}, lambda x: np.cumsum(x, -2), tolerance=64),
    Sample("cumsum", (X,), {"axis": 0, "dtype": "float64"}, lambda x: np.cumsum(x, 0),
           ("float32",)),
    Sample("_histogram", (MATRIX, np.array([-1.0, -0.5, 0, 1])), {},
           lambda x, e: np.histogram(x, e), ("float32", "float64"), smooth=False),
    Sample("_histogram", (MATRIX,), {"bin_cnt": 4, "range": (-1, 1)},
           lambda x: np.histogram(x, 4, (-1, 1)), ("float32", "float64")),
    Sample("moments", (X,), {"axes": (0, 2)},
           lambda x: (x.mean((0, 2)), x.var((0, 2)))),
    Sample("moments", (X,), {"axes": 1, "keepdims": True},
           lambda x: (x.mean(1, keepdims=True), x.var(1, keepdims=True))),
    Sample("moments", (X,), {}, lambda x: (x.mean(), x.var())),
]  # fmt: skip


def lars(lrs: Any, w: Any, g: Any, wds: Any) -> Any:
    w, g = np.sqrt(w), np.sqrt(g)
    found = lrs * 0.1 * w / (0.5 * g + wds * w + 0.01)
    return np.where((w > 0) & (g > 0), found, lrs)


INF = np.array([1.0, np.inf])
TINY = np.array([0.0, 2.0**-24, -(2.0**-13), 1.5, np.inf, -np.inf, np.nan, 3.0])


def exponents(*arrays: Any) -> Any:
    """Zeros, infinite, NaN, the sum of squares, and counts by power of two."""
    rows = []
    for x in arrays:
        real = x[np.isfinite(x) & (x != 0)]
        powers = np.frexp(real)[1] - 1 - POWERS[0]
        rows.append(
            [(x == 0).sum(), np.isinf(x).sum(), np.isnan(x).sum(), (real**2).sum(),
             *np.bincount(powers, minlength=len(POWERS))]
        )  # fmt: skip
    return np.array(rows)


PRECISION = [
    Sample("amp_cast", (MATRIX,), {"dtype": "float64"}, np.copy),
    Sample("amp_cast", (MATRIX,), {"dtype": "float16"}, np.copy, smooth=False),
    Sample("amp_cast", (COLUMNS,), {"dtype": "float16"}, np.copy, ("float32",)),
    Sample("amp_multicast", (MATRIX, numbers(2).astype("float16"), COLUMNS),
           {"num_outputs": 3}, lambda x, y, z: (x, y, z), ("float32",)),
    Sample("amp_multicast", (MATRIX, numbers(2).astype("float16")),
           {"num_outputs": 2, "cast_narrow": True}, lambda x, y: (x, y), ("float16",),
           smooth=False),
    Sample("_amp_scaled_loss", (MATRIX,), {}, np.copy),
    Sample("_backward_amp_scaled_loss", (MATRIX,), {}, np.copy),
    Sample("all_finite", (MATRIX,), {}, lambda x: [1]),
    Sample("all_finite", (INF,), {}, lambda x: [0]),
    Sample("multi_all_finite", (MATRIX, INF), {"num_arrays": 2}, lambda x, y: [0]),
    Sample("multi_all_finite", (MATRIX, X), {"num_arrays": 2}, lambda x, y: [1]),
    Sample("_exponents", (MATRIX, TINY), {"num_arrays": 2}, exponents),
    Sample("reset_arrays", (MATRIX, X), {"num_arrays": 2}, lambda x, y: ()),
    Sample("multi_sum_sq", (MATRIX, X), {"num_arrays": 2},
           lambda x, y: [(x * x).sum(), (y * y).sum()], tolerance=64),
    Sample("multi_lars", (np.array([1.0, 2, 3]), np.array([4.0, 9, 0]),
                          np.array([1.0, 4, 1]), np.array([0.1, 0.2, 0.3])),
           {"eta": 0.1, "eps": 0.01, "rescale_grad": 0.5}, lars,
           ("float32", "float64")),
]  # fmt: skip
ROWS = [*SEQUENCES, *PLACES, *STATISTICS, *PRECISION]
