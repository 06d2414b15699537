"""The mirror explorer: policies, segments and single nodes, against the passes."""

from __future__ import annotations

import json
import threading
import xml.etree.ElementTree as ET
from collections.abc import Iterator

import pytest

import minimx as mx
from minimx.core.errors import ArgumentError
from minimx.core.graph.passes.mirror import POLICIES
from minimx.core.graph.passes.prepare import prepare
from minimx.core.graph.running.settings import Settings
from minimx.core.knobs import knobs
from minimx_widgets import MirrorExplorer
from minimx_widgets.training.subject import Subject
from minimx_widgets.views.mirror_explorer import FATES
from tests import pace

pytestmark = [
    pytest.mark.usefixtures("knobs_at_rest"),
    # Which of these knobs act on real runs already is not the question here.
    pytest.mark.filterwarnings("ignore::minimx.core.knobs.PlannedKnobWarning"),
]


def chain(count: int) -> mx.sym.Symbol:
    x = mx.sym.var("data")
    for k in range(count):
        x = mx.sym.FullyConnected(x, num_hidden=64, name=f"fc{k}")
        x = mx.sym.Activation(x, act_type="tanh", name=f"act{k}")
    return x


@pytest.fixture
def view() -> Iterator[MirrorExplorer]:
    made = MirrorExplorer(chain(12), data=(32, 64))
    yield made
    made.close()


def test_one_line_tells_the_key_numbers(view: MirrorExplorer) -> None:
    assert repr(view) == (
        "MirrorExplorer(knobs, 0 of 24 recomputed, 104 KiB of 104 KiB, 0 % more work)"
    )


def test_segments_save_memory_and_cost_work(view: MirrorExplorer) -> None:
    keeping = view.base().peak
    view.segments(3)
    found = view.planned
    assert found.peak < 0.7 * keeping
    assert 0 < found.extra < 0.34, "one more forward pass at most"
    view.segments(1)
    assert (view.planned.peak, view.planned.extra) == (keeping, 0)


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_is_drawn(view: MirrorExplorer, policy: str) -> None:
    view.choose(policy)
    assert view.policy == policy
    fates = [FATES[fate] for fate, _ in view.state["decided"]]
    assert view.state["again"] == fates.count("recomputed")
    gone = fates.count("recomputed") + fates.count("let go")
    assert gone == len(view.planned.keep.recompute)


def test_the_best_plan_is_on_the_front_and_the_root_is_marked(
    view: MirrorExplorer,
) -> None:
    points = view.front()
    best = [point for point in points if point.best]
    assert best[0].peak == min(point.peak for point in points)
    works = [point.work for point in best]
    assert works == sorted(works, reverse=True), "less memory, more work"
    roots = [point.segments for point in points if point.root]
    assert roots == [view.state["root"]]


def test_a_point_of_the_front_can_be_drawn(view: MirrorExplorer) -> None:
    point = next(p for p in view.front() if p.segments and p.best)
    view.choose(point.name)
    assert view.planned.peak == point.peak
    assert view.planned.extra == pytest.approx(point.extra)


def test_a_node_is_kept_or_dropped_by_hand(view: MirrorExplorer) -> None:
    view.choose("best")
    again = {node.name for node in view.planned.keep.recompute}
    name = sorted(again)[0]
    view.toggle(name)
    assert view.policy == "by hand"
    assert {node.name for node in view.planned.keep.recompute} == again - {name}
    assert view.planned.reasons[name] == "you decided so."
    view.toggle(name)
    assert {node.name for node in view.planned.keep.recompute} == again


def test_what_cannot_be_decided_says_why(view: MirrorExplorer) -> None:
    before = repr(view)
    with pytest.raises(ArgumentError, match="act11 is kept: it is an output"):
        view.toggle("act11")
    with pytest.raises(ArgumentError, match=r"no operator 'act'.*Did you mean act"):
        view.toggle("act")
    with pytest.raises(ArgumentError, match="choose 1 to 24"):
        view.segments(0)
    with pytest.raises(ArgumentError, match="Did you mean sqrt"):
        view.choose("sqr")
    assert repr(view) == before


def test_the_knobs_in_force_are_followed(view: MirrorExplorer) -> None:
    view.segments(3)
    knobs.set(MXNET_BACKWARD_DO_MIRROR=True, MINIMX_MIRROR="best")
    assert view.policy == "knobs"
    best = view.planned.peak
    assert best < view.base().peak
    subject = Subject.of(chain(12), {"data": (32, 64)}, "test")
    settings = Settings(
        backward_do_mirror=True, mirror="best", use_fusion=False,
        eliminate_common_expr=False, node_elimination=False,
    )  # fmt: skip
    prepared = prepare(subject.graph, subject.variables, subject.wanted,
                       training=True, settings=settings)  # fmt: skip
    assert prepared.plan.total == best, "what a real run would need"


def test_knobs_that_are_turned_back_give_back_what_was_chosen(
    view: MirrorExplorer,
) -> None:
    view.segments(3)
    chosen = repr(view)
    with knobs(MXNET_BACKWARD_DO_MIRROR=True, MINIMX_MIRROR="best"):
        assert view.policy == "knobs"
        best = view.planned.peak
        with knobs(MINIMX_MIRROR="remap"):
            assert view.planned.peak > best
    assert repr(view) == chosen
    with knobs(MXNET_BACKWARD_DO_MIRROR=True):
        view.choose("echo")
        assert view.policy == "echo"
    assert view.policy == "knobs", "it was chosen while the knob was turned"


