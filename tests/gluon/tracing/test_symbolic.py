"""Blocks called with symbols."""

from __future__ import annotations

import numpy as np

import minimx as mx
from minimx import gluon, nd
from minimx.gluon import nn, rnn


def test_a_network_is_written_down() -> None:
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(4, activation="relu"), nn.Dense(2))
    net.initialize()
    x = nd.array(np.random.default_rng(0).normal(size=(3, 5)))
    expected = net(x).asnumpy()
    out = net(mx.sym.var("data"))
    assert out.list_arguments()[:2] == ["data", "net_dense0_weight"]
    values = {name: p.data() for name, p in net.collect_params().items()}
    (found,) = out.eval(data=x, **values)
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-6)


def test_a_parameter_is_one_variable() -> None:
    parameter = gluon.Parameter("weight", shape=(2, 3), lr_mult=2)
    assert parameter.var() is parameter.var()
    assert parameter.var().attr("__lr_mult__") == "2"


def test_cells_are_unrolled_into_a_graph() -> None:
    cell = rnn.LSTMCell(7, prefix="lstm_")
    inputs = [mx.sym.Variable(f"t{t}_data") for t in range(3)]
    outputs, states = cell.unroll(3, inputs)
    both = mx.sym.Group([*outputs, *states])
    assert both.list_outputs()[0] == "lstm_t0_out_output"
    shapes = {f"t{t}_data": (2, 4) for t in range(3)}
    _, found, _ = both.infer_shape(**shapes)
    assert found == [(2, 7)] * 5


def test_a_fused_layer_is_one_node() -> None:
    layer = rnn.GRU(7, num_layers=2, bidirectional=True, prefix="gru_")
    out = layer(mx.sym.var("data"))
    _, found, _ = out.infer_shape(data=(3, 2, 4))
    assert found == [(3, 2, 14)]


def test_shapes_follow_from_the_inputs_without_computing() -> None:
    net = nn.HybridSequential()
    net.add(nn.Conv2D(2, 3), nn.BatchNorm(), nn.Dense(4))
    net.infer_shape(nd.ones((1, 3, 8, 8)))
    assert net[0].weight.shape == (2, 3, 3, 3)
    assert net[1].running_mean.shape == (2,)
    assert net[2].weight.shape == (4, 72)
    net.initialize()
    assert net[2].weight.data().shape == (4, 72)

    cell = rnn.LSTMCell(3)
    cell.infer_shape(nd.ones((1, 8)), cell.begin_state(1))
    assert cell.i2h_weight.shape == (12, 8)
