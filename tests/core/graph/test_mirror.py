"""What is computed again changes no number; and it is what each policy promises."""

from __future__ import annotations

import random
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import minimx as mx
from minimx.core.errors import ArgumentError, GradientError
from minimx.core.graph.memory.memory import plan_memory
from minimx.core.graph.passes.gradient import Training, differentiate
from minimx.core.graph.passes.mirror import POLICIES, chosen
from minimx.core.graph.passes.mirror_rule import legacy, remap
from minimx.core.graph.passes.mirror_segments import (
    Line,
    best_borders,
    best_segments,
    even_segments,
    make_mirror_plan,
    planned_bytes,
    search_plan,
)
from minimx.core.graph.passes.recompute import Keep, Recomputation
from minimx.core.graph.running.run import as_run
from minimx.core.graph.running.settings import Settings
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.graph.values.specs import Specs, every_spec
from minimx.core.ops.registry import lookup
from minimx.core.ops.spec import Spec
from minimx.graphs.mirror_front import pareto, within_budget
from tests import pace
from tests.core.graph import sheets19
from tests.core.graph.dags import arrays_of, graph_of, programs, residual, weights
from tests.core.graph.joint import (
    assert_same_gradients,
    prepared,
    random_like,
    run_joint,
    run_tape,
)
from tests.core.graph.nets import convolutions, specs_of
from tests.core.graph.verify import verify

FLOAT32 = np.dtype("float32")
MB = 1 << 20
SLOW = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)


def decided_specs(graph: Graph, arrays: dict[Node, Any]) -> Specs:
    known = {n: Spec.of(x.shape, x.dtype) for n, x in arrays.items()}
    return every_spec(graph, known)


def bytes_of(training: Training, **words: Any) -> int:
    graph, specs = training.graph, training.specs
    return plan_memory(graph, specs, training.external, Settings(), **words).total


def chain(length: int, name: str = "sin") -> tuple[Graph, Specs, list[Node]]:
    """A chain of nodes of one MB each."""
    x = Node(None, (), "x")
    y = Entry(x)
    for k in range(length):
        y = Entry(Node(lookup(name).of(), [y], f"{name}{k}"))
    graph = Graph([y])
    return graph, every_spec(graph, {x: Spec.of((512, 512), FLOAT32)}), [x]


# -- nothing changes -------------------------------------------------------------------


@SLOW
@given(program=programs(), seed=st.integers(0, 1 << 30), outputs=st.integers(1, 2))
def test_whatever_is_computed_again_the_gradients_are_the_tapes(
    program: Any, seed: int, outputs: int
) -> None:
    graph = as_run(graph_of(program, outputs), training=True)
    arrays = arrays_of(graph)
    repeats = Recomputation(graph, decided_specs(graph, arrays))
    choice = random.Random(seed)
    again = [n for n in graph if repeats.of(n) is not None and choice.random() < 0.6]
    keep = Keep(frozenset(again), remap=choice.random() < 0.7)
    cap = choice.choice((2, 3, 8))
    training = assert_same_gradients(graph, arrays, weights(graph), keep, cap)
    verify(training.graph)
    assert training.clones <= set(training.source)


@SLOW
@given(program=programs(), name=st.sampled_from(sorted(POLICIES)))
def test_no_policy_changes_a_gradient(program: Any, name: str) -> None:
    graph = as_run(graph_of(program), training=True)
    arrays = arrays_of(graph)
    specs, wanted = decided_specs(graph, arrays), weights(graph)
    keep = POLICIES[name](graph, wanted, specs, Settings())
    assert_same_gradients(graph, arrays, wanted, keep)
    told = {change.nodes[0] for change in keep.changes}
    assert told == {node.name for node in graph if node.op is not None}


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_running_means_move_once(name: str) -> None:
    symbol = residual((1, 1), width=4)
    arrays, wanted = symbol_arrays(symbol, data=(2, 3, 8, 8))
    graph = as_run(symbol.graph, training=True)
    specs = decided_specs(graph, arrays)
    keep = POLICIES[name](graph, wanted, specs, Settings())
    if name != "1.x":
        assert any("bn" in node.name for node in keep.recompute)
    training = assert_same_gradients(graph, arrays, wanted, keep)
    moving = [n for n in training.graph if n.op is not None and n.op.mutates]
    assert set(moving) <= training.forward


