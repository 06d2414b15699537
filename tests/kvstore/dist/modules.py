"""Module on a store between processes: rank 0 writes its weights. modules.py FILE"""

from __future__ import annotations

import sys

import numpy as np

import minimx as mx
from minimx import nd


def main(file: str) -> None:
    kv = mx.kv.create("dist_sync")
    x = np.random.default_rng(3).normal(size=(8, 5)).astype("float32")
    y = np.arange(8, dtype="float32") % 3
    out = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    share = slice(kv.rank, None, kv.num_workers)
    images = nd.array(x[share])
    batch = mx.io.DataBatch([images], [nd.array(y[share])])
    module = mx.mod.Module(mx.sym.SoftmaxOutput(out, name="softmax"))
    shape = images.shape
    module.bind([("data", shape)], [("softmax_label", shape[:1])])
    module.init_params(mx.init.Constant(0.1 * (kv.rank + 1)))  # rank 0's values count
    module.init_optimizer(
        kv, "sgd", (("learning_rate", 0.5), ("rescale_grad", 1 / 8), ("wd", 0.0))
    )
    for _ in range(5):
        module.forward_backward(batch)
        module.update()
    arguments, _ = module.get_params()
    found = {name: value.asnumpy() for name, value in arguments.items()}
    np.savez(f"{file}-{kv.rank}", **found)


if __name__ == "__main__":
    main(sys.argv[1])
