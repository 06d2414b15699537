"""Stores between processes in a process that no launcher has started; and refusals."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest

import minimx as mx
from minimx import nd
from minimx.commands.cli import main
from minimx.core.errors import DTypeError, Unavailable
from minimx.core.knobs import knobs
from minimx.kvstore import BETWEEN_PROCESSES
from minimx.kvstore.choice import choose
from minimx.kvstore.dist import job as jobs
from minimx.kvstore.dist.liveness import Heartbeats, alive
from minimx.kvstore.dist.order import Order
from minimx.kvstore.dist.parity import differences, facts
from minimx.kvstore.dist.servers.p3 import P3Store
from minimx.kvstore.dist.start import JobError

NAMES = ["dist", "dist_sync", "dist_sync_device", "dist_device_sync"]


@pytest.fixture(autouse=True)
def alone_in_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_job", None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_the_only_worker(name: str) -> None:
    kv = mx.kv.create(name.upper())
    assert (kv.type, kv.rank, kv.num_workers) == (name, 0, 1)
    kv.barrier()
    kv.init(3, nd.ones(2))
    kv.push(3, [nd.ones(2), nd.ones(2)])
    kv.pull(3, out=(out := nd.zeros(2)))
    assert out.asnumpy().tolist() == [2.0, 2.0]
    kv.set_optimizer(mx.optimizer.create("sgd", learning_rate=1.0))
    kv.pushpull(3, nd.ones(2), out=out)
    assert out.asnumpy().tolist() == [1.0, 1.0]
    assert choose(kv, 1, 1) == (kv, True)
    assert "mpi4py" not in sys.modules


@pytest.mark.parametrize("name", [*BETWEEN_PROCESSES, "horovod"])
def test_values_come_in_the_dtype_of_what_they_fill(name: str) -> None:
    kv = mx.kv.create(name)
    value = nd.array([1.5, 2.25], dtype="float16")
    outs = [nd.zeros(2, dtype=dtype) for dtype in ("float64", "int32", "float16")]

    def same(*numbers: float) -> None:
        for out in outs:
            expected = np.array(numbers).astype(out.dtype)
            assert out.asnumpy().tolist() == expected.tolist()

    kv.broadcast("w", value, out=outs)
    same(1.5, 2.25)
    if "async" in name:  # which updates with each push
        settings = {"learning_rate": -1.0, "multi_precision": True}
        kv.set_optimizer(mx.optimizer.create("sgd", **settings))
    kv.pushpull("w", value * 2, out=outs)
    same(*([4.5, 6.75] if "async" in name else [3, 4.5]))
    if name == "horovod":
        return
    kv.pull("w", out=(other := nd.zeros(2, dtype="float32")))
    assert other.asnumpy().tolist() == outs[0].asnumpy().tolist()
    with pytest.raises(DTypeError, match="keeps 'w' as float16"):
        kv.push("w", nd.ones(2))
    if not isinstance(kv, P3Store):
        table = nd.ones((3, 2), dtype="float16").tostype("row_sparse")
        kv.init("t", table)
        part = nd.sparse.zeros("row_sparse", (3, 2))
        kv.row_sparse_pull("t", part, row_ids=nd.array([2]))
        assert part.asnumpy().tolist() == [[0, 0], [0, 0], [1, 1]]
        whole = nd.sparse.zeros("row_sparse", (3, 2), dtype="float64")
        kv.pull("t", whole, ignore_sparse=False)
        assert whole.asnumpy().tolist() == [[1, 1]] * 3


def test_servers_forget_stores_that_are_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for _ in range(2):  # in a new job, stores are counted anew
        kv = mx.kv.create("p3")
        spaces = kv._service._servers[0]._spaces
        for number in range(3):
            kv = mx.kv.create("p3")
            kv.init("w", nd.zeros(5))
            kv.pushpull("w", nd.ones(5))
            nd.waitall()
            assert list(spaces) == [number + 1]
        monkeypatch.setattr(jobs, "_job", None)


def test_horovod_runs_no_optimizer() -> None:
    kv = mx.kv.create("horovod")
    assert (kv.type, kv.rank, kv.num_workers) == ("horovod", 0, 1)
    assert choose("horovod", 1, 1)[1] is False
    value = nd.ones(2)
    kv.pushpull("w", value, out=(out := nd.zeros(2)))
    kv.broadcast("w", value * 3, out=value)
    assert (out.asnumpy().tolist(), value.asnumpy().tolist()) == ([1, 1], [3, 3])


def test_without_mpi4py_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(Unavailable, match=r"pip install 'minimx\[dist\]'"):
        mx.kv.create("dist_sync")
    assert main(["launch", "-n", "2", __file__]) == 2
    assert "pip install 'minimx[dist]'" in capsys.readouterr().err


def test_another_number_of_workers_or_another_role_is_refused() -> None:
    with knobs(DMLC_NUM_WORKER=3), pytest.raises(JobError, match="launch -n 3"):
        mx.kv.create("dist_sync")
    with knobs(DMLC_ROLE="server"), pytest.raises(JobError, match="is server"):
        mx.kv.create("dist_sync")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["-n", "0", "train.py"], "from 1"),
        (["-n", "2"], "which program"),
        (["-n", "2", "nowhere.py"], "'nowhere.py'"),
        (["-n", "2", "--hostfile", "nowhere", __file__], "'nowhere' of hosts"),
    ],
)
def test_wrong_commands(
    words: list[str], found: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["launch", *words]) == 2
    assert found in capsys.readouterr().err


def test_what_is_waited_for_and_why_it_never_comes() -> None:
    order = Order(3)
    for rank in (0, 2):
        order.announce(rank, 0, 0, "sum of 'w'")
    assert order.slow() == ["sum of 'w': all wait for rank 1"]
    assert order.problem() == ""
    order.leave(1, "has ended")
    assert order.problem() == "rank 1 has ended and takes no part in: sum of 'w'."
    order.announce(1, 0, 0, "barrier")
    assert "ranks 0, 2: sum of 'w'; rank 1: barrier" in order.problem()
    assert order.next() is None


def test_only_other_machines_are_listened_for_unless_knobs_say_so() -> None:
    near, far = (Heartbeats([1, 2], far=far, now=0.0) for far in (False, True))
    assert not near.active
    assert near.silent((), now=1e6) == []
    assert far.active
    assert [far.due(now=t) for t in (4.0, 5.0, 9.0, 10.0)] == [False, True, False, True]
    far.heard(1, now=50.0)
    assert far.silent((), now=59.0) == []
    assert far.silent((), now=60.0) == [2]
    assert far.silent({2: "has ended"}, now=60.0) == []
    with knobs(PS_HEARTBEAT_INTERVAL=0):
        assert (far.active, far.silent((), now=1e6)) == (False, [])
    with knobs(PS_HEARTBEAT_INTERVAL=30):
        assert far.timeout == 90
    with knobs(PS_HEARTBEAT_INTERVAL=2, PS_HEARTBEAT_TIMEOUT=8):
        assert near.active
        assert near.silent((), now=8.0) == [1, 2]
    with knobs(PS_HEARTBEAT_TIMEOUT=0):
        assert far.silent((), now=1e6) == []


def test_the_facts_of_a_rank_are_plain_and_do_not_differ_from_themselves() -> None:
    mine = facts()
    assert mine["pid"] == os.getpid()
    assert differences([mine["compared"]] * 3) == {}
    with knobs(MXNET_KVSTORE_BIGARRAY_BOUND=5):
        found = differences([mine["compared"], facts()["compared"]])
    assert list(found) == ["MXNET_KVSTORE_BIGARRAY_BOUND"]


def test_a_process_that_has_ended_is_not_alive() -> None:
    command = [sys.executable, "-S", "-c", "input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as child:
        assert alive(child.pid)
        child.kill()
    assert not alive(child.pid)
    assert alive(os.getpid())
