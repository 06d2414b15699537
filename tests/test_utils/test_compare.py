"""Comparisons that say where arrays differ."""

from __future__ import annotations

import numpy as np
import pytest

import minimx as mx
from minimx.test_utils import (
    almost_equal,
    assert_almost_equal,
    assert_almost_equal_ignore_nan,
    assert_almost_equal_with_err,
    assert_exception,
    same,
    same_array,
)


def test_tolerance_goes_by_the_looser_type() -> None:
    a = mx.nd.array([1.0, 2.0], dtype="float16")
    assert_almost_equal(a, np.array([1.05, 2.05], np.float64))
    with pytest.raises(AssertionError, match="further apart"):
        assert_almost_equal(np.array([1.0]), np.array([1.05]))


def test_the_worst_place_comes_first() -> None:
    a = np.zeros((2, 3))
    b = a.copy()
    b[1, 2], b[0, 1] = 5.0, 1.0
    with pytest.raises(AssertionError, match="2 of 6") as raised:
        assert_almost_equal(a, b, rtol=0, atol=0.1, names=("ours", "theirs"))
    lines = str(raised.value).splitlines()
    assert lines[1].strip().startswith("at (1, 2): ours=")
    assert "50 times" in lines[1]


def test_a_nan_on_one_side_is_worst() -> None:
    with pytest.raises(AssertionError, match=r"(?s)worst:\n +at \(1,\)"):
        assert_almost_equal([1.0, np.nan], [9.0, 1.0], rtol=1e-3, atol=1e-3)
    assert_almost_equal([1.0, np.nan], [1.0, np.nan], equal_nan=True)
    assert_almost_equal_ignore_nan(np.array([1.0, np.nan]), np.array([1.0, 3.0]))


def test_a_share_may_be_wrong() -> None:
    a, b = np.zeros(10), np.zeros(10)
    b[3] = 1
    assert_almost_equal_with_err(a, b, etol=0.1)
    with pytest.raises(AssertionError):
        assert_almost_equal_with_err(a, b, etol=0.05)


def test_shapes_stretch_unless_forbidden() -> None:
    assert almost_equal(np.ones((2, 1)), np.ones((1, 3)))
    with pytest.raises(AssertionError, match="shapes differ"):
        almost_equal(np.ones((2, 1)), np.ones((1, 3)), use_broadcast=False)


def test_the_same_memory() -> None:
    x = mx.nd.arange(6)
    view = x.reshape((2, 3))
    assert same(x, [0, 1, 2, 3, 4, 5])
    assert not same_array(x, x.copy())
    assert same_array(view, x.reshape((2, 3)))
    assert same(x, [0, 1, 2, 3, 4, 5])


def test_an_exception_is_asked_for() -> None:
    assert_exception(int, ValueError, "x")
    with pytest.raises(AssertionError, match="ValueError"):
        assert_exception(int, ValueError, "1")
