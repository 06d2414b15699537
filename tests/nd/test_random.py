"""Random arrays: shapes, element types, parameters that are arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import nd
from minimx.core.device import cpu
from minimx.core.errors import OperatorError, ShapeError

random = nd.random
LOW, HIGH = nd.array([0, 10]), nd.array([1, 20])


@pytest.mark.parametrize(
    ("drawn", "shape", "dtype"),
    [
        (lambda: random.uniform(), (1,), "float32"),
        (lambda: random.uniform(0, 1, 5), (5,), "float32"),
        (lambda: random.uniform(0, 1, [5, 2], "float64"), (5, 2), "float64"),
        (lambda: random.normal(shape=2, dtype=np.float16), (2,), "float16"),
        (lambda: random.randn(2, 3, loc=1, scale=2), (2, 3), "float32"),
        (lambda: random.randint(0, 5), (1,), "int32"),
        (lambda: random.randint(0, 5, (2,), dtype="int64"), (2,), "int64"),
        (lambda: random.uniform(LOW, HIGH), (2,), "float32"),
        (lambda: random.uniform(LOW, HIGH, shape=(3, 4)), (2, 3, 4), "float32"),
        (lambda: random.normal(LOW, HIGH, shape=3, dtype="float64"), (2, 3), "float64"),
        (lambda: random.exponential(HIGH), (2,), "float32"),
        (lambda: random.gamma(HIGH, HIGH, shape=1), (2, 1), "float32"),
        (lambda: random.poisson(HIGH, shape=(1, 2)), (2, 1, 2), "float32"),
        (lambda: random.negative_binomial(3, 0.5, shape=2), (2,), "float32"),
        (lambda: random.generalized_negative_binomial(2, 0.3), (1,), "float32"),
        (lambda: random.multinomial(nd.array([0.5, 0.5]), 4), (4,), "int32"),
        (lambda: random.shuffle(nd.ones((3, 2))), (3, 2), "float32"),
    ],
)
def test_shapes_and_element_types(drawn: Any, shape: Any, dtype: str) -> None:
    found = drawn()
    assert found.shape == shape
    assert found.dtype == np.dtype(dtype)


def test_a_single_number_without_axes_is_numpys() -> None:
    for draw in (random.normal, random.poisson):
        with pytest.raises(ShapeError, match="has no axes"):
            draw(shape=())
        with mx.np_shape(True):
            assert draw(shape=()).shape == random.randn().shape == ()
            assert draw().shape == (1,)


def test_each_element_of_an_array_is_a_distribution() -> None:
    found = random.uniform(LOW, HIGH, shape=1000).asnumpy()
    assert 0 <= found[0].min() < found[0].max() < 1
    assert 10 <= found[1].min() < found[1].max() < 20
    means = random.exponential(nd.array([1, 100]), shape=4000).asnumpy().mean(axis=1)
    np.testing.assert_allclose(means, [1, 100], rtol=0.2)


def test_multinomial_draws_classes_and_their_log_probabilities() -> None:
    found, logs = random.multinomial(
        nd.array([[0, 1.0], [0.5, 0.5]]), shape=3, get_prob=True
    )
    assert found.asnumpy()[0].tolist() == [1, 1, 1]
    np.testing.assert_allclose(
        logs.asnumpy(), np.log([[1.0, 1, 1], [0.5, 0.5, 0.5]]), rtol=1e-6
    )


def test_out_takes_shape_and_type_from_the_array() -> None:
    out = nd.zeros((2, 3), dtype="float64")
    assert random.normal(5, 0.001, out=out) is out
    np.testing.assert_allclose(out.asnumpy(), np.full((2, 3), 5), atol=0.1)
    with pytest.raises(ShapeError):
        random.normal(shape=(2,), out=nd.zeros((3,)))


def test_the_device_may_be_named() -> None:
    assert random.uniform(shape=2, ctx="cpu(1)").context is cpu(1)
    assert random.uniform(shape=2, device=cpu(2)).context is cpu(2)


def test_numbers_and_arrays_do_not_mix() -> None:
    with pytest.raises(OperatorError, match="all be"):
        random.uniform(LOW, 3)


def test_a_misspelt_setting_is_not_swallowed() -> None:
    with pytest.raises(OperatorError, match="no setting 'shpe'"):
        random.uniform(shpe=(2,))


def test_a_wrong_parameter_is_reported_where_somebody_waits() -> None:
    dependent = random.normal(0, -1, shape=(2,)) + 1
    with pytest.raises(OperatorError, match="scale"):
        dependent.asnumpy()
    nd.waitall()


@pytest.mark.parametrize(
    ("name", "settings", "mean"),
    [
        ("uniform", {"low": 2, "high": 4}, 3),
        ("normal", {"loc": 5, "scale": 0.5}, 5),
        ("gamma", {"alpha": 3, "beta": 2}, 6),
        ("exponential", {"lam": 0.5}, 2),
        ("poisson", {"lam": 4}, 4),
        ("negative_binomial", {"k": 3, "p": 0.5}, 3),
        ("generalized_negative_binomial", {"mu": 4, "alpha": 0.3}, 4),
    ],
)
def test_numbers_are_like_an_array(
    name: str, settings: dict[str, Any], mean: float
) -> None:
    mx.random.seed(11)
    like = nd.ones((100, 50), dtype="float64")
    drawn = getattr(nd.random, f"{name}_like")(like, **settings)
    assert drawn.shape == like.shape
    assert drawn.dtype == np.float64
    np.testing.assert_allclose(drawn.asnumpy().mean(), mean, rtol=0.05)


def test_counts_of_two_parameters_have_their_means() -> None:
    mx.random.seed(5)
    k, p = nd.array([2.0, 5.0]), nd.array([0.5, 0.25])
    drawn = nd.random.negative_binomial(k, p, shape=(4000,)).asnumpy()
    np.testing.assert_allclose(drawn.mean(1), [2, 15], rtol=0.1)
    mu, alpha = nd.array([2.0, 9.0]), nd.array([0.0, 0.5])
    drawn = nd.random.generalized_negative_binomial(mu, alpha, shape=4000).asnumpy()
    np.testing.assert_allclose(drawn.mean(1), [2, 9], rtol=0.1)
    np.testing.assert_allclose(drawn.var(1), [2, 9 + 0.5 * 81], rtol=0.2)


def test_bounds_in_arrays_may_be_exchanged() -> None:
    """As in MXNet, which refuses numbers that are in the wrong order, not arrays."""
    mx.random.seed(1)
    low, high = mx.nd.array([3.0, 0.0]), mx.nd.array([1.0, 1.0])
    found = mx.random.uniform(low, high, shape=(500,)).asnumpy()
    assert found[0].min() > 1
    assert found[0].max() <= 3
    assert abs(found[0].mean() - 2) < 0.2
    with pytest.raises(mx.MXNetError):
        mx.random.uniform(3, 1, shape=(2,)).asnumpy()
