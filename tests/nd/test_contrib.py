from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import nd
from minimx.core import autograd

contrib: Any = nd.contrib


def test_a_boolean_mask_chooses_slices_and_passes_gradients_back() -> None:
    x = nd.arange(12).reshape((4, 3))
    x.attach_grad()
    with autograd.record():
        y = contrib.boolean_mask(x, nd.array([0, 1, 0, 1]))
        z = (y * y).sum()
    z.backward()
    assert y.asnumpy().tolist() == [[3, 4, 5], [9, 10, 11]]
    expected = np.zeros((4, 3))
    expected[[1, 3]] = 2 * y.asnumpy()
    np.testing.assert_array_equal(x.grad.asnumpy(), expected)


def test_a_mask_may_lie_along_any_axis_and_choose_nothing() -> None:
    x = nd.arange(6).reshape((2, 3))
    found = contrib.boolean_mask(x, nd.array([1, 0, 1]), axis=1)
    assert found.asnumpy().tolist() == [[0, 2], [3, 5]]
    assert contrib.boolean_mask(x, nd.zeros((2,))).shape == (0, 3)
    with pytest.raises(mx.base.MXNetError, match="one number for each of the 2"):
        contrib.boolean_mask(x, nd.zeros((3,)))


def test_straight_through_estimators_leave_gradients_alone() -> None:
    x = nd.array([-1.5, 0.4, 2.5])
    for name, wanted in (("round_ste", [-2, 0, 3]), ("sign_ste", [-1, 1, 1])):
        x.attach_grad()
        with autograd.record():
            y = getattr(contrib, name)(x)
        y.backward(nd.array([1.0, 2.0, 3.0]))
        assert y.asnumpy().tolist() == wanted
        assert x.grad.asnumpy().tolist() == [1, 2, 3]


def test_a_gradient_can_be_turned_round() -> None:
    x = nd.array([1.0, 2.0])
    x.attach_grad()
    with autograd.record():
        y = contrib.gradientmultiplier(x, scalar=-0.5)
    y.backward()
    assert x.grad.asnumpy().tolist() == [-0.5, -0.5]


def test_rows_that_are_copied_over_get_no_gradient() -> None:
    old, new = nd.ones((3, 2)), nd.ones((1, 2))
    old.attach_grad()
    new.attach_grad()
    with autograd.record():
        y = contrib.index_copy(old, nd.array([1], dtype="int64"), new) * 2
    y.backward()
    assert old.grad.asnumpy().tolist() == [[2, 2], [0, 0], [2, 2]]
    assert new.grad.asnumpy().tolist() == [[2, 2]]
    with pytest.raises(mx.base.MXNetError, match="row 7 does not exist"):
        contrib.index_copy(old, nd.array([7], dtype="int64"), new).wait_to_read()


def test_what_is_finite_is_told_apart() -> None:
    x = nd.array([1.0, np.inf, np.nan, -np.inf])
    assert contrib.isinf(x).asnumpy().tolist() == [0, 1, 0, 1]
    assert contrib.isnan(x).asnumpy().tolist() == [0, 0, 1, 0]
    assert contrib.isfinite(x).asnumpy().tolist() == [1, 0, 0, 0]


def test_zipfian_classes_come_as_often_as_expected() -> None:
    mx.random.seed(3)
    true = nd.array([0, 3])
    classes, expected, _ = contrib.rand_zipfian(true, 20000, 50)
    numbers = classes.asnumpy()
    assert numbers.dtype == np.int64
    counts = [(numbers == k).sum() for k in (0, 3)]
    np.testing.assert_allclose(counts, expected.asnumpy(), rtol=0.08)


def test_unique_zipfian_rows_hold_every_number_once() -> None:
    rows, tries = nd._internal._sample_unique_zipfian(30, shape=(4, 25))
    assert rows.shape == (4, 25)
    assert all(len(set(row)) == 25 for row in rows.asnumpy().tolist())
    assert (tries.asnumpy() >= 25).all()
    with pytest.raises(mx.base.MXNetError, match="no more different"):
        nd._internal._sample_unique_zipfian(3, shape=(1, 4))


def test_units_that_are_on_too_often_are_pushed_back() -> None:
    x, average = nd.array([[0.2, 0.9], [0.4, 0.7]]), nd.array([0.5, 0.5])
    x.attach_grad()
    with autograd.record():
        y = nd.IdentityAttachKLSparseReg(
            x, average, sparseness_target=0.2, penalty=0.5, momentum=0.5
        )
    y.backward()
    now = np.array([0.4, 0.65])  # half the old average, half that of the batch
    np.testing.assert_allclose(average.asnumpy(), now, rtol=1e-6)
    slope = 1 + 0.5 * (0.8 / (1 - now) - 0.2 / now)
    np.testing.assert_allclose(x.grad.asnumpy(), [slope, slope], rtol=1e-5)
    assert (y.asnumpy() == x.asnumpy()).all()
