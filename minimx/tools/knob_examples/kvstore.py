"""Examples of the key-value store's knobs."""

from __future__ import annotations

from minimx.tools.knob_examples import Example
from minimx.tools.knob_examples.needs import SIMULATED

# A sum over simulated GPUs, and the most bytes that came into one of them.
_BUSIEST = """\
with mx.knobs(MINIMX_SIM_GPUS=8, MINIMX_SIM_LINKS="mesh"{more}):
    kv = mx.kv.create("device"); kv.init(0, mx.nd.zeros(64))
    x = [mx.nd.ones(64, ctx=mx.gpu(i)) for i in range(8)]
    with mx.Record() as seen: kv.pushpull(0, x); mx.nd.waitall(); del kv, x
c = seen.comm(); print(max(c["nbytes"][c["dst"] == d].sum() for d in c["dst"]))"""
# The trees of four GPUs of a DGX-1.
_TREES = """\
from minimx.kvstore.topology import trees_for
from minimx.kvstore.planners.trees import link_use
with mx.knobs(MINIMX_SIM_LINKS="mesh"):
    trees = trees_for([mx.gpu(i) for i in range({count})])
"""
# A sum of two arrays on the host, and how many threads it may take.
_THREADS = """\
from minimx.kvstore import sums
sums.add, add = lambda arrays, out, most: print(most, "threads"), sums.add
kv = mx.kv.create("local"); kv.init(0, mx.nd.zeros({n}))
kv.push(0, [mx.nd.ones({n}, ctx=mx.cpu(i)) for i in range(2)]); mx.nd.waitall()
sums.add = add"""

EXAMPLES = {
    "MXNET_KVSTORE_REDUCTION_NTHREADS": Example(
        acts_in="minimx.kvstore.execution._add_on_host",
        code=_THREADS.format(n=1_000_000),
        expect={"4": "4 threads", "1": "1 threads"},
    ),
    "MXNET_KVSTORE_BIGARRAY_BOUND": Example(
        acts_in="minimx.kvstore.execution._add_on_host",
        code=_THREADS.format(n=2_000),
        expect={"1000000": "1 threads", "2000": "4 threads"},
    ),
    "MXNET_KVSTORE_USETREE": Example(
        acts_in="minimx.kvstore.local.KVStore._takes_trees",
        needs=SIMULATED,
        code=_BUSIEST.format(more=""),
        expect={
            "0": "1792",
            "1": "768",
        },
    ),
    "MXNET_KVSTORE_TREE_ARRAY_BOUND": Example(
        acts_in="minimx.kvstore.local.KVStore._plan",
        needs=SIMULATED,
        code=_BUSIEST.format(more=", MXNET_KVSTORE_USETREE=1"),
        expect={
            "10000000": "768",
            "10": "512",
        },
    ),
    "MXNET_KVSTORE_LOGTREE": Example(
        acts_in="minimx.kvstore.topology.trees_for",
        code=_TREES.format(count=2) + "print(len(trees), 'trees')",
        expect={
            "0": "2 trees",
            "1": "Tree 0:\n   0\n 0   1\nTree 1:\n   1\n 1   0\nW:\n  0   2\n  2   0\n"
            "Links:\n  0   2\n  2   0\n2 trees",
        },
    ),
    "MXNET_KVSTORE_TREE_BACKTRACK": Example(
        acts_in="minimx.kvstore.topology.trees_for",
        code=_TREES.format(count=4) + "print(trees[0])",
        expect={
            "0": "0 / 0 1 / 0 3 1 2",
            "1": "0 / 0 3 / 0 1 3 2",
        },
    ),
    "MXNET_KVSTORE_TREE_LINK_USAGE_PENALTY": Example(
        acts_in="minimx.kvstore.topology.trees_for",
        code=_TREES.format(count=8)
        + "print('the busiest link is in', max(link_use(trees).values()), 'trees')",
        expect={
            "0.7": "the busiest link is in 5 trees",
            "1.0": "the busiest link is in 8 trees",
            "0.1": "the busiest link is in 4 trees",
        },
    ),
    "MXNET_ENABLE_GPU_P2P": Example(
        acts_in="minimx.core.drivers.machine.link_between",
        needs=SIMULATED,
        code="""\
with mx.knobs(MINIMX_SIM_GPUS=2, MINIMX_CLOCK="virtual"):
    x = mx.nd.ones((3_000_000,), ctx=mx.gpu(0))
    with mx.Record() as seen: x.as_in_context(mx.gpu(1)).wait_to_read(); del x
ops = seen.ops()
print(seen.texts(ops["name"]), ops["t_end"] - ops["t_start"])""",
        expect={
            "1": "['CopyGPU2GPU'] [1005000]",
            "0": "['CopyGPU2CPU', 'CopyCPU2GPU'] [1005000 1005000]",
        },
    ),
    "MXNET_UPDATE_ON_KVSTORE": Example(
        acts_in="minimx.kvstore.choice.choose",
        code="""\
w = mx.gluon.Parameter("w", shape=(3,)); w.initialize(ctx=[mx.cpu(), mx.gpu()])
trainer = mx.gluon.Trainer([w], "sgd")
with mx.autograd.record(): mx.autograd.backward([x.sum() for x in w.list_data()])
with mx.Record() as seen: trainer.step(1); mx.nd.waitall()
print(str(seen.texts(seen.ops()["name"])).count("update"), "updates")""",
        expect={
            "1": "1 updates",
            "0": "2 updates",
        },
    ),
}
