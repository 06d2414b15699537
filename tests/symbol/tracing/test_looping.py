"""Loops and branches inside blocks whose arrays are traced: they become nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import gluon, nd
from minimx.core import autograd
from minimx.core.errors import MXNetError
from minimx.gluon import nn


class Looping(gluon.HybridBlock):
    """A block in the manner of MXNet 2 around a function of a layer and its inputs."""

    def __init__(self, function: Any, units: int = 2) -> None:
        super().__init__(prefix="loop_")
        with self.name_scope():
            self.layer = nn.Dense(units, in_units=units)
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(self.layer, *args)


def summed(layer: Any, x: Any) -> Any:
    """A small recurrent network; its state begins with an array of numbers."""
    outs, last = nd.contrib.foreach(
        lambda row, state: [row * state, nd.tanh(layer(row) + state)],
        x, nd.ones((1, 2)),
    )  # fmt: skip
    return outs, last


def halved(layer: Any, x: Any) -> Any:
    """Halve until it is small enough, which depends on the numbers."""
    outs, (last, _) = nd.contrib.while_loop(
        lambda y, n: y.sum() > 4,
        lambda y, n: (layer(y) * n, [y / 2, n + 1]),
        [x, nd.zeros((1,))],
        max_iterations=7,
    )
    return outs, last


def chosen(layer: Any, x: Any) -> Any:
    """One of two ways, by the sign of a sum."""
    return nd.contrib.cond(x.sum() > 0, lambda: layer(x) * 2, lambda: x - 1)


CASES = [
    (summed, (3, 1, 2), "_foreach"), (halved, (1, 2), "_while_loop"),
    (chosen, (3, 2), "_cond"),
]  # fmt: skip
every = pytest.mark.parametrize(("function", "shape", "kind"), CASES)


def listed(values: Any) -> list[Any]:
    return list(values) if isinstance(values, (list, tuple)) else [values]


def results(net: Any, x: Any) -> list[Any]:
    """Outputs, and the gradients of the input and the layer."""
    x.attach_grad()
    with autograd.record():
        outs = listed(net(x))
        total = nd.add_n(*[(out * out).sum() for out in outs])
    total.backward()
    grads = [p.grad() for p in net.collect_params().values()]
    return [array.asnumpy() for array in (*outs, x.grad, *grads)]


@every
def test_a_hybridized_block_does_what_it_did(
    function: Any, shape: tuple[int, ...], kind: str
) -> None:
    net = Looping(function)
    net.initialize(mx.init.Uniform(1))
    factors = (9, 3, 20, 2.5) if function is halved else (9, -2, 3, 0.25)
    given = [nd.ones(shape) * factor for factor in factors]
    wanted = [results(net, x) for x in given]
    net.hybridize()
    for x, expected in zip(given, wanted, strict=True):  # one graph for all numbers
        for one, other in zip(results(net, x), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6)
    ready = [*net._graphs.values()]
    kinds = [node.op.name for node in ready[0].written.graph if node.op is not None]
    assert kinds.count(kind) == 1


@every
def test_a_loop_can_be_exported(
    function: Any, shape: tuple[int, ...], kind: str, tmp_path: Path
) -> None:
    net = Looping(function)
    net.initialize(mx.init.Uniform(1))
    net.hybridize()
    x = nd.ones(shape) * 5
    wanted = [out.asnumpy() for out in listed(net(x))]
    graph, values = net.export(str(tmp_path / "net"))
    again = gluon.SymbolBlock.imports(graph, ["data"], values)
    for one, other in zip(listed(again(x)), wanted, strict=True):
        np.testing.assert_array_equal(one.asnumpy(), other)


def test_arrays_of_numpy_keep_their_flavour() -> None:
    def running(layer: Any, x: Any) -> Any:
        add = lambda row, total: (row + total, row + total)  # noqa: E731
        return mx.npx.foreach(add, x, mx.np.zeros((2,)))[0]

    with mx.util.np_shape(True), mx.util.np_array(True):
        net = Looping(running)
        net.initialize()
        net.hybridize()
        with pytest.warns(UserWarning, match="nothing is computed from"):
            found = net(mx.np.ones((3, 2)))
    assert isinstance(found, mx.np.ndarray)
    assert found.asnumpy()[:, 0].tolist() == [1, 2, 3]


def test_a_body_that_is_no_graph_is_refused() -> None:
    net = Looping(lambda layer, x: nd.contrib.foreach(lambda row, s: row, x, x[0]))
    net.initialize()
    net.hybridize()
    with pytest.raises(MXNetError, match="must return two things"):
        net(nd.ones((3, 2)))


def test_slices_of_one_axis_look_the_same_hybridized_or_not() -> None:
    def total(layer: Any, x: Any) -> Any:
        x = layer(x.expand_dims(0)).reshape((-1,))
        return nd.contrib.foreach(lambda row, s: (row * s, s + row), x, nd.ones((1,)))[
            0
        ]

    x = nd.array([1.0, 2.0, 3.0])
    x.attach_grad()
    found = []
    for hybrid in (False, True):
        net = Looping(total, units=3)
        net.initialize(mx.init.Constant(0.5))
        if hybrid:
            net.hybridize()
        with mx.autograd.record():
            out = net(x)
        out.backward()
        found.append((out.shape, out.asnumpy().tolist(), x.grad.asnumpy().tolist()))
    assert found[0] == found[1]
    assert found[0][0] == (3, 1)
