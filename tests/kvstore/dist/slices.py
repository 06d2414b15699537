"""Sums in slices by priority: the first layer overtakes. slices.py STORE"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

import minimx as mx
from minimx import nd
from minimx.kvstore.dist.job import job

LAYERS, SIZE = 6, 500_000


def main(store: str) -> None:
    kv = mx.kv.create(store)
    values = [nd.ones((SIZE,)) * (layer + kv.rank) for layer in range(LAYERS)]
    outs = [nd.zeros((SIZE,)) for _ in range(LAYERS)]
    kv.init(list(range(LAYERS)), [nd.zeros((SIZE,)) for _ in range(LAYERS)])
    n = kv.num_workers
    for _ in range(2):
        nd.waitall()
        kv.barrier()
        begin = time.perf_counter()
        for layer in reversed(range(LAYERS)):  # as a backward pass goes
            kv.pushpull(layer, values[layer], out=outs[layer], priority=-layer)
        outs[0].wait_to_read()
        first = time.perf_counter() - begin
        nd.waitall()
        whole = time.perf_counter() - begin
        for layer, out in enumerate(outs):
            np.testing.assert_array_equal(out.asnumpy(), n * layer + n * (n - 1) / 2)
    kv.push(0, values[0])
    kv.pull(0, out=outs[0])
    np.testing.assert_array_equal(outs[0].asnumpy(), n * (n - 1) / 2)
    refused: list[Callable[[], object]] = [
        lambda: kv.set_optimizer(mx.optimizer.create("sgd")),
        lambda: kv.set_gradient_compression({"type": "2bit"}),
        lambda: kv.init("sparse", nd.ones((2, 2)).tostype("row_sparse")),
    ]
    if mx.knobs.DMLC_PS_VAN_TYPE == "p3":
        refused.append(lambda: mx.kv.create("dist_async"))
    for call in refused:
        try:
            call()
        except ValueError:
            continue
        raise AssertionError("no error")
    sys.stdout.write(
        f"rank {kv.rank} of {job().size}: first after {first:.3f} s, "
        f"all {whole:.3f} s\n"
    )


if __name__ == "__main__":
    main(sys.argv[1])
