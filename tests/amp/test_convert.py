"""Trained networks made into mixed precision: symbols, models and blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import amp, gluon
from minimx.core.errors import ArgumentError, ListedTwice, ParameterError


def a_symbol() -> Any:
    x = mx.sym.var("data")
    x = mx.sym.Convolution(x, kernel=(3, 3), num_filter=4, name="conv")
    x = mx.sym.BatchNorm(x, name="bn")
    x = mx.sym.FullyConnected(mx.sym.relu(x), num_hidden=3, name="fc")
    return mx.sym.softmax(x, name="prob")


def bound(symbol: Any) -> Any:
    return symbol.simple_bind(mx.cpu(), data=(2, 1, 6, 6))


@pytest.mark.parametrize("target", ["float16", "bfloat16"])
def test_a_symbol_computes_nearly_the_same(target: str) -> None:
    plain, mixed = bound(a_symbol()), bound(amp.convert_symbol(a_symbol(), target))
    draw = np.random.default_rng(0)
    for name, array in plain.arg_dict.items():
        array[:] = draw.standard_normal(array.shape) * 0.3
        mixed.arg_dict[name][:] = array
    expected, found = (each.forward()[0].asnumpy() for each in (plain, mixed))
    np.testing.assert_allclose(found, expected, atol=2e-2)
    assert not np.array_equal(found, expected)


def test_conversions_stand_where_they_are_needed_and_once() -> None:
    found = amp.convert_symbol(a_symbol())
    casts = [n.name for n in found.graph if n.op is not None and "amp" in n.op.name]
    assert len(casts) == len(set(casts))
    assert {"data_amp_cast_float16", "conv_weight_amp_cast_float16"} <= set(casts)
    assert not any("moving" in name for name in casts)
    assert "amp_cast" not in found.tojson()
    assert "amp_cast" in found.tojson(remove_amp_cast=False)


def test_nodes_and_operators_may_be_left_in_float32() -> None:
    def types(**words: Any) -> dict[str, str]:
        inner = amp.convert_symbol(a_symbol(), **words).get_internals()
        _, outs, _ = inner.infer_type(data="float32")
        names = inner.list_outputs()
        return {n: np.dtype(t).name for n, t in zip(names, outs or (), strict=True)}

    assert types()["conv_output"] == types()["fc_output"] == "float16"
    assert types(excluded_sym_names=["fc"])["fc_output"] == "float32"
    assert types(fp32_ops=["Convolution"])["conv_output"] == "float32"
    assert types(target_dtype_ops=["FullyConnected"])["conv_output"] == "float32"


def test_a_model_keeps_its_parameters_or_has_them_converted() -> None:
    symbol = a_symbol()
    executor = bound(symbol)
    args = {k: v for k, v in executor.arg_dict.items() if k != "data"}
    found, kept, states = amp.convert_model(symbol, args, executor.aux_dict)
    assert {np.dtype(x.dtype).name for x in kept.values()} == {"float32"}
    found, cast, states = amp.convert_model(
        symbol, args, executor.aux_dict, cast_optional_params=True
    )
    assert np.dtype(cast["conv_weight"].dtype).name == "float16"
    assert {np.dtype(x.dtype).name for x in states.values()} == {"float32"}
    types = {name: x.dtype for name, x in {**cast, **states}.items()}
    mixed = found.simple_bind(mx.cpu(), type_dict=types, data=(2, 1, 6, 6))
    mixed.copy_params_from(cast, states)
    assert np.isfinite(mixed.forward()[0].asnumpy()).all()


def test_parameters_beside_two_byte_data_are_kept_so_as_in_mxnet() -> None:
    """What MXNet 1.9.1 says of the same symbol."""
    plain = a_symbol()
    code = {"float16": "2", "bfloat16": "12"}
    for target in code:
        for cast in (False, True):
            found = amp.convert_symbol(
                plain,
                target,
                target_dtype_ops=["Convolution"],
                fp32_ops=["softmax"],
                data_names=["data"],
                cast_optional_params=cast,
            )
            said = {
                k: v["__dtype__"]
                for k, v in found.attr_dict().items()
                if "__dtype__" in v
            }
            narrow = {"fc_weight", "fc_bias"}
            narrow |= {"conv_weight", "conv_bias"} if cast else set()
            assert said == dict.fromkeys(narrow, code[target])
            casts = [n for n in found.get_internals().list_outputs() if "amp" in n]
            assert any("conv_weight" in name for name in casts) is not cast
            assert not any("bn_" in n or "fc_weight" in n for n in casts)
    assert not any("__dtype__" in said for said in plain.attr_dict().values())


@pytest.mark.parametrize("cast", [False, True])
def test_a_block_computes_nearly_the_same(cast: bool) -> None:
    mx.random.seed(1)
    net = gluon.nn.HybridSequential()
    net.add(
        gluon.nn.Conv2D(4, 3, activation="relu"),
        gluon.nn.BatchNorm(),
        gluon.nn.Dense(5),
    )
    net.initialize(mx.init.Xavier())
    net.hybridize()
    x = mx.nd.random.uniform(shape=(2, 1, 6, 6))
    expected = net(x).asnumpy()
    mixed = amp.convert_hybrid_block(net, cast_optional_params=cast)
    found = mixed(x)
    assert np.dtype(found.dtype).name == "float32"
    np.testing.assert_allclose(found.asnumpy(), expected, atol=5e-3)
    assert not np.array_equal(found.asnumpy(), expected)


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
def test_variables_are_narrow_where_everybody_wants_that(half: str) -> None:
    wide = "float32"

    def kinds(made: Any, **words: Any) -> list[str]:
        found = amp.convert_symbol(made, half, cast_optional_params=True, **words)
        names = found.list_arguments()
        shapes: Any = dict.fromkeys(names, (1, 2))
        bound = found.simple_bind(mx.cpu(), **shapes)
        assert {np.dtype(y.dtype).name for y in bound.forward()} <= {half, wide}
        return [np.dtype(x.dtype).name for x in bound.arg_arrays]

    def cast(what: Any, dtype: str = half) -> Any:
        return mx.sym.amp_cast(what, dtype=dtype)

    def together(*what: Any) -> Any:
        return mx.sym.amp_multicast(*what, num_outputs=len(what))

    free = mx.sym.var("free")
    assert kinds(mx.sym.Group([cast(free), cast(free, wide)]), data_names=[]) == [wide]
    assert kinds(mx.sym.Group([cast(free), cast(free)]), data_names=[]) == [half]
    assert kinds(cast(free)) == [wide]
    one, two = mx.sym.var("one", dtype=wide), mx.sym.var("two", dtype=half)
    assert kinds(together(one, two)) == [half, half]
    assert kinds(mx.sym.Group([together(one, two), cast(one)])) == [half, half]
    assert kinds(together(one, mx.sym.abs(two)))[0] == wide
    assert kinds(together(two, one, free)) == [half, wide, wide]


def test_bad_input_is_refused() -> None:
    with pytest.raises(ArgumentError, match="is no Symbol"):
        amp.convert_symbol(gluon.nn.Dense(1))  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="has no nodes nowhere"):
        amp.convert_symbol(a_symbol(), excluded_sym_names=["nowhere"])
    with pytest.raises(ArgumentError, match="has no inputs picture"):
        amp.convert_symbol(a_symbol(), data_names=["picture"])
    with pytest.raises(ArgumentError, match="float16 and bfloat16"):
        amp.convert_symbol(a_symbol(), "int8")
    with pytest.raises(ArgumentError, match="give the dictionary"):
        amp.convert_model(a_symbol(), [], {})  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="is no HybridBlock"):
        amp.convert_hybrid_block(gluon.nn.Sequential())  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="is one text"):
        amp.convert_symbol(a_symbol(), excluded_sym_names="fc")
    with pytest.raises(ListedTwice, match="excluded_sym_names to have them in float32"):
        amp.convert_symbol(a_symbol(), fp32_ops=["elemwise_add"])
    with pytest.raises(ListedTwice, match="in float32 and by conditions"):
        amp.convert_symbol(
            a_symbol(),
            fp32_ops=["Activation"],
            conditional_fp32_ops=[("Activation", "act_type", ["relu"])],
        )


def a_generator(length: int) -> Any:
    words = mx.sym.Embedding(mx.sym.var("data"), input_dim=9, output_dim=4, name="e")
    hidden = mx.sym.FullyConnected(words, num_hidden=6, flatten=False, name="fc")
    flat = mx.sym.reshape(hidden, shape=(-1, 6))
    label = mx.sym.reshape(mx.sym.var("label"), shape=(-1,))
    return mx.sym.SoftmaxOutput(flat, label, name="out"), ("data",), ("label",)


def test_every_bucket_of_a_module_is_converted() -> None:
    module = mx.mod.BucketingModule(a_generator, default_bucket_key=5)
    with pytest.raises(ParameterError, match="have no values yet"):
        amp.convert_bucketing_module(module)
    module.bind([("data", (2, 5))], [("label", (2, 5))])
    module.init_params(mx.init.Xavier())
    module.switch_bucket(3, [("data", (2, 3))], [("label", (2, 3))])
    made = amp.convert_bucketing_module(module)
    made.bind([("data", (2, 5))], [("label", (2, 5))], for_training=False)
    for length in (5, 3):
        data, label = mx.nd.ones((2, length)), mx.nd.zeros((2, length))
        batch = mx.io.DataBatch(
            [data],
            [label],
            bucket_key=length,
            provide_data=[mx.io.DataDesc("data", (2, length))],
            provide_label=[mx.io.DataDesc("label", (2, length))],
        )
        for each in (module, made):
            each.forward(batch, is_train=False)
        expected, found = (each.get_outputs()[0].asnumpy() for each in (module, made))
        np.testing.assert_allclose(found, expected, atol=5e-3)
    assert "amp_cast" in made.symbol.tojson(remove_amp_cast=False)
    with pytest.raises(ArgumentError, match="no BucketingModule"):
        amp.convert_bucketing_module(a_symbol())
