"""Examples of bulking: how many operations the engine is handed."""

from __future__ import annotations

from functools import partial

from minimx.tools.knob_examples import Example
from minimx.tools.knob_examples.needs import SIMULATED

FORWARD = """\
x = mx.sym.var("x")
for _ in range(12): x = mx.sym.softmax(x)
net = x.simple_bind(x=(4, 4))
with mx.Record() as seen: net.forward(is_train=True)[0].wait_to_read()
print(len(seen.ops()), "operations forward")"""

PREDICTION = """\
x = mx.sym.var("x")
for _ in range(12): x = mx.sym.softmax(x)
net = x.simple_bind(x=(4, 4))
with mx.Record() as seen: net.forward()[0].wait_to_read()
print(len(seen.ops()), "operations in a prediction")"""

BACKWARD = """\
x = mx.nd.ones((4,)); x.attach_grad()
with mx.autograd.record():
    y = x.sin().sin().sin().sin().sin().sin().sin().sin().sin().sin()
with mx.Record() as seen: y.backward(); x.grad.wait_to_read()
print(seen.texts(seen.ops()["name"]).count("ImperativeBulk"), "joined pushes")"""

RECORDED = """\
with mx.knobs(MXNET_ENABLE_CUDA_GRAPHS=1):
    x = mx.sym.softmax(mx.sym.var("x"), name="soft")
    net = x.simple_bind(mx.gpu(), "null", x=(4, 4))
for call in (1, 2, 3):
    print("call", call, net.forward()[0].asnumpy().shape)"""

DRAWN = """\
from glob import glob
with mx.knobs(MXNET_ENABLE_CUDA_GRAPHS=1):
    net = mx.sym.softmax(mx.sym.var("x")).simple_bind(mx.gpu(), x=(4, 4))
for _ in range(2): net.forward()[0].wait_to_read()
print(any(glob(f"{mx.knobs.MXNET_CUDA_GRAPHS_DBG_FILE}-*.dot")))"""

DETAILS = """\
from pathlib import Path
with mx.knobs(MXNET_ENABLE_CUDA_GRAPHS=1, MXNET_CUDA_GRAPHS_DBG_FILE="dot"):
    net = mx.sym.softmax(mx.sym.var("x")).simple_bind(mx.gpu(), x=(4, 4))
    for _ in range(2): net.forward()[0].wait_to_read()
print([("array" in f.read_text(), f.unlink())[0] for f in Path().glob("dot-*")])"""

walked = partial(Example, acts_in="minimx.core.autograd.walk.walking", code=BACKWARD)
limited = partial(Example, acts_in="minimx.core.graph.running.bulk.limits")
graphs = partial(Example, needs=SIMULATED)

EXAMPLES = {
    "MXNET_EXEC_BULK_EXEC_TRAIN": walked(
        expect={
            "1": "1 joined pushes",
            "0": "0 joined pushes",
        },
    ),
    "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN": walked(
        reads="MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_BWD",
        expect={
            "15": "1 joined pushes",
            "5": "3 joined pushes",
            "1": "0 joined pushes",
        },
    ),
    "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_FWD": limited(
        reads="bulk_exec_max_node_train_fwd",
        code=FORWARD,
        expect={
            "15": "1 operations forward",
            "5": "3 operations forward",
            "0": "12 operations forward",
        },
    ),
    "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_BWD": walked(
        expect={
            "15": "1 joined pushes",
            "5": "3 joined pushes",
            "0": "0 joined pushes",
        },
    ),
    "MXNET_EXEC_BULK_EXEC_INFERENCE": limited(
        reads="bulk_exec_inference",
        code=PREDICTION,
        expect={
            "1": "1 operations in a prediction",
            "0": "12 operations in a prediction",
        },
    ),
    "MXNET_ENABLE_CUDA_GRAPHS": graphs(
        acts_in="minimx.core.graph.running.segments.launcher_for",
        reads="enable_cuda_graphs",
        code="""\
x = mx.sym.softmax(mx.sym.softmax(mx.sym.softmax(mx.sym.var("x"))))
net = x.simple_bind(mx.gpu(), "null", x=(4, 4))
with mx.knobs(MINIMX_CLOCK="virtual"), mx.Record() as seen:
    for _ in range(4): net.forward()[0].wait_to_read()
print(seen.ops()["t_end"] - seen.ops()["t_start"], "ns for calls 1 to 4")""",
        expect={
            "0": "[15000 15000 15000 15000] ns for calls 1 to 4",
            "1": "[15000 40000 10000 10000] ns for calls 1 to 4",
        },
    ),
    "MXNET_CUDA_GRAPHS_VERBOSE": graphs(
        acts_in="minimx.cuda.captures.say",
        code=RECORDED,
        expect={
            "0": "call 1 (4, 4)\ncall 2 (4, 4)\ncall 3 (4, 4)",
            "1": "call 1 (4, 4)\n"
            "CUDA graphs: recording segment softmax\n"
            "CUDA graphs:   in one graph: soft\n"
            "call 2 (4, 4)\n"
            "CUDA graphs: replaying 1 graphs of 1 operators, and 0 operators alone of "
            "segment softmax\n"
            "call 3 (4, 4)",
        },
    ),
    "MXNET_CUDA_GRAPHS_MAX_LOG_ENTRIES": graphs(
        acts_in="minimx.cuda.captures.created",
        code=RECORDED,
        expect={
            "0": "call 1 (4, 4)\ncall 2 (4, 4)\ncall 3 (4, 4)",
            "2": "call 1 (4, 4)\nCreated CUDA graph 0\ncall 2 (4, 4)\ncall 3 (4, 4)",
        },
    ),
    "MXNET_CUDA_GRAPHS_DBG_FILE": graphs(
        acts_in="minimx.cuda.captures.created",
        code=DRAWN,
        expect={
            "": "False",
            "drawn": "True",
        },
    ),
    "MXNET_CUDA_GRAPHS_DBG_FILE_FLAGS": graphs(
        acts_in="minimx.cuda.captures.created",
        code=DETAILS,
        expect={
            "-1": "[True]",
            "4": "[False]",
        },
    ),
}
