"""The memory plan as a view: rectangles that never overlap, reasons, and what if."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import pytest

import minimx as mx
from minimx.core.errors import ArgumentError, KnobError
from minimx.core.graph.memory.memory import plan_memory
from minimx.core.graph.passes.prepare import prepare
from minimx.core.graph.running.settings import Settings
from minimx.core.knobs import knobs
from minimx_widgets import MemoryPlan
from minimx_widgets.training.networks import lenet, resnet
from minimx_widgets.training.subject import Subject
from minimx_widgets.units import human_bytes
from minimx_widgets.views.memory_plan import Packing, Tensor, _until
from tests import pace
from tests.core.graph.nets import branches
from tests.widgets import graphs

pytestmark = [
    pytest.mark.usefixtures("knobs_at_rest"),
    # Which of these knobs act on real runs already is not the question here.
    pytest.mark.filterwarnings("ignore::minimx.core.knobs.PlannedKnobWarning"),
]
SHAPES = {"data": (32, 1, 28, 28)}


@pytest.fixture
def view() -> Iterator[MemoryPlan]:
    made = MemoryPlan(lenet(28, 10), data=(32, 1, 28, 28))
    yield made
    made.close()


def meet(a: Tensor, b: Tensor) -> bool:
    """Whether two rectangles have more than an edge in common."""
    times = a.first <= b.last and b.first <= a.last
    places = a.offset < b.offset + b.nbytes and b.offset < a.offset + a.nbytes
    return times and places


def test_one_line_tells_the_key_numbers(view: MemoryPlan) -> None:
    found = view.planned
    sizes = (found.plan.total, found.bound, found.apart)
    total, bound, apart = map(human_bytes, sizes)
    assert repr(view) == (
        f"MemoryPlan({len(found.tensors)} tensors in {len(found.plan.blocks)} blocks, "
        f"{total}, bound={bound}, apart={apart}, match range=16)"
    )


def test_rectangles_meet_only_where_one_is_written_over_the_other(
    view: MemoryPlan,
) -> None:
    tensors = view.planned.tensors
    for i, later in enumerate(tensors):
        for sooner in tensors[:i]:
            if meet(later, sooner):
                assert later.over
                assert later.first == sooner.last


@pytest.mark.parametrize("inplace", [True, False])
def test_the_bound_is_a_bound(inplace: bool) -> None:
    for net in (graphs.deep(9), branches()):
        subject = Subject.of(net, {"data": (16, 512)}, "test")
        settings = replace(Settings(), enable_inplace=inplace)
        prepared = prepare(subject.graph, subject.variables, subject.wanted,
                           training=True, settings=settings)  # fmt: skip
        found = Packing.of(prepared.plan)
        assert found.bound <= found.plan.total <= found.apart
        if not inplace:
            assert found.bound == found.plan.peak


def test_the_view_shows_the_plan_of_a_real_run(view: MemoryPlan) -> None:
    subject = Subject.of(lenet(28, 10), SHAPES, "test")
    prepared = prepare(
        subject.graph, subject.variables, subject.wanted, training=True
    )  # fmt: skip
    assert view.planned.plan.total == prepared.plan.total
    assert len(view.planned.tensors) == len(prepared.plan.offsets)


def test_each_tensor_says_why(view: MemoryPlan) -> None:
    names = [tensor.name for tensor in view.planned.tensors]
    relu = next(name for name in names if "conv0_relu" in name)
    assert "over" in view.why(relu)
    assert "no planned result" in view.why("nothing")
    assert all(tensor.reason for tensor in view.planned.tensors)


def test_the_table_tells_totals_blocks_and_reasons(view: MemoryPlan) -> None:
    text = repr(view.table())
    bound = human_bytes(view.planned.bound)
    assert f"needed at once (lower bound)  {bound}" in text
    assert "new block 0: no block is free" in text


@pytest.mark.parametrize("dark", [False, True])
def test_the_picture_holds_every_tensor(view: MemoryPlan, dark: bool) -> None:
    root = ET.fromstring(view.svg(dark=dark))
    titles = [node.text or "" for node in root.iter() if node.tag.endswith("title")]
    for tensor in view.planned.tensors:
        assert any(title.startswith(f"{tensor.name}, ") for title in titles)
    assert view.svg() == view.svg()


def test_what_is_written_over_another_is_seen_beside_it(view: MemoryPlan) -> None:
    tensors = view.planned.tensors
    seen = [
        replace(tensor, last=until - 1)
        for tensor, until in zip(tensors, _until(tensors), strict=True)
    ]
    assert any(tensor.over for tensor in seen)
    assert not any(meet(a, b) for a, b in combinations(seen, 2))
    picture = view.svg()
    assert picture.count("<polygon") == sum(tensor.over for tensor in tensors)
    assert ">conv0_relu_fwd_output<" in picture, "without what all names begin with"


def test_other_settings_plan_again_and_turn_no_knob() -> None:
    view = MemoryPlan(branches(), data=(64, 512), training=False)
    totals = {}
    for match_range in (0, 1, 2, 4, 16):
        view.what_if(match_range=match_range)
        totals[match_range] = view.planned.plan.total
    assert totals[2] < totals[4] < totals[16] < totals[0]
    assert knobs.NNVM_EXEC_MATCH_RANGE == 16
    view.what_if(auto_search_match_range=True)
    assert view.planned.plan.match_range == 2
    view.what_if(auto_search_match_range=None, match_range=None, num_temp=4)
    assert view.planned.plan.total > totals[16]
    view.close()


def test_a_turned_knob_is_followed() -> None:
    view = MemoryPlan(branches(), data=(64, 512), training=False)
    before = view.planned.plan.total
    view.what_if(match_range=0)
    knobs.set(NNVM_EXEC_MATCH_RANGE=2)
    assert view.planned.plan.match_range == 2, "the newest wish counts"
    assert view.planned.plan.total < before
    view.close()


def test_a_bad_trial_is_refused_and_changes_nothing(view: MemoryPlan) -> None:
    before = repr(view)
    with pytest.raises(KnobError, match="at least 0"):
        view.what_if(match_range=-1)
    with pytest.raises(ArgumentError, match="no setting"):
        view.what_if(matchrange=1)
    assert repr(view) == before


def test_training_needs_more_than_prediction(view: MemoryPlan) -> None:
    training = view.planned.plan.total
    view.train(False)
    assert view.planned.plan.total < training
    assert view.state["total"] == view.planned.plan.total
    state = view.state  # a worker may set a newer one
    assert json.loads(json.dumps(state)) == state


def test_a_prepared_graph_is_shown_as_it_is() -> None:
    subject = Subject.of(graphs.deep(3), {"data": (2, 8)}, "test")
    prepared = prepare(subject.graph, subject.variables)
    view = MemoryPlan(prepared)
    assert not view.state["live"]
    assert view.planned.plan.total == prepared.plan.total
    view.close()


def test_a_graph_of_outputs_has_nothing_to_plan() -> None:
    view = MemoryPlan(mx.sym.sin(mx.sym.var("data")), data=(2, 3), training=False)
    assert repr(view).startswith("MemoryPlan(0 tensors in 0 blocks, 0 B")
    assert ET.fromstring(view.svg()) is not None
    view.close()


@pytest.mark.alone
def test_a_slider_plans_again_within_a_tenth_of_a_second() -> None:
    view = MemoryPlan(resnet(28, 10), data=(32, 1, 28, 28))
    ranges = iter((1, 2, 4, 8, 16, 32, 64, 3, 5, 6, 7, 9))
    took = pace.typical(lambda: view.what_if(match_range=next(ranges)), 12)
    subject = Subject.of(resnet(28, 10), SHAPES, "test")
    prepared = prepare(
        subject.graph, subject.variables, subject.wanted, training=True
    )  # fmt: skip
    settings = replace(Settings(), match_range=9)
    wanted = plan_memory(prepared.graph, prepared.specs, prepared.external, settings)
    assert view.planned.plan.total == wanted.total
    print(f"\nplanned again in {1e3 * took:.1f} ms")
    assert took < 0.1
    view.close()
