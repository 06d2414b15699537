"""`mx.contrib`: the operators of `nd.contrib` and `sym.contrib` under older names."""

from __future__ import annotations

import pytest

import minimx as mx


def test_the_rooms_are_the_same() -> None:
    assert mx.contrib.nd.box_nms is mx.nd.contrib.box_nms
    assert mx.contrib.ndarray is mx.nd.contrib
    assert mx.contrib.symbol is mx.sym.contrib


def test_what_is_not_there_says_so() -> None:
    with pytest.raises(AttributeError, match="not in minimx yet"):
        mx.gluon.probability  # type: ignore[attr-defined]  # noqa: B018


def test_the_old_autograd() -> None:
    from minimx.contrib import autograd as old

    x, gradient = mx.nd.array([2.0]), mx.nd.zeros(1)
    old.mark_variables([x], [gradient])
    with old.train_section():
        y = x * x
        with old.test_section():
            assert not mx.autograd.is_recording()
    old.backward([y])
    assert gradient.asscalar() == 4
    slopes, value = old.grad_and_loss(lambda a, b: a * b, argnum=1)(x, x + 1)
    assert (slopes[0].asscalar(), value.asscalar()) == (2, 6)
    assert old.grad(lambda a: a**3)(x)[0].asscalar() == 12
    with pytest.raises(mx.MXNetError, match="gradients are for arrays"):
        old.grad(lambda a: a)(3.0)


def test_a_symbol_that_is_called() -> None:
    a, b = mx.sym.var("a"), mx.sym.var("b")
    op = mx.nd.CachedOp(a - b * 2, [("static_alloc", True)])
    x, y, out = mx.nd.ones(2), mx.nd.ones(2), mx.nd.zeros(2)
    assert op(x, y).asnumpy().tolist() == [-1, -1]
    assert op(x, y, out=out) is out
    assert out.asnumpy().tolist() == [-1, -1]
    both = mx.nd.CachedOp(mx.sym.Group([a, b]))
    assert [len(part) for part in both(x, y)] == [2, 2]
    with pytest.raises(mx.MXNetError, match="2 variables was called with 1"):
        op(x)
