"""The graph backends that put layers and what follows them into one operator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.fast.onednn.library import loaded
from minimx.gluon import nn
from tests.quantization.networks import images, network, operators, randomized

X = images(4)


def graph_of(net: Any) -> Any:
    """The graph of a block, and its parameters."""
    net.hybridize()
    net(X)
    symbol = net(mx.sym.var("data"))
    arrays = {name: p.data() for name, p in net.collect_params().items()}
    return symbol, arrays


def answer(symbol: Any, arrays: dict[str, Any]) -> Any:
    names = {*symbol.list_arguments(), *symbol.list_auxiliary_states()}
    given = {name: value for name, value in arrays.items() if name in names}
    return symbol.eval(data=X, **given)[0].asnumpy()


@pytest.mark.parametrize("backend", ["ONEDNN_QUANTIZE", "MKLDNN_QUANTIZE"])
def test_layers_are_fused_and_compute_the_same(backend: str) -> None:
    symbol, arrays = graph_of(network(X))
    fused = symbol.get_backend_symbol(backend)
    assert operators(fused) == [
        "_sg_mkldnn_conv",
        "Pooling",
        "_sg_mkldnn_conv",
        "_sg_mkldnn_conv",
        "Pooling",
        "_sg_mkldnn_fully_connected",
        "_sg_mkldnn_fully_connected",
    ]
    whole = [
        node.op for node in fused.graph if "mkldnn_conv" in getattr(node.op, "name", "")
    ]
    words = ("with_bn", "with_act", "with_sum", "with_postsum_act")
    assert [[getattr(op, word) for word in words] for op in whole] == [
        [False, True, False, False],
        [True, True, False, False],
        [True, False, True, True],
    ]
    wanted = answer(symbol, arrays)
    np.testing.assert_allclose(answer(fused, arrays), wanted, rtol=1e-4, atol=1e-5)
    assert fused.list_auxiliary_states() == symbol.list_auxiliary_states()
    again = mx.sym.load_json(fused.tojson())
    np.testing.assert_array_equal(answer(again, arrays), answer(fused, arrays))


def test_what_others_read_stays() -> None:
    """A convolution whose result is wanted elsewhere is not hidden in another node."""
    data = mx.sym.var("data")
    conv = mx.sym.Convolution(
        data, kernel=(3, 3), num_filter=3, pad=(1, 1), name="conv"
    )
    act = mx.sym.relu(conv, name="act")
    both = mx.sym.Group([act, mx.sym.sin(conv)])
    found = operators(both.get_backend_symbol("ONEDNN_QUANTIZE"))
    assert found == ["_sg_mkldnn_conv", "relu", "sin"]
    # A sum of a layer with itself cannot be one node.
    twice = mx.sym.elemwise_add(conv, mx.sym.relu(conv))
    assert operators(twice.get_backend_symbol("ONEDNN_QUANTIZE")) == [
        "_sg_mkldnn_conv", "relu", "elemwise_add"]  # fmt: skip


def test_other_normalizations_and_activations_stay() -> None:
    data = mx.sym.var("data")
    conv = mx.sym.Convolution(data, kernel=(3, 3), num_filter=3, name="conv")
    last = mx.sym.BatchNorm(conv, axis=3, name="bn")
    assert operators(last.get_backend_symbol("ONEDNN_QUANTIZE"))[1] == "BatchNorm"
    bent = mx.sym.Activation(conv, act_type="tanh", name="act")
    assert operators(bent.get_backend_symbol("ONEDNN_QUANTIZE"))[1] == "Activation"


def test_a_sum_is_in_the_later_of_two_layers() -> None:
    net = nn.HybridSequential()
    data = mx.sym.var("data")
    one = mx.sym.Convolution(data, kernel=(1, 1), num_filter=4, name="one")
    two = mx.sym.Convolution(data, kernel=(1, 1), num_filter=4, name="two")
    fused = mx.sym.elemwise_add(one, two).get_backend_symbol("ONEDNN_QUANTIZE")
    nodes = [node for node in fused.graph if node.op is not None]
    assert [node.name for node in nodes] == ["sg_mkldnn_one", "sg_mkldnn_two_add"]
    assert nodes[1].inputs[-1].node is nodes[0]
    assert len(net) == 0


def test_onednn_is_refused_where_the_library_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from minimx.graphs import onednn_backends

    monkeypatch.setattr(onednn_backends, "loaded", lambda: None)
    conv = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), num_filter=3)
    for name in ("ONEDNN", "MKLDNN", "mkldnn"):
        with pytest.raises(mx.MXNetError, match=r"minimx\[onednn\].*MINIMX"):
            conv.optimize_for(name)
    with (
        mx.knobs(MXNET_SUBGRAPH_BACKEND="ONEDNN"),
        pytest.raises(mx.MXNetError, match="not installed"),
    ):
        conv.simple_bind(mx.cpu(), "null", data=X.shape).forward()


@pytest.mark.skipif(loaded() is None, reason="oneDNN is not installed")
def test_onednn_leaves_single_layers_alone() -> None:
    symbol, arrays = graph_of(network(X))
    fused = symbol.optimize_for("ONEDNN")
    assert operators(fused)[-1] == "FullyConnected"
    assert operators(fused).count("_sg_mkldnn_conv") == 3
    wanted = answer(symbol, arrays)
    np.testing.assert_allclose(answer(fused, arrays), wanted, rtol=1e-4, atol=1e-5)
    with mx.knobs(MXNET_ONEDNN_ENABLED=0):
        assert operators(symbol.optimize_for("ONEDNN")) == operators(symbol)


def test_a_fused_operator_is_for_prediction() -> None:
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3), nn.BatchNorm())
    symbol, arrays = graph_of(randomized(net, X))
    fused = symbol.get_backend_symbol("ONEDNN_QUANTIZE")
    names = {*fused.list_arguments()} - {"data"}
    args = {**{name: arrays[name] for name in names}, "data": X}
    grads = {name: mx.nd.zeros_like(value) for name, value in args.items()}
    states = {name: arrays[name] for name in fused.list_auxiliary_states()}
    with pytest.raises(mx.MXNetError, match="was made for prediction"):
        fused.bind(mx.cpu(), args, grads, aux_states=states).forward(is_train=True)
