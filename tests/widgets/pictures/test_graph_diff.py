"""Two graphs as one: every node is known again, and every difference is named."""

from __future__ import annotations

import pytest

import minimx as mx
from minimx.core.graph.passes.report import Passed
from minimx_widgets.pictures.graph_diff import STATES, Diff, compare
from tests.widgets import graphs


def states(diff: Diff) -> dict[str, str]:
    return {part.node.name: part.state for part in diff.parts}


def test_a_merged_node_is_removed_and_its_reader_rewired() -> None:
    diff = compare(graphs.merged())
    found = states(diff)
    assert found == {
        "data": "kept",
        "first": "kept",
        "second": "removed",
        "total": "rewired",
        "out": "kept",
    }
    removed = [edge for edge in diff.edges if edge[2] == "removed"]
    assert len(removed) == 2, "into the removed node and out of it"


def test_a_fused_group_is_one_added_node_and_its_members_removed() -> None:
    diff = compare(graphs.fused())
    assert [diff.count(state) for state in STATES] == [1, 1, 0, 1, 2]
    assert states(diff)["fused_0"] == "added"
    assert {kind for *_, kind in diff.edges} == {"removed", "added"}


def test_decisions_stand_at_the_nodes_that_they_are_about() -> None:
    diff = compare(graphs.merged())
    decided = {part.node.name for part in diff.parts if part.decided == (0,)}
    assert decided == {"first", "second"}


def test_an_operator_with_other_settings_is_changed() -> None:
    x = mx.sym.var("x")
    before = mx.sym.FullyConnected(x, num_hidden=2, name="fc").graph
    after = mx.sym.FullyConnected(x, num_hidden=3, name="fc").graph
    found = states(compare(Passed("wider", before, after)))
    assert found["fc"] == "changed"
    assert found["x"] == "kept"


def test_a_pass_that_does_nothing_keeps_everything() -> None:
    graph = graphs.twice()
    diff = compare(Passed("idle", graph, graph))
    assert set(states(diff).values()) == {"kept"}
    assert {kind for *_, kind in diff.edges} == {"kept"}


def test_nodes_of_one_name_are_told_apart_by_their_order() -> None:
    x = mx.sym.var("x")
    both = mx.sym.sin(mx.sym.sin(x, name="s"), name="s").graph
    diff = compare(Passed("idle", both, mx.sym.sin(x, name="s").graph))
    assert [part.state for part in diff.parts] == ["kept", "kept", "removed"]


@pytest.mark.parametrize("index", [0, 1, 2])
def test_the_parts_and_edges_of_real_passes_are_those_of_their_graphs(
    index: int,
) -> None:
    passed = graphs.accounts(graphs.deep(6), data=(2, 8))[index]
    diff = compare(passed)
    olds = [part.before for part in diff.parts if part.before is not None]
    news = [part.after for part in diff.parts if part.after is not None]
    assert olds == list(passed.before)
    assert sorted(map(id, news)) == sorted(map(id, passed.after))
    now = {(a, b) for a, b, kind in diff.edges if kind != "removed"}
    place = {part.after: k for k, part in enumerate(diff.parts)}
    assert now == {
        (place[entry.node], place[node])
        for node in passed.after
        for entry in node.inputs
    }
