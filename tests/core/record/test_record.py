"""A record: it hears everything while it runs, costs little, and can be followed."""

from __future__ import annotations

import threading
import timeit
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from minimx import context, nd
from minimx.core import engine, events, rng
from minimx.core.device import gpu
from minimx.core.errors import MXNetError
from minimx.core.events import Owner
from minimx.core.knobs import knobs
from minimx.core.record import TABLES, Record, dtype_of
from minimx.core.storage import pool_for

ME = Owner("conv", "net.conv1", "forward", "activation")


@pytest.fixture(autouse=True)
def nobody_listens() -> Iterator[None]:
    yield
    if isinstance(events.recorder, Record):
        events.recorder.stop()
    knobs.reset()


def an_op(record: Record, name: str = "conv", **changes: Any) -> int:
    number = record.new_op()
    row: dict[str, Any] = {
        "name": name,
        "layer": "net.conv1",
        "phase": "forward",
        "device": "gpu(0)",
        "worker": "gpu(0)/0",
        "t_push": 10,
        "t_ready": 20,
        "t_start": 30,
        "t_end": 40,
        "priority": -1,
        "forward_op": 0,
        "failed": False,
    }
    record.op(op_id=number, **{**row, **changes})
    return number


# Costs


@dataclass(frozen=True)
class Work:
    flops: int
    bytes_moved: int
    dtype: str = "float32"
    parts: tuple[tuple[Any, ...], ...] = ()


def test_an_operation_brings_its_cost() -> None:
    record = Record()
    an_op(record, cost=Work(20, 300))
    an_op(record)
    ops = record.ops()
    assert ops["flops"].tolist() == [20, 0]
    assert ops["nbytes"].tolist() == [300, 0]
    assert record.texts(ops["dtype"]) == ["float32", ""]
    assert not ops["work"].any()


def test_the_parts_of_a_joined_operation_are_told_once() -> None:
    record = Record()
    parts = (("conv", "net/a", 5, 10, "float32"), ("relu", "net/b", 1, 8, "float32"))
    joined = Work(6, 18, "", parts)
    for cost in (
        joined,
        Work(6, 18, "", parts),
        Work(2, 2),
        Work(6, 18, "", parts[:1]),
    ):
        an_op(record, cost=cost, graph=True)
    found = record.table("parts")
    assert record.ops()["work"].tolist() == [1, 1, 0, 2]
    assert found["work"].tolist() == [1, 1, 2]
    assert record.texts(found["name"]) == ["conv", "relu", "conv"]
    assert record.texts(found["layer"][:2]) == ["net/a", "net/b"]
    assert found["flops"].tolist() == [5, 1, 5]
    assert found["nbytes"].tolist() == [10, 8, 10]


def test_operators_bring_what_their_sheets_declare() -> None:
    a, b = nd.ones((3, 4)), nd.ones((4, 5), dtype="float64")
    with Record() as record:
        nd.dot(a, a.T).wait_to_read()
        (b + 1).wait_to_read()
        b.astype("float16").wait_to_read()
    ops = record.ops()
    told = dict(zip(record.texts(ops["name"]), ops.tolist(), strict=True))
    at = ops.dtype.names or ()
    flops, nbytes, dtype = (at.index(word) for word in ("flops", "nbytes", "dtype"))
    assert told["dot"][flops] == 2 * 3 * 4 * 3
    assert told["_plus_scalar"][flops] == 20
    assert told["_plus_scalar"][nbytes] == 2 * 20 * 8
    strings = record.strings
    assert [strings[told[n][dtype]] for n in ("dot", "_plus_scalar")] == [
        "float32",
        "float64",
    ]


# Listening


def test_it_listens_between_start_and_stop() -> None:
    record = Record()
    assert not record.running
    with record as entered:
        assert entered is record is events.recorder
        assert record.running
    assert events.recorder is None
    record.stop()


def test_a_record_runs_once() -> None:
    first = Record().start().stop()
    with pytest.raises(MXNetError, match="this record has run"):
        first.start()


def test_several_records_hear_the_same_operations() -> None:
    with Record() as outer:
        before = nd.ones((2,)) + 1
        with Record() as inner:
            both = before * 2
            both.wait_to_read()
        after = both - 1
        after.wait_to_read()
    assert not events.recorder
    heard = [record.texts(record.ops()["name"]) for record in (outer, inner)]
    assert heard[1] == ["_mul_scalar"]
    assert heard[0][-3:] == ["_plus_scalar", "_mul_scalar", "_minus_scalar"]
    ids = [set(record.ops()["op"].tolist()) for record in (outer, inner)]
    assert ids[1] < ids[0]
    assert len(ids[0]) == len(outer.ops())
    pairs = {(src, dst) for src, dst, _ in outer.deps().tolist()}
    *_, plus, times, minus = outer.ops()["op"].tolist()
    assert {(plus, times), (times, minus)} <= pairs


