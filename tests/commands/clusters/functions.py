"""What the ranks of a cluster run in tests; shipped as if a cell had defined it."""

from __future__ import annotations

import os
import signal
import sys
import time
import warnings
from typing import Any

import minimx as mx
from minimx import nd
from minimx.kvstore.dist.job import job


def total(steps: int, start: float = 0.0) -> tuple[int, float]:
    """Sum over the ranks, step after step."""
    kv = mx.kv.create("dist_sync")
    kv.init("w", nd.zeros((2,)))
    value = start
    for _ in mx.cluster.progress(range(steps)):
        kv.push("w", nd.ones((2,)) * (kv.rank + 1))
        kv.pull("w", out=(out := nd.zeros((2,))))
        value += float(out.asnumpy()[0])
    return kv.rank, value


def served(store: str) -> tuple[str, int, float]:
    """What the servers have made of two pushes of each rank."""
    kv = mx.kv.create(store)
    kv.init("w", nd.zeros((2,)))
    if "async" in store:
        kv.set_optimizer(mx.optimizer.create("sgd", learning_rate=-1.0))
    for _ in range(2):
        kv.push("w", nd.ones((2,)) * (kv.rank + 1))
    nd.waitall()
    kv.barrier()
    kv.pull("w", out=(out := nd.zeros((2,))))
    return kv.type, kv.num_workers, float(out.asnumpy()[0])


def talk() -> str:
    """Write in every way that there is, one line not ended."""
    print("one\ntwo", end="")
    print("three", file=sys.stderr)
    os.write(1, b"four\n")
    print("\rhalf\rwhole", end="")
    return str(mx.knobs.MXNET_KVSTORE_BIGARRAY_BOUND)


def fault(what: str) -> Any:
    """On rank 1, in the middle of a loop, something goes wrong."""
    kv = mx.kv.create("dist_sync")
    kv.init("w", nd.zeros((2,)))
    for step in range(20):
        if kv.rank == 1 and step == 10:
            if what == "kill":
                print("last words", end="")
                os.kill(os.getpid(), signal.SIGKILL)
            if what == "raise":
                raise ValueError("no data")
            if what == "return":
                return None
            if what == "sleep":
                time.sleep(100)
            if what == "server":
                os.kill(job()._processes.pids[job().roles.servers[0]], signal.SIGKILL)
        kv.push("w", nd.ones((2,)))
        kv.pull("w", out=(out := nd.zeros((2,))))
        out.wait_to_read()
    return None


def pids() -> int:
    """This process."""
    return os.getpid()


def seconds() -> float:
    """When the first training step of a small network is done, on `time.time`."""
    from minimx import autograd, gluon
    from minimx.gluon import nn

    net = nn.Dense(4, in_units=3)
    net.initialize()
    trainer = gluon.Trainer(
        net.collect_params(), "sgd", {"learning_rate": 0.1}, kvstore="dist_sync"
    )
    with autograd.record():
        loss = (net(nd.ones((2, 3))) ** 2).mean()
    loss.backward()
    trainer.step(2)
    nd.waitall()
    return time.time()


if __name__ == "__main__":  # as a notebook that is killed, or interrupted
    warnings.simplefilter("error")
    cluster = mx.cluster(2, servers=int(sys.argv[2]))
    cluster.run(pids)
    assert cluster._ranks is not None
    print("process", *cluster._ranks.pids.values(), flush=True)
    if sys.argv[1] == "run":
        cluster.run(fault, "sleep")
    elif sys.argv[1] == "leave":
        sys.exit()
    elif sys.argv[1] == "block":
        with cluster:
            raise KeyError("in the cell")
    time.sleep(100)
