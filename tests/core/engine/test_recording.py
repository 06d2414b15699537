"""What a record says about operations: rows, times, lanes, dependencies."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from minimx import nd
from minimx.core import autograd, engine, events
from minimx.core.device import cpu, gpu
from minimx.core.engine import Var
from minimx.core.knobs import knobs
from minimx.core.record import Record
from minimx.gluon import nn
from minimx.tools.virtual_time import virtual


def nothing() -> None:
    pass


def rows(record: Record) -> dict[str, dict[str, Any]]:
    """The last row of each operation, by name, texts as texts."""
    found = {}
    table = record.ops()
    texts = record.strings
    for row in table:
        columns = {name: row[name] for name in table.dtype.names or ()}
        for name in ("name", "layer", "phase", "device", "worker"):
            columns[name] = texts[columns[name]]
        found[columns["name"]] = columns
    return found


def edges(record: Record) -> set[tuple[int, int, str]]:
    texts = record.strings
    return {(int(d["src"]), int(d["dst"]), texts[d["kind"]]) for d in record.deps()}


def test_push_returns_an_id_while_somebody_records(any_engine: str) -> None:
    assert engine.push(nothing, cpu(), [], [], "before") == 0
    with Record() as record:
        first = engine.push(nothing, cpu(), [], [], "first")
        second = engine.push(nothing, cpu(), [], [], "second")
        engine.wait_all()
    assert engine.push(nothing, cpu(), [], [], "after") == 0
    engine.wait_all()
    assert {name: row["op"] for name, row in rows(record).items()} == {
        "first": first,
        "second": second,
    }
    assert first != second


def test_a_row_has_everything(any_engine: str) -> None:
    running: list[int] = []
    with Record() as record, events.attributed(layer="dense0", phase="backward"):
        events.attribution.forward_op = 77
        op_id = engine.push(
            lambda: running.append(events.attribution.running),
            gpu(),
            [],
            [Var()],
            "copy",
            priority=-3,
            prop=engine.COPY_TO_GPU,
        )
        events.attribution.forward_op = 0
        engine.wait_all()
    row = rows(record)["copy"]
    assert running == [op_id]
    assert events.attribution.running == 0
    assert (row["layer"], row["phase"]) == ("dense0", "backward")
    assert row["device"] == "gpu(0)"
    assert (row["priority"], row["forward_op"], row["failed"]) == (-3, 77, False)
    assert row["t_push"] <= row["t_ready"] <= row["t_start"] <= row["t_end"]
    lanes = {
        "naive": "python",
        "virtual naive": "python",
        "pooled": "copy/0",
    }
    if any_engine in lanes:
        assert row["worker"] == lanes[any_engine]
    else:
        assert row["worker"] in ("gpu(0) copy/0", "gpu(0) copy/1")


def test_ready_is_when_the_last_dependency_ended(asynchronous: str) -> None:
    a, b = Var(), Var()
    with Record() as record:
        engine.push(nothing, cpu(), [], [a], "first")
        engine.push(nothing, cpu(), [a], [b], "second")
        engine.wait_all()
    first, second = rows(record)["first"], rows(record)["second"]
    assert second["t_ready"] >= max(first["t_end"], second["t_push"])


def test_dependencies_are_told(any_engine: str) -> None:
    a, b = Var(), Var()
    with Record() as record:
        write = engine.push(nothing, cpu(), [], [a], "write")
        one = engine.push(nothing, cpu(), [a], [b], "reader 1")
        two = engine.push(nothing, cpu(), [a, a], [], "reader 2")
        again = engine.push(nothing, cpu(), [], [a], "write again")
        last = engine.push(nothing, cpu(), [a], [a, b], "last")
        engine.wait_all()
    assert edges(record) == {
        (write, one, "RAW"),
        (write, two, "RAW"),
        (one, again, "WAR"),
        (two, again, "WAR"),
        (again, last, "WAW"),
        (one, last, "WAW"),
    }


def test_a_new_record_knows_nothing_of_an_old_one(any_engine: str) -> None:
    var = Var()
    with Record():
        engine.push(nothing, cpu(), [], [var], "write")
        engine.wait_all()
    with Record() as record:
        engine.push(nothing, cpu(), [var], [], "read")
        engine.wait_all()
    assert edges(record) == set()


def test_failures_and_skipped_operations_are_marked(asynchronous: str) -> None:
    a, b = Var(), Var()

    def fail() -> None:
        raise ValueError

    with Record() as record:
        engine.push(fail, cpu(), [], [a], "fail")
        engine.push(nothing, cpu(), [a], [b], "skipped")
        with pytest.raises(ValueError):
            engine.wait_all()
    assert rows(record)["fail"]["failed"]
    skipped = rows(record)["skipped"]
    assert skipped["failed"]
    assert skipped["t_start"] == skipped["t_end"]


def test_the_parts_of_a_bulk_keep_their_rows(asynchronous: str) -> None:
    a, b = Var(), Var()
    with Record() as record, engine.bulk(10):
        one = engine.push(nothing, cpu(), [], [a], "one")
        two = engine.push(nothing, cpu(), [a], [b], "two")
        engine.wait_all()
    found = rows(record)
    bulk = found["ImperativeBulk"]
    parts = found["one"], found["two"]
    assert [part["op"] for part in parts] == [one, two]
    times = [bulk["t_start"], *(p[t] for p in parts for t in ("t_start", "t_end"))]
    assert [*times, bulk["t_end"]] == sorted([*times, bulk["t_end"]])
    assert {part["worker"] for part in parts} == {bulk["worker"]}
    assert [part["inside"] for part in parts] == [bulk["op"]] * 2
    assert bulk["inside"] == 0
    assert record.pushes()["op"].tolist() == [bulk["op"]]
    assert edges(record) == {
        (bulk["op"], one, "BULK"),
        (bulk["op"], two, "BULK"),
        (one, two, "RAW"),
    }


def test_bulked_work_is_fewer_pushes_and_no_lane_is_busy_for_longer_than_its_time(
    threaded: str,
) -> None:
    def walk() -> Record:
        x, a = nd.ones((64, 64)), nd.ones((64, 64))
        x.attach_grad()
        nd.waitall()
        with Record() as record:
            with autograd.record():
                y = x
                for _ in range(20):
                    y = nd.tanh(y * a)
            y.backward()
            nd.waitall()
        return record

    with knobs(MXNET_EXEC_BULK_EXEC_TRAIN=False):
        alone = walk()
    with knobs(MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN=15):
        joined = walk()
    assert len(alone.pushes()) == len(alone.ops())
    assert len(joined.pushes()) < len(alone.pushes()) < len(joined.ops())
    pushes = joined.pushes()
    for worker in set(pushes["worker"].tolist()):
        mine = pushes[pushes["worker"] == worker]
        busy = int((mine["t_end"] - mine["t_start"]).sum())
        assert 0 < busy <= int(mine["t_end"].max() - mine["t_start"].min())


def test_recording_may_start_and_stop_while_operations_run(threaded: str) -> None:
    stop = threading.Event()
    variables = [Var() for _ in range(3)]

    def train() -> None:
        while not stop.is_set():
            for i in range(3):
                engine.push(nothing, cpu(), [variables[i - 1]], [variables[i]], "step")
            engine.wait_to_read(variables[0])

    thread = threading.Thread(target=train)
    thread.start()
    for _ in range(20):
        with Record() as record:
            engine.push(nothing, cpu(), [variables[0]], [variables[1]], "mine")
            engine.wait_to_read(variables[1])
            assert "mine" in rows(record)
    stop.set()
    thread.join()


def test_rows_are_there_when_a_wait_returns(threaded: str) -> None:
    var = Var()
    with Record() as record:
        for i in range(1, 100):
            engine.push(nothing, cpu(), [], [var], "step")
            engine.wait_to_read(var)
            assert len(record.ops()) == i


def test_virtual_times_are_exact() -> None:
    with knobs(MINIMX_CLOCK="virtual"), Record() as record:
        start = virtual.now()
        engine.push(nothing, cpu(), [], [Var()], "work")
        engine.wait_all()
        end = virtual.now()
    row = rows(record)["work"]
    assert row["t_push"] == start
    assert row["t_ready"] == row["t_start"] == start + virtual.PUSH_NS
    assert row["t_end"] == end
    assert row["worker"] == "cpu(0)/0"


def test_a_record_knows_which_memory_was_read_and_written_and_from_which_line(
    any_engine: str,
) -> None:
    x = nd.ones((3, 4))
    nd.waitall()
    with Record() as record:
        y = x * 2  # the line that is looked for
        z = x + y
        nd.waitall()
    blocks = [getattr(array.chunk.block, "id", 0) for array in (x, y, z)]
    ops, uses = record.ops(), record.table("uses")
    double, add = ops["op"].tolist()
    found = {(int(u["op"]), int(u["block"]), bool(u["writes"])) for u in uses}
    assert found == {
        (double, blocks[0], False), (double, blocks[1], True),
        (add, blocks[0], False), (add, blocks[1], False), (add, blocks[2], True),
    }  # fmt: skip
    first = record.texts(ops["line"])[0]
    assert first.startswith("test_recording.py:")
    text = Path(__file__).read_text(encoding="utf-8").splitlines()
    assert "the line that is looked for" in text[int(first.split(":")[1]) - 1]


def test_memory_of_a_graph_is_used_by_the_operations_in_it() -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(3), nn.Dense(2))
    net.initialize()
    net.hybridize(static_alloc=True)
    x = nd.ones((4, 5))
    net(x)
    nd.waitall()
    with Record() as record:
        out = net(x)
        nd.waitall()
    uses, mem = record.table("uses"), record.mem()
    assert out.chunk.block is not None and x.chunk.block is not None
    written = {*uses["block"][uses["writes"]].tolist()}
    (arena,) = written - {out.chunk.block.id}
    (was,) = mem[mem["block"] == arena]
    assert was["requested"] >= 4 * 3 * 4, "the result of the first layer lies in it"
    read = {*uses["block"][~uses["writes"]].tolist()}
    assert x.chunk.block.id in read
