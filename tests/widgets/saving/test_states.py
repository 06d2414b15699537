"""What a reader has set in a view, as one string: round trips, and strings that lie."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import minimx as mx
import minimx_widgets as views
from minimx.core import autograd
from minimx.core.errors import ArgumentError
from minimx.core.record import Record
from minimx.tools.tape_watch import Watch
from minimx_widgets import gallery
from minimx_widgets.scheduler.program import Program, op
from minimx_widgets.training.comparing import Comparison, Side
from minimx_widgets.training.training import Settings
from tests.widgets.graphs import deep
from tests.widgets.image_data import pictures
from tests.widgets.views.test_bench_curves import result

Make = Callable[[], Any]


def recorded() -> Record:
    """Some real operations, forward and backward."""
    net = mx.gluon.nn.Dense(4, in_units=3)
    net.initialize()
    with Record(calls=True) as record:
        with autograd.record():
            loss = net(mx.nd.ones((2, 3))).sum()
        loss.backward()
        mx.nd.waitall()
    return record


def tape() -> views.TapeStepper:
    x = mx.nd.ones((2, 3))
    x.attach_grad()
    runs = {}
    for name in ("one", "two"):
        with Watch() as watch:
            with autograd.record():
                y = mx.nd.exp(x * 2)
            y.backward()
        runs[name] = watch
    return views.TapeStepper(runs)


def conv() -> views.ConvChooser:
    x = mx.sym.var("data")
    for name in ("c1", "c2"):
        x = mx.sym.Convolution(x, kernel=(3, 3), num_filter=4, pad=(1, 1), name=name)
    return views.ConvChooser(x, data=(2, 3, 8, 8))


def program() -> Program:
    return Program.of(
        op("P", reads="a", writes="b", cost=3),
        op("Q", reads="b", writes="c", cost=2),
        op("R", reads="a", writes="d", cost=2),
    )


def lab() -> views.Lab:
    return views.Lab("mlp", pictures(), epochs=1)


def side_by_side() -> views.SideBySide:
    mine = Settings(network="mlp", data=pictures(), batch_size=32)
    return views.SideBySide(Comparison(Side("A", "a", mine), Side("B", "b", mine)))


def of_record(name: str) -> Make:
    return lambda: getattr(views, name)(recorded())


def of_network(name: str) -> Make:
    return lambda: getattr(views, name)(deep(4), data=(4, 8))


#: A view of each kind, and what is then set in it.
KINDS: dict[str, tuple[Make, dict[str, Any]]] = {
    "Lab": (lab, {"seed": "7", "optimizer": "sgd", "batch_size": "16"}),
    "FiveSwitches": (lambda: views.FiveSwitches(lambda name, text: None), {}),
    "BeforeAfter": (views.BeforeAfter, {}),
    "KnobPanel": (
        views.KnobPanel,
        {"expanded": True, "search": "pool type & more", "pinned": ["OMP_NUM_THREADS"]},
    ),
    "TrainingMonitor": (
        of_record("TrainingMonitor"),
        {"axis": "time", "loss_scale": "log"},
    ),
    "DataView": (lambda: views.DataView(views_probe()), {"parts": "all"}),
    "MemoryTimeline": (
        of_record("MemoryTimeline"),
        {"measure": "reserved", "window": [10.0, 99.0], "pinned": 3, "axis": "events"},
    ),
    "PoolMap": (
        of_record("PoolMap"),
        {"ghost": "Round", "at": 2, "tried": {"page": "4096"}},
    ),
    "EngineTimeline": (
        of_record("EngineTimeline"),
        {"colour": "layer", "window": [5.0], "pinned": ["cpu(0)/0"], "op": 2,
         "marks": [1.0, 9.0], "find": "dot"},
    ),
    "DeviceView": (of_record("DeviceView"), {"axis": "events", "window": [0.0, 3.0]}),
    "Overview": (of_record("Overview"), {"op": 1}),
    "SchedulerStepper": (
        lambda: views.SchedulerStepper(program()),
        {"workers": 1, "step": 2, "moves": [[-1, -1], [0, 0], [-1, -1]]},
    ),
    "PoolLevel": (lambda: views.PoolLevel(1), {"level": 2}),
    "PlannerLevel": (lambda: views.PlannerLevel(1), {"chosen": ["new"]}),
    "MirrorLevel": (lambda: views.MirrorLevel(1), {"chosen": ["keep", "recompute"]}),
    "PushLevel": (lambda: views.PushLevel(1), {"level": 2}),
    "TapeStepper": (tape, {"tape": 1, "at": 1}),
    "GraphPassDiff": (
        of_network("GraphPassDiff"),
        {"colour": "storage", "part": 0},
    ),
    "MemoryPlan": (
        of_network("MemoryPlan"),
        {"training": False, "tried": {"match_range": 1}},
    ),
    "MirrorExplorer": (of_network("MirrorExplorer"), {"segments": 2, "dear": False}),
    "ConvChooser": (conv, {"layer": "c2", "allowed": 3}),
    "NumericsMonitor": (
        of_record("NumericsMonitor"),
        {"kind": "weight", "scale": 3, "at": 1},
    ),
    "SideBySide": (side_by_side, {}),
    "ABCompare": (
        lambda: views.ABCompare(recorded(), MXNET_ENGINE_TYPE="NaiveEngine"),
        {"turned": {"MXNET_CPU_WORKER_NTHREADS": "3"}, "times": "own", "frozen": False},
    ),
    "KVStoreView": (
        views.KVStoreView,
        {"store": "ring", "workers": 4, "dial": 2.0, "slow": {"1": 2.0}},
    ),
    "BenchCurves": (lambda: views.BenchCurves(result()), {"model": "resnet50_v2"}),
    "FailureLab": (
        lambda: views.FailureLab(3, fault="added"),
        {"case": 4, "fault": "clip", "probes": ["norms"], "said": {"norms": 3.0}},
    ),
}  # fmt: skip


def views_probe() -> Any:
    from minimx_widgets.training.predictions import Probe

    return Probe()


@pytest.fixture(scope="module")
def made() -> Iterator[Callable[[str], Any]]:
    """A view of each kind, made once."""
    known: dict[str, Any] = {}

    def get(name: str) -> Any:
        if name not in known:
            known[name] = KINDS[name][0]()
        return known[name]

    yield get
    for one in known.values():
        one.close()
    mx.knobs.reset()


def test_every_view_of_the_book_has_a_state() -> None:
    assert set(KINDS) == set(gallery.ENTRIES)


@pytest.mark.parametrize("name", KINDS)
def test_what_is_set_comes_back_in_another_view(
    made: Callable[[str], Any], name: str
) -> None:
    make, parts = KINDS[name]
    one = made(name)
    first = one.state_string
    assert first == f"{name}:1" or name in ("FailureLab", "Lab")
    text = f"{name}:1" + ("?" if parts else "")
    text += "&".join(f"{n}={one_value(v)}" for n, v in parts.items())
    one.state_string = text
    found = one.state_string
    assert not any(letter.isspace() for letter in found)
    assert len(found) < 300
    for part in parts:
        assert f"{part}=" in found, part
    with closing(make()) as other:
        other.state_string = found
        assert other.state_string == found
    one.state_string = first
    assert one.state_string == first


def one_value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text.replace(" ", "%20").replace("&", "%26")


NAMES = sorted({part for _, parts in KINDS.values() for part in parts})
VALUES = st.one_of(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
        lambda inner: st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=6), inner, max_size=3),
        max_leaves=6,
    ).map(json.dumps),
    st.text(max_size=20),
    st.sampled_from(["[" * 3000, "1e999", "NaN", "-1", "%ff", "__class__", "9" * 400]),
)  # fmt: skip


#: Those whose state makes them do something that takes longer are tried less often.
SLOW = ("FailureLab", "KVStoreView", "ABCompare", "Lab", "MirrorExplorer", "PoolMap")


@pytest.mark.parametrize("name", KINDS)
def test_a_hostile_string_is_refused_and_leaves_the_view(
    made: Callable[[str], Any], name: str
) -> None:
    view = made(name)
    own = sorted(KINDS[name][1]) or ["nothing"]

    @settings(
        max_examples=6 if name in SLOW else 25,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    @given(
        parts=st.lists(
            st.tuples(st.sampled_from(own) | st.sampled_from(NAMES), VALUES), max_size=3
        )
    )
    def try_it(parts: list[tuple[str, str]]) -> None:
        before = view.state_string
        text = f"{name}:1?" + "&".join(f"{n}={v}" for n, v in parts)
        try:
            view.state_string = text
        except ArgumentError as refused:
            assert str(refused).startswith("state_string: ")
            assert view.state_string == before
        else:
            after = view.state_string
            view.state_string = after
            assert view.state_string == after

    try_it()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("PoolMap:1?ghost=Round", "state of a PoolMap, and here is a EngineTimeline"),
        ("EngineTimeline:2?axis=events", "version 2, and this minimx reads 1"),
        ("EngineTimeline:1?color=layer", "keeps no 'color'.*colour"),
        ("EngineTimeline:1?colour=red", "colour"),
        ("EngineTimeline:1?axis=time&axis=events", "there twice"),
        ("EngineTimeline:1?window=[5,2]", "low < high"),
        ("EngineTimeline:1?op=-3", "not the number of an operation"),
        ("", "does not begin with a view"),
        ("hello", "does not begin with a view"),
        ("EngineTimeline:1?find=" + 9000 * "x", "8,000 are the most"),
        (7, "not int"),
    ],
)
def test_what_is_wrong_is_said(
    made: Callable[[str], Any], text: Any, says: str
) -> None:
    view = made("EngineTimeline")
    view.state_string = "EngineTimeline:1?colour=operator"
    with pytest.raises(ArgumentError, match=says):
        view.state_string = text
    assert view.state_string == "EngineTimeline:1?colour=operator"


def test_the_selection_of_a_run_is_in_the_state_of_all_its_views() -> None:
    record = recorded()
    one, other = views.EngineTimeline(record), views.MemoryTimeline(record)
    one.select(3)
    assert other.state_string == "MemoryTimeline:1?op=3"
    assert other.keeps["more"] == {"op": 3}
    other.state_string = "MemoryTimeline:1"
    assert one.run.selected == 0
    one.run.close()
