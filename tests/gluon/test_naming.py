"""Names of blocks and parameters, as MXNet 1.9.1 gives them."""

from __future__ import annotations

import re
import threading
from typing import Any

import pytest

import minimx as mx
from minimx import nd
from minimx.core.errors import ParameterError
from minimx.gluon import Block, nn
from minimx.gluon.parameter import ParameterDict


def names(block: Block) -> list[str]:
    return list(block.collect_params().keys())


def test_top_level_names_are_counted_by_the_manager_of_the_thread() -> None:
    first, second = nn.Dense(1), nn.Dense(1)
    numbers = [
        int(re.fullmatch(r"dense(\d+)", d.name)[1])  # type: ignore[index]
        for d in (first, second)
    ]
    assert numbers[1] == numbers[0] + 1
    assert names(first) == [f"{first.name}_weight", f"{first.name}_bias"]
    with mx.name.NameManager():
        assert [nn.Dense(1).prefix for _ in range(2)] == ["dense0_", "dense1_"]
    with mx.name.Prefix("left_"):
        assert nn.Dense(1).prefix == "left_dense0_"
        assert nn.Dense(1, prefix="own_").prefix == "own_"
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(nn.Dense(1).prefix))
    thread.start()
    thread.join()
    assert found == ["dense0_"]


def test_names_in_a_scope_are_counted_from_zero() -> None:
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(3), nn.Conv2D(2, 3), nn.Dense(4, prefix="last_"))
    assert names(net) == [
        "net_dense0_weight",
        "net_dense0_bias",
        "net_conv0_weight",
        "net_conv0_bias",
        "net_last_weight",
        "net_last_bias",
    ]
    assert net[0].prefix == "net_dense0_"


def test_scopes_nest() -> None:
    net = nn.Sequential(prefix="net_")
    with net.name_scope():
        inner = nn.Sequential()
        with inner.name_scope():
            inner.add(nn.Dense(1))
        net.add(inner, nn.Dense(1))
    assert names(net)[::2] == ["net_sequential0_dense0_weight", "net_dense0_weight"]


def test_an_empty_prefix_opens_no_scope() -> None:
    net = nn.Sequential(prefix="")
    with net.name_scope():
        net.add(nn.Dense(1))
    assert net.name == ""
    assert re.fullmatch(r"dense\d+_weight", names(net)[0])
    outer = nn.Sequential(prefix="outer_")
    with outer.name_scope():
        hidden = nn.Sequential(prefix="")
        with hidden.name_scope():
            hidden.add(nn.Dense(1))
        outer.add(hidden)
    assert names(outer)[0] == "outer_dense0_weight"


def test_an_activation_is_called_after_its_function() -> None:
    net = nn.Sequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Activation("relu"), nn.Dense(1, activation="tanh"))
    assert net[0].name == "net_relu0"
    assert net[1].act.name == "net_dense0_tanh"


def test_parameters_are_shared_through_params() -> None:
    net = nn.Dense(4, in_units=3, prefix="a_")
    twin = nn.Dense(4, in_units=3, params=net.params)
    assert twin.weight is net.weight
    assert names(twin) == ["a_weight", "a_bias"]
    assert twin.name != net.name


def test_shared_parameters_complete_each_other() -> None:
    net = nn.Dense(4, prefix="b_")
    twin = nn.Dense(4, in_units=3, params=net.params)
    assert net.weight.shape == (4, 3)
    assert twin.weight is net.weight


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"units": 5}, "its shape is"),
        ({"units": 4, "in_units": 2}, "its shape is"),
        ({"units": 4, "dtype": "float64"}, "its dtype is"),
        ({"units": 4, "bias_initializer": "ones"}, "its init is"),
    ],
)
def test_what_is_shared_must_agree(kwargs: Any, words: str) -> None:
    net = nn.Dense(4, in_units=3)
    with pytest.raises(ParameterError, match=words):
        nn.Dense(params=net.params, **kwargs)


def test_a_dictionary_prints_as_in_mxnet() -> None:
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Conv2D(2, 3), nn.Dense(10, use_bias=False))
    assert repr(net.collect_params()) == (
        "net_ (\n"
        "  Parameter net_conv0_weight (shape=(2, 0, 3, 3), "
        "dtype=<class 'numpy.float32'>)\n"
        "  Parameter net_conv0_bias (shape=(2,), dtype=<class 'numpy.float32'>)\n"
        "  Parameter net_dense0_weight (shape=(10, 0), dtype=float32)\n"
        ")"
    )
    assert repr(net.params) == "net_ (\n\n)"


def test_parameters_are_found_by_name_and_by_place() -> None:
    net = nn.Sequential()
    net.add(nn.Dense(2, in_units=1), nn.Dense(3, in_units=2))
    found = net.collect_params()
    assert isinstance(found, ParameterDict)
    assert found["1.weight"] is net[1].weight
    assert found[net[1].weight.name] is net[1].weight
    assert "0.bias" in found
    assert len(found) == 4
    with pytest.raises(ParameterError, match=r"no parameter '1\.wieght'.*1\.weight\?"):
        found["1.wieght"]


def test_select_keeps_names_that_match() -> None:
    net = nn.Sequential(prefix="n_")
    with net.name_scope():
        net.add(nn.Dense(1), nn.Dense(1))
    assert list(net.collect_params("n_dense1|.*bias").keys()) == [
        "n_dense0_bias",
        "n_dense1_weight",
        "n_dense1_bias",
    ]


def test_two_parameters_of_one_name_are_refused() -> None:
    net = nn.Sequential()
    net.add(nn.Dense(1, prefix="same_"), nn.Dense(1, prefix="same_"))
    with pytest.raises(ParameterError, match="'same_weight'"):
        net.collect_params()


def test_constants() -> None:
    held = ParameterDict("net_")
    made = held.get_constant("scale", [[1.0, 2.0]])
    assert held.get_constant("scale") is made
    assert held.get_constant("scale", nd.array([[1.0, 2.0]])) is made
    assert repr(made) == (
        "Constant net_scale (shape=(1, 2), dtype=<class 'numpy.float32'>)"
    )
    with pytest.raises(ParameterError, match="another value"):
        held.get_constant("scale", [[1.0, 3.0]])
    with pytest.raises(ParameterError, match="no constant 'net_other'"):
        held.get_constant("other")
    held.get("weight", shape=(1,))
    with pytest.raises(ParameterError, match="is no constant"):
        held.get_constant("weight", 1)


def test_symbols_made_in_a_scope_have_its_prefix() -> None:
    net = mx.gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        first = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3)
        with net.name_scope():
            second = mx.sym.FullyConnected(first, num_hidden=3, name="fc")
        both = first + second
    outside = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    assert (first.name, second.name) == ("net_fullyconnected0", "net_fc")
    assert both.name == "net__plus0"
    assert second.list_arguments()[-1] == "net_fc_bias"
    assert outside.name == "fc"


def test_an_empty_prefix_leaves_the_names_of_symbols_alone() -> None:
    outer = mx.gluon.nn.HybridSequential(prefix="outer_")
    inner = mx.gluon.nn.HybridSequential(prefix="")
    with outer.name_scope(), inner.name_scope():
        made = mx.sym.relu(mx.sym.var("x"), name="r")
    assert made.name == "outer_r"


def test_libraries_may_ask_for_the_prefix_of_a_block() -> None:
    from minimx.libraries.gluon import _BlockScope

    with nn.Sequential(prefix="net_").name_scope():
        assert _BlockScope.create(None, None, "hi")[0] == "net_hi0_"
    assert _BlockScope.create("own_", None, "hi")[0] == "own_"
