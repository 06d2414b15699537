"""Records of several processes as one: numbers, names, clocks, order."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import minimx as mx
from minimx import nd
from minimx.core.events import Owner
from minimx.core.record.tables import Contents
from minimx.tools.record_merge import contents, merged


def part(start: int, device: str = "cpu(0)") -> Contents:
    """Two operations, the second waits for the first; memory, sends and a metric."""
    record = mx.Record()
    record.clock = iter(range(start, start + 100)).__next__
    owner = Owner("dot", "dense0", "forward", "activation")
    for op in (1, 2):
        times = [start + 10 * op + k for k in range(4)]
        row = (op, "dot", "dense0", "forward", device, f"{device}/0", *times, 0, op - 1)
        record.op(*row, False)
    record.dependency(1, 2, "RAW")
    record.memory("alloc", device, 1, 8, 16, 0, owner)
    record.communication(start, start + 5, "w", "rank 0", "2 ranks", 8, "backward")
    record.communication(start, start + 5, "w", "host", device, 8, "backward")
    record.metric(1, "loss", 0.5)
    found = contents(record)
    found.conditions.update(t_start=start, t_stop=start + 50, devices={device: 1000})
    return found


def test_what_belongs_to_a_rank_is_named_and_numbered_apart() -> None:
    both = merged({1: part(1000), 0: part(1005)}, {})
    ops, deps = both.ops(), both.deps()
    assert both.texts(ops["worker"]) == ["rank 1 cpu(0)/0", "rank 0 cpu(0)/0"] * 2
    assert both.texts(ops["layer"]) == ["dense0"] * 4
    assert sorted(ops["op"]) == [1, 2, 3, 4]
    known = dict(zip(ops["op"].tolist(), both.texts(ops["worker"]), strict=True))
    for src, dst in zip(deps["src"].tolist(), deps["dst"].tolist(), strict=True):
        assert src != dst
        assert known[src] == known[dst]
    forward = dict(zip(ops["op"].tolist(), ops["forward_op"].tolist(), strict=True))
    assert sorted(forward.values()) == [0, 0, 1, 3]
    assert sorted(both.mem()["block"]) == [1, 2]
    comm = both.comm()
    assert both.texts(comm["src"]) == ["rank 0", "rank 1 host", "rank 0", "rank 0 host"]
    assert both.texts(comm["dst"])[:2] == ["2 ranks", "rank 1 cpu(0)"]
    assert sorted(both.texts(both.metrics()["name"])) == ["rank 0 loss", "rank 1 loss"]
    assert both.conditions.devices == {"rank 0 cpu(0)": 1000, "rank 1 cpu(0)": 1000}


def test_servers_are_of_the_job_and_not_of_a_rank() -> None:
    record = mx.Record()
    record.communication(0, 5, "w", "rank 0", "server 1", 8, "backward")
    titles = ["rank 0", "server 0"]
    both = merged({0: contents(record), 1: part(7)}, {}, titles.__getitem__)
    comm = both.comm()
    assert both.texts(comm["dst"])[0] == "server 1"
    assert both.texts(comm["src"])[-1] == "server 0 host"
    assert set(both.texts(both.ops()["worker"])) == {"server 0 cpu(0)/0"}
    assert both.conditions.devices == {"server 0 cpu(0)": 1000}


def test_times_are_moved_onto_one_clock_and_rows_are_in_its_order() -> None:
    # What happened at 1000 on rank 0 was 501000 on the clock of rank 1.
    both = merged({0: part(1000), 1: part(501_003)}, {1: 500_000})
    for table, column in (("ops", "t_end"), ("comm", "t1"), ("mem", "t")):
        times = both.table(table)[column]
        assert (np.diff(times) >= 0).all()
        assert times.max() < 1100
    assert both.texts(both.ops()["device"]) == ["rank 0 cpu(0)", "rank 1 cpu(0)"] * 2
    assert (both.conditions.t_start, both.conditions.t_stop) == (1000, 1053)


def test_one_real_record_twice_is_saved_and_read(tmp_path: Path) -> None:
    with mx.Record() as record:
        (nd.ones((4, 4)) + 1).wait_to_read()
    found = contents(record)
    both = merged({0: found, 3: found}, {})
    assert both.rows("ops") == 2 * record.rows("ops")
    again = mx.Record.load(both.save(tmp_path / "both.npz"))
    assert set(again.texts(again.ops()["device"])) == {"rank 0 cpu(0)", "rank 3 cpu(0)"}
    peak = sum(both.memory_curve(f"rank {rank} cpu(0)").peak for rank in (0, 3))
    assert peak == 2 * record.memory_curve("cpu(0)").peak
    assert merged({}, {}).rows("ops") == 0
