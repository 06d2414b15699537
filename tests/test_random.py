"""Seeds take their turn in the engine."""

from __future__ import annotations

from typing import Any

import pytest

from minimx import nd, random
from minimx.core import autograd
from minimx.core.device import cpu, gpu
from minimx.core.errors import ArgumentError
from minimx.core.knobs import knobs


@pytest.mark.parametrize("engine", ["NaiveEngine", "ThreadedEnginePerDevice"])
@pytest.mark.parametrize("device", [cpu(0), gpu(0)])
def test_a_seed_repeats_the_numbers(engine: str, device: Any) -> None:
    with knobs(MXNET_ENGINE_TYPE=engine):
        found = []
        for seed in (5, 5, 6):
            random.seed(seed)
            arrays = [random.uniform(shape=(3,), ctx=device) for _ in range(3)]
            found.append([x.asnumpy().tolist() for x in arrays])
    assert found[0] == found[1] != found[2]


def test_a_seed_does_not_change_what_was_called_before() -> None:
    random.seed(1)
    expected = random.normal(shape=(1000,)).asnumpy()
    random.seed(1)
    drawn = random.normal(shape=(1000,))
    random.seed(2)
    assert (drawn.asnumpy() == expected).all()


def test_one_device_alone_is_seeded() -> None:
    random.seed(1)
    random.uniform(shape=(1,), ctx=gpu(0)).asnumpy()
    other = random.uniform(shape=(2,)).asnumpy()
    random.seed(1)
    random.uniform(shape=(1,), ctx=gpu(0)).asnumpy()
    random.seed(3, ctx=gpu(0))
    assert (random.uniform(shape=(2,)).asnumpy() == other).all()


def test_a_seed_is_a_number() -> None:
    with pytest.raises(ArgumentError, match="'x' cannot be a seed"):
        random.seed("x")  # type: ignore[arg-type]


def test_the_short_names_are_those_of_nd() -> None:
    assert random.uniform is nd.random.uniform
    assert random.randn(2, 3).shape == (2, 3)
    assert random.randint(0, 5, shape=(4,)).asnumpy().max() < 5


def test_gradients_flow_to_the_probability_of_what_was_chosen() -> None:
    p = nd.array([[0.2, 0.8], [0.5, 0.5]])
    p.attach_grad()
    with autograd.record():
        chosen, likelihood = nd.random.multinomial(p, shape=6, get_prob=True)
        (likelihood * 2).backward()
    counts = [[row.count(0), row.count(1)] for row in chosen.asnumpy().tolist()]
    expected = [
        [2 * n / q for n, q in zip(*pair, strict=True)]
        for pair in zip(counts, [[0.2, 0.8], [0.5, 0.5]], strict=True)
    ]
    assert abs(p.grad.asnumpy() - expected).max() < 1e-4
