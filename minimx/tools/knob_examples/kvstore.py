"""Examples of the key-value store's knobs."""

from __future__ import annotations

from minimx.tools.knob_examples import Example
from minimx.tools.knob_examples.needs import SIMULATED

EXAMPLES = {
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
