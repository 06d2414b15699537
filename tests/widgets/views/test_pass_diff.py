"""The passes as a view: one line, a table, a picture, and what the browser gets."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator

import pytest

import minimx as mx
from minimx.core.errors import ArgumentError
from minimx.core.graph.passes.prepare import prepare
from minimx.core.knobs import knobs
from minimx_widgets import GraphPassDiff
from minimx_widgets.training.subject import Subject
from tests.widgets import graphs

pytestmark = [
    pytest.mark.usefixtures("knobs_at_rest"),
    # Which of these knobs act on real runs already is not the question here.
    pytest.mark.filterwarnings("ignore::minimx.core.knobs.PlannedKnobWarning"),
]


@pytest.fixture
def view() -> Iterator[GraphPassDiff]:
    made = GraphPassDiff([graphs.merged(), graphs.fused()])
    yield made
    made.close()


def twins() -> mx.sym.Symbol:
    data = mx.sym.var("data")
    return mx.sym.relu(mx.sym.sin(data, name="a") + mx.sym.sin(data, name="b"))


def test_one_line_tells_the_key_numbers(view: GraphPassDiff) -> None:
    assert repr(view) == "GraphPassDiff(2 passes, 5 → 3 nodes, 2 changes)"


def test_the_table_counts_nodes_and_lists_decisions(view: GraphPassDiff) -> None:
    lines = [" ".join(line.split()) for line in repr(view.table()).splitlines()]
    assert "cse 5 4 1 0 0 1 1" in lines
    assert "fusion 4 3 1 0 1 2 1" in lines
    assert any(line.startswith("merged first, second both compute") for line in lines)


def test_another_pass_is_shown_by_its_name(view: GraphPassDiff) -> None:
    assert view.shown is not None
    assert view.shown.name == "cse"
    view.show("fusion")
    assert view.state["shown"] == 1
    assert "fused: fused_0" in "".join(ET.fromstring(view.svg()).itertext())
    with pytest.raises(ArgumentError, match="Did you mean fusion"):
        view.show("fusoin")


@pytest.mark.parametrize("dark", [False, True])
def test_the_picture_holds_nodes_decisions_and_states(
    view: GraphPassDiff, dark: bool
) -> None:
    words = list(ET.fromstring(view.svg(dark=dark)).itertext())
    assert {"sin", "relu", "input", "kept", "rewired", "removed"} <= set(words)
    assert "merged: first, second" in words


def test_the_same_passes_give_the_same_picture(view: GraphPassDiff) -> None:
    other = GraphPassDiff([graphs.merged(), graphs.fused()])
    assert other.svg() == view.svg()
    other.close()


def test_a_frozen_view_holds_every_pass(view: GraphPassDiff) -> None:
    assert set(view.state["parts"]) == {"0"}
    view.freeze()
    assert set(view.state["parts"]) == {"0", "1"}
    state = view.state  # a worker may set a newer one
    assert json.loads(json.dumps(state)) == state


def test_a_network_goes_through_the_passes_of_a_real_run() -> None:
    view = GraphPassDiff(twins(), data=(2, 3), training=False)
    subject = Subject.of(twins(), {"data": (2, 3)}, "test")
    passes = prepare(subject.graph, subject.variables).passes
    names = [passed.name for passed in view.passes]
    assert names == [*(p.name for p in passes), "in place", "blocks", "bulk"]
    shared = next(passed for passed in view.passes if passed.name == "share")
    assert [change.rule for change in shared.changes] == ["merged"]
    view.close()


def test_a_turned_knob_is_followed_and_a_trial_turns_none() -> None:
    view = GraphPassDiff(twins(), data=(2, 3), training=False)
    before = view.passes[-1].after
    view.what_if(eliminate_common_expr=False)
    assert len(view.passes[-1].after) > len(before)
    assert knobs.MXNET_ELIMINATE_COMMON_EXPR is True
    assert "MXNET_ELIMINATE_COMMON_EXPR=False" in view.code()
    knobs.set(MXNET_ELIMINATE_COMMON_EXPR=True)  # ends the trial
    knobs.set(MXNET_ELIMINATE_COMMON_EXPR=False)
    assert view.code() == "# No knob differs from its default."
    assert len(view.passes[-1].after) > len(before)
    view.close()


def test_how_many_nodes_are_joined_can_be_tried() -> None:
    net = mx.sym.var("data")
    for _ in range(7):
        net = mx.sym.sin(net)
    view = GraphPassDiff(net, data=(2, 3))

    def forward() -> list[int]:
        joined = view.passes[-1].changes
        return [len(c.nodes) for c in joined if "sin" in c.nodes[0]]

    slider = {row["name"]: row for row in view.declared}
    assert slider["MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_FWD"]["high"] == 100
    assert forward() == [7]
    view.what_if(bulk_exec_max_node_train_fwd=3)
    assert forward() == [3, 3, 1]
    assert knobs.MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_FWD == 15
    view.close()


def test_weights_are_drawn_on_request_only() -> None:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    view = GraphPassDiff(net, data=(2, 3))
    names = {row[0] for row in view.state["parts"][str(view.state["shown"])]["boxes"]}
    assert "data" in names
    assert "fc_weight" not in names
    view.asked({"kind": "parameters", "on": True})
    names = {row[0] for row in view.state["parts"][str(view.state["shown"])]["boxes"]}
    assert "fc_weight" in names
    view.close()


def test_nodes_have_the_storage_ids_of_the_plan() -> None:
    view = GraphPassDiff(graphs.deep(4), data=(2, 8))
    index = len(view.passes) - 1
    ids = {box.name: box.storage for box in view.picture(index).boxes}
    assert ids["net_fc0"] >= 0
    assert ids["data"] == -1, "the caller's"
    view.close()


def test_every_pass_has_a_source() -> None:
    view = GraphPassDiff(graphs.deep(4), data=(2, 8))
    view.freeze()
    for index, passed in enumerate(view.passes):
        part = view.state["parts"][str(index)]
        assert part["source"][2].startswith("def "), passed.name
        assert all(part["sources"].values()), passed.name
    view.close()


def test_an_empty_account_says_so() -> None:
    view = GraphPassDiff([])
    assert repr(view) == "GraphPassDiff(no pass)"
    assert "no pass" in view.svg()
    view.close()
