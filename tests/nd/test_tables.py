from __future__ import annotations

import numpy as np
import pytest

import minimx as mx
from minimx import nd


def test_a_histogram_spans_the_numbers_unless_a_range_is_given() -> None:
    numbers = np.random.default_rng(0).normal(size=(7, 5)).astype(np.float32)
    x = nd.array(numbers)
    for mine, theirs in zip(
        nd.histogram(x, bins=4), np.histogram(numbers, 4), strict=True
    ):
        np.testing.assert_allclose(mine.asnumpy(), theirs, rtol=1e-6)
    counts, edges = nd.histogram(x, bins=3, range=(-1, 1))
    assert counts.dtype == np.int64
    assert counts.asnumpy().tolist() == np.histogram(numbers, 3, (-1, 1))[0].tolist()
    counts, _ = nd.histogram(x, bins=nd.array([-9.0, 0.0, 9.0]))
    assert counts.asnumpy().sum() == 35


def test_onehot_encode_writes_over_its_second_array() -> None:
    out = nd.zeros((2, 3))
    assert nd.onehot_encode(nd.array([0, 2]), out) is out
    assert out.asnumpy().tolist() == [[1, 0, 0], [0, 0, 1]]


def test_the_inner_room_has_names_that_begin_with_an_underscore() -> None:
    x = nd.array([1.0, 2.0])
    assert nd._internal._PlusScalar(x, scalar=2).asnumpy().tolist() == [3, 4]
    assert nd._internal._Plus(x, x).asnumpy().tolist() == [2, 4]
    assert nd._internal._set_value(5, out=x).asnumpy().tolist() == [5, 5]
    with pytest.raises(AttributeError, match="_internal"):
        _ = nd._internal.sum


def test_arrays_are_reset_and_looked_through_together() -> None:
    x, y = nd.ones((2, 2)), nd.array([1.0, np.inf])
    assert nd.multi_all_finite(x, y, num_arrays=2).asnumpy().tolist() == [0]
    so_far = nd.all_finite(y)
    nd.all_finite(x, init_output=False, out=so_far)
    assert so_far.asnumpy().tolist() == [0]
    assert nd.reset_arrays(x, y, num_arrays=2) == []
    assert y.asnumpy().tolist() == [0, 0]
    with pytest.raises(mx.base.MXNetError, match="announced"):
        nd.multi_sum_sq(x, y, num_arrays=3)


def test_axes_to_broadcast_along_are_named_in_pairs() -> None:
    x, y = nd.ones((1, 3)), nd.ones((2, 5))
    assert nd.broadcast_like(x, y, lhs_axes=(0,), rhs_axes=(1,)).shape == (5, 3)
    for axes in ((), (0, 1)):
        with pytest.raises(ValueError, match="equally many axes"):
            nd.broadcast_like(x, y, lhs_axes=axes, rhs_axes=axes[:1])
