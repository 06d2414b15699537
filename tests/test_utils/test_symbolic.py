"""Checks of symbols, gradients and consistency find what is right and what is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.test_utils import (
    check_consistency,
    check_gluon_hybridize_consistency,
    check_numeric_gradient,
    check_symbolic_backward,
    check_symbolic_forward,
    compare_optimizer,
    same_symbol_structure,
    simple_forward,
)

A, B = mx.sym.Variable("a"), mx.sym.Variable("b")
ONE, TWO = np.ones((2, 3)), np.full((2, 3), 2.0)


def test_forward_and_backward() -> None:
    check_symbolic_forward(A * B, [ONE, TWO], [TWO])
    check_symbolic_forward(A * B, {"a": ONE, "b": TWO}, [TWO], dtype=np.float64)
    for req in ("write", "add", {"a": "null", "b": "write"}):
        wanted = [TWO * 3, ONE * 3]
        check_symbolic_backward(A * B, [ONE, TWO], [ONE * 3], wanted, grad_req=req)
    np.testing.assert_array_equal(simple_forward(A * B, a=ONE, b=TWO), TWO)


def test_wrong_expectations_are_found() -> None:
    with pytest.raises(AssertionError, match="EXPECTED_.*FORWARD_"):
        check_symbolic_forward(A * B, [ONE, TWO], [ONE])
    with pytest.raises(AssertionError, match="BACKWARD_b"):
        check_symbolic_backward(A * B, [ONE, TWO], [ONE], [TWO, TWO])
    with pytest.raises(ValueError, match="a, b"):
        check_symbolic_forward(A * B, {"a": ONE, "c": TWO}, [ONE])


def test_gradients_are_slopes() -> None:
    numbers = [np.random.rand(2, 3), np.random.rand(3, 2)]
    check_numeric_gradient(mx.sym.dot(A, B), numbers)
    check_numeric_gradient(mx.sym.dot(A, B), numbers, grad_nodes={"a": "add"})
    with pytest.raises(AssertionError, match="NUMERICAL_a"):
        check_numeric_gradient(mx.sym.BlockGrad(A) * B, [ONE, TWO])


def test_states_are_put_back_between_steps() -> None:
    net = mx.sym.BatchNorm(A, fix_gamma=False, name="bn")
    numbers = [np.random.rand(4, 3), np.random.rand(3) + 0.5, np.random.rand(3)]
    states = [np.zeros(3), np.ones(3)]
    check_numeric_gradient(net, numbers, states, rtol=0.1, atol=1e-2)


def test_every_type_gives_the_same() -> None:
    ways = [
        {"ctx": mx.cpu(), "a": (2, 3), "type_dict": {"a": dtype}}
        for dtype in ("float64", "float32", "float16")
    ]
    tanh, sine = mx.sym.tanh(A, name="f"), mx.sym.sin(A, name="f")
    check_consistency(tanh, ways)
    with pytest.raises(AssertionError, match="way 1"):
        check_consistency([tanh, sine], ways[:2])


def test_hybridized_gives_the_same() -> None:
    def net(prefix: Any = None) -> Any:
        return mx.gluon.nn.Dense(4, activation="tanh", prefix=prefix)

    check_gluon_hybridize_consistency(net, [mx.nd.random.normal(shape=(2, 4))])
    with pytest.raises(AssertionError):
        check_gluon_hybridize_consistency(net, [mx.nd.ones((2, 4))], np.tanh)


def test_optimizers_are_compared() -> None:
    slow, fast = (mx.optimizer.SGD(learning_rate=r, momentum=0.9) for r in (0.1, 0.2))
    compare_optimizer(slow, slow, (3, 4), "float32")
    with pytest.raises(AssertionError):
        compare_optimizer(slow, fast, (3, 4), "float32")


def test_structures_are_compared() -> None:
    assert same_symbol_structure(A * B, B * A)
    assert not same_symbol_structure(A * B, A + B)
