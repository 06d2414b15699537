"""Gluon networks on integers of eight bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import gluon
from minimx.contrib.quantization import (
    quantize_model_mkldnn,
    quantize_net,
    quantize_net_v2,
)
from minimx.gluon import nn
from tests.quantization.networks import images, network, operators

X = images()


def loader(*arrays: Any) -> Any:
    return gluon.data.DataLoader(gluon.data.ArrayDataset(*arrays), batch_size=4)


def graph_of(net: Any) -> list[str]:
    return operators(net._written.symbol)


@pytest.mark.parametrize("mode", ["none", "naive", "entropy"])
def test_a_network_answers_nearly_the_same(mode: str) -> None:
    net = network(X)
    wanted = net(X).asnumpy()
    data = None if mode == "none" else loader(X, mx.nd.zeros(16))
    shapes = [mx.io.DataDesc("data", X.shape)] if mode == "none" else None
    made = quantize_net(net, calib_data=data, data_shapes=shapes, calib_mode=mode)
    found = made(X).asnumpy()
    assert 0 < np.abs(found - wanted).max() < 0.04 * np.abs(wanted).max()
    assert graph_of(made).count("_sg_mkldnn_conv") == 3
    assert graph_of(made).count("_sg_mkldnn_fully_connected") == 2
    made.hybridize()
    np.testing.assert_array_equal(made(X).asnumpy(), found)
    other = made(X[:3]).asnumpy()  # of other sizes, too
    assert other.shape == (3, 5)


def test_it_is_saved_and_read_again(tmp_path: Any) -> None:
    net = network(X)
    made = quantize_net_v2(net, calib_data=loader(X), calib_mode="naive")
    made(X)
    made.hybridize()
    found = made(X).asnumpy()
    made.export(str(tmp_path / "net"))
    again = gluon.SymbolBlock.imports(
        str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params")
    )
    np.testing.assert_array_equal(again(X).asnumpy(), found)


def test_layers_that_are_left_out() -> None:
    net = network(X)
    names = [name for name in net.collect_params() if name.endswith("weight")]
    assert "net_dense1_weight" in names
    kept = quantize_net(
        net,
        calib_data=loader(X),
        calib_mode="naive",
        exclude_layers=["net_dense1_fwd"],
        exclude_layers_match=["conv0"],
        exclude_operators=["Pooling"],
    )
    ops = graph_of(kept)
    assert ops.count("_contrib_dequantize") == 2
    assert "Pooling" in ops
    assert {"net_conv0_weight", "net_dense1_weight"} <= set(kept.collect_params())


def test_each_filter_has_levels_of_its_own() -> None:
    """One row of large weights spoils the others only where all share their levels."""
    dense = nn.Dense(4, in_units=30, use_bias=False)
    dense.initialize()
    weight = np.random.default_rng(2).uniform(-0.01, 0.01, (4, 30))
    weight[0] *= 1000
    dense.weight.set_data(mx.nd.array(weight))
    x = mx.nd.array(np.random.default_rng(3).uniform(-1, 1, (64, 30)))
    wanted = dense(x).asnumpy()[:, 1:]
    errors = []
    for granularity in ("tensor-wise", "channel-wise"):
        kept = quantize_net_v2(
            dense,
            quantize_granularity=granularity,
            calib_data=loader(x),
            calib_mode="naive",
        )
        ops: Any = [node.op for node in kept._written.graph if node.op is not None]
        (op,) = [op for op in ops if op.name == "_sg_mkldnn_fully_connected"]
        assert op.channel_wise_quantize == (granularity == "channel-wise")
        levels = op.steps(weight.astype("float32"))
        errors.append(
            np.abs(np.rint(weight / levels[:, None]) * levels[:, None] - weight)
        )
    assert errors[1][1:].max() < 1e-4 < 1e-3 < errors[0][1:].max()
    assert wanted.shape == (64, 3)


def test_several_inputs() -> None:
    class Two(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two = nn.Dense(3), nn.Dense(3)

        def hybrid_forward(self, F: Any, x: Any, y: Any) -> Any:
            return self.one(x) + self.two(y)

    net = Two()
    net.initialize()
    a, b = mx.nd.random.uniform(shape=(8, 4)), mx.nd.random.uniform(shape=(8, 6))
    wanted = net(a, b).asnumpy()
    for arrays in ((a, b), (a, b, mx.nd.zeros(8))):
        made = quantize_net(net, calib_data=loader(*arrays), calib_mode="naive")
        assert np.abs(made(a, b).asnumpy() - wanted).max() < 0.01


def test_no_gradient_flows_through_integers() -> None:
    made = quantize_net(network(X), calib_data=loader(X), calib_mode="naive")
    assert {p.grad_req for p in made.collect_params().values()} == {"null"}


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({}, "give calib_data, or data_shapes"),
        (
            {"calib_mode": "naive", "data_shapes": [mx.io.DataDesc("data", X.shape)]},
            "needs calib_data",
        ),
        ({"calib_mode": "best", "calib_data": [X]}, "choose one of none, naive"),
    ],
)
def test_bad_arguments(wrong: dict[str, Any], match: str) -> None:
    with pytest.raises(mx.MXNetError, match=match):
        quantize_net(network(X), **wrong)


def test_a_block_without_a_graph() -> None:
    with pytest.raises(mx.MXNetError, match="is no HybridBlock"):
        quantize_net(gluon.nn.Sequential(), calib_data=[X])  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["weight", "gamma", "bias"])
def test_a_parameter_that_is_written_counts_at_once(name: str) -> None:
    made = quantize_net(network(X), calib_data=loader(X), calib_mode="naive")
    made.hybridize(static_alloc=True, static_shape=True)
    before = [made(X).asnumpy() for _ in range(3)]
    np.testing.assert_array_equal(before[0], before[2])
    parameters = made.collect_params()
    word = next(word for word in parameters if word.endswith(name))
    parameters[word].set_data(parameters[word].data() * 1.5 + 0.1)
    after = made(X).asnumpy()
    assert np.abs(after - before[0]).max() > 1e-3
    made.hybridize(False)
    np.testing.assert_array_equal(made(X).asnumpy(), after)


def test_parameters_that_numpy_writes_count_at_once() -> None:
    """Memory that is shared with NumPy counts no writes, so nothing is kept."""
    net = mx.sym.FullyConnected(
        mx.sym.var("data"), num_hidden=2, no_bias=True, name="fc"
    )
    weight = mx.nd.full((2, 4), 0.5)
    view = np.from_dlpack(weight)
    numbers = np.lib.stride_tricks.as_strided(view, writeable=True)
    symbol, args, _ = quantize_model_mkldnn(
        net, {"fc_weight": weight}, {}, label_names=None, calib_mode="none"
    )
    executor = symbol.bind(mx.cpu(), {**args, "data": mx.nd.ones((3, 4))})
    outs = []
    for value in (0.5, 0.5, 1.5):
        numbers[:] = value
        outs.append(float(executor.forward()[0][0, 0].asscalar()))
    np.testing.assert_allclose(outs, [2, 2, 6], rtol=0.01)