def test_a_paused_record_hears_nothing_and_knows_afterwards_what_lives() -> None:
    kept = nd.ones((1000,))
    lost = nd.ones((1000,))
    engine.wait_all()
    with Record() as record:
        start = record.memory_curve("cpu(0)").total[-1]
        record.pause()
        assert not record.running
        seen = len(record.ops())
        del lost
        new = nd.ones((5000,))
        new.wait_to_read()
        assert len(record.ops()) == seen
        record.resume()
        now = record.memory_curve("cpu(0)").total[-1]
    assert now - start == 4 * (5000 - 1000)
    assert kept.shape == (1000,)


def test_calls_of_the_interface_are_noted_where_that_is_asked_for() -> None:
    with Record(calls=True) as record, Record() as beside:
        (nd.ones((3,)) + 1).asnumpy()
        nd.waitall()
    calls = record.table("calls")
    names = record.texts(calls["name"])
    assert names.count("MXImperativeInvokeEx") == 2
    assert "MXNDArrayWaitToRead" in names
    assert names[-1] == "MXNDArrayWaitAll"
    assert not len(beside.table("calls"))
    assert "_plus_scalar" in record.texts(calls["detail"])
    assert (calls["t0"] <= calls["t1"]).all()


def test_it_stops_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), Record():
        raise ZeroDivisionError
    assert events.recorder is None


def test_it_knows_under_what_it_was_made() -> None:
    rng.seed(12)
    with knobs(MXNET_GPU_MEM_POOL_RESERVE=7), Record() as record:
        pool_for(gpu()).alloc(1).free()
    rng.seed(rng.DEFAULT_SEED)
    found = record.conditions
    assert found.knobs["MXNET_GPU_MEM_POOL_RESERVE"] == 7
    assert (found.seed, found.clock) == (12, "wall")
    assert found.cores >= 1
    assert 0 < found.t_start <= found.t_stop
    assert found.devices["gpu(0)"] == context.gpu_memory_info(0)[1]


def test_paths_stay_private(tmp_path: Any) -> None:
    with Record() as record, knobs(MXNET_HOME=str(tmp_path)):
        pass
    assert "MXNET_HOME" not in record.conditions.knobs
    assert set(record.texts(record.knobs()["new"])) == {"(path)"}


# Tables


def test_operations() -> None:
    record = Record()
    assert [an_op(record), an_op(record, "dot", failed=True)] == [1, 2]
    ops = record.ops()
    assert ops.dtype == dtype_of("ops")
    assert record.texts(ops["name"]) == ["conv", "dot"]
    assert record.texts(ops["worker"]) == ["gpu(0)/0"] * 2
    assert ops["failed"].tolist() == [False, True]
    times = [ops[name][0] for name in ("t_push", "t_ready", "t_start", "t_end")]
    assert times == [10, 20, 30, 40]
    assert ops["priority"].tolist() == [-1, -1]


def test_dependencies_metrics_and_communication() -> None:
    record = Record()
    record.dependency(1, 2, "RAW")
    record.metric(3, "loss", 0.5)
    record.communication(1, 5, "weight", "gpu(0)", "cpu(0)", 100, "push")
    assert record.deps()[["src", "dst"]].tolist() == [(1, 2)]
    assert record.texts(record.deps()["kind"]) == ["RAW"]
    assert record.metrics()[["step", "value"]].tolist() == [(3, 0.5)]
    assert record.comm()["nbytes"].tolist() == [100]


def test_memory_says_for_whom_and_in_which_operation() -> None:
    with Record() as record:
        events.attribution.running = 17
        block = pool_for(gpu()).alloc(5000, ME)
        events.attribution.running = 0
        block.free()
    mem = record.mem()
    assert record.texts(mem["event"])[-2:][1] == "free"
    assert mem["op"].tolist()[-2:] == [17, 0]
    assert mem["block"][-2] == mem["block"][-1] == block.id
    assert (mem["requested"][-1], mem["rounded"][-1]) == (5000, 8192)
    owner = [record.texts(mem[c])[-1] for c in ("name", "layer", "phase", "category")]
    assert owner == ["conv", "net.conv1", "forward", "activation"]


def test_what_lived_before_is_noted_first() -> None:
    with knobs(MINIMX_SIM_GPUS=8):  # a device that nobody else has arrays on
        pool = pool_for(gpu(7))
        pool.alloc(9000, ME).free()
        block = pool.alloc(5000, ME)
        with Record() as record:
            block.free()
        pool.release_all()
    on_gpu = record.mem()["device"] == record.strings.index("gpu(7)")
    mem = record.mem()[on_gpu]
    assert record.texts(mem["event"]) == ["live", "cached", "free"]
    assert mem["rounded"].tolist() == [8192, 12288, 8192]


