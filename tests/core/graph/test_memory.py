"""Memory plans: MXNet's numbers, the chains of the course, and the reasons."""

from __future__ import annotations

from typing import Any

import pytest

import minimx as mx
from minimx.core.dtypes import FLOAT32
from minimx.core.graph.memory.memory import DYNAMIC, EXTERNAL, MemoryPlan, plan_memory
from minimx.core.graph.passes.gradient import differentiate
from minimx.core.graph.running.run import as_run
from minimx.core.graph.running.settings import Settings
from minimx.core.graph.values.ir import Entry
from minimx.core.graph.values.specs import every_spec
from minimx.core.knobs import knobs
from minimx.core.ops.spec import Spec
from tests.core.graph import overlay
from tests.core.graph.mxnet_training import plan_as_mxnet
from tests.core.graph.nets import (
    SHAPES,
    branches,
    convolutions,
    layers,
    planned,
    specs_of,
)

KB, MB = 1 << 10, 1 << 20


# -- MXNet 1.9.1, `debug_str` of executors that only predict -------------------------


@pytest.mark.parametrize(
    ("net", "by_range"),
    [
        (layers, {0: 160, 1: 16, 2: 16, 4: 16, 16: 16}),
        (convolutions, {0: 96, 1: 8, 2: 8, 4: 8, 16: 8}),
        (branches, {0: 432, 1: 180, 2: 62, 4: 68, 16: 108}),
    ],
    ids=["layers", "convolutions", "branches"],
)
def test_the_match_range_gives_the_megabytes_of_mxnet(
    net: Any, by_range: dict[int, int]
) -> None:
    symbol, shape = net(), SHAPES[net]
    plans = {r: planned(symbol, Settings(match_range=r), data=shape) for r in by_range}
    assert {r: plan.total // MB for r, plan in plans.items()} == by_range
    searched = planned(symbol, Settings(auto_search_match_range=True), data=shape)
    tried = {r: total // MB for r, total in searched.candidates.items()}
    assert tried == {**tried, **{r: by_range[r] for r in (1, 2, 4, 16)}}
    assert list(tried) == [1, 2, 4, 8, 16]
    assert searched.total // MB == min(by_range.values())


def test_memory_opt_searches_too_and_keeps_the_first_of_equals() -> None:
    plan = planned(layers(), Settings(memory_opt=True), data=SHAPES[layers])
    assert plan.match_range == 1 and len(plan.candidates) == 5


@pytest.mark.parametrize("count, expected", [(1, 108), (2, 128), (4, 156), (8, 168)])
def test_colours_keep_results_apart(count: int, expected: int) -> None:
    plan = planned(branches(), Settings(num_temp=count), data=SHAPES[branches])
    assert plan.total // MB == expected
    shades = plan.colours
    assert (shades is None) == (count == 1)


def test_num_temp_counts_up_to_the_workers_as_in_mxnet_0_8() -> None:
    for temp, workers, expected in ((4, 2, 128), (4, 4, 156), (1, 4, 108)):
        settings = Settings(exec_num_temp=temp, gpu_worker_nthreads=workers)
        plan = planned(branches(), settings, data=SHAPES[branches])
        assert plan.total // MB == expected


# -- the chains of the course --------------------------------------------------------


def chain(kilobytes: list[int]) -> MemoryPlan:
    return chains(kilobytes, [16])[16]


def chains(kilobytes: list[int], ranges: list[int]) -> dict[int, MemoryPlan]:
    """Plans of layers whose outputs have these sizes, none of them outside."""
    y = mx.sym.var("data")
    for size in kilobytes:
        y = mx.sym.FullyConnected(y, num_hidden=size * KB // 4)
    graph = y.graph
    specs = specs_of(graph, data=(1, 1))
    return {r: plan_memory(graph, specs, (), Settings(match_range=r)) for r in ranges}


SHRINKING = [64, 64, 32, 32, 16, 16, 8, 4, 1]


@pytest.mark.parametrize(
    ("sizes", "totals"),
    [
        (SHRINKING, [237, 237, 165, 141, 133, 129]),
        (SHRINKING[::-1], [237, 237, 133, 129, 128, 128]),
    ],
    ids=["shrinking", "growing"],
)
def test_a_chain_of_the_course(sizes: list[int], totals: list[int]) -> None:
    plans = chains(sizes, [0, 1, 2, 4, 8, 16])
    found = [plan.total // KB for plan in plans.values()]
    assert found == totals  # and those of MXNet 1.9.1, in megabytes
    assert plans[0].bytes_apart == 237 * KB
    assert plans[16].peak == 128 * KB


def test_a_wider_range_may_need_more() -> None:
    """Allocate 16, free it, allocate 1, which may take it, then 16 again."""
    x = mx.sym.var("data")
    wide = mx.sym.FullyConnected(x, num_hidden=4 * KB, name="wide")
    read = mx.sym.FullyConnected(wide, num_hidden=1, name="read")
    thin = mx.sym.FullyConnected(x, num_hidden=KB // 4, name="thin")
    again = mx.sym.FullyConnected(thin, num_hidden=4 * KB, name="again")
    graph = mx.sym.Group([read, again]).graph
    specs = specs_of(graph, data=(1, 1))
    plans = {
        r: plan_memory(graph, specs, graph.outputs[:1], Settings(match_range=r))
        for r in (2, 16)
    }
    assert {r: plan.total // KB for r, plan in plans.items()} == {2: 17, 16: 32}
    places = {r: plan.reasons[graph.outputs[1]] for r, plan in plans.items()}
    assert places == {
        2: "block 0, free since read, of the very size",
        16: "new block 1: no block is free",
    }


# -- what a plan says ----------------------------------------------------------------


def small() -> Any:
    """x → a = sin x → b = cos a → (b + a, b as it is) → square."""
    x = mx.sym.var("x")
    a = mx.sym.sin(x, name="a")
    b = mx.sym.cos(a, name="b")
    c = mx.sym.elemwise_add(b, a, name="c")
    return mx.sym.square(mx.sym.reshape(c, shape=(-1,), name="d"), name="e")


def test_each_pair_has_a_reason() -> None:
    changes = planned(small(), x=(4, 4)).changes
    said = {(c.nodes[0], c.nodes[2]): (c.rule, c.reason) for c in changes}
    assert said == {
        ("a", "x"): ("apart", "x belongs to the caller, who may want it unchanged."),
        ("b", "a_output"): ("apart", "a_output is still read by c."),
        ("c", "b_output"): (
            "over",
            "b_output is read here for the last time, and c may write over it.",
        ),
        ("c", "a_output"): ("apart", "c_output has its place already."),
        ("d", "c_output"): (
            "over",
            "d_output is c_output in another shape or by another name: nothing to "
            "compute.",
        ),
        ("e", "d_output"): (
            "apart",
            "e_output is handed out, so it has memory of its own.",
        ),
    }


def test_without_in_place_sharing_every_result_takes_a_block() -> None:
    """The rule of MXNet 0.8: from the free list, so blocks are still used again."""
    net, shape = layers(), SHAPES[layers]
    on = planned(net, Settings(match_range=0), data=shape)
    off = planned(net, Settings(match_range=0, enable_inplace=False), data=shape)
    assert (on.total // MB, off.total // MB) == (160, 312)
    assert not off.inplace
    assert off.changes and {c.reason for c in off.changes} == {
        "MXNET_EXEC_ENABLE_INPLACE is off."
    }
    assert planned(net, Settings(enable_inplace=False), data=shape).total == on.peak


def test_nodes_without_work_are_known() -> None:
    plan = planned(small(), x=(4, 4))
    assert [node.name for node in plan.skips] == ["d"]
    plan = planned(small(), Settings(enable_inplace=False), x=(4, 4))
    assert not plan.skips


def test_outputs_of_unknown_size_are_left_out() -> None:
    x = mx.sym.var("x")
    picked = mx.sym.contrib.boolean_mask(mx.sym.sin(x), mx.sym.var("mask"))
    graph = mx.sym.Group([mx.sym.sin(picked)]).graph
    variables = {"x": (4, 4), "mask": (4,)}
    given = {n: Spec.of(variables[n.name], FLOAT32) for n in graph.variables}
    specs = every_spec(graph, given)
    plan = plan_memory(graph, specs, (), Settings())
    kinds = [plan.storage[Entry(node)] for node in graph.nodes if node.op is not None]
    assert kinds == [0, DYNAMIC, DYNAMIC]


def test_the_arena_holds_blocks_and_workspaces_side_by_side() -> None:
    plan = planned(convolutions(), data=SHAPES[convolutions])
    parts = sorted((b.offset, b.nbytes) for b in (*plan.blocks, *plan.scratch))
    for (start, nbytes), (following, _) in zip(parts, parts[1:], strict=False):
        assert start + nbytes <= following
        assert following % 64 == 0
    assert plan.arenas == {None: parts[-1][0] + parts[-1][1]}


def test_four_bytes_for_each_element_is_what_mxnet_1_counts() -> None:
    x = mx.sym.var("x", dtype="float64")
    graph = mx.sym.sin(mx.sym.cos(x)).graph
    specs = specs_of(graph, x=(256,))
    real = plan_memory(graph, specs, graph.outputs, Settings())
    said = plan_memory(graph, specs, graph.outputs, Settings(), item_bytes=4)
    assert (real.total, said.total) == (2 * KB, KB)


def test_devices_share_no_blocks() -> None:
    x = mx.sym.var("x")
    y = x
    for _ in range(4):
        y = mx.sym.sin(y)
    graph = y.graph
    ops = [node for node in graph if node.op is not None]
    places = {node: k // 2 for k, node in enumerate(ops)}
    specs = specs_of(graph, x=(256,))
    plan = plan_memory(graph, specs, (), Settings(), places=places)
    assert [(block.device, block.offset) for block in plan.blocks] == [(0, 0), (1, 0)]
    assert any("on different devices" in change.reason for change in plan.changes)


def test_a_plan_prints_itself() -> None:
    text = str(planned(small(), x=(4, 4)))
    assert "b = cos\n  b_output: 64 B, new block 1: no block is free\n" in text
    assert "d = reshape (nothing to compute)" in text.replace("Reshape", "reshape")
    assert "2 blocks, 128 B" in text


def test_external_is_what_the_caller_owns() -> None:
    plan = planned(small(), x=(4, 4))
    outside = [e.name for e, where in plan.storage.items() if where == EXTERNAL]
    assert outside == ["x", "e_output"]


def test_what_somebody_writes_into_is_not_shared_with_another_reader() -> None:
    """An update changes its momentum, which is another result under a new name."""
    p = mx.sym.tanh(mx.sym.var("x"), name="p")
    kept = mx.sym.identity(p, name="kept")
    made = mx.sym.sgd_mom_update(p, p, kept, lr=0.1, momentum=0.9, name="made")
    graph = mx.sym.elemwise_add(made + kept, p, name="sum").graph
    specs = specs_of(graph, x=(4, 4))
    plan = plan_memory(graph, specs, graph.outputs, Settings())
    overlay.check(plan, specs)
    (said,) = [change for change in plan.changes if change.nodes[0] == "kept"]
    assert said.reason == "made writes into it, which only one of the two may see."
    assert not plan.skips


# -- MXNet 1.9.1, executors that train -----------------------------------------------


@pytest.mark.parametrize(
    ("net", "by_range"),
    [
        (layers, {0: 480, 1: 328, 2: 328, 4: 328, 16: 328}),
        (convolutions, {0: 192, 1: 104, 2: 104, 4: 104, 16: 104}),
        (branches, {0: 902, 1: 884, 2: 868, 4: 852, 16: 852}),
    ],
    ids=["layers", "convolutions", "branches"],
)
def test_the_graphs_that_mxnet_trains_need_its_megabytes(
    net: Any, by_range: dict[int, int]
) -> None:
    symbol = net()
    found = {
        r: plan_as_mxnet(symbol, Settings(match_range=r), SHAPES[net]).total // MB
        for r in by_range
    }
    assert found == by_range


@pytest.mark.parametrize(
    ("net", "megabytes"), [(layers, 176), (convolutions, 104), (branches, 874)]
)
def test_our_own_training_graphs(net: Any, megabytes: int) -> None:
    """MXNet: 328, 104 and 852.

    It keeps two tensors of an activation, we one. Its gradient of a layer is a single
    operator that may write over the layer's data; ours are several.
    """
    graph = as_run(net().graph, training=True)
    made = differentiate(graph, graph.arguments, specs_of(graph, data=SHAPES[net]))
    plan = plan_memory(made.graph, made.specs, made.graph.outputs[1:], Settings())
    overlay.check(plan, made.specs)
    assert plan.total // MB == megabytes


def test_workspaces_are_shared_within_a_colour() -> None:
    """The rule of MXNet 0.8: the nodes that ask for one are coloured by themselves."""

    def branch(k: int) -> Any:
        y = mx.sym.var("x")
        for _ in range(2):
            y = mx.sym.Convolution(y, num_filter=k, kernel=(3, 3), pad=(1, 1))
        return mx.sym.sum(y, axis=1)

    net = mx.sym.add_n(branch(2), branch(4))
    found = {}
    for temp, workers in ((1, 4), (2, 4), (4, 2), (8, 8)):
        settings = Settings(exec_num_temp=temp, gpu_worker_nthreads=workers)
        with knobs(MXNET_CUDNN_HEUR_MODE=0):  # which takes mec for whatever is small
            plan = planned(net, settings, x=(1, 2, 16, 16))
        found[temp, workers] = len(plan.scratch)
        asking = [node.op.name for node in plan.workspace if node.op is not None]
        assert asking == ["Convolution"] * 4
        if len(plan.scratch) == 2:
            assert [*plan.workspace.values()] in ([0, 0, 1, 1], [1, 1, 0, 0])
    assert found == {(1, 4): 1, (2, 4): 2, (4, 2): 2, (8, 8): 2}
