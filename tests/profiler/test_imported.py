"""Traces as records: ours come back as they were, others as far as they tell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

import minimx as mx
from minimx import profiler
from minimx.core.errors import ProfilerError
from minimx.core.events import Owner
from minimx.core.record import Record
from minimx.profiler import ProfilerWarning
from minimx.profiler.settings import checked
from minimx.profiler.trace import SOURCE, Trace
from minimx.profiler.writer import Writer

SAMPLES = Path(__file__).parent / "samples"


def write(path: Path, events: Any, **facts: Any) -> Path:
    path.write_text(json.dumps({"traceEvents": events, **facts} if facts else events))
    return path


def a_slice(name: str, ts: float, dur: float, **more: Any) -> dict[str, Any]:
    return {"ph": "X", "name": name, "ts": ts, "dur": dur, "pid": 1, "tid": 1, **more}


def lanes(record: Record) -> dict[str, str]:
    ops = record.ops()
    return dict(
        zip(record.texts(ops["name"]), record.texts(ops["worker"]), strict=True)
    )


def arrows(record: Record) -> list[tuple[str, str, str]]:
    ops, deps = record.ops(), record.deps()
    names = dict(zip(ops["op"].tolist(), record.texts(ops["name"]), strict=True))
    kinds = record.texts(deps["kind"])
    pairs = deps[["src", "dst"]].tolist()
    return [
        (names[a], names[b], kind) for (a, b), kind in zip(pairs, kinds, strict=True)
    ]


# There and back again

WORDS = some.sampled_from(["dot", "relu", "net/dense0", 'ä "quoted"', ""])
TIMES = some.integers(0, 10**12)


@some.composite
def runs(draw: some.DrawFn) -> Record:
    """A record as the engine makes them: workers that do one thing after the other."""
    record = Record()
    record.conditions.t_start = begun = draw(some.integers(0, 10**6))
    clocks = dict.fromkeys(("python", "cpu(0)/0", "gpu(1)/1"), begun)
    count = draw(some.integers(0, 12))
    ended: dict[int, int] = {}
    for op in range(1, count + 1):
        worker = draw(some.sampled_from(sorted(clocks)))
        device = worker.partition("/")[0] if "/" in worker else "cpu(0)"
        waits = draw(some.tuples(*[some.integers(0, 10**4)] * 3))
        start = clocks[worker] + waits[0] + waits[1] + waits[2]
        end = clocks[worker] = start + draw(some.integers(0, 10**7))
        times = start - waits[1] - waits[2], start - waits[2], start, end
        phase = draw(some.sampled_from(["other", "forward", "backward"]))
        failed, graph = draw(some.booleans()), draw(some.booleans())
        forward = draw(some.integers(0, op - 1))
        ended[op] = end
        for src in draw(some.sets(some.integers(1, op), max_size=3)):
            if ended[src] <= start and src != op:
                kind = draw(some.sampled_from(["RAW", "WAR", "WAW"]))
                record.dependency(src, op, kind)
        name, layer = draw(WORDS), draw(WORDS)
        about = (draw(some.integers(-5, 5)), forward, failed, graph)
        record.op(op, name, layer, phase, device, worker, *times, *about)
    owner = Owner("dot", "net", "forward", "activation")
    now = begun
    record.clock = lambda: now
    for block in range(draw(some.integers(0, 6))):
        now += draw(some.integers(1, 10**6))
        record.memory("alloc", "gpu(1)", block, 100 * (block + 1), 4096, 0, owner)
        if draw(some.booleans()):
            now += 1
            record.memory("free", "gpu(1)", block, 100 * (block + 1), 4096, 0, owner)
    record.mark("value", "counter", "mine", "n", value=draw(some.integers(0, 9)))
    record.mark("start", "task", "mine", "step", 7)
    record.call("dot", "", now, now + 5)
    now += 10
    record.mark("stop", "task", "mine", "step", 7)
    record.mark("mark", "thread", "mine", "here")
    return record


OF_OPS = (
    "op", "t_push", "t_ready", "t_start", "t_end", "priority", "forward_op", "failed",
    "graph",
)  # fmt: skip
TEXTS_OF_OPS = ("name", "layer", "phase", "device", "worker")


@given(record=runs())
def test_a_record_comes_back_from_its_trace(
    tmp_path_factory: pytest.TempPathFactory, record: Record
) -> None:
    settings = checked(profile_all=True, profile_dependencies=True)
    begun = record.conditions.t_start
    path = tmp_path_factory.mktemp("trace") / "trace.json"
    trace = Trace(settings, begun)
    Writer(path, {"source": SOURCE, "clock": "virtual"}).append(
        trace.events(record.since(None))
    )
    back = profiler.load(path)
    assert back.conditions.clock == "virtual"
    ours, theirs = record.ops(), back.ops()
    shift = begun - back.conditions.t_start
    for column in OF_OPS:
        moved = shift if column.startswith("t_") else 0
        assert (theirs[column] + moved).tolist() == ours[column].tolist(), column
    for column in TEXTS_OF_OPS:
        assert back.texts(theirs[column]) == record.texts(ours[column])
    assert set(arrows_by_id(back)) == set(arrows_by_id(record))
    before, after = (each.memory_curve("gpu(1)") for each in (record, back))
    assert levels(before, begun) == levels(after, back.conditions.t_start)
    for table in ("marks", "calls"):
        assert told(back, table) == told(record, table)


def arrows_by_id(record: Record) -> list[tuple[int, int, str]]:
    deps = record.deps()
    return [
        (int(row["src"]), int(row["dst"]), record.strings[row["kind"]]) for row in deps
    ]


def levels(curve: Any, begun: int) -> dict[int, int]:
    """The level after each moment at which it changed."""
    return dict(zip((curve.t - begun).tolist(), curve.total.tolist(), strict=True))


def told(record: Record, table: str) -> list[tuple[Any, ...]]:
    """Rows of a table, with its texts, without numbers that only tell rows apart."""
    rows, texts = record.table(table), record.strings
    begun = record.conditions.t_start
    found = []
    columns = rows.dtype.names or ()
    for row in rows:
        about = [texts[row[name]] for name in columns if rows.dtype[name] == "i4"]
        time = tuple(int(row[n]) - begun for n in ("t", "t0", "t1") if n in columns)
        found.append((*time, *about[: 4 if table == "marks" else 2]))
    return sorted(found)


def test_a_real_run_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    profiler.set_config(
        profile_all=True,
        profile_dependencies=True,
        filename=path,
        continuous_dump=False,
    )
    profiler.set_state("run")
    with Record() as record:
        x = mx.nd.ones((8, 8))
        (mx.nd.dot(x, x) + 1).sqrt().asnumpy()
        mx.nd.waitall()
    profiler.dump()
    back = profiler.load(path)
    names = record.texts(record.ops()["name"])
    assert back.texts(back.ops()["name"]) == names
    assert set(arrows(record)) <= set(arrows(back))
    assert ("dot", "_plus_scalar", "RAW") in arrows(back)
    assert back.save(tmp_path / "run.npz").exists()
    assert Record.load(tmp_path / "run.npz").texts(back.ops()["name"]) == names


# What others write


def test_mxnet_tells_operators_calls_levels_and_marks() -> None:
    record = profiler.load(SAMPLES / "mxnet.json.gz")
    ops = record.ops()
    names = record.texts(ops["name"])
    assert names.count("log_softmax") == 1, "told twice, and once here"
    assert set(record.texts(ops["device"])) == {"cpu(0)"}
    assert set(record.texts(ops["worker"])) == {"cpu(0)/0", "cpu(0)/1"}
    assert (np.diff(ops["t_end"]) >= 0).all() and int(ops["t_start"].min()) >= 0
    calls = record.texts(record.table("calls")["name"])
    assert "MXAutogradSetIsRecording" in calls
    curve = record.memory_curve("cpu(0)")
    path = SAMPLES / "mxnet.json.gz"
    told = [
        next(iter(event["args"].values()))
        for event in profiler.check.load_events(path)
        if event["name"] == "Memory: cpu/0" and event["ph"] == "C"
    ]
    assert curve.peak == max(told) and int(curve.total[-1]) == told[-1]
    marks = record.table("marks")
    kinds = zip(record.texts(marks["event"]), record.texts(marks["name"]), strict=True)
    assert {("start", "step"), ("stop", "step"), ("mark", "here")} <= set(kinds)


def test_pytorch_tells_calls_inside_calls_gradients_and_blocks() -> None:
    record = profiler.load(SAMPLES / "pytorch.json.gz")
    ops = record.ops()
    names, workers = record.texts(ops["name"]), record.texts(ops["worker"])
    phases = dict(zip(names, record.texts(ops["phase"]), strict=True))
    assert phases["aten::addmm"] == "other" and phases["AddmmBackward0"] == "backward"
    assert phases["Optimizer.step#SGD.step"] == "update"
    outer = workers[names.index("step")]
    inside = workers[names.index("aten::linear")], workers[names.index("aten::addmm")]
    assert inside == (f"{outer} +1", f"{outer} +2")
    assert nothing_overlaps(record)
    row = names.index("AddmmBackward0")
    forward = int(ops["forward_op"][ops["forward_op"] > 0][0])
    assert forward in ops["op"] and len(record.deps()) > 3
    assert phases[names[row]] == "backward"
    mem = record.mem()
    assert record.memory_curve().peak > 0
    assert set(record.texts(mem["device"])) == {"cpu(0)"}
    asked = set(record.texts(mem["name"]))
    assert "aten::addmm" in asked or "aten::empty" in asked, asked


def nothing_overlaps(record: Record) -> bool:
    ops = record.ops()
    for worker in np.unique(ops["worker"]):
        mine = ops[ops["worker"] == worker]
        mine = mine[np.lexsort((mine["t_end"], mine["t_start"]))]
        if (mine["t_start"][1:] + 1 < mine["t_end"][:-1]).any():
            return False
    return True


def test_a_gpu_has_streams_and_its_kernels_wait_for_their_launch(
    tmp_path: Path,
) -> None:
    head = {"pid": 7, "tid": 5, "ph": "M"}
    arrow = {"name": "ac2g", "cat": "ac2g", "id": 3}
    trace = [
        {**head, "name": "process_labels", "args": {"labels": "GPU 1"}},
        {**head, "name": "thread_name", "args": {"name": "stream 5 "}},
        a_slice("cudaLaunchKernel", 10, 4, cat="cuda_runtime"),
        a_slice("gemm", 30, 9, pid=7, tid=5, cat="kernel"),
        {**arrow, "ph": "s", "ts": 11, "pid": 1, "tid": 1},
        {**arrow, "ph": "f", "bp": "e", "ts": 30, "pid": 7, "tid": 5},
        {"ph": "i", "name": "[memory]", "ts": 31, "pid": 1, "tid": 1, "s": "t",
         "args": {"Bytes": 512, "Addr": 4096, "Device Type": 1, "Device Id": 1}},
    ]  # fmt: skip
    record = profiler.load(write(tmp_path / "trace.json", trace))
    assert lanes(record)["gemm"] == "gpu(1)/5"
    assert arrows(record) == [("cudaLaunchKernel", "gemm", "RAW")]
    kernel = record.ops()[1]
    assert (kernel["t_push"], kernel["t_start"], kernel["t_end"]) == (0, 20_000, 29_000)
    assert record.memory_curve("gpu(1)").peak == 512


def test_what_overlaps_on_a_thread_has_a_lane_of_its_own(tmp_path: Path) -> None:
    trace = [a_slice("a", 0, 10), a_slice("b", 5, 10), a_slice("c", 15, 1)]
    found = lanes(profiler.load(write(tmp_path / "trace.json", trace)))
    assert found["b"] == f"{found['a']} +1" and found["c"] == found["a"]


def test_arrows_bind_by_their_ids(tmp_path: Path) -> None:
    here = {"pid": 1, "tid": 1, "cat": "x", "name": "x"}
    trace = [
        a_slice("a", 0, 10), a_slice("b", 20, 10), a_slice("c", 40, 10),
        {**here, "ph": "s", "ts": 5, "id": "0x1"},
        {**here, "ph": "t", "ts": 25, "id": "0x1"},
        {**here, "ph": "f", "ts": 45, "id": "0x1", "bp": "e"},
        {**here, "ph": "s", "ts": 22, "id": 2},
        {**here, "ph": "f", "ts": 35, "id": 2},  # without bp: the next slice
    ]  # fmt: skip
    found = arrows(profiler.load(write(tmp_path / "trace.json", trace)))
    assert sorted(found) == [("a", "b", "RAW"), ("b", "c", "RAW"), ("b", "c", "RAW")]


def test_asynchronous_work_is_shown(tmp_path: Path) -> None:
    head = {"pid": 1, "tid": 1, "cat": "fetch", "name": "page"}
    trace = [
        {**head, "ph": "b", "ts": 0, "id": 1}, {**head, "ph": "b", "ts": 5, "id": 2},
        {**head, "ph": "e", "ts": 9, "id": 1}, {**head, "ph": "e", "ts": 14, "id": 2},
        a_slice("main", 0, 20),
    ]  # fmt: skip
    record = profiler.load(write(tmp_path / "trace.json", trace, displayTimeUnit="ns"))
    workers = record.texts(record.ops()["worker"])
    assert sorted(workers) == ["1/0", "fetch", "fetch +1"]
    assert record.ops()["t_end"].tolist() == [9000, 14_000, 20_000]


def test_what_is_left_out_is_told(tmp_path: Path) -> None:
    here = {"pid": 1, "tid": 1, "name": "x", "cat": "c"}
    trace = [
        a_slice("a", 0, 10),
        {**here, "ph": "E", "ts": 3},
        {**here, "ph": "B", "ts": 4},
        {**here, "ph": "s", "ts": 4, "id": 1},
        {**here, "ph": "P", "ts": 5},
        {**here, "ph": "C", "ts": 5, "args": {"x": "many"}},
    ]
    path = write(tmp_path / "trace.json", trace)
    with pytest.warns(ProfilerWarning, match="not taken over") as heard:
        record = profiler.load(path)
    for words in (
        "1 ends of what had not begun", "1 ends, put where the trace ends",
        "1 arrows that end nowhere", "1 of phase 'P'", "1 counters that tell no number",
    ):  # fmt: skip
        assert words in str(heard[0].message)
    assert record.texts(record.ops()["name"]) == ["a", "x"]


# What cannot be


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (a_slice("x", float("nan"), 1), "event 2: ts=nan is no time"),
        (a_slice("x", 1, -1), "event 2: dur=-1 is no duration"),
        (a_slice("x", 1, float("inf")), "dur=inf is no duration"),
        (a_slice("x", 10**30, 1), "is no time"),
        (a_slice("x", 9e17, 1), "lasts 9e"),
        (a_slice(7, 1, 1), "name=7 is no text"),  # type: ignore[arg-type]
        ({"ph": "B", "name": "a", "ts": 1, "pid": [], "tid": 1}, "names no row"),
        ({"ph": "Ω", "ts": 1}, "is no phase"),
        ({"ph": "M", "name": "process_name"}, "without args"),
    ],
)
def test_an_event_that_cannot_be_is_named(
    tmp_path: Path, event: Any, expected: str
) -> None:
    path = write(tmp_path / "trace.json", [a_slice("a", 0, 1), event])
    with pytest.raises(ProfilerError, match=expected) as heard:
        profiler.load(path)
    assert str(heard.value).startswith(str(path))


def test_an_end_before_its_beginning_is_refused(tmp_path: Path) -> None:
    here = {"pid": 1, "tid": 1, "name": "x"}
    trace = [{**here, "ph": "B", "ts": 5}, {**here, "ph": "E", "ts": 4}]
    with pytest.raises(ProfilerError, match="ends before it begins"):
        profiler.load(write(tmp_path / "trace.json", trace))


def test_names_without_end_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minimx.profiler.gathered.MOST_NAMES", 50)
    trace = [a_slice(f"n{i}", i, 1) for i in range(60)]
    with pytest.raises(ProfilerError, match="more than 50 different names"):
        profiler.load(write(tmp_path / "trace.json", trace))


def test_many_lanes_share_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minimx.profiler.imported.MOST_LANES", 3)
    trace = [a_slice("x", i, 1, tid=i) for i in range(9)]
    with pytest.warns(ProfilerWarning, match="6 lanes, put on one"):
        record = profiler.load(write(tmp_path / "trace.json", trace))
    assert len(set(record.texts(record.ops()["worker"]))) == 4


ANY = some.recursive(
    some.none()
    | some.booleans()
    | some.integers()
    | some.floats()
    | some.text(max_size=5),
    lambda inner: (
        some.lists(inner, max_size=3)
        | some.dictionaries(
            some.sampled_from(["id", "name", "Bytes", "Addr", "op"]), inner
        )
    ),
    max_leaves=5,
)
EVENTS = some.fixed_dictionaries(
    {"ph": some.sampled_from("XBEbnestfiICMPZ")},
    optional={
        key: ANY
        | some.sampled_from([0, 1, 2.5, "x", "[memory]", "Memory: cpu/0", {"a": 1}])
        for key in ("ts", "dur", "pid", "tid", "name", "cat", "id", "args", "bp", "s")
    },
)


@given(events=some.lists(EVENTS, max_size=8), ours=some.booleans())
@pytest.mark.filterwarnings("ignore::minimx.profiler.ProfilerWarning")
def test_any_events_give_a_record_or_an_error(
    tmp_path_factory: pytest.TempPathFactory, events: Any, ours: bool
) -> None:
    path = tmp_path_factory.mktemp("any") / "trace.json"
    facts: dict[str, Any] = {"otherData": {"source": SOURCE} if ours else []}
    try:
        record = profiler.load(write(path, events, **facts))
    except ProfilerError:
        return
    ops = record.ops()
    assert (ops["t_start"] <= ops["t_end"]).all() and (ops["t_push"] >= 0).all()
    assert Record.load(record.save(path.with_suffix(".npz"))).rows("ops") == len(ops)