def symbol_arrays(symbol: Any, **shapes: Any) -> tuple[dict[Node, Any], list[Node]]:
    """Numbers for all variables of a network, and its parameters."""
    found, _, states = symbol.infer_shape(**shapes)
    graph = symbol.graph
    rng = np.random.default_rng(0)
    named = [*zip(graph.arguments, found, strict=True)]
    named += [*zip(graph.states, states, strict=True)]
    arrays = {n: rng.uniform(0.1, 0.5, s).astype("float32") for n, s in named}
    for node in arrays:
        if node.name.endswith("label"):
            arrays[node][:] = 1
    data = {*shapes, "softmax_label"}
    return arrays, [n for n in graph.arguments if n.name not in data]


def test_dropout_and_what_is_random_is_never_computed_again() -> None:
    x = mx.sym.var("x")
    with mx.AttrScope(force_mirroring="True"):
        y = mx.sym.Dropout(mx.sym.sin(x, name="sin"), p=0.5, name="drop")
    graph = as_run(mx.sym.cos(y).graph, training=True)
    arrays = {graph.variables[0]: np.ones((8, 8), np.float32)}
    specs = decided_specs(graph, arrays)
    for everywhere in (False, True):
        keep = remap(graph, specs, everywhere)
        reasons = {c.nodes[0]: c.reason for c in keep.changes}
        assert "random numbers" in reasons["drop"]
        assert {"sin"} <= {n.name for n in keep.recompute} - {"drop"}
        assert_same_gradients(graph, arrays, list(graph.variables), keep)
    drop = next(n for n in graph if n.name == "drop")
    with pytest.raises(GradientError, match="drop cannot be computed a second time"):
        differentiate(graph, graph.variables, specs, Keep(frozenset([drop])))


def test_what_reads_a_state_that_moves_is_kept() -> None:
    bn = mx.sym.BatchNorm(mx.sym.var("data"), name="bn")
    mean = next(n for n in bn.graph.variables if n.name == "bn_moving_mean")
    probe = Node(lookup("sin").of(), [Entry(mean)], "probe")
    graph = as_run(Graph([*bn.graph.outputs, Entry(probe)]), training=True)
    specs = specs_of(graph, data=(2, 3))
    probe = next(n for n in graph if n.name == "probe")
    why = Recomputation(graph, specs).why_not(probe)
    assert why == "it reads bn_moving_mean, which the forward half changes."


def test_statistics_that_were_rounded_are_not_used_again() -> None:
    symbol = mx.sym.sin(mx.sym.BatchNorm(mx.sym.var("data"), name="bn"))
    graph = as_run(symbol.graph, training=True)
    half = np.dtype("float16")
    for kind, works in ((FLOAT32, True), (half, False)):
        known = {
            n: Spec.of((4, 3), half) if n.name == "data" else Spec.of((3,), kind)
            for n in graph.variables
        }
        bn = next(n for n in graph if n.name == "bn")
        repeats = Recomputation(graph, every_spec(graph, known))
        assert (repeats.of(bn) is not None) == works
        rng = np.random.default_rng(1)
        arrays = {
            n: rng.uniform(0.1, 1, s.shape).astype(s.dtype) for n, s in known.items()
        }
        wanted = [n for n in graph.arguments if n.name != "bn_gamma"]
        keep = remap(graph, every_spec(graph, known))
        assert_same_gradients(graph, arrays, wanted, keep)


# -- when it runs ----------------------------------------------------------------------


def test_a_segment_is_computed_again_just_before_its_gradient() -> None:
    graph, specs, wanted = chain(9)
    keep = [n for n in graph if n.name in ("sin2", "sin5")]
    again = frozenset(n for n in graph if n.op is not None) - set(keep)
    training = differentiate(graph, wanted, specs, Keep(again))
    names = [n.name for n in training.graph if n not in training.forward and n.op]
    short = [name.replace("_backward", "'").replace("_mirror", "+") for name in names]
    assert " ".join(short) == (
        "sin6+ sin7+ sin8' sin7' sin6' sin3+ sin4+ sin5' sin4' sin3' "
        "sin0+ sin1+ sin2' sin1' sin0'"
    )
    mirrored = [n for n in training.graph if n in training.clones]
    assert {n.forward for n in mirrored} <= {n.name for n in graph}
    assert all(training.source[n].name == n.forward for n in mirrored)


