"""Which nodes join, which never do, and that every bit stays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.core.dtypes import resolve
from minimx.core.errors import OperatorError, ShapeError
from minimx.core.graph.passes.report import Passed
from minimx.core.graph.running.run import evaluate
from minimx.core.graph.values.ir import Graph
from minimx.core.graph.values.specs import every_spec
from minimx.core.ops.spec import Spec
from minimx.fast.fusion.fused_operator import FusedOp
from minimx.fast.fusion.groups import fuse
from minimx.symbol import Symbol
from tests.core.graph.verify import verify

x, y, b = map(mx.sym.var, "xyb")
SHAPES = {"x": (6, 4), "y": (6, 4), "b": (4,)}


def specs_of(
    graph: Graph, shapes: Mapping[str, Any] = SHAPES, dtype: str = "float32"
) -> dict[Any, Spec]:
    given = {n: Spec.of(shapes[n.name], resolve(dtype)) for n in graph.variables}
    return every_spec(graph, given)


def fused(symbol: Symbol, dtype: str = "float32", **settings: Any) -> Passed:
    graph = symbol.graph
    passed = fuse(graph, specs_of(graph, dtype=dtype), **settings)
    verify(passed.after)
    return passed


def groups(passed: Passed) -> list[list[str]]:
    """The operators of each group."""
    return [
        [inner.op.name for inner in node.op.operators if inner.op is not None]
        for node in passed.after
        if isinstance(node.op, FusedOp)
    ]


def the_op(passed: Passed) -> FusedOp:
    (op,) = [node.op for node in passed.after if isinstance(node.op, FusedOp)]
    return op


def values(graph: Graph, given: Mapping[str, Any]) -> list[Any]:
    arrays = {
        node: mx.nd.array(given[node.name], dtype=given[node.name].dtype)
        for node in graph.variables
    }
    return [out.asnumpy() for out in evaluate(graph, arrays, mx.cpu())]


def random_inputs(dtype: str = "float32") -> dict[str, Any]:
    rng = np.random.default_rng(5)
    kind = resolve(dtype)
    return {
        name: (rng.normal(size=shape) * (3 if kind.kind == "f" else 20)).astype(kind)
        for name, shape in SHAPES.items()
    }


def bits(array: Any) -> Any:
    """The memory of an array; one NaN is as good as another."""
    wide = array.astype(np.float64) if array.dtype.kind != "f" else array
    return np.where(np.isnan(wide), 0, array.view(f"u{array.dtype.itemsize}"))


def same_bits(passed: Passed, given: Mapping[str, Any]) -> None:
    before, after = values(passed.before, given), values(passed.after, given)
    for one, other in zip(before, after, strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
        np.testing.assert_array_equal(bits(one), bits(other))


# -- who joins -------------------------------------------------------------------------


def test_a_chain_becomes_one_node_named_after_its_operators() -> None:
    passed = fused(mx.sym.exp(mx.sym.relu(x * 2)) + y)
    assert len(passed.after) == 3
    (node,) = [node for node in passed.after if node.op is not None]
    assert node.name == "_mul_scalar_relu_exp_elemwise_add"
    same_bits(passed, random_inputs())


def test_the_account_counts_bytes() -> None:
    passed = fused(mx.sym.exp(mx.sym.relu(x)) * 2)
    (change,) = passed.changes
    assert change.rule == "fused" and len(change.nodes) == 4
    one = 6 * 4 * 4
    assert change.reason.startswith(f"one loop moves {2 * one} bytes")
    assert change.reason.endswith(f"the 3 operators moved {6 * one}")
    op = the_op(passed)
    assert op.cost(*op.specs).flops == op.unfused.flops == 24 * 4


def test_a_lonely_operator_stays() -> None:
    passed = fused(mx.sym.FullyConnected(mx.sym.relu(x), y, no_bias=True, num_hidden=6))
    assert passed.after is passed.before
    assert [change.rule for change in passed.changes] == []


def test_a_detour_keeps_a_group_apart() -> None:
    a = mx.sym.exp(x, name="a")
    outside = mx.sym.softmax(a, name="s")
    passed = fused(mx.sym.relu(a) + mx.sym.sin(outside))
    assert sorted(groups(passed)) == [["exp", "relu"], ["sin", "elemwise_add"]]
    assert any("a detour outside leads from a" in c.reason for c in passed.changes)
    same_bits(passed, random_inputs())


def test_later_nodes_know_of_the_detour_of_earlier_ones() -> None:
    a, c = mx.sym.exp(x), mx.sym.cos(y)
    d = mx.sym.broadcast_mul(c, mx.sym.softmax(a), name="d")
    passed = fused(mx.sym.Group([mx.sym.sin(c) + mx.sym.sin(a), d * 2]))
    assert len(passed.after) < len(passed.before)
    same_bits(passed, random_inputs())


def test_forward_and_backward_do_not_mix() -> None:
    a = mx.sym.exp(x, name="a")
    symbol = mx.sym.sin(mx.sym.relu(a, name="r"), name="s") * 2
    first = [node for node in symbol.graph if node.name in "xar"]
    passed = fused(symbol, forward=first)
    assert groups(passed) == [["exp", "relu"], ["sin", "_mul_scalar"]]
    assert passed.followed(first) == {
        node for node in passed.after if node.name in ("x", "exp_relu")
    }


def test_places_do_not_mix() -> None:
    with mx.AttrScope(ctx_group="far"):
        a = mx.sym.exp(mx.sym.relu(x))
    passed = fused(mx.sym.sin(mx.sym.cos(a)))
    assert groups(passed) == [["relu", "exp"], ["cos", "sin"]]
    assert "far" in [node.attrs.get("ctx_group") for node in passed.after] or "far" in [
        node.attrs.get("__ctx_group__") for node in passed.after
    ]


def test_nothing_inside_is_stretched() -> None:
    passed = fused(mx.sym.broadcast_add(mx.sym.relu(x), mx.sym.exp(b * 2)) * 2)
    assert groups(passed) == [
        ["_mul_scalar", "exp"],
        ["relu", "broadcast_add", "_mul_scalar"],
    ]
    same_bits(passed, random_inputs())


def test_small_loops_are_left_alone() -> None:
    passed = fused(mx.sym.exp(mx.sym.relu(x)), least=25)
    assert passed.after is passed.before
    assert passed.changes[0].reason == "24 elements are fewer than 25"


def test_views_inside_are_nothing_and_at_the_border_stay_outside() -> None:
    inner = mx.sym.exp(mx.sym.relu(x.reshape((4, 6))).reshape((24,)))
    passed = fused(inner.reshape((2, 12)))
    assert groups(passed) == [["relu", "Reshape", "exp"]]
    assert sum(n.op is not None for n in passed.after) == 3
    same_bits(passed, random_inputs())


def test_only_views_are_no_group() -> None:
    passed = fused(mx.sym.relu(x.reshape((24,)).reshape((4, 6))))
    assert groups(passed) == []
    assert passed.changes[0].reason == "fewer than two of them compute anything"


@pytest.mark.parametrize(
    "first",
    [
        lambda: mx.sym.slice(x, begin=(1, 1), end=(5, 3)),
        lambda: mx.sym.slice_axis(x, axis=0, begin=2, end=6),
        lambda: mx.sym.slice_like(x, mx.sym.slice(y, begin=(0, 0), end=(4, 2))),
        lambda: mx.sym.broadcast_like(b.reshape((1, 4)), y),
    ],
)
def test_what_reads_in_its_own_way_comes_first(first: Callable[[], Symbol]) -> None:
    passed = fused(mx.sym.exp(first()) * 2)
    assert groups(passed)[0][-2:] == ["exp", "_mul_scalar"]
    assert len(groups(passed)[0]) == 3
    same_bits(passed, random_inputs())


def test_and_never_later() -> None:
    passed = fused(mx.sym.slice_axis(mx.sym.exp(x * 2), axis=1, begin=0, end=2) + 1)
    assert groups(passed) == [["_mul_scalar", "exp"], ["slice_axis", "_plus_scalar"]]
    same_bits(passed, random_inputs())
    passed = fused(mx.sym.slice(x, begin=(0, 0), end=(6, 4), step=(2, 1)) + 1)
    assert groups(passed) == []


def test_rows_of_operands_must_fit_into_one_grid() -> None:
    left = mx.sym.broadcast_add(x, b).reshape((3, 8))
    column = mx.sym.slice(y.reshape((24,)), begin=(0,), end=(8,)).reshape((1, 8))
    passed = fused(mx.sym.broadcast_add(left, column))
    assert groups(passed) == [["broadcast_add", "Reshape", "broadcast_add"]]
    same_bits(passed, random_inputs())
    six = mx.sym.slice(y.reshape((24,)), begin=(0,), end=(6,)).reshape((1, 6))
    passed = fused(
        mx.sym.broadcast_add(mx.sym.broadcast_add(x, b).reshape((4, 6)), six)
    )
    assert groups(passed) == []
    assert "common grid" in passed.changes[0].reason


def test_constants_sums_choices_and_conversions_are_lines() -> None:
    many = [x * k for k in range(1, 10)]
    made = mx.sym.add_n(*many) + mx.sym.ones_like(x)
    made = mx.sym.where(mx.sym.cast(x, dtype="int32"), made, y - 1)
    made = mx.sym.LeakyReLU(made, act_type="elu")
    passed = fused(made)
    assert len(groups(passed)) == 1
    assert len(passed.after) == 3
    same_bits(passed, random_inputs())


# -- the operator ----------------------------------------------------------------------


def test_the_source_reads_once_and_writes_once() -> None:
    source = the_op(fused(mx.sym.exp(x * 2) + x)).source
    assert source.count("load(") == 2 and source.count("store(") == 1
    assert "t1 = float32(exp(t0))  # exp" in source


def test_an_output_may_take_the_memory_of_what_it_is_computed_from() -> None:
    assert the_op(fused(mx.sym.exp(x) + y)).inplace == {"out": ("data0", "data1")}
    twice = mx.sym.broadcast_add(mx.sym.exp(mx.sym.slice_like(x, y)), x)
    assert the_op(fused(twice)).inplace == {"out": ("data0",)}
    apart = mx.sym.broadcast_add(mx.sym.exp(mx.sym.broadcast_like(b, y)), y)
    assert the_op(fused(apart)).inplace == {"out": ("data1",)}
    two = mx.sym.Group([a := mx.sym.exp(x), mx.sym.sin(a) * y])
    assert the_op(fused(two)).inplace == {"out": ("data0",), "out1": ("data0", "data1")}


def test_outputs_written_over_inputs_are_the_same() -> None:
    shapes = {"x": (40, 100), "y": (40, 100), "b": (100,)}
    a = mx.sym.exp(x - y)
    graph = mx.sym.Group([a, mx.sym.sin(a) * x, mx.sym.broadcast_add(a, b) * y]).graph
    op = the_op(fuse(graph, specs_of(graph, shapes)))
    rng = np.random.default_rng(1)
    ins = [rng.normal(size=spec.shape).astype(np.float32) for spec in op.specs]
    outs = [np.empty(spec.shape, np.float32) for spec in op.infer(*op.specs)]
    run = op.kernel(*op.specs)
    run(*ins, *outs)
    for out, words in enumerate(op.inplace.values()):
        for word in words:
            fresh = [each.copy() for each in ins]
            places = [np.empty_like(each) for each in outs]
            places[out] = fresh[op.inputs.index(word)]
            run(*fresh, *places)
            for one, other in zip(outs, places, strict=True):
                np.testing.assert_array_equal(one, other)


def test_what_only_lends_its_shape_is_not_read() -> None:
    op = the_op(fused(mx.sym.exp(mx.sym.zeros_like(x) + y)))
    assert op.ignores == ("data0",)
    assert op.cost(*op.specs).bytes_moved == 2 * 24 * 4


def test_it_runs_on_what_it_was_made_for() -> None:
    op = the_op(fused(mx.sym.exp(x) + y))
    with pytest.raises(ShapeError, match=r"made for float32\[6, 4\], float32\[6, 4\]"):
        op.infer(op.specs[0])


def test_gradients_are_taken_before() -> None:
    op = the_op(fused(mx.sym.exp(x) + y))
    with pytest.raises(OperatorError, match="Differentiate the graph before"):
        op.grad(None, None)  # type: ignore[arg-type]


# -- every bit -------------------------------------------------------------------------

EVERY = ["float32", "float64", "float16", "bfloat16", "int32", "int64", "int8", "uint8"]


def arithmetic() -> Symbol:
    both = mx.sym.broadcast_maximum(x * 3 - y, mx.sym.broadcast_add(x, b))
    return mx.sym.Group([both, mx.sym.where(both > 2, both * y, mx.sym.abs(x))])


def functions() -> Symbol:
    far = mx.sym.Group([mx.sym.sigmoid(x * 2), mx.sym.erf(y) * mx.sym.tanh(x - y)])
    return mx.sym.Group([*far, mx.sym.sqrt(mx.sym.abs(mx.sym.sin(x) / y))])


@pytest.mark.parametrize("dtype", EVERY)
def test_arithmetic_is_equal_in_every_type(dtype: str) -> None:
    passed = fused(arithmetic(), dtype)
    assert len(passed.after) == 4
    same_bits(passed, random_inputs(dtype))


@pytest.mark.parametrize("dtype", EVERY[:4])
def test_functions_are_equal_in_every_real_type(dtype: str) -> None:
    same_bits(fused(functions(), dtype), random_inputs(dtype))


def test_conversions_are_equal() -> None:
    for kind in ("int32", "float64", "float16", "bool", "uint8"):
        made = mx.sym.cast(mx.sym.cast(x * 2, dtype=kind), dtype="float32") + y
        passed = fused(made)
        given = random_inputs()
        given["x"] = np.abs(given["x"]) * 9
        same_bits(passed, given)


def test_threads_do_not_matter() -> None:
    shapes = {"x": (513, 67), "y": (513, 67), "b": (67,)}
    graph = arithmetic().graph
    passed = fuse(graph, specs_of(graph, shapes))
    rng = np.random.default_rng(1)
    given = {k: rng.normal(size=s).astype(np.float32) for k, s in shapes.items()}
    with mx.knobs(OMP_NUM_THREADS=2, MXNET_CPU_PARALLEL_SIZE=1):
        same_bits(passed, given)
