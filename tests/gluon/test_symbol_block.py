"""Blocks made from graphs: exported, read again, cut out of other networks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import gluon, nd
from minimx.core import autograd
from minimx.core.errors import ArgumentError, DataError, MXNetError
from minimx.gluon import nn


def network() -> Any:
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(4, activation="relu"), nn.BatchNorm(), nn.Dense(2))
    net.initialize(mx.init.Xavier())
    return net


@pytest.fixture
def exported(tmp_path: Path) -> tuple[Any, Any, Path]:
    net = network()
    net.hybridize()
    x = nd.random.normal(shape=(3, 5))
    out = net(x)
    names = net.export(str(tmp_path / "net"), epoch=7)
    assert names == (f"{tmp_path}/net-symbol.json", f"{tmp_path}/net-0007.params")
    return x, out.asnumpy(), tmp_path / "net"


def test_what_was_exported_is_read_again(exported: tuple[Any, Any, Path]) -> None:
    x, out, path = exported
    stored = nd.load(f"{path}-0007.params")
    assert set(stored) == {
        *("arg:net_dense0_weight", "arg:net_dense0_bias", "arg:net_dense1_weight"),
        *("arg:net_dense1_bias", "arg:net_batchnorm0_gamma", "arg:net_batchnorm0_beta"),
        *("aux:net_batchnorm0_running_mean", "aux:net_batchnorm0_running_var"),
    }
    again = gluon.SymbolBlock.imports(
        f"{path}-symbol.json", ["data"], f"{path}-0007.params"
    )
    np.testing.assert_array_equal(again(x).asnumpy(), out)
    again.hybridize(static_alloc=True)
    np.testing.assert_array_equal(again(x).asnumpy(), out)
    with autograd.record():
        again(x).sum().backward()
    assert np.abs(again.collect_params()["net_dense1_bias"].grad().asnumpy()).max() > 0
    assert repr(again).startswith("SymbolBlock(\n")


def test_a_graph_without_values_is_initialized(
    exported: tuple[Any, Any, Path],
) -> None:
    x, _, path = exported
    fresh = gluon.SymbolBlock.imports(f"{path}-symbol.json", "data")
    fresh.initialize()
    assert fresh(x).shape == (3, 2)
    assert fresh.params["net_dense0_weight"].shape == (4, 5)
    assert (fresh.params["net_batchnorm0_running_var"].data() == 1).asnumpy().all()


def test_export_wants_a_graph(tmp_path: Path) -> None:
    net = network()
    net(nd.ones((1, 5)))
    with pytest.raises(ArgumentError, match=r"hybridize\(\)"):
        net.export(str(tmp_path / "net"))
    assert not list(tmp_path.iterdir())


def test_inner_outputs_of_another_network() -> None:
    net = network()
    x = nd.random.normal(shape=(3, 5))
    expected = net[0](x).asnumpy()
    net(x)
    data = mx.sym.var("data")
    inner = net(data).get_internals()
    features = [inner["net_dense0_relu_fwd_output"], inner["net_dense1_fwd_output"]]
    block = gluon.SymbolBlock(features, data, params=net.collect_params())
    first, second = block(x)
    np.testing.assert_array_equal(first.asnumpy(), expected)
    np.testing.assert_array_equal(second.asnumpy(), net(x).asnumpy())
    assert block.params["net_dense0_weight"] is net[0].weight
    assert [s.list_arguments()[0] for s in block(mx.sym.var("other"))] == ["other"] * 2


def test_a_graph_is_a_part_of_other_blocks() -> None:
    net = network()
    x = nd.random.normal(shape=(3, 5))
    expected = np.exp(net(x).asnumpy())
    data = mx.sym.var("data")
    block = gluon.SymbolBlock(net(data), data, params=net.collect_params())

    class One(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.inner = block

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return F.exp(self.inner(x))

    class Two(One):
        def forward(self, x: Any) -> Any:
            return nd.exp(self.inner(x))

    for outer in (One(), Two()):
        outer.hybridize()
        np.testing.assert_allclose(outer(x).asnumpy(), expected, rtol=1e-6)


def test_values_keep_their_type(tmp_path: Path) -> None:
    net = network()
    net.cast("float64")
    net.hybridize()
    x = nd.ones((1, 5), dtype="float64")
    net(x)
    graph, values = net.export(str(tmp_path / "net"))
    again = gluon.SymbolBlock.imports(graph, ["data"], values)
    assert again(x).dtype == np.float64
    again.cast("float16")
    kept = {p.name: np.dtype(p.dtype).name for p in again.collect_params().values()}
    assert kept["net_dense0_weight"] == "float16"
    assert kept["net_batchnorm0_gamma"] == "float32"


# -- what is refused -------------------------------------------------------------------


def test_inputs_must_be_variables_of_the_graph() -> None:
    data = mx.sym.var("data")
    with pytest.raises(AssertionError, match="must be a variable"):
        gluon.SymbolBlock(data * 2, data + 1)
    with pytest.raises(ArgumentError, match="Did you mean data"):
        gluon.SymbolBlock(data * 2, mx.sym.var("dat"))
    sparse = mx.sym.var("weight", stype="row_sparse")
    with pytest.raises(AssertionError, match="row_sparse"):
        gluon.SymbolBlock(mx.sym.dot(data, sparse), data)
    block = gluon.SymbolBlock(data * 2, data)
    with pytest.raises(ArgumentError, match="takes 1 inputs"):
        block(nd.ones((1,)), nd.ones((1,)))


def test_values_that_do_not_fit(exported: tuple[Any, Any, Path]) -> None:
    _, _, path = exported
    graph, values = f"{path}-symbol.json", f"{path}-0007.params"
    stored: Any = nd.load(values)

    def changed(**new: Any) -> str:
        other = str(path) + "-other.params"
        nd.save(other, {k: v for k, v in (stored | new).items() if v is not None})
        return other

    lacking = changed(**{"arg:net_dense0_bias": None})
    with pytest.raises(MXNetError, match="net_dense0_bias"):
        gluon.SymbolBlock.imports(graph, "data", lacking)
    gluon.SymbolBlock.imports(graph, "data", lacking, allow_missing=True)
    extra = changed(**{"arg:other": nd.ones((1,))})
    with pytest.raises(MXNetError, match="other"):
        gluon.SymbolBlock.imports(graph, "data", extra)
    gluon.SymbolBlock.imports(graph, "data", extra, ignore_extra=True)
    wide = changed(**{"arg:net_dense1_weight": nd.ones((2, 9))})
    block = gluon.SymbolBlock.imports(graph, "data", wide)
    with pytest.raises(MXNetError, match="net_dense1"):
        block(nd.ones((1, 5)))


def test_damaged_files(exported: tuple[Any, Any, Path]) -> None:
    _, _, path = exported
    graph, values = Path(f"{path}-symbol.json"), Path(f"{path}-0007.params")
    with pytest.raises(DataError, match="symbol.load: cannot read .*net-none.json"):
        gluon.SymbolBlock.imports(str(path) + "-none.json", "data")
    whole = values.read_bytes()
    values.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(MXNetError):
        gluon.SymbolBlock.imports(str(graph), "data", str(values))
    found = json.loads(graph.read_text())
    found["nodes"][3]["op"] = "FullyConected"
    graph.write_text(json.dumps(found))
    with pytest.raises(DataError, match="FullyConnected"):
        gluon.SymbolBlock.imports(str(graph), "data")


def test_parameters_come_before_states_as_in_mxnet() -> None:
    net = mx.gluon.nn.HybridSequential(prefix="n_")
    with net.name_scope():
        net.add(mx.gluon.nn.Dense(3), mx.gluon.nn.BatchNorm(), mx.gluon.nn.Dense(1))
    block = mx.gluon.SymbolBlock(net(mx.sym.var("data")), mx.sym.var("data"))
    names = list(block.collect_params())
    assert [name.removeprefix("n_") for name in names] == [
        "dense0_weight", "dense0_bias", "batchnorm0_gamma", "batchnorm0_beta",
        "dense1_weight", "dense1_bias", "batchnorm0_running_mean",
        "batchnorm0_running_var",
    ]  # fmt: skip


class Nested(gluon.HybridBlock):
    """Takes an array and a list, gives an array and a pair."""

    def hybrid_forward(self, F: Any, x: Any, pair: Any) -> Any:
        return x + pair[0], [pair[0] * 2, pair[1]]


def test_libraries_keep_how_arguments_and_outputs_are_nested(tmp_path: Path) -> None:
    """As GluonTS does, which stores `_in_format` and `_out_format` beside a graph."""
    block = Nested()
    block.hybridize()
    assert block._in_format is None
    assert block._out_format is None
    x, y = nd.ones((2,)), nd.ones((2,)) * 3
    block(x, [y, x])
    assert block._in_format == [0, [0, 0]]
    assert block._out_format == [0, [0, 0]]
    names = block.export(str(tmp_path / "nested"))
    read: Any = gluon.SymbolBlock.imports(names[0], ["data0", "data1", "data2"])
    assert len(read(x, y, x)) == 3
    read._in_format, read._out_format = [0, [0, 0]], [0, [0, 0]]
    first, (second, third) = read(x, [y, x])
    assert [one.asnumpy()[0] for one in (first, second, third)] == [4, 6, 1]
    with pytest.raises(AttributeError, match="follows from a call"):
        block._out_format = 0


def test_a_type_of_numpy_is_written_by_its_name(tmp_path: Path) -> None:
    double: Any = np.float64
    alpha, beta = mx.sym.var("alpha"), mx.sym.var("beta")
    drawn = mx.sym.sample_gamma(alpha, beta, dtype=double, name="drawn")
    drawn.save(str(tmp_path / "drawn.json"))
    read = mx.sym.load(str(tmp_path / "drawn.json"))
    assert read.attr_dict()["drawn"]["dtype"] == "float64"
    found = read.eval(alpha=nd.ones((3,)), beta=nd.ones((3,)))[0]
    assert found.dtype == np.float64
