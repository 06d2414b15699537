"""`np.random`: shapes, types, moments, seeds and gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as onp
import pytest

import minimx as mx
from minimx import np
from minimx.core import autograd

# name, parameters, mean, deviation
DISTRIBUTIONS: list[tuple[str, tuple[float, ...], float, float]] = [
    ("uniform", (1.0, 3.0), 2.0, 3**-0.5),
    ("normal", (1.0, 2.0), 1.0, 2.0),
    ("logistic", (1.0, 0.5), 1.0, 0.5 * onp.pi / 3**0.5),
    ("gumbel", (0.0, 1.0), onp.euler_gamma, onp.pi / 6**0.5),
    ("laplace", (1.0, 2.0), 1.0, 8**0.5),
    ("lognormal", (0.0, 0.5), onp.exp(0.125), 0.6039),
    ("exponential", (2.0,), 2.0, 2.0),
    ("rayleigh", (2.0,), 2 * (onp.pi / 2) ** 0.5, 2 * (2 - onp.pi / 2) ** 0.5),
    ("weibull", (2.0,), onp.pi**0.5 / 2, (1 - onp.pi / 4) ** 0.5),
    ("pareto", (5.0,), 0.25, (5 / 48) ** 0.5),
    ("power", (2.0,), 2 / 3, 18**-0.5),
    ("gamma", (3.0, 2.0), 6.0, 12**0.5),
    ("beta", (2.0, 2.0), 0.5, 20**-0.5),
    ("chisquare", (4.0,), 4.0, 8**0.5),
    ("f", (5.0, 20.0), 20 / 18, 0.8461),
    ("poisson", (4.0,), 4.0, 2.0),
]
SMOOTH = DISTRIBUTIONS[:11]


@pytest.mark.parametrize(("name", "parameters", "mean", "deviation"), DISTRIBUTIONS)
def test_moments(name: str, parameters: Any, mean: float, deviation: float) -> None:
    mx.random.seed(3)
    drawn = getattr(np.random, name)(*parameters, size=40_000).asnumpy()
    assert drawn.dtype == onp.float32
    assert abs(drawn.mean() - mean) < 5 * deviation / 200
    assert drawn.std() == pytest.approx(deviation, rel=0.08)


@pytest.mark.parametrize(("name", "parameters", "mean", "deviation"), DISTRIBUTIONS)
def test_arrays_of_parameters_stretch(
    name: str, parameters: Any, mean: float, deviation: float
) -> None:
    draw = getattr(np.random, name)
    first, *rest = parameters
    column = np.full((3, 1), first)
    others = [np.full((2,), value) for value in rest]
    assert draw(column, *others).shape == ((3, 2) if rest else (3, 1))
    assert draw(column, *rest, size=(4, 3, 2)).shape == (4, 3, 2)
    assert draw(*parameters).shape == ()
    assert draw(*parameters, size=(2, 0)).shape == (2, 0)
    with pytest.raises(ValueError):
        draw(np.full((3,), first), *rest, size=(2,))


@pytest.mark.parametrize(("name", "parameters", "mean", "deviation"), SMOOTH)
def test_gradient_follows_the_path(
    name: str, parameters: Any, mean: float, deviation: float
) -> None:
    """The same standard numbers with moved parameters: their slope is the gradient."""
    draw = getattr(np.random, name)
    for k in range(len(parameters)):
        arrays = [np.array([p], dtype="float64") for p in parameters]
        arrays[k].attach_grad()
        mx.random.seed(1)
        with autograd.record():
            draw(*arrays, size=(50,)).sum().backward()
        ends = []
        for step in (1e-2, -1e-2):
            mx.random.seed(1)
            moved = [p + step * (j == k) for j, p in enumerate(parameters)]
            ends.append(draw(*map(np.array, moved), size=(50,)).asnumpy().sum())
        slope = (ends[0] - ends[1]) / 2e-2
        assert arrays[k].grad.item() == pytest.approx(slope, rel=2e-2, abs=2e-2)


def test_a_seed_repeats_and_devices_have_streams() -> None:
    np.random.seed(7)
    first = np.random.randn(3).tolist()
    np.random.seed(7)
    assert np.random.randn(3).tolist() == first
    other = np.random.normal(size=3, device=mx.gpu(0))
    assert other.context == mx.gpu(0)
    assert other.tolist() != first


def test_whole_numbers_and_choices() -> None:
    mx.random.seed(0)
    drawn = np.random.randint(2, 5, size=(100,))
    assert drawn.dtype == onp.int64
    assert set(drawn.tolist()) == {2, 3, 4}
    assert np.random.randint(3, dtype="int32").shape == ()
    assert sorted(np.random.choice(5, 5, replace=False).tolist()) == [0, 1, 2, 3, 4]
    letters = np.array([10.0, 20.0])
    picked = np.random.choice(letters, 20, p=np.array([0.0, 1.0]))
    assert set(picked.tolist()) == {20}
    assert sorted(np.random.permutation(4).tolist()) == [0, 1, 2, 3]
    x = np.arange(6)
    np.random.shuffle(x)
    assert sorted(x.tolist()) == [0, 1, 2, 3, 4, 5]
    counts = np.random.multinomial(20, [0.25, 0.75], size=(2, 3))
    assert counts.shape == (2, 3, 2)
    assert counts.sum() == 120
    wrong: list[Callable[[], Any]] = [
        lambda: np.random.choice(3, 4, replace=False),
        lambda: np.random.randint(3, 3),
        lambda: np.random.multinomial(3, [0.9, 0.9]).asnumpy(),
        lambda: np.random.normal(0, -1).asnumpy(),
        lambda: np.random.gamma(np.array([0.0])).asnumpy(),
    ]
    for bad in wrong:
        with pytest.raises(ValueError):
            bad()


def test_vectors_of_a_normal_distribution() -> None:
    mx.random.seed(0)
    cov = np.array([[2.0, 0.5], [0.5, 1.0]])
    drawn = np.random.multivariate_normal(np.array([1.0, -1.0]), cov, 20_000)
    assert drawn.shape == (20_000, 2)
    onp.testing.assert_allclose(onp.cov(drawn.asnumpy().T), cov.asnumpy(), atol=0.08)
    batch = np.random.multivariate_normal(np.zeros((3, 2)), cov, (4,))
    assert batch.shape == (4, 3, 2)


def test_out_and_dtype() -> None:
    out = np.zeros((2, 2))
    assert np.random.uniform(out=out, size=(2, 2)) is out
    assert out.sum() > 0
    assert np.random.uniform(size=2, dtype="float64").dtype == onp.float64


@pytest.mark.parametrize("draw", [np.random.uniform, np.random.normal])
def test_fractions_are_not_drawn_as_whole_numbers(draw: Any) -> None:
    with pytest.raises(mx.base.MXNetError, match="randint"):
        draw(size=(2,), dtype="int32")


def test_there_may_be_no_outcomes_to_count() -> None:
    assert np.random.multinomial(3, []).shape == (0,)
    assert np.random.multinomial(3, np.array([]), size=(2,)).shape == (2, 0)
