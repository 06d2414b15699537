"""Arithmetic that is rounded to float16 after every step."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from minimx import nd
from minimx.core.knobs import knobs
from minimx.fast.cpu import narrow
from minimx.fast.cpu.narrow import half


@njit
def _rounded(x: Any, out: Any) -> None:
    for k in range(x.size):
        out[k] = half(x[k])


def rounded(x: Any) -> Any:
    x = np.asarray(x, np.float32)
    out = np.empty_like(x)
    _rounded(x, out)
    return out


def as_numpy_rounds(x: Any) -> Any:
    with np.errstate(over="ignore"):
        return np.asarray(x, np.float32).astype(np.float16).astype(np.float32)


@given(st.lists(st.floats(width=32), min_size=1, max_size=50))
def test_half_rounds_as_numpy_does(values: list[float]) -> None:
    np.testing.assert_array_equal(rounded(values), as_numpy_rounds(values))


def test_every_float16_and_every_tie_between_two() -> None:
    every = np.arange(0, 0x7C00, dtype=np.uint16).view(np.float16).astype(np.float32)
    np.testing.assert_array_equal(rounded(every), every)
    ties = (every[1:] + every[:-1]) / 2
    np.testing.assert_array_equal(rounded(ties), as_numpy_rounds(ties))
    np.testing.assert_array_equal(rounded(-ties), as_numpy_rounds(-ties))


def test_a_norm_in_float16_stands_still_without_safe_accumulation() -> None:
    x = nd.full((70_000,), 0.1, dtype="float16")
    with knobs(MXNET_SAFE_ACCUMULATION=0):
        assert abs(nd.norm(x).astype("float32").asscalar() - 4.523) < 0.01
    with knobs(MXNET_SAFE_ACCUMULATION=1):
        assert abs(nd.norm(x).astype("float32").asscalar() - 26.45) < 0.02
        assert nd.norm(x, ord=1).asscalar() in (6996, 7000)


def test_norms_of_what_is_not_finite() -> None:
    for value in (np.inf, np.nan):
        x = nd.array([1, value, 2], dtype="float16")
        np.testing.assert_array_equal(nd.norm(x).asnumpy(), [np.float16(value)])


def test_a_product_rounds_after_every_addition() -> None:
    draw = np.random.default_rng(3)
    a = draw.standard_normal((2, 3, 40)).astype(np.float16)
    b = draw.standard_normal((2, 40, 5)).astype(np.float16)
    expected = np.zeros((2, 3, 5), np.float16)
    for k in range(40):
        term = a[:, :, k, None].astype(np.float32) * b[:, None, k].astype(np.float32)
        expected = (expected.astype(np.float32) + term).astype(np.float16)
    out = np.empty((2, 3, 5), np.float32)
    narrow.product(a.astype(np.float32), b.astype(np.float32), out)
    np.testing.assert_array_equal(out, expected.astype(np.float32))
