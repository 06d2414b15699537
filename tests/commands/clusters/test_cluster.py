"""Clusters as users make them: their processes, output, records, faults and end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

import minimx as mx
from minimx.commands.clusters.failure import RankError
from minimx.core.errors import ArgumentError, MXNetError
from minimx.kvstore.dist.liveness import alive
from tests.pace import slowness

from . import functions

PROGRAM = Path(functions.__file__)
ROOT = PROGRAM.parents[3]
#: Everything between a fault and the end of the job, with room for slow machines.
SOON = 20.0

pytestmark = [pytest.mark.alone, pytest.mark.timeout(90)]
cloudpickle.register_pickle_by_value(functions)


@pytest.fixture(scope="module")
def two() -> Iterator[Any]:
    bounds = {1: {"MXNET_KVSTORE_BIGARRAY_BOUND": 77}}
    with mx.cluster(
        2, knobs={"MXNET_KVSTORE_BIGARRAY_BOUND": 55}, knobs_of=bounds
    ) as c:
        yield c


def gone(pids: list[int]) -> bool:
    until = time.monotonic() + SOON
    while any(alive(pid) for pid in pids):
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def processes(cluster: Any) -> list[int]:
    """All ranks and servers."""
    return [*cluster._ranks.pids.values()]


def test_results_records_and_output_of_several_runs(
    two: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    assert two.run(functions.total, 3, start=1.0) == [(0, 10.0), (1, 10.0)]
    assert repr(two) == "cluster of 2 ranks: finished"
    record = two.record
    lanes = set(record.texts(record.ops()["worker"]))
    assert {"rank 0 mpi", "rank 1 mpi"} <= lanes
    assert all(lane.startswith("rank ") for lane in lanes)
    sends = record.comm()
    assert sorted(record.texts(sends["src"])) == ["rank 0"] * 4 + ["rank 1"] * 4
    # A sum ends on no rank before it has begun on the other.
    begun = {name: sends["t0"][i] for i, name in enumerate(record.texts(sends["src"]))}
    assert abs(begun["rank 0"] - begun["rank 1"]) < 5e8
    before = two.run(functions.pids)
    capfd.readouterr()
    assert two.run(functions.talk) == ["55", "77"]
    out, error = capfd.readouterr()
    for rank in range(2):
        found = [line[4:] for line in out.splitlines() if line.startswith(f"[{rank}]")]
        assert found == ["one", "twofour", "whole"]
        assert f"[{rank}] three" in error.splitlines()
    assert two.run(functions.pids) == before
    assert "mpi4py" not in sys.modules


@pytest.mark.parametrize(
    ("what", "rank", "found"),
    [
        ("raise", 1, [r"^rank 1: ValueError: no data$", "functions.py.* in fault"]),
        ("kill", 1, ["^rank 1: the process was killed by SIGKILL", "rank 0 stops"]),
        ("return", 0, ["rank 0: sum of 'w'.*; rank 1: the end of the run"]),
        ("sleep", 0, ["^rank 1: not finished after 2 s", "time.sleep"]),
    ],
)
def test_a_fault_names_the_rank_and_the_next_run_works(
    two: Any, what: str, rank: int, found: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    pids = two.run(functions.pids)
    two.timeout = 2 if what == "sleep" else None
    begin = time.monotonic()
    with pytest.raises(RankError) as error:
        two.run(functions.fault, what)
    assert time.monotonic() - begin < SOON
    assert error.value.rank == rank
    for pattern in found:
        assert re.search(pattern, str(error.value), re.MULTILINE), str(error.value)
    assert repr(two) == "cluster of 2 ranks: failed"
    if what == "kill":
        assert gone(pids)
        assert "[1] last words\n" in capfd.readouterr().out
        assert two.record.rows("ops")  # of rank 0, up to then
    two.timeout = None
    assert two.run(functions.total, 1) == [(0, 3.0), (1, 3.0)]
    assert (two.run(functions.pids) == pids) is (what != "kill")


def test_servers_of_their_own(capfd: pytest.CaptureFixture[str]) -> None:
    with mx.cluster(2, servers=2, knobs={"PS_VERBOSE": 1}) as cluster:
        assert repr(cluster) == "cluster of 2 ranks and 2 servers: ready"
        for store, value in (("dist_async", 6.0), ("dist_sync", 3.0), ("p3", 3.0)):
            assert cluster.run(functions.served, store) == [(store, 2, value)] * 2
        record = cluster.record
        ends = {*record.texts(record.comm()["src"])}
        assert {"rank 0", "rank 1"} < ends
        assert ends <= {"rank 0", "rank 1", "server 0", "server 1"}
        lanes = {*record.texts(record.ops()["worker"])}
        assert any(re.match(r"server [01] cpu", lane) for lane in lanes)
        assert re.search(
            r"^\[server [01]\] \[PS\]", capfd.readouterr().err, re.MULTILINE
        )
        pids = processes(cluster)
        assert len(pids) == 4
        with pytest.raises(RankError, match="rank 1: ValueError: no data") as error:
            cluster.run(functions.fault, "raise")
        assert "the next run starts new ones" in str(error.value)
        assert gone(pids)
        assert cluster.run(functions.total, 1) == [(0, 3.0), (1, 3.0)]
        pids = processes(cluster)
        with pytest.raises(RankError, match=r"server 0(, server 1)? died"):
            cluster.run(functions.fault, "server")
    assert gone(pids)


def test_seeds_and_knobs_that_differ_are_reported_at_the_start(
    capfd: pytest.CaptureFixture[str],
) -> None:
    begin = time.time()
    bounds = {1: {"MXNET_KVSTORE_BIGARRAY_BOUND": 77}}
    made: list[Any] = []
    # The ranks outlive the thread that made them.
    maker = threading.Thread(target=lambda: made.append(mx.cluster(4, knobs_of=bounds)))
    maker.start()
    maker.join()
    with made[0] as cluster:
        first = max(cluster.run(functions.seconds)) - begin
    error = capfd.readouterr().err
    assert re.search(r"MXNET_KVSTORE_BIGARRAY_BOUND .* '77' on rank 1", error), error
    assert first < 10 * slowness()  # quiet and with bytecode: 3 to 4 s
    with pytest.raises(MXNetError, match="is closed"):
        cluster.run(functions.pids)


@pytest.mark.parametrize(
    ("what", "servers", "how", "code"),
    [
        ("run", 1, signal.SIGKILL, -9),
        ("run", 0, signal.SIGINT, 1),
        ("block", 0, None, 1),
        ("leave", 1, None, 0),
    ],
)
def test_no_process_outlives_the_notebook(
    what: str, servers: int, how: signal.Signals | None, code: int
) -> None:
    folders = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    job = subprocess.Popen(
        [sys.executable, str(PROGRAM), what, str(servers)],
        env={**os.environ, "PYTHONPATH": folders},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert job.stdout is not None
    pids = [int(word) for word in job.stdout.readline().split()[1:]]
    assert len(pids) == 2 + servers
    if how is not None:
        time.sleep(0.5)  # until the run has begun
        job.send_signal(how)
    _, error = job.communicate(timeout=SOON)
    if how is signal.SIGINT:
        assert "KeyboardInterrupt" in error
        assert job.returncode in (1, 130, -signal.SIGINT)
    else:
        assert job.returncode == code, error
    assert gone(pids)


def test_what_cannot_be_sent_or_is_wrong() -> None:
    with pytest.raises(ArgumentError, match="ranks are 0 to 1"):
        mx.cluster(2, knobs_of={2: {}})
    with pytest.raises(MXNetError, match="MXNET_ENGINE_TYPE"):
        mx.cluster(2, knobs={"MXNET_ENGINE_TIPE": "NaiveEngine"})
    with pytest.raises(ArgumentError, match="from 1"):
        mx.cluster(0)
    for servers in (-1, 1.5):
        with pytest.raises(ArgumentError, match=f"from 0; not {servers}"):
            mx.cluster(2, servers=servers)  # type: ignore[arg-type]