def test_turning_a_knob_does_not_wait_for_a_plan(view: MirrorExplorer) -> None:
    """Whoever turns knobs holds them all, and a plan may ask for one."""
    turning = threading.Thread(target=knobs.set, kwargs={"MINIMX_MIRROR": "best"})
    with view._planning:
        turning.start()
        turning.join(timeout=20)
        assert not turning.is_alive()
    turning.join()
    assert view.policy == "knobs"


def test_the_curve_has_bumps_where_something_is_computed_again(
    view: MirrorExplorer,
) -> None:
    view.segments(3)
    roles = [role for _, role, _ in view.state["curve"]]
    assert roles.count(2) == len(view.planned.again) > 0
    assert len(view.planned.keep.recompute) - len(view.planned.again) < 4
    assert max(n for *_, n in view.state["curve"]) <= view.planned.peak
    assert max(n for *_, n in view.state["base"]) <= view.base().peak
    assert {role for _, role, _ in view.state["base"]} == {0, 1}


WAYS = ("best", "remap", "1.x", "3 segments, all")


def test_what_is_measured_is_what_was_planned(view: MirrorExplorer) -> None:
    planned = {point.name: point for point in view.front()}
    base = view.base()
    with knobs(MINIMX_CLOCK="virtual"):
        seen = view.measure(*WAYS)
    assert [*seen] == ["none", *WAYS]
    assert all(measured.same for measured in seen.values())
    assert seen["none"].extra == 0
    assert seen["none"].runs == len(base.packing.steps)
    for name in WAYS:
        assert seen[name].peak == planned[name].peak
        assert seen[name].extra > 0
        # The roofline counts bytes, the virtual clock knows launches, too.
        assert seen[name].extra == pytest.approx(planned[name].extra, abs=0.2)
    view.choose("best")
    again = len(view.planned.again)
    assert seen["best"].runs == seen["none"].runs + again


def test_what_is_drawn_is_measured_and_shown(view: MirrorExplorer) -> None:
    view.choose("best")
    view.toggle(sorted(node.name for node in view.planned.keep.recompute)[0])
    assert "◇ measured" not in view.svg()
    assert [*view.measure()] == ["none", "by hand"]
    assert [dot[:2] for dot in view.state["measured"]] == [
        ["none", view.base().peak],
        ["by hand", view.planned.peak],
    ]
    assert "by hand, measured" in view.svg()
    assert "Measured" in repr(view.table())
    assert {seen.clock for seen in view.measured().values()} == {"wall"}
    knobs.set(MXNET_BACKWARD_DO_MIRROR=True, MINIMX_MIRROR="echo")
    assert "echo" in view.measure(), "the policy that the knobs name"
    view.what_if(enable_inplace=False)
    assert view.measured() == {}, "other settings, other plans"
    with pytest.raises(ArgumentError, match="Did you mean best"):
        view.measure("bets")


def test_the_browser_asks_for_a_measurement(view: MirrorExplorer) -> None:
    view.segments(3)
    view._do({"kind": "measure"})
    assert [name for name, *_ in view.state["measured"]] == ["none", "3 segments, all"]


def test_whoever_draws_numbers_draws_them_again_and_leaves_others_alone() -> None:
    x = mx.sym.var("data")
    for k in range(4):
        x = mx.sym.FullyConnected(x, num_hidden=32, name=f"fc{k}")
        x = mx.sym.Dropout(mx.sym.tanh(x), p=0.5)
    view = MirrorExplorer(x, data=(16, 32))
    mx.random.seed(7)
    view.choose("best")
    assert view.planned.again
    assert view.measure()["best"].same
    drawn = mx.nd.random.uniform(shape=(4,)).asnumpy()
    mx.random.seed(7)
    assert (drawn == mx.nd.random.uniform(shape=(4,)).asnumpy()).all()
    view.close()


def test_the_table_compares_ways_and_explains_nodes(view: MirrorExplorer) -> None:
    view.choose("best")
    text = " ".join(repr(view.table()).split())
    assert "none 104 KiB 100 % 0 % front" in text
    assert "it lies inside a segment." in text


@pytest.mark.parametrize("dark", [False, True])
def test_the_picture_holds_graph_curve_and_front(
    view: MirrorExplorer, dark: bool
) -> None:
    view.segments(3)
    words = set(ET.fromstring(view.svg(dark=dark)).itertext())
    assert {"Bytes over steps", "Peak against extra work", "√N"} <= words
    assert {"FullyConnected", "Activation"} <= words
    assert view.svg() == view.svg()


def test_a_frozen_view_holds_the_front(view: MirrorExplorer) -> None:
    view.freeze()
    assert len(view.state["points"]) == len(view.front())
    state = view.state  # a worker may set a newer one
    assert json.loads(json.dumps(state)) == state


@pytest.mark.alone
def test_sixty_four_nodes_are_drawn_within_a_tenth_of_a_second() -> None:
    view = MirrorExplorer(chain(32), data=(8, 64))
    counts = iter((2, 3, 4, 5, 6, 7, 8, 10, 12))
    took = pace.typical(lambda: view.segments(next(counts)), 9)
    print(f"\n64 nodes in other segments: {1e3 * took:.0f} ms")
    assert took < 0.1
    view.close()