def test_a_knob_is_noted_at_the_moment_from_which_it_acts() -> None:
    """What obeys it is called before the record, and may act for a while by then."""
    moments: list[int] = []
    with Record() as record:
        stop = knobs.watch(
            "MXNET_GPU_MEM_POOL_TYPE", lambda *_: moments.append(events.clock())
        )
        try:
            knobs.set(MXNET_GPU_MEM_POOL_TYPE="Round")
        finally:
            stop()
            knobs.reset("MXNET_GPU_MEM_POOL_TYPE")
        later = events.clock()
    first, second = record.knobs()["t"].tolist()
    assert first <= moments[0] < second <= later


def test_knobs_are_noted_with_their_scope() -> None:
    with Record() as record, knobs(MXNET_GPU_MEM_POOL_TYPE="Round"):
        pass
    turned = record.knobs()
    assert record.texts(turned["name"]) == ["MXNET_GPU_MEM_POOL_TYPE"] * 2
    assert record.texts(turned["old"]) == ["Naive", "Round"]
    assert record.texts(turned["new"]) == ["Round", "Naive"]
    assert set(record.texts(turned["scope"])) <= {"live", "bind", "restart"}


def test_a_clock_of_ones_own() -> None:
    record = Record()
    record.clock = lambda: 42
    record.metric(1, "loss", 1.0)
    assert record.metrics()["t"].tolist() == [42]


# Following


def test_following_brings_every_row_and_text_once() -> None:
    record = Record()
    texts: list[str] = []
    cursor, ops = None, []
    for i in range(5):
        for _ in range(i):
            an_op(record, f"op{i}")
        batch = record.since(cursor)
        cursor = batch.cursor
        ops.append(batch["ops"])
        texts += batch.strings
        assert batch.lost == {}
        assert len(batch) == i
    assert np.array_equal(np.concatenate(ops), record.ops())
    assert texts == record.strings


def test_following_says_what_was_missed() -> None:
    record = Record(capacity=10)
    cursor = record.since().cursor
    for _ in range(25):
        an_op(record)
    batch = record.since(cursor)
    assert batch.lost == {"ops": 15}
    assert batch["ops"]["op"].tolist() == list(range(16, 26))


def test_an_overflow_shows() -> None:
    record = Record(capacity=10)
    for _ in range(1234):
        an_op(record)
    assert (len(record.ops()), record.dropped["ops"]) == (10, 1224)
    assert repr(record) == "Record(10 ops, 0 memory events, peak 0 B, 1,224 dropped)"


def test_capacity_is_a_knob() -> None:
    with knobs(MINIMX_RECORD_CAPACITY=7):
        assert Record().capacity == 7


def test_it_can_be_read_while_threads_write() -> None:
    record = Record(capacity=500)
    done = threading.Event()

    def write() -> None:
        for i in range(5000):
            an_op(record, f"op{i % 100}")
            record.memory("alloc", "gpu(0)", i + 1, 10, 16, 0, ME)
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    cursor, seen = None, 0
    while not done.is_set():
        batch = record.since(cursor)
        cursor = batch.cursor
        seen += len(batch["ops"]) + batch.lost.get("ops", 0)
        assert record.memory_curve("gpu(0)").peak <= 50_000
    writer.join()
    batch = record.since(cursor)
    assert seen + len(batch["ops"]) + batch.lost.get("ops", 0) == 5000


def test_repr_counts() -> None:
    record = Record()
    for _ in range(1204):
        an_op(record)
    for i in range(3001):
        record.memory("alloc", "cpu(0)", i + 1, 4333, 8192, 0, ME)
    assert repr(record) == (
        "Record(1,204 ops, 3,001 memory events, peak 12.4 MiB, 0 dropped)"
    )


def test_noting_an_event_is_cheap() -> None:
    record = Record()

    def note() -> None:
        record.op(1, "c", "l", "forward", "d", "w", 1, 2, 3, 4, 0, 0, False)

    best = min(timeit.repeat(note, number=2000, repeat=5)) / 2000
    assert best < 15e-6  # ten times what is aimed at: only a blunder fails


def test_every_table_can_be_read_empty() -> None:
    record = Record()
    for name in TABLES:
        assert len(record.table(name)) == 0
        assert record.table(name).dtype == dtype_of(name)
    assert record.memory_curve().peak == 0
    assert record.memory_curve().at_peak == -1


def test_a_table_that_was_read_before_is_read_anew_when_rows_came() -> None:
    with Record(capacity=100) as record:
        for step in range(3):
            record.metric(step, "loss", 0.5)
        first = record.metrics()
        first["step"] = 7  # the reader's own
        assert record.metrics()["step"].tolist() == [0, 1, 2]
        for step in range(3, 10_000):
            record.metric(step, "loss", 0.5)
        assert record.metrics()["step"].tolist() == list(range(9_900, 10_000))
