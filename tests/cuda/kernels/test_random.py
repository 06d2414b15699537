"""Random numbers on CUDA."""

from __future__ import annotations

import numpy as np
import pytest

import minimx as mx
from minimx.cuda import toolkit
from minimx.cuda.kernels.core.random import philox

GPU = mx.gpu(0)


@pytest.mark.skipif("not toolkit.simulated()", reason="calls a kernel's part in Python")
def test_philox_gives_the_numbers_of_its_paper() -> None:
    assert toolkit.simulated()
    found = philox(np.uint64(0), np.uint64(0))
    # The first known answer of philox4x32-10 in the authors' library Random123.
    assert [int(word) for word in found] == [
        0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8,
    ]  # fmt: skip


def test_the_seed_decides_and_two_calls_differ() -> None:
    def draw() -> list[bytes]:
        mx.random.seed(3)
        calls = [mx.nd.random.uniform(shape=(40,), ctx=GPU) for _ in range(2)]
        return [x.asnumpy().tobytes() for x in calls]

    first = draw()
    assert draw() == first
    assert first[0] != first[1]


def test_numbers_are_distributed_as_they_should_be() -> None:
    mx.random.seed(1)
    even = mx.nd.random.uniform(2, 4, shape=(2000,), ctx=GPU).asnumpy()
    assert even.min() >= 2 and even.max() < 4
    assert abs(even.mean() - 3) < 0.05 and abs(even.std() - 2 / 12**0.5) < 0.03
    bell = mx.nd.random.normal(1, 3, shape=(2000,), ctx=GPU).asnumpy()
    assert abs(bell.mean() - 1) < 0.25 and abs(bell.std() - 3) < 0.2
    assert 0.6 < (abs(bell - 1) < 3).mean() < 0.76


def test_dropout_keeps_as_many_as_asked_and_its_gradient_the_same() -> None:
    x = mx.nd.ones((40, 25), ctx=GPU)
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Dropout(x, p=0.3)
    y.backward()
    found = y.asnumpy()
    kept = found != 0
    assert 0.62 < kept.mean() < 0.78
    np.testing.assert_allclose(found[kept], 1 / 0.7, rtol=1e-6)
    np.testing.assert_array_equal(x.grad.asnumpy(), found)
