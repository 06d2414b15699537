from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minimx import nd, util
from minimx.core import autograd
from minimx.core.errors import GradientError, ShapeError

SHAPE = (4, 3, 5)
NUMBERS = np.arange(60, dtype="float32").reshape(SHAPE)


def part(length: Any) -> Any:
    index = st.integers(-length, length - 1)
    bound = st.none() | st.integers(-length - 2, length + 2)
    step = st.none() | st.sampled_from([1, 2, -1, -2])
    return index | st.builds(slice, bound, bound, step)


KEYS = st.one_of(
    part(4),
    st.tuples(part(4), part(3)),
    st.tuples(part(4), part(3), part(5)),
    st.tuples(st.just(Ellipsis), part(5)),
    st.tuples(part(4), st.none(), part(3)),
    st.tuples(st.none(), part(4)),
    st.tuples(part(4), st.just(Ellipsis), part(5)),
)


@settings(max_examples=150, deadline=None)
@given(KEYS)
def test_basic_keys_agree_with_numpy(key: Any) -> None:
    expected = NUMBERS[key]
    got = nd.array(NUMBERS)[key]
    assert got.shape == (expected.shape or (1,))
    np.testing.assert_array_equal(got.asnumpy(), expected.reshape(got.shape))


@settings(max_examples=100, deadline=None)
@given(KEYS)
def test_assignment_agrees_with_numpy(key: Any) -> None:
    expected = NUMBERS.copy()
    expected[key] = -1
    x = nd.array(NUMBERS)
    x[key] = -1
    np.testing.assert_array_equal(x.asnumpy(), expected)


@settings(max_examples=60, deadline=None)
@given(KEYS)
def test_gradient_of_picking_is_one_where_picked(key: Any) -> None:
    if NUMBERS[key].size == 0:
        return
    x = nd.array(NUMBERS)
    x.attach_grad()
    with autograd.record():
        y = (x[key] * 2).sum()
    y.backward()
    expected = np.zeros(SHAPE)
    expected[key] = 2
    np.testing.assert_array_equal(x.grad.asnumpy(), expected)


def test_contiguous_slices_are_views() -> None:
    x = nd.zeros((4, 3))
    x[1:3][:] = 5
    x[0][1] = 7
    assert x.asnumpy().tolist() == [[0, 7, 0], [5, 5, 5], [5, 5, 5], [0, 0, 0]]


def test_equal_keys_of_other_types_mean_what_they_mean() -> None:
    x = nd.array(NUMBERS)
    for _ in range(2):
        assert (x[1:3].asnumpy() == NUMBERS[1:3]).all()
        assert (x[1].asnumpy() == NUMBERS[1]).all()
        with pytest.raises(TypeError):
            x[1.0:3]
        assert x[True].shape == NUMBERS[True].shape
        assert x[1:3].shape == (2, 3, 5)
        assert nd.array(NUMBERS[:2])[1:3].shape == (1, 3, 5)
        with pytest.raises(IndexError):
            x[4]
    part = x[1:3]
    assert (part[1:][0].asnumpy() == NUMBERS[2]).all(), "a view of a view"
    one = nd.array([1.0, 2.0])
    for _ in range(2):
        assert one[1].ndim == 1
        with util.np_shape(True):
            assert one[1].ndim == 0


def test_other_slices_are_copies() -> None:
    x = nd.zeros((4, 3))
    x[:, 1][:] = 5
    assert x.asnumpy().sum() == 0


@pytest.mark.parametrize(
    "key",
    [
        [0, 2],
        np.array([1, -1]),
        (slice(None), [0, 2]),
        ([0, 1], [2, 2]),
        ([0, 1], slice(1, 3)),
        (slice(None), [0, 1], [1, 4]),
        (np.array([[0, 1], [2, 3]]), 1),
    ],
)
def test_advanced_keys_agree_with_numpy(key: Any) -> None:
    x = nd.array(NUMBERS)
    np.testing.assert_array_equal(x[key].asnumpy(), NUMBERS[key])
    expected = NUMBERS.copy()
    expected[key] = 3
    x[key] = 3
    np.testing.assert_array_equal(x.asnumpy(), expected)


def test_indices_may_be_float_arrays_and_masks() -> None:
    x = nd.array(NUMBERS)
    np.testing.assert_array_equal(x[nd.array([0, 2])].asnumpy(), NUMBERS[[0, 2]])
    mask = np.array([True, False, True, False])
    np.testing.assert_array_equal(x[mask].asnumpy(), NUMBERS[mask])


def test_gradient_of_repeated_indices_adds_up() -> None:
    x = nd.array([1.0, 2.0, 3.0])
    x.attach_grad()
    with autograd.record():
        y = x[[0, 0, 2]].sum()
    y.backward()
    assert x.grad.asnumpy().tolist() == [2, 0, 1]


def test_assigning_arrays() -> None:
    x = nd.zeros((2, 3))
    x[0] = nd.array([1, 2, 3])
    x[1] = [4, 5, 6]
    x[:, 0] = np.array([9, 9])
    assert x.asnumpy().tolist() == [[9, 2, 3], [9, 5, 6]]


def test_bad_keys_are_explained_and_change_nothing() -> None:
    x = nd.zeros((2, 3))
    with pytest.raises(IndexError, match="axis 0"):
        x[2]
    with pytest.raises(IndexError, match="3 indices"):
        x[0, 0, 0]
    with pytest.raises(ShapeError, match="picks shape"):
        x[0] = nd.ones((4,))
    assert x.asnumpy().sum() == 0


def test_writing_into_a_recorded_array_is_refused() -> None:
    x = nd.ones((2,))
    x.attach_grad()
    with autograd.record():
        y = x * 2
        with pytest.raises(GradientError, match="Inplace operations"):
            y[:] = 0
        with pytest.raises(GradientError, match="Inplace operations"):
            y += 1


def test_iteration() -> None:
    assert [row.asnumpy().tolist() for row in nd.array([[1, 2], [3, 4]])] == [
        [1, 2],
        [3, 4],
    ]
