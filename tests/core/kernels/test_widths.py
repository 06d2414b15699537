"""Conversions between float32 and two bytes are NumPy's, bit by bit."""

from __future__ import annotations

import warnings
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minimx.core.kernels.cpu.widths import FEW, convert, widened

KINDS: list[Any] = [np.float16, ml_dtypes.bfloat16]


@pytest.mark.parametrize("kind", KINDS)
def test_every_number_of_two_bytes(kind: Any) -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(kind)
    wide = widened(every)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # signalling NaNs
        expected = every.astype(np.float32)
    np.testing.assert_array_equal(wide, expected)
    back = np.empty_like(every)
    convert(wide, back)
    real = ~np.isnan(expected)
    assert (back.view(np.uint16) == every.view(np.uint16))[real].all()
    assert np.isnan(back[~real].astype(np.float32)).all()


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 2**32 - 1))
def test_any_float32_is_rounded_as_numpy_rounds(kind: Any, seed: int) -> None:
    words = np.random.default_rng(seed).integers(0, 1 << 32, FEW + 8, dtype=np.uint32)
    x = words.view(np.float32)
    x = np.where(np.isnan(x), np.float32(1), x)
    out: Any = np.empty(x.shape, kind)
    convert(x, out)
    with np.errstate(over="ignore"):
        expected: Any = x.astype(kind)
    assert (out.view(np.uint16) == expected.view(np.uint16)).all()


@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3), (40, 50)])
def test_shapes_and_strides(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float16)
    wide = widened(x)
    assert wide.shape == shape and wide.dtype == np.float32
    np.testing.assert_array_equal(wide, x.astype(np.float32))
    turned, out = wide.T, np.empty(shape[::-1], np.float16)
    convert(turned, out)
    np.testing.assert_array_equal(out, x.T)
    ints = np.empty(shape, np.int32)
    convert(wide * 10, ints)
    np.testing.assert_array_equal(ints, (wide * 10).astype(np.int32))


def test_too_large_is_infinite_without_a_warning() -> None:
    for size in (3, FEW + 1):
        out = np.empty(size, np.float16)
        convert(np.full(size, 1e6, np.float32), out)
        assert np.isinf(out).all()
