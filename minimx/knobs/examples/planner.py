"""Examples of memory planning: what a graph takes, as its executor says."""

from __future__ import annotations

from minimx.knobs.examples import Example

EXAMPLES = {
    "MXNET_EXEC_ENABLE_INPLACE": Example(
        acts_in="minimx.graph.memory.plan_memory",
        reads="enable_inplace",
        code="""\
x = mx.sym.var("x")
for _ in range(8):
    x = mx.sym.softmax(x)
net = x.simple_bind(mx.cpu(), "null", x=(1024, 1024))
print(net.debug_str().splitlines()[-2])""",
        expect={
            "1": "Total 4 MB allocated",
            "0": "Total 8 MB allocated",
        },
    ),
    "MXNET_BACKWARD_DO_MIRROR": Example(
        acts_in="minimx.graph.mirror.chosen",
        reads="backward_do_mirror",
        code="""\
x = mx.sym.var("x")
for _ in range(8):
    x = mx.sym.BatchNorm(mx.sym.Convolution(x, num_filter=8, kernel=(3, 3)))
net = mx.sym.relu(x).simple_bind(x=(32, 8, 32, 32))
print(net.debug_str().splitlines()[-2])""",
        expect={
            "0": "Total 9 MB allocated",
            "1": "Total 6 MB allocated",
        },
    ),
}
