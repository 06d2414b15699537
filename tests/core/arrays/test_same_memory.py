"""Which results share memory with what they were made of: as in MXNet, few do."""

from __future__ import annotations

from typing import Any

import pytest

import minimx as mx
from minimx.core.operators.shape import SliceAxis
from minimx.core.ops.registry import forget_plans


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
    for _ in "ab":  # a call like one before takes a shorter way
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
    for _ in "ab":
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


def test_rows_of_a_gradient_are_not_copied_from_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(*specs: Any) -> Any:
        raise AssertionError("rows of a gradient were copied")

    forget_plans()
    monkeypatch.setattr(SliceAxis, "kernel", refused)
    a, b = mx.nd.ones((3, 2)), mx.nd.ones((2, 2))
    for one in (a, b):
        one.attach_grad()
    with mx.autograd.record():
        joined = mx.nd.concat(a, b, dim=0)
        error = (joined * joined * mx.nd.arange(10).reshape((5, 2))).sum()
    error.backward()
    assert a.grad.asnumpy().ravel().tolist() == [0, 2, 4, 6, 8, 10]
    assert b.grad.asnumpy().ravel().tolist() == [12, 14, 16, 18]
    a.grad[:] = 0  # memory of its own
    assert b.grad.sum().asscalar() == 60


def test_rows_of_a_gradient_have_gradients() -> None:
    a, b = mx.nd.array([[1.0], [2.0]]), mx.nd.array([[3.0]])
    for one in (a, b):
        one.attach_grad()
    with mx.autograd.record():
        joined = mx.nd.concat(a, b, dim=0)
        slopes = mx.autograd.grad((joined**3).sum(), [a, b], create_graph=True)
        error = (slopes[0] ** 2).sum() + slopes[1].sum()
    error.backward()
    assert a.grad.asnumpy().ravel().tolist() == [36.0, 288.0]
    assert b.grad.asnumpy().ravel().tolist() == [18.0]


def test_slices_that_users_ask_for_are_copies() -> None:
    x = mx.nd.zeros((4, 2))
    y = mx.nd.slice_axis(x, axis=0, begin=1, end=3)
    x[:] = 7
    assert y.sum().asscalar() == 0