def test_the_account_names_what_was_computed_again() -> None:
    graph, specs, wanted = chain(4)
    training = differentiate(graph, wanted, specs, remap(graph, specs))
    said = {(c.rule, c.nodes[0]) for c in training.changes}
    # Nobody asks for sin2's consumer, which is an output, nor for that of sin3.
    assert said == {
        ("recomputed", "sin0"),
        ("recomputed", "sin1"),
        ("recomputed", "sin2"),
        ("kept", "sin3"),
    }
    assert "gradient" in str(training.passed) and "sin1" in str(training.passed)


# -- MXNet's rule ----------------------------------------------------------------------


def planned19(graph: Graph, variant: str, on: bool) -> int:
    shapes = {"data": (4096, 512), "weight": (512, 512), "bias": (512,)}
    known = {
        n: Spec.of(shapes[n.name.split("_")[-1]], FLOAT32) for n in graph.variables
    }
    wanted, specs = list(graph.variables), every_spec(graph, known)
    keep = chosen(graph, wanted, specs, Settings(backward_do_mirror=on, mirror=variant))
    return bytes_of(differentiate(graph, wanted, specs, keep), item_bytes=4) // MB


@pytest.mark.parametrize(
    ("net", "forced", "off", "on"),
    [
        (sheets19.layers, False, 328, 328),
        (sheets19.layers, True, 168, 136),
        (sheets19.sines, False, 160, 160),
        (sheets19.sines, True, 104, 160),
    ],
    ids=["layers", "layers-forced", "sines", "sines-forced"],
)
def test_mirroring_as_in_1_9_1_gives_its_megabytes(
    net: Any, forced: bool, off: int, on: int
) -> None:
    assert planned19(net(forced), "1.x", False) == off
    assert planned19(net(forced), "1.x", True) == on


@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize("act", ["tanh", "sin"])
def test_remapping_is_never_worse(act: str, forced: bool) -> None:
    """The same nets of minimx's own operators: 1.9.1's megabytes are the bounds."""
    bounds = {
        ("tanh", False): (328, 328),
        ("tanh", True): (168, 136),
        ("sin", False): (160, 160),
        ("sin", True): (104, 160),
    }[act, forced]
    y = mx.sym.var("data")
    for k in range(20):
        said = {"force_mirroring": "True"} if forced and k % 4 else {}
        with mx.AttrScope(**said):
            if act == "tanh":
                y = mx.sym.FullyConnected(y, num_hidden=512)
                y = mx.sym.Activation(y, act_type="tanh")
            else:
                y = mx.sym.sin(y)
    graph = as_run(mx.sym.sum(y).graph, training=True)
    specs, wanted = specs_of(graph, data=(4096, 512)), list(graph.variables)
    for on, bound in zip((False, True), bounds, strict=True):
        keep = chosen(graph, wanted, specs, Settings(backward_do_mirror=on))
        training = differentiate(graph, wanted, specs, keep)
        assert bytes_of(training, item_bytes=4) // MB <= bound


def test_every_so_many_a_node_is_kept() -> None:
    graph, specs, wanted = chain(65)
    totals = {}
    for step in (1, 2, 4, 8, 16, 32, 100):
        keep = remap(graph, specs, step=step)
        assert len(keep.recompute) == 64 - 64 // step
        totals[step] = bytes_of(differentiate(graph, wanted, specs, keep)) // MB
    assert min(totals, key=totals.__getitem__) == 8  # √64
    assert totals[1] == totals[100] == max(totals.values())
    legacy_keep = legacy(graph, specs, step=8)
    assert len(legacy_keep.recompute) == 65 - 65 // 8


def test_a_node_may_ask_to_be_kept() -> None:
    x = mx.sym.var("x")
    y = mx.sym.sin(mx.sym.sin(x, name="a"), name="b", attr={"force_mirroring": "False"})
    graph = mx.sym.sin(mx.sym.sin(y, name="c"), name="d").graph
    specs = specs_of(graph, x=(4, 4))
    assert {n.name for n in remap(graph, specs).recompute} == {"a", "c"}
    assert {n.name for n in legacy(graph, specs).recompute} == {"a", "b", "c", "d"}
    best = best_segments(graph, graph.variables, specs)
    assert {n.name for n in best.recompute} <= {"a", "c"}


