"""Casts for mixed precision: who gets which type, and that little is converted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.core.errors import ArgumentError
from minimx.core.graph.passes.report import Passed
from minimx.core.graph.running.run import evaluate
from minimx.core.graph.values.ir import Entry, Graph
from minimx.core.graph.values.specs import every_spec
from minimx.core.ops.casting import Rules
from minimx.core.ops.spec import Spec
from minimx.graphs.casts import insert_casts, kinds_of
from minimx.symbol import Symbol
from tests.core.graph.verify import verify

GROUPS = {
    **dict.fromkeys(("FullyConnected", "Convolution"), "target"),
    **dict.fromkeys(("softmax", "exp"), "float32"),
    **dict.fromkeys(("elemwise_add", "broadcast_mul"), "widest"),
}
RULES = Rules("float16", GROUPS, {"Activation": {"act_type": ["softrelu"]}})
x = mx.sym.var("x")


def specs_of(symbol: Symbol) -> dict[Entry, Spec]:
    graph = symbol.graph
    args, _, aux = symbol.infer_shape(x=(4, 8))
    shapes = dict(zip(symbol.list_arguments(), args or (), strict=True))
    shapes |= dict(zip(symbol.list_auxiliary_states(), aux or (), strict=True))
    kind = np.dtype("float32")
    return every_spec(
        graph, {n: Spec.of(shapes[n.name], kind) for n in graph.variables}
    )


def cast(symbol: Symbol, rules: Rules = RULES) -> Passed:
    passed = insert_casts(symbol.graph, kinds_of(symbol.graph), rules)
    verify(passed.after)
    told = [change.nodes[0] for change in passed.changes]
    new = {n.name for n in passed.after} - {n.name for n in passed.before}
    assert sorted(told) == sorted(new), "every conversion is told of, once"
    return passed


def with_kinds(symbol: Symbol, **words: Any) -> tuple[Passed, dict[str, str]]:
    """The pass, and the type of the first output of every operator."""
    passed, specs = cast(symbol, **words), specs_of(symbol)
    given = {node: specs[Entry(node)] for node in passed.after.variables}
    found = every_spec(passed.after, given)
    return passed, {
        node.name: found[Entry(node)].dtype.name
        for node in passed.after
        if node.op is not None
    }


def names(graph: Graph) -> list[str]:
    return [node.name for node in graph if node.op is not None]


def test_a_layer_computes_in_two_byte_numbers_and_gives_what_it_gave() -> None:
    passed, found = with_kinds(mx.sym.FullyConnected(x, num_hidden=3, name="fc"))
    assert names(passed.after) == [
        "x_amp_cast_float16",
        "fc_weight_amp_cast_float16",
        "fc_bias_amp_cast_float16",
        "fc",
        "fc_output_amp_cast_float32",
    ]
    assert found["fc"] == "float16"
    assert found["fc_output_amp_cast_float32"] == "float32"
    assert passed.changes[0].reason == "FullyConnected computes in float16"
    assert passed.changes[-1].reason == "the graph gives it out"


def test_one_entry_is_converted_once() -> None:
    first = mx.sym.FullyConnected(x, num_hidden=3, name="a")
    second = mx.sym.FullyConnected(x, num_hidden=3, name="b")
    passed = cast(mx.sym.Group([first, second]))
    assert names(passed.after).count("x_amp_cast_float16") == 1


def test_types_flow_through_operators_in_no_list() -> None:
    hidden = mx.sym.relu(mx.sym.FullyConnected(x, num_hidden=8, name="a"), name="r")
    passed, found = with_kinds(mx.sym.FullyConnected(hidden, num_hidden=2, name="b"))
    assert found["r"] == "float16"
    assert "r_output_amp_cast_float16" not in names(passed.after)


def test_single_operators_are_converted_back() -> None:
    hidden = mx.sym.FullyConnected(x, num_hidden=8, name="a")
    passed, found = with_kinds(mx.sym.softmax(hidden, name="s"))
    assert found["s"] == "float32"
    assert "a_output_amp_cast_float32" in names(passed.after)


def test_the_widest_type_is_taken_where_types_meet() -> None:
    hidden = mx.sym.FullyConnected(x, num_hidden=8, name="a")
    passed, found = with_kinds(mx.sym.elemwise_add(hidden, x, name="sum"))
    assert found["sum"] == "float32"
    assert "a_output_amp_multicast" in names(passed.after)
    _, found = with_kinds(mx.sym.elemwise_add(hidden, hidden, name="sum"))
    assert found["sum"] == "float16"


def test_an_operator_in_no_list_gets_one_type_too() -> None:
    hidden = mx.sym.FullyConnected(x, num_hidden=8, name="a")
    passed, found = with_kinds(mx.sym.broadcast_sub(hidden, x, name="d"))
    assert found["d"] == "float32"
    assert passed.changes[-1].reason == "broadcast_sub wants one type"


def test_settings_decide_and_names_exclude() -> None:
    hidden = mx.sym.FullyConnected(x, num_hidden=8, name="a")
    soft = mx.sym.Activation(hidden, act_type="softrelu", name="soft")
    hard = mx.sym.Activation(hidden, act_type="relu", name="hard")
    _, found = with_kinds(mx.sym.Group([soft, hard]))
    assert (found["soft"], found["hard"]) == ("float32", "float16")
    rules = Rules("float16", GROUPS, excluded=("a",))
    passed, found = with_kinds(hidden, rules=rules)
    assert found == {"a": "float32"} and passed.changes == ()


def test_what_a_node_changes_is_not_converted() -> None:
    groups = dict.fromkeys(("FullyConnected", "BatchNorm"), "target")
    rules = Rules("float16", groups)
    hidden = mx.sym.FullyConnected(x, num_hidden=8, name="a")
    passed, found = with_kinds(mx.sym.BatchNorm(hidden, name="n"), rules=rules)
    (norm,) = [node for node in passed.after if node.name == "n"]
    assert [entry.name for entry in norm.inputs[1:]] == [
        "n_gamma",
        "n_beta",
        "n_moving_mean",
        "n_moving_var",
    ]
    assert found["n"] == "float16"


def test_integers_stay() -> None:
    rules = Rules("float16", dict.fromkeys(("take", "FullyConnected"), "target"))
    rows = mx.sym.take(x, mx.sym.cast(mx.sym.sign(x), dtype="int32"), name="t")
    passed = cast(rows, rules=rules)
    (taken,) = [node for node in passed.after if node.name == "t"]
    assert [entry.node.name for entry in taken.inputs][0] == "x_amp_cast_float16"
    assert "int" not in " ".join(names(passed.after))


@pytest.mark.parametrize("target", ["float16", "bfloat16"])
def test_the_numbers_are_nearly_the_same(target: str) -> None:
    hidden = mx.sym.FullyConnected(x, num_hidden=16, name="a")
    hidden = mx.sym.Activation(hidden, act_type="tanh")
    symbol = mx.sym.softmax(mx.sym.FullyConnected(hidden, num_hidden=4, name="b"))
    passed = cast(symbol, replace(RULES, target=target))
    rng = np.random.default_rng(0)
    values = {
        n: mx.nd.array(rng.normal(size=spec.shape) / 3)
        for n in passed.before.variables
        if (spec := specs_of(symbol)[Entry(n)])
    }
    before, after = (
        evaluate(graph, values, mx.cpu())[0] for graph in (passed.before, passed.after)
    )
    assert before.dtype == after.dtype
    assert np.abs(before.asnumpy() - after.asnumpy()).max() < 0.02
    assert (before.asnumpy() != after.asnumpy()).any()


def test_wrong_words_are_refused() -> None:
    with pytest.raises(ArgumentError, match="float64 is no two-byte type"):
        cast(mx.sym.exp(x), replace(RULES, target="float64"))
