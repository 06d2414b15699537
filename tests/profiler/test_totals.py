"""Overviews: what they say adds up, and they say what they do not know."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minimx as mx
from minimx import gluon, nd
from minimx.core import autograd
from minimx.core.errors import ProfilerError
from minimx.core.events import Owner
from minimx.core.knobs import knobs
from minimx.core.record import Record, dtype_of
from minimx.profiler.roofs import Roof
from minimx.profiler.shares import BUCKETS
from minimx.profiler.totals import Overview, overview_of, roof_of
from minimx.profiler.work import Module
from tests import pace

ROOF = Roof(flops=10e9, bandwidth=1e9)
SMALL = st.integers(0, 50)


class Work:
    def __init__(self, flops: int, nbytes: int, parts: Any = ()) -> None:
        self.flops, self.bytes_moved, self.parts = flops, nbytes, parts
        self.dtype = "float32"


PARTS = (
    ("conv", "net/a", 800, 100, "float32"),
    ("relu", "net/a", 10, 80, "float32"),
    ("dot", "net/b/c", 0, 0, "float32"),
)
COSTS = (None, Work(40, 20), Work(810, 180, PARTS))

an_operation = st.tuples(
    st.sampled_from(["conv", "relu", "CopyCPU2GPU", "CopyGPU2GPU"]),
    st.sampled_from(["", "net", "net/a", "net/b/c"]),
    st.sampled_from(["data", "forward", "backward", "update"]),
    st.sampled_from(["cpu(0)/0", "cpu(0)/1", "gpu(0) copy/0", "python"]),
    st.tuples(SMALL, SMALL, SMALL, SMALL),
    st.sampled_from(COSTS),
)
a_call = st.tuples(
    st.sampled_from(
        ["MXNDArrayWaitToRead", "DataLoader.next", "DataLoader.make", "MXInvoke"]
    ),
    SMALL,
    SMALL,
    st.sampled_from(["MainThread", "Thread-1"]),
)


def record_of(operations: Any, calls: Any = ()) -> Record:
    record = Record()
    for name, layer, phase, worker, gaps, cost in operations:
        push, ready, start, end = np.cumsum(gaps).tolist()
        who = (name, layer, phase, "cpu(0)", worker)
        times = (push, ready, start, end)
        record.op(record.new_op(), *who, *times, 0, 0, False, cost is COSTS[2], cost)
    for name, begin, more, thread in calls:
        record._rings["calls"].add((begin, begin + more, name, "", thread))
    return record


def inclusive(module: Module) -> int:
    own = sum(inclusive(child) for child in module.children)
    assert own <= module.total
    return module.total


@given(st.lists(an_operation, max_size=12), st.lists(a_call, max_size=6))
def test_every_nanosecond_of_every_lane_is_told_once(
    operations: Any, calls: Any
) -> None:
    found = overview_of(record_of(operations, calls), lambda *_: ROOF)
    for lane in found.lanes:
        assert sum(lane.ns) == found.span
        assert min(lane.ns) >= 0
    workers = [lane for lane in found.lanes if not lane.is_thread]
    assert len(workers) == len({each[3] for each in operations})
    if workers and found.span:
        assert sum(found.shares().values()) == pytest.approx(1)
    if not calls:  # otherwise a lane of Python's own has loading as well
        assert sum(lane.busy for lane in workers) == found.busy
    assert found.modules.total == found.busy
    assert sum(each.ns for each in found.operators) == found.busy
    assert sum(each.flops for each in found.operators) == found.modules.flops
    assert sum(each.nbytes for each in found.operators) == found.modules.nbytes
    inclusive(found.modules)
    declared = [each[5].flops for each in operations if each[5]]
    assert found.modules.flops == sum(declared)
    assert repr(found) and str(found)


def by_name(found: Overview) -> dict[str, Any]:
    return {each.name: each for each in found.operators}


def shares_of(found: Overview, lane: str) -> dict[str, int]:
    (ns,) = [each.ns for each in found.lanes if each.name == lane]
    return {k: v for k, v in zip(BUCKETS, ns, strict=True) if v}


def test_idleness_has_a_cause() -> None:
    rows = [
        # pushed, ready, started, ended
        ("a", "", "forward", "cpu(0)/0", (10, 0, 5, 25), None),  # 10 10 15 40
        ("b", "", "forward", "cpu(0)/1", (20, 20, 10, 10), None),  # 20 40 50 60
        ("c", "", "forward", "cpu(0)/0", (90, 0, 0, 10), None),  # 90 … 100
    ]
    calls = [("MXNDArrayWaitToRead", 62, 8, "m"), ("DataLoader.next", 72, 12, "m")]
    found = overview_of(record_of(rows, calls))
    assert found.span == 90  # from the first push on
    assert shares_of(found, "cpu(0)/0") == {
        "compute": 35,
        "bookkeeping": 15,
        "synchronisation": 8,
        "no data": 12,
        "no operation": 20,
    }
    assert shares_of(found, "cpu(0)/1") == {
        "compute": 10,
        "bookkeeping": 15,
        "dependency": 20,
        "synchronisation": 8,
        "no data": 12,
        "no operation": 25,
    }
    assert shares_of(found, "thread m") == {
        "data": 12,
        "synchronisation": 8,
        "no operation": 70,
    }
    silent = overview_of(record_of(rows))
    assert shares_of(silent, "cpu(0)/0")["no operation"] == 40
    assert any("Record(calls=True)" in note for note in silent.notes)


def test_kinds_of_work() -> None:
    rows = [
        ("CopyCPU2GPU", "", "forward", "w/0", (0, 0, 0, 5), None),
        ("CopyCPU2GPU", "", "update", "w/0", (5, 0, 0, 6), None),
        ("CopyGPU2GPU", "", "forward", "w/0", (11, 0, 0, 7), None),
        ("relu", "", "data", "w/0", (18, 0, 0, 8), None),
    ]
    found = shares_of(overview_of(record_of(rows)), "w/0")
    assert found == {"copy": 5, "communication": 13, "data": 8}


def test_operators_are_held_against_the_roof() -> None:
    rows = [
        ("dot", "", "forward", "w/0", (0, 0, 0, 1000), Work(5000, 10)),
        ("relu", "", "forward", "w/0", (1000, 0, 0, 400), Work(10, 100)),
        ("mystery", "", "forward", "w/0", (1400, 0, 0, 100), None),
    ]
    found = overview_of(record_of(rows), lambda *_: ROOF)
    dot, relu, mystery = (by_name(found)[name] for name in ("dot", "relu", "mystery"))
    assert (dot.bound, dot.fraction) == ("compute", pytest.approx(0.5))
    assert (relu.bound, relu.fraction) == ("memory", pytest.approx(0.25))
    assert (mystery.bound, mystery.fraction) == ("", None)
    assert ROOF.at(dot.intensity) == ROOF.flops
    assert any("6.7% of the busy time" in note for note in found.notes)


def test_more_than_the_roof_is_explained() -> None:
    rows = [("relu", "", "forward", "w/0", (0, 0, 0, 10), Work(1, 100))]
    found = overview_of(record_of(rows), lambda *_: ROOF)
    assert by_name(found)["relu"].fraction == pytest.approx(10)
    assert any("came from caches" in note for note in found.notes)
    slow = overview_of(record_of(rows), lambda *_: Roof(10e9, 100e9))
    assert not any("came from caches" in note for note in slow.notes)


def test_joined_operations_are_told_by_their_parts() -> None:
    rows = [("[…]", "", "forward", "w/0", (0, 0, 0, 1000), COSTS[2])]
    found = overview_of(record_of(rows), lambda *_: ROOF)
    names = by_name(found)
    assert set(names) == {"conv", "relu", "dot"}
    assert names["conv"].flops == 800
    assert sum(each.ns for each in names.values()) == 1000
    assert all(each.guessed == each.ns for each in names.values())
    paths = [(depth, each.path) for depth, each in found.modules.walk()]
    assert paths == [(0, ""), (1, "net"), (2, "net/a"), (2, "net/b"), (3, "net/b/c")]
    assert any("shared" in note for note in found.notes)


def test_memory_at_its_peak_by_category_and_block() -> None:
    record = Record()
    weights = Owner("init", "net/a", "other", "parameter")
    result = Owner("conv", "net/a", "forward", "activation")
    record.memory("live", "cpu(0)", 1, 1000, 1024, 0, weights)
    record.memory("alloc", "cpu(0)", 2, 500, 512, 0, result)
    record.memory("free", "cpu(0)", 2, 500, 512, 0, result)
    record.memory("hit", "cpu(0)", 3, 700, 1024, 0, Owner("x", "", "other", "data"))
    record.memory("hit", "cpu(0)", 4, 100, 1024, 0, Owner("x", "", "other", "data"))
    found = overview_of(record)
    assert found.memory.nbytes == record.memory_curve().peak == 1800
    assert found.memory.categories == {"parameter": 1000, "data": 800}
    assert found.memory.layers == {"net/a": 1000, "": 800}
    assert found.modules.parameters == 1000


def test_nothing_is_an_overview_too(tmp_path: Path) -> None:
    found = overview_of(Record())
    assert (found.span, found.lanes, found.operators) == (0, (), ())
    assert found.shares() == {} and found.memory.nbytes == 0
    assert "0 operations" in str(found)
    again = overview_of(Record.load(Record().save(tmp_path / "empty.npz")))
    assert again == found or repr(again) == repr(found)


def test_what_the_ring_dropped_is_said() -> None:
    record = Record(capacity=2)
    for i in range(6):
        record.op(i + 1, "a", "", "other", "cpu(0)", "w/0", i, i, i, i + 1, 0, 0, False)
    assert "dropped 4 rows" in " ".join(overview_of(record).notes)


def lenet() -> Any:
    net = gluon.nn.HybridSequential(prefix="lenet_")
    with net.name_scope():
        net.add(gluon.nn.Conv2D(4, 3, activation="relu"), gluon.nn.MaxPool2D())
        net.add(gluon.nn.Dense(8, activation="tanh"), gluon.nn.Dense(3))
    return net


def trained(hybrid: bool = False, **settings: Any) -> Record:
    gc.collect()  # networks of other tests have blocks of the same names
    with knobs(**settings):
        ctx = mx.gpu(0) if settings.get("MINIMX_SIM_GPUS") else mx.cpu()
        with ctx:
            net = lenet()
            net.initialize(ctx=ctx)
            if hybrid:
                net.hybridize(static_alloc=True, static_shape=True)
            trainer = gluon.Trainer(net.collect_params(), "sgd")
            data = np.random.default_rng(0).random((16, 1, 10, 10), np.float32)
            batches = gluon.data.DataLoader(gluon.data.ArrayDataset(data), 8)
            loss_of = gluon.loss.L2Loss()
            with Record(calls=True) as record:
                for batch in batches:
                    x = batch.as_in_context(ctx)
                    with autograd.record():
                        loss = loss_of(net(x), nd.ones((8, 3)))
                    loss.backward()
                    trainer.step(8)
                nd.waitall()
    return record


@pytest.mark.parametrize("engine", ["NaiveEngine", "ThreadedEnginePerDevice"])
@pytest.mark.parametrize("hybrid", [False, True])
def test_a_network_that_trains(engine: str, hybrid: bool) -> None:
    found = overview_of(trained(hybrid, MXNET_ENGINE_TYPE=engine), lambda *_: ROOF)
    assert all(sum(lane.ns) == found.span for lane in found.lanes)
    assert found.shares()["data"] > 0 or found.shares()["no data"] > 0
    names = by_name(found)
    conv = names["Convolution"]
    assert conv.flops == 2 * 2 * 8 * 4 * 8 * 8 * 9  # two batches
    assert (conv.fraction or 0) > 0
    layers = {each.path: each for _, each in found.modules.walk()}
    block = layers["lenet/conv0"]
    assert block.ns["forward"] > 0 and block.ns["backward"] > 0
    assert block.parameters == 4 * (4 * 9 + 4)
    assert layers["lenet"].parameters == sum(
        layers[f"lenet/{name}"].parameters for name in ("conv0", "dense0", "dense1")
    )
    joined = any(each.guessed for each in found.operators)
    assert joined == hybrid


def test_on_the_virtual_clock_fractions_are_the_models() -> None:
    record = trained(MINIMX_CLOCK="virtual", MINIMX_SIM_GPUS=1)
    found = overview_of(record)
    assert {each.roof.source for each in found.operators if each.roof} == {"declared"}
    for each in found.operators:
        assert each.fraction is None or each.fraction <= 1
    assert any("clock was virtual" in note for note in found.notes)
    assert any(each.kind == "copy" for each in found.operators)
    assert "copy" in {k for lane in found.lanes for k in shares_of(found, lane.name)}


def test_the_profiler_gives_an_overview_of_what_it_heard(tmp_path: Path) -> None:
    with pytest.raises(ProfilerError, match="Give a record"):
        mx.profiler.overview()
    mx.profiler.set_config(filename=str(tmp_path / "p.json"), profile_all=True)
    mx.profiler.set_state("run")
    nd.dot(nd.ones((8, 8)), nd.ones((8, 8))).wait_to_read()
    mx.profiler.set_state("stop")
    found = mx.profiler.overview(measure=False)
    assert by_name(found)["dot"].flops == 1024
    mx.profiler.dump()


def test_devices_that_are_not_here_have_no_roof() -> None:
    record = Record()
    roof = roof_of(record)
    assert roof("gpu(7)", "float32") is None
    assert roof("nonsense", "float32") is None


@pytest.mark.alone
def test_a_million_operations_take_seconds() -> None:
    count = 1_000_000
    record = Record()
    ops = np.zeros(count, dtype_of("ops"))
    rng = np.random.default_rng(0)
    texts = ["", "a", "b", "w/0", "w/1", "w/2", "w/3"]
    record._strings.texts += texts
    ops["op"] = np.arange(1, count + 1)
    ops["name"] = rng.integers(0, 3, count)
    ops["layer"] = rng.integers(0, 3, count)
    ops["worker"] = rng.integers(3, 7, count)
    ops["t_start"] = 10_000_000 + np.cumsum(rng.integers(100, 5000, count))
    ops["t_end"] = ops["t_start"] + rng.integers(10, 15_000, count)
    ops["t_ready"] = ops["t_start"] - rng.integers(0, 1000, count)
    ops["t_push"] = ops["t_ready"] - rng.integers(0, 100_000, count)
    empty = {name: np.zeros(0, dtype_of(name)) for name in record._rings}
    record._saved = {**empty, "ops": ops}
    found = overview_of(record)
    took = pace.typical(lambda: overview_of(record), 1)
    assert found.count == count
    assert all(sum(lane.ns) == found.span for lane in found.lanes)
    assert took < 12, took
