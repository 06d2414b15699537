"""Symbols beyond what MXNet's answers in tests/compat cover: lessons and sharing."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.core.errors import (
    ArgumentError,
    DataError,
    GradientError,
    NotImplementedForSymbol,
    OperatorError,
)

data = mx.sym.var("data")


@pytest.mark.parametrize(
    "ask",
    [
        bool,
        lambda s: s.asnumpy(),
        lambda s: s.asscalar(),
        lambda s: s.wait_to_read(),
        lambda s: s.backward(),
        lambda s: s.attach_grad(),
        lambda s: s.detach(),
        lambda s: s.as_in_context(mx.cpu()),
    ],
)
def test_a_symbol_has_no_numbers(ask: Any) -> None:
    with pytest.raises(NotImplementedForSymbol, match="no numbers before it is run"):
        ask(data)


def test_a_symbol_is_not_changed_in_place() -> None:
    symbol = data
    with pytest.raises(NotImplementedForSymbol, match="Write x = x"):
        symbol += 1


sym: Any = mx.sym  # calls with mistakes, which a type checker would find


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: sym.FullyConnected(data, num_hiden=3), "Did you mean num_hidden"),
        (lambda: sym.FullyConnected(3, num_hidden=3), "must be a Symbol"),
        (lambda: sym.FullyConnected(data, weight=3, num_hidden=3), "is a int"),
        (
            lambda: mx.sym.FullyConnected(data, bias=data, num_hidden=3, no_bias=True),
            "there is no input bias",
        ),
        (lambda: data + "x", "unsupported operand"),
        (lambda: sym.maximum(data, "x"), "cannot be combined"),
        (lambda: mx.sym.split(data, num_outputs=2) + 1, "Choose one"),
    ],
)
def test_wrong_calls_are_lessons(call: Any, match: str) -> None:
    with pytest.raises((OperatorError, ArgumentError, TypeError), match=match):
        call()


def test_a_misspelt_operator_gets_a_suggestion() -> None:
    with pytest.raises(AttributeError, match="Did you mean FullyConnected"):
        mx.sym.FullyConected(data)


def test_remarks_are_shared_by_graphs_and_not_by_copies() -> None:
    inner = mx.sym.relu(data, name="r")
    outer, apart = inner + 1, copy.copy(inner)
    inner._set_attr(force_mirroring="True")
    assert outer.get_internals()["r_output"].attr("force_mirroring") == "True"
    assert apart.attr("force_mirroring") is None


def test_composition_leaves_what_was_composed_alone() -> None:
    head = mx.sym.FullyConnected(num_hidden=2, name="head")
    body = mx.sym.relu(data, name="body")
    both = head(head_data=body, name="both")
    assert head.list_arguments()[0] == "head_data" and head.name == "head"
    assert both.list_outputs() == ["both_output"]
    assert both.list_arguments() == ["data", "head_weight", "head_bias"]


def test_composition_by_place() -> None:
    made = (mx.sym.var("a") * mx.sym.var("b"))(data, mx.sym.var("c"))
    assert made.list_arguments() == ["data", "c"]
    with pytest.raises(ArgumentError, match="Did you mean a"):
        (mx.sym.var("a") * 2)(aa=data)


def test_it_is_pickled_with_its_remarks() -> None:
    symbol = mx.sym.relu(mx.sym.var("v", shape=(2, 3), lr_mult=3), name="r")
    twin = pickle.loads(pickle.dumps(symbol))
    assert twin.tojson() == symbol.tojson()
    assert twin.infer_shape()[1] == [(2, 3)]


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="symbol.load: cannot read"):
        mx.sym.load(str(tmp_path / "nowhere.json"))
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="no text"):
        mx.sym.load(str(tmp_path / "bytes.json"))


def test_names_are_counted_in_their_scope() -> None:
    with mx.name.NameManager():
        assert mx.sym.relu(data).name == "relu0"
        with mx.name.Prefix("left_"):
            assert mx.sym.relu(data).name == "left_relu0"
            assert mx.sym.relu(data, name="mine").name == "left_mine"
        assert mx.sym.relu(data).name == "relu1"


def test_scopes_of_attributes_nest() -> None:
    with mx.AttrScope(a="1", b="1"), mx.AttrScope(b="2"):
        assert mx.sym.relu(data).list_attr() == {"a": "1", "b": "2"}
    assert mx.sym.relu(data).list_attr() == {}
    with pytest.raises(ArgumentError, match="no text"):
        mx.AttrScope(a=1)  # type: ignore[arg-type]


def test_a_gradient_is_the_executors() -> None:
    with pytest.raises(GradientError, match="Bind it"):
        data.gradient(["data"])


def test_every_array_method_is_a_method_of_symbols_too() -> None:
    from minimx.core.arrays.calls import METHODS
    from minimx.nd.functions import FUNCTIONS

    for name in METHODS:
        if name in FUNCTIONS:
            assert callable(getattr(mx.sym.Symbol, name)), name


def test_the_tape_as_a_symbol() -> None:
    x, y = mx.nd.array([2.0, 3.0]), mx.nd.array([5.0, 7.0])
    x.attach_grad()
    with mx.autograd.record():
        z = mx.nd.broadcast_mul(x, y) + x
    symbol = mx.autograd.get_symbol(z)
    assert symbol.list_arguments() == ["var0", "null1"]
    again = symbol.eval(var0=x, null1=y)[0]
    assert again.asnumpy().tolist() == z.asnumpy().tolist()
    z.backward()
    with pytest.raises(GradientError, match="already walked"):
        mx.autograd.get_symbol(z)
    with pytest.raises(GradientError, match="was not computed"):
        mx.autograd.get_symbol(y)


def test_simple_bind_asks_for_one_variable_of_each_name() -> None:
    net = mx.sym.broadcast_add(mx.sym.var("x"), mx.sym.var("x"))
    with pytest.raises(ArgumentError, match="2 variables are called 'x'"):
        net.simple_bind(x=(2, 3))
    x = mx.sym.var("x")
    assert mx.sym.broadcast_add(x, x).simple_bind(x=(2, 3)).forward()[0].shape == (2, 3)


def test_scopes_are_known_by_their_classes() -> None:
    names, remarks = mx.name.NameManager.current, mx.AttrScope.current
    try:
        mx.name.NameManager.current = mx.name.NameManager()
        mx.AttrScope.current = mx.AttrScope(mood="calm")
        x = mx.sym.relu(mx.sym.var("x"))
        assert x.name == "relu0"
        assert x.attr("mood") == "calm"
        assert mx.AttrScope.current.get(None) == {"mood": "calm"}
    finally:
        mx.name.NameManager.current, mx.AttrScope.current = names, remarks
    assert mx.Context.default_ctx is mx.current_context()
    with mx.cpu(1):
        assert mx.Context.default_ctx == mx.cpu(1)


def test_indices_do_not_decide_the_type_of_a_table() -> None:
    table = mx.sym.Embedding(mx.sym.var("data"), input_dim=5, output_dim=3)
    arguments, outputs, _ = table.infer_type(data="int32")
    assert arguments == [np.int32, np.float32]
    assert outputs == [np.float32]
    half = mx.sym.Embedding(
        mx.sym.var("data"), mx.sym.var("w", dtype="float16"), input_dim=5, output_dim=3
    )
    assert half.infer_type(data="int32")[1] == [np.float16]