def test_unmirrored_nodes_read_the_original_in_1_x() -> None:
    graph = as_run(convolutions().graph, training=True)
    specs = specs_of(graph, data=(2, 16, 16, 16))
    wanted = list(graph.arguments)
    totals = {
        name: bytes_of(differentiate(graph, wanted, specs, keep))
        for name, keep in {
            "none": Keep(),
            "1.x": legacy(graph, specs),
            "remap": remap(graph, specs),
        }.items()
    }
    assert totals["remap"] < 0.75 * totals["none"] <= 0.75 * totals["1.x"]


# -- Echo ------------------------------------------------------------------------------


def test_echo_stores_what_is_smaller_than_its_inputs() -> None:
    data = mx.sym.var("data")
    left, right = (mx.sym.FullyConnected(data, num_hidden=8) for _ in range(2))
    total = mx.sym.elemwise_add(left, right, name="total")
    y = mx.sym.FullyConnected(mx.sym.sin(total, name="sin"), num_hidden=2, name="fc")
    graph = y.graph
    specs = specs_of(graph, data=(8, 8))
    wanted = list(graph.variables)
    assert "total" in {n.name for n in remap(graph, specs).recompute}
    keep = POLICIES["echo"](graph, wanted, specs, Settings())
    reasons = {c.nodes[0]: c for c in keep.changes}
    assert reasons["total"].rule == "kept"
    assert reasons["total"].reason.startswith("storing it takes 256 bytes")
    assert reasons["sin"].rule == "recomputed"


def test_echo_keeps_less_than_everything_in_a_residual_network() -> None:
    symbol = residual((2, 2), width=8)
    arrays, wanted = symbol_arrays(symbol, data=(2, 3, 16, 16))
    graph = as_run(symbol.graph, training=True)
    specs = decided_specs(graph, arrays)
    keep = POLICIES["echo"](graph, wanted, specs, Settings())
    all_kept = bytes_of(differentiate(graph, wanted, specs))
    assert bytes_of(differentiate(graph, wanted, specs, keep)) < 0.75 * all_kept


# -- checkpoints -----------------------------------------------------------------------


def test_memonger_needs_16_slots_for_64_layers() -> None:
    graph, specs, wanted = chain(64)

    def slots(keep: Keep) -> int:
        """Of one layer each, with the one that holds the output."""
        return bytes_of(differentiate(graph, wanted, specs, keep)) // MB + 1

    assert slots(Keep()) == 64
    assert slots(search_plan(graph, wanted, specs)) <= 16
    even = even_segments(Line(graph, wanted, specs), 8)  # √64, in theory 8 + 8
    assert slots(even) == 16


def test_checkpoints_lie_where_the_user_marked_stages() -> None:
    y = mx.sym.var("x")
    for k in range(12):
        with mx.AttrScope(mirror_stage=f"stage{k // 3}"):
            y = mx.sym.sin(y, name=f"sin{k}")
    graph = y.graph
    specs = specs_of(graph, x=(512, 512))
    line = Line(graph, list(graph.variables), specs)
    plan = make_mirror_plan(line, 2 * MB)
    kept = {n.name for n in graph if n.op is not None} - {
        n.name for n in plan.keep.recompute
    }
    # A stage is decided at its first node, and all of it goes the same way.
    assert kept == {f"sin{k}" for k in range(3, 12)}
    assert plan.saved == 9 * MB and plan.biggest == 4 * MB


def brute_force(line: Line) -> int:
    """The lowest peak of all choices of borders, by the model that is promised."""
    places = range(1, len(line.nodes))
    choices = [c for n in range(len(places) + 1) for c in combinations(places, n)]
    return min(peak_of(line, list(borders)) for borders in choices)


def peak_of(line: Line, borders: list[int]) -> int:
    always, inside = line.always(), line.inside()
    most = kept = start = 0
    for border in (*borders, len(inside)):
        there = int(always[:border].sum()) + kept + int(inside[start:border].sum())
        most = max(most, there)
        crossing = [e for e in line.crossing(border) if e.node not in line.fixed]
        kept += line.bytes(crossing)
        start = border
    return most


