"""A loop in which rank 1 does something wrong. faults.py WHAT [STORE]"""

from __future__ import annotations

import os
import signal
import sys
import time

import minimx as mx
from minimx import nd
from minimx.kvstore.dist import job as jobs
from minimx.kvstore.dist import liveness
from minimx.kvstore.dist.job import job
from minimx.kvstore.dist.servers import server as servers


def main(what: str, store: str = "dist_sync") -> None:
    if what == "nothing":
        return
    if what == "parity" and os.environ["DMLC_WORKER_ID"] == "1":
        mx.knobs.set(MXNET_KVSTORE_BIGARRAY_BOUND=77)
        mx.random.seed(9)
    if what == "vanish":  # a minute is long for a test
        vars(liveness).update(EVERY=1, SILENT=2)
        what = "sleep"
    kv = mx.kv.create(store)
    odd = kv.rank == 1
    sys.stdout.write(f"process {os.getpid()}\n")  # as a whole: ranks write in between
    sys.stdout.flush()
    if what == "compression":
        threshold = 0.25 if odd else 0.5
        kv.set_gradient_compression({"type": "2bit", "threshold": threshold})
    kv.init("w", nd.zeros((3,) if odd and what == "shape" else (2,)))
    if "_async" in store:
        kv.set_optimizer(mx.optimizer.create("sgd"))
    if what == "optimizer":
        rate = 0.2 if odd else 0.1
        kv.set_optimizer(mx.optimizer.create("sgd", learning_rate=rate))
    if what == "barrier":  # as are ten seconds
        for module in (jobs, servers):
            vars(module).update(SLOW=0.5)
    for step in range(50):
        if what == "barrier" and step == 20 and not odd:
            kv.barrier()  # the others push, and wait for this push
        if odd and step == 20:
            if what == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if what == "server":
                (server,) = job().roles.servers
                os.kill(job()._processes.pids[server], signal.SIGKILL)
            if what == "freeze":
                os.kill(os.getpid(), signal.SIGSTOP)
            if what == "raise":
                raise ValueError("the data is torn")
            if what == "exit":
                sys.exit(3)
            if what == "key":
                kv.init("other", nd.zeros((2,)))
            if what == "rows":
                kv.push("w", nd.ones((2,)).tostype("row_sparse"))
            if what == "sleep":
                time.sleep(100)
        kv.push("w", nd.ones((2,)))
        kv.pull("w", out=(out := nd.zeros((2,))))
        out.wait_to_read()
    print("came to the end", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
