"""Rows for contrib operators: estimators, places, transforms, attention."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.core.ops.sample import Sample, numbers

REAL = ("float32", "float64")
X = numbers(3, 4)
INDEX = np.array([2, 0])
H, S = np.array([[0.0, 2, 0, 1]], "float32"), np.array([[1, -1, 1, -1]], "float32")


def away(x: Any) -> Any:
    """Rounded, halves away from zero."""
    return np.sign(x) * np.floor(np.abs(x) + 0.5)


def pairs(x: Any) -> Any:
    found = np.fft.fft(x)
    return np.stack([found.real, found.imag], -1).reshape(len(x), -1)


def back(x: Any) -> Any:
    z = x.reshape(len(x), -1, 2)
    return (np.fft.ifft(z[..., 0] + 1j * z[..., 1]) * z.shape[1]).real


def sketch(x: Any, h: Any, s: Any) -> Any:
    out = np.zeros((3, 3))
    for j, k in enumerate(h[0].astype(int)):
        out[:, k] += s[0, j] * x[:, j]
    return out


def copied(x: Any, i: Any, y: Any) -> Any:
    out = x.copy()
    out[i] = y
    return out


PLAIN = [
    Sample("_contrib_quadratic", (X,), {"a": 1.0, "b": 2.0, "c": 3.0},
           lambda x: x * x + 2 * x + 3),
    Sample("_contrib_round_ste", (X * 3,), {}, away, smooth=False),
    Sample("_contrib_sign_ste", (X,), {}, np.sign, smooth=False),
    Sample("_contrib_gradientmultiplier", (X,), {"scalar": 1.0}, np.copy),
    Sample("_contrib_gradientmultiplier", (X,), {"scalar": -2.0}, np.copy,
           smooth=False),
    Sample("_contrib_div_sqrt_dim", (X,), {}, lambda x: x / 2),
    Sample("_contrib_allclose", (X, X), {}, lambda a, b: 1),
    Sample("_contrib_allclose", (X, X + 0.5), {"atol": 0.4}, lambda a, b: 0),
    Sample("_contrib_arange_like", (X,), {"start": 1.0, "step": 0.5},
           lambda x: np.arange(12).reshape(3, 4) / 2 + 1),
    Sample("_contrib_arange_like", (X,), {"axis": -1, "repeat": 3},
           lambda x: np.array([0, 0, 0, 1])),
    Sample("_contrib_index_array", (X,), {}, 
           lambda x: np.moveaxis(np.indices((3, 4)), 0, -1)),
    Sample("_contrib_index_array", (X,), {"axes": (1,)},
           lambda x: np.indices((3, 4))[1][..., None]),
    Sample("_contrib_index_copy", (X, INDEX, numbers(2, 4)), {}, copied),
    Sample("_contrib_count_sketch", (X, H, S), {"out_dim": 3}, sketch),
    Sample("_contrib_fft", (X,), {}, pairs, REAL, tolerance=64),
    Sample("_contrib_ifft", (X,), {}, back, REAL, tolerance=64),
]  # fmt: skip

L, M, N, HEADS, D = 3, 4, 2, 2, 3
QKV, KV = numbers(L, N, HEADS * 3 * D), numbers(M, N, HEADS * 2 * D)
Q = numbers(L, N, HEADS * D)


def projection(x: Any, parts: int, which: int) -> Any:
    split = x.reshape(len(x), N, HEADS, parts, D)[..., which, :]
    return split.transpose(1, 2, 0, 3)


def scores(q: Any, k: Any) -> Any:
    found = q @ k.swapaxes(-1, -2) / np.sqrt(D)
    return found.reshape(N * HEADS, *found.shape[2:])


def weighted(attention: Any, v: Any) -> Any:
    found = attention.reshape(N, HEADS, *attention.shape[1:]) @ v
    return found.transpose(2, 0, 1, 3).reshape(found.shape[2], N, -1)


ATTENTION = [
    Sample("_contrib_interleaved_matmul_selfatt_qk", (QKV,), {"heads": HEADS},
           lambda x: scores(projection(x, 3, 0), projection(x, 3, 1)), tolerance=32),
    Sample("_contrib_interleaved_matmul_selfatt_valatt",
           (QKV, numbers(N * HEADS, L, L)), {"heads": HEADS},
           lambda x, a: weighted(a, projection(x, 3, 2)), tolerance=32),
    Sample("_contrib_interleaved_matmul_encdec_qk", (Q, KV), {"heads": HEADS},
           lambda q, kv: scores(projection(q, 1, 0), projection(kv, 2, 0)),
           tolerance=32),
    Sample("_contrib_interleaved_matmul_encdec_valatt",
           (KV, numbers(N * HEADS, L, M)), {"heads": HEADS},
           lambda kv, a: weighted(a, projection(kv, 2, 1)), tolerance=32),
]  # fmt: skip
ROWS = [
    *PLAIN,
    *ATTENTION,
    Sample("IdentityAttachKLSparseReg", (X, numbers(4, low=0.1, high=0.9)),
           {"training": True}, lambda x, avg: x, smooth=False),
]  # fmt: skip