@SLOW
@given(
    widths=st.lists(st.integers(1, 40), min_size=1, max_size=4),
    dear=st.booleans(),
)
def test_the_best_borders_are_the_best(widths: list[int], dear: bool) -> None:
    y = mx.sym.var("x")
    for k, width in enumerate(widths):
        y = mx.sym.sin(mx.sym.FullyConnected(y, num_hidden=width, name=f"fc{k}"))
    graph = y.graph
    line = Line(graph, graph.arguments, specs_of(graph, x=(8, 8)), dear)
    assert peak_of(line, best_borders(line)) == brute_force(line)


def test_the_best_plan_of_64_nodes_is_found_at_once() -> None:
    graph, specs, wanted = chain(64)
    keep = best_segments(graph, wanted, specs)
    assert pace.typical(lambda: best_segments(graph, wanted, specs), 3) < 0.1
    best = bytes_of(differentiate(graph, wanted, specs, keep))
    # Segments that grow shorter need about √(2 N) values, not 2 √N.
    assert best <= 13 * MB


def test_expensive_operators_are_computed_once_where_they_must() -> None:
    symbol = residual((2,), width=8)
    arrays, wanted = symbol_arrays(symbol, data=(2, 3, 16, 16))
    graph = as_run(symbol.graph, training=True)
    specs = decided_specs(graph, arrays)
    cheap = best_segments(graph, wanted, specs, expensive=False)
    assert not any("_c" in n.name for n in cheap.recompute)
    dear = best_segments(graph, wanted, specs, expensive=True)
    assert any("_c" in n.name for n in dear.recompute)


# -- all of them -----------------------------------------------------------------------


def test_the_front_is_what_nothing_beats() -> None:
    symbol = residual((2, 2), width=8)
    arrays, wanted = symbol_arrays(symbol, data=(2, 3, 16, 16))
    graph = as_run(symbol.graph, training=True)
    specs = decided_specs(graph, arrays)
    points = pareto(graph, wanted, specs)
    assert [p.peak for p in points] == sorted(p.peak for p in points)
    for point in points:
        beaten = any(
            (other.peak <= point.peak and other.work < point.work)
            or (other.peak < point.peak and other.work <= point.work)
            for other in points
        )
        assert not (point.best and beaten)
    assert sum(p.root for p in points) == 1
    base = next(p for p in points if p.name == "none")
    assert base.extra == 0 and all(p.extra >= 0 for p in points)
    auto = within_budget(graph, wanted, specs, Settings())
    assert auto.name.startswith("auto: ")
    peak = planned_bytes(Settings())(differentiate(graph, wanted, specs, auto))
    assert peak <= min(p.peak for p in points if p.segments == 0 and p.extra <= 0.15)


def test_settings_choose_the_policy() -> None:
    graph, specs, wanted = chain(20)
    assert chosen(graph, wanted, specs, Settings()).recompute == frozenset()
    for name in POLICIES:
        keep = chosen(
            graph, wanted, specs, Settings(backward_do_mirror=True, mirror=name)
        )
        assert keep.name.startswith(name)
    with pytest.raises(ArgumentError, match="no mirror policy 'remapp'"):
        chosen(graph, wanted, specs, Settings(backward_do_mirror=True, mirror="remapp"))


def test_50_layers_need_a_third_less_for_little_more_work() -> None:
    symbol = residual()
    graph = as_run(symbol.graph, training=True)
    specs = specs_of(graph, data=(4, 3, 32, 32), softmax_label=(4,))
    wanted = [n for n in graph.arguments if n.name not in ("data", "softmax_label")]
    points = pareto(graph, wanted, specs, counts=(4,))
    found = {p.name: p for p in points}
    assert found["remap"].peak <= 0.7 * found["none"].peak
    assert found["remap"].extra <= 0.15
    assert found["1.x"].peak >= found["none"].peak  # which is why nobody used it


def test_gradients_of_the_joint_graph_run_on_numbers() -> None:
    """The helpers of these tests compare what they say."""
    graph, specs, wanted = chain(3)
    arrays = {wanted[0]: np.linspace(0, 1, 512 * 512).reshape(512, 512).astype("f4")}
    douts = random_like([arrays[wanted[0]]])
    _, gradients = run_tape(graph, arrays, wanted, douts)
    found = run_joint(prepared(graph, arrays, wanted), arrays, douts)
    assert gradients[0].tobytes() == found[1].tobytes() != arrays[wanted[0]].tobytes()
