"""Which results share memory with what they were made of: as in MXNet, few do."""

from __future__ import annotations

from typing import Any

import pytest

import minimx as mx


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x.flatten(),
        lambda x: x.expand_dims(0),
        lambda x: x.squeeze(),
        lambda x: x.reshape_like(mx.nd.zeros((3, 2))),
        lambda x: mx.nd.reshape(x, (3, 2)),
        lambda x: mx.nd.identity(x),
        lambda x: x.T,
    ],
)
def test_functions_give_new_memory(make: Any) -> None:
    x = mx.nd.zeros((2, 3))
    y = make(x)
    x[:] = 7
    assert y.sum().asscalar() == 0
    y += 1
    assert x.sum().asscalar() == 42


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x.reshape((3, 2)),
        lambda x: x.flatten(inplace=True),
        lambda x: x.expand_dims(0, inplace=True),
        lambda x: x.squeeze(inplace=True),
        lambda x: x[:],
        lambda x: x.detach(),
    ],
)
def test_views_share_it(make: Any) -> None:
    x = mx.nd.zeros((2, 3))
    y = make(x)
    x[:] = 7
    assert y.sum().asscalar() == 42


def test_gradients_flow_through_copies_and_views() -> None:
    for inplace in (False, True):
        x = mx.nd.ones((2, 3))
        x.attach_grad()
        with mx.autograd.record():
            y = (x.flatten(inplace=inplace) * 2).expand_dims(0)
        y.backward()
        assert x.grad.shape == (2, 3)
        assert x.grad.sum().asscalar() == 12
