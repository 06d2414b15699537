"""Graphs on integers of eight bits: their operators, and what they compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.contrib import quantization as q
from tests.quantization.networks import images, operators, outputs, plain, values

X = images()
NET = plain()
ARGS = values(NET, data=X.shape)
WHOLE = [
    "_contrib_quantize_v2",
    "_contrib_quantized_conv",
    "_contrib_requantize",
    "_contrib_quantized_act",
    "_contrib_quantized_pooling",
    "_contrib_quantized_flatten",
    "_contrib_quantized_fully_connected",
    "_contrib_requantize",
    "_contrib_dequantize",
    "softmax",
]


def batches() -> Any:
    return mx.io.NDArrayIter(X, batch_size=4)


def quantized(**kwargs: Any) -> Any:
    kwargs = {"calib_mode": "none", "quantize_mode": "full", **kwargs}
    return q.quantize_model(NET, ARGS, {}, label_names=None, **kwargs)


def test_values_stay_integers_between_operators() -> None:
    symbol, args, states = quantized()
    assert operators(symbol) == WHOLE
    assert states == {}
    weight = args["conv_weight_quantize"]
    assert weight.dtype == np.int8
    assert np.abs(weight.asnumpy().astype(int)).max() == 127
    low, high = (
        args[f"conv_weight_quantize_{end}"].asscalar() for end in ("min", "max")
    )
    assert -low == high == np.abs(ARGS["conv_weight"].asnumpy()).max()
    assert set(symbol.list_arguments()) == {"data", *args}


@pytest.mark.parametrize("dtype", ["int8", "uint8", "auto"])
@pytest.mark.parametrize("mode", ["none", "naive", "entropy"])
def test_it_computes_nearly_the_same(mode: str, dtype: str) -> None:
    # Without a sign there is nothing below 0: what may be negative is left out.
    data, left_out = X, None
    if dtype == "uint8":
        data, left_out = X.abs(), ["FullyConnected"]
    symbol, args, _ = quantized(
        calib_mode=mode,
        calib_data=mx.io.NDArrayIter(data, batch_size=4),
        quantized_dtype=dtype,
        excluded_op_names=left_out,
    )
    found, wanted = outputs(symbol, args, data), outputs(NET, ARGS, data)
    assert found.shape == wanted.shape
    assert 0 < np.abs(found - wanted).max() < 0.04
    assert (found.argmax(1) == wanted.argmax(1)).mean() > 0.9


def test_a_measured_range_is_in_the_graph() -> None:
    symbol, _, _ = quantized(calib_mode="naive", calib_data=batches())
    internals = NET.get_internals()["conv_output"]
    conv = internals.eval(
        **{name: ARGS[name] for name in ("conv_weight", "conv_bias")}, data=X
    )[0].asnumpy()
    ends = {
        node.name: (node.op.min_calib_range, node.op.max_calib_range)
        for node in symbol.graph
        if node.op is not None and "min_calib_range" in node.op.settings
    }
    assert ends.keys() == {"data_quantize", "requantize_conv", "requantize_fc"}
    np.testing.assert_allclose(
        ends["requantize_conv"], (conv.min(), conv.max()), rtol=1e-5
    )
    data = X.asnumpy()
    np.testing.assert_allclose(ends["data_quantize"], (data.min(), data.max()))


def test_examples_are_counted() -> None:
    seen = []

    class Batches(mx.io.NDArrayIter):
        def next(self) -> Any:
            seen.append(1)
            return super().next()

    data = Batches(X, batch_size=4)
    quantized(calib_mode="naive", calib_data=data, num_calib_examples=6)
    assert len(seen) == 2


def test_smart_leaves_alone_what_is_not_between() -> None:
    relu = mx.sym.Activation(mx.sym.var("data"), act_type="relu", name="first")
    net = mx.sym.FullyConnected(relu, num_hidden=4, name="one")
    net = mx.sym.Activation(net, act_type="relu", name="between")
    net = mx.sym.FullyConnected(net, num_hidden=3, name="two")
    net = mx.sym.Activation(net, act_type="relu", name="last")
    args = values(net, data=(2, 5))
    acts = []
    for mode in ("smart", "full"):
        found = q.quantize_model(
            net, args, {}, label_names=None, calib_mode="none", quantize_mode=mode
        )[0]
        acts.append(operators(found).count("_contrib_quantized_act"))
    assert acts == [1, 3]


def test_nodes_and_operators_that_are_left_out() -> None:
    by_name = operators(quantized(excluded_sym_names=["fc"])[0])
    assert "FullyConnected" in by_name and "_contrib_quantized_conv" in by_name
    by_op = operators(quantized(excluded_op_names=["Convolution", "Pooling"])[0])
    assert {"Convolution", "Pooling"} < set(by_op)
    assert "_contrib_quantized_fully_connected" in by_op
    everything = ["Convolution", "FullyConnected", "Pooling", "Flatten", "Activation"]
    same, args, _ = quantized(excluded_op_names=everything)
    np.testing.assert_array_equal(outputs(same, args, X), outputs(NET, ARGS, X))


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"calib_mode": "kl"}, "choose one of none, naive, entropy"),
        ({"quantized_dtype": "int4"}, "choose one of int8, uint8, auto"),
        ({"quantize_mode": "clever"}, "choose one of full, smart"),
        ({"quantize_granularity": "row-wise"}, "tensor-wise, channel-wise"),
        ({"calib_mode": "naive"}, "needs calib_data, a DataIter"),
        ({"calib_mode": "naive", "calib_data": [X]}, "needs calib_data, a DataIter"),
        ({"excluded_sym_names": "fc"}, "a list of strings"),
        ({"ctx": [mx.cpu()], "calib_mode": "naive", "calib_data": 1}, "DataIter"),
    ],
)
def test_bad_arguments(wrong: dict[str, Any], match: str) -> None:
    with pytest.raises(mx.MXNetError, match=match):
        quantized(**wrong)


def test_a_graph_is_read_from_a_file_and_written_to_one(tmp_path: Any) -> None:
    NET.save(str(tmp_path / "net.json"))
    symbol, args, _ = q.quantize_model(
        str(tmp_path / "net.json"), ARGS, {}, label_names=None, calib_mode="none"
    )
    symbol.save(str(tmp_path / "q.json"))
    again = mx.sym.load(str(tmp_path / "q.json"))
    np.testing.assert_array_equal(outputs(again, args, X), outputs(symbol, args, X))
    with pytest.raises(mx.MXNetError, match="not a int"):
        q.quantize_model(3, {}, {})


def test_joined_arrays_count_as_many_as_they_are(tmp_path: Any) -> None:
    """`num_args` is the number of arrays, without their ranges."""
    data = mx.sym.var("data")
    parts = [mx.sym.FullyConnected(data, num_hidden=k, name=f"fc{k}") for k in (2, 3)]
    net = mx.sym.Concat(*parts, dim=1, name="both")
    args = values(net, data=(4, 5))
    symbol, params, _ = q.quantize_model(
        net, args, {}, label_names=None, calib_mode="none", quantize_mode="full"
    )
    assert '"num_args": "2"' in symbol.tojson()
    again = mx.sym.load_json(symbol.tojson())
    x = mx.nd.array(np.linspace(-1, 1, 20).reshape(4, 5))
    found = outputs(again, params, x)
    np.testing.assert_allclose(found, outputs(net, args, x), atol=0.02)


def test_two_halves_are_the_whole() -> None:
    whole, params, _ = quantized(calib_mode="entropy", calib_data=batches())
    symbol, _, _, collector = q.quantize_graph(NET, ARGS, {}, calib_mode="entropy")
    executor = NET.bind(mx.cpu(), {**ARGS, "data": X[:4]})
    executor.set_monitor_callback(collector.collect, monitor_all=True)
    for batch in batches():
        executor.forward(data=batch.data[0])
    halves, args, _ = q.calib_graph(symbol, ARGS, {}, collector, "entropy")
    assert halves.tojson() == whole.tojson()
    np.testing.assert_array_equal(outputs(halves, args, X), outputs(whole, params, X))


def test_a_collector_of_ones_own() -> None:
    class Collector:
        min_max_dict = {"data": (-1.0, 1.0), "fc_output": (-9.0, 9.0)}

        def collect(self, name: str, array: Any) -> None:
            raise AssertionError

    mine = Collector()
    symbol, _, _, collector = q.quantize_graph(
        NET, ARGS, {}, calib_mode="customize", LayerOutputCollector=mine
    )
    assert collector is mine
    symbol, args, _ = q.calib_graph(symbol, ARGS, {}, mine, "customize")
    every = [node.op.settings for node in symbol.graph if node.op is not None]
    ends = [words["max_calib_range"] for words in every if "max_calib_range" in words]
    assert ends == [1.0, None, 9.0]
    assert np.abs(outputs(symbol, args, X) - outputs(NET, ARGS, X)).max() < 0.05
    with pytest.raises(mx.MXNetError, match="needs LayerOutputCollector"):
        q.quantize_graph(NET, ARGS, {}, calib_mode="customize")
    with pytest.raises(mx.MXNetError, match="choose one of naive, entropy, customize"):
        q.calib_graph(symbol, ARGS, {}, mine, "none")


def test_normalizations_need_a_measured_range() -> None:
    net = mx.sym.BatchNorm(mx.sym.var("data"), fix_gamma=False, name="bn")
    net = mx.sym.Convolution(
        net, kernel=(3, 3), num_filter=4, no_bias=True, name="conv"
    )
    shapes, _, states = net.infer_shape(data=X.shape)
    args = values(net, data=X.shape)
    aux = {"bn_moving_mean": mx.nd.zeros(3), "bn_moving_var": mx.nd.ones(3) * 0.3}
    found = []
    for mode in ("none", "naive"):
        symbol, params, rest = q.quantize_model(
            net, args, aux, label_names=None, calib_mode=mode, quantize_mode="full",
            calib_data=batches(),
        )  # fmt: skip
        found.append("_contrib_quantized_batch_norm" in operators(symbol))
        out = symbol.eval(**params, **rest, data=X)[0].asnumpy()
        wanted = net.eval(**args, **aux, data=X)[0].asnumpy()
        assert np.abs(out - wanted).max() < 0.03 * np.abs(wanted).max()
    assert found == [False, True]


def test_sums_are_rounded_once_when_calibrated() -> None:
    data = mx.sym.var("data")
    parts = [mx.sym.FullyConnected(data, num_hidden=3, name=f"fc{k}") for k in (1, 2)]
    net = mx.sym.elemwise_add(*parts, name="sum")
    args = values(net, data=(8, 5))
    x = mx.nd.array(np.random.default_rng(1).uniform(-1, 1, (8, 5)))
    counts = []
    for mode in ("none", "naive"):
        symbol, params, _ = q.quantize_model(
            net, args, {}, label_names=None, calib_mode=mode, quantize_mode="full",
            calib_data=mx.io.NDArrayIter(x, batch_size=8),
        )  # fmt: skip
        counts.append(operators(symbol).count("_contrib_requantize"))
        wanted = outputs(net, args, x)
        assert np.abs(outputs(symbol, params, x) - wanted).max() < 0.05
    assert counts == [3, 2]


def test_the_fused_model() -> None:
    symbol, args, _ = q.quantize_model_mkldnn(
        NET, ARGS, {}, label_names=None, calib_mode="naive", calib_data=batches()
    )
    assert operators(symbol) == [
        "_contrib_quantize_v2",
        "_sg_mkldnn_conv",
        "_contrib_quantized_pooling",
        "_contrib_quantized_flatten",
        "_sg_mkldnn_fully_connected",
        "_contrib_dequantize",
        "softmax",
    ]
    assert np.abs(outputs(symbol, args, X) - outputs(NET, ARGS, X)).max() < 0.02
    with pytest.raises(mx.MXNetError, match="are for a CPU"):
        q.quantize_model_mkldnn(NET, ARGS, {}, ctx=mx.gpu(0))
