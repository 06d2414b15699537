"""A graph called like an operator."""

from __future__ import annotations

import numpy as np
import pytest

import minimx as mx
from minimx import autograd
from minimx.cached_op import CachedOp, Flags
from minimx.errors import ArgumentError


def product() -> CachedOp:
    x, y = mx.sym.var("x"), mx.sym.var("y")
    return CachedOp(mx.sym.tanh(x * y).graph)


def test_it_computes_and_is_recorded() -> None:
    x, y = mx.nd.array([1.0, 2.0]), mx.nd.array([0.5, 0.25])
    x.attach_grad()
    with autograd.record():
        (out,) = product()([x, y])
    out.backward()
    assert np.allclose(out.asnumpy(), np.tanh([0.5, 0.5]))
    assert np.allclose(x.grad.asnumpy(), (1 - np.tanh(0.5) ** 2) * y.asnumpy())


def test_it_wants_an_array_for_each_variable() -> None:
    with pytest.raises(ArgumentError, match=r"2 variables \(x, y\).*with 1 arrays"):
        product()([mx.nd.ones((2,))])


def test_static_shape_needs_static_alloc() -> None:
    with pytest.raises(ArgumentError, match="static_alloc"):
        Flags(static_shape=True)
