"""Examples of memory planning: what a graph takes, as its executor says."""

from __future__ import annotations

from functools import partial

from minimx.tools.knob_examples import Example
from minimx.tools.knob_examples.needs import SIMULATED

BRANCHES = """\
F, x, ends = mx.sym.FullyConnected, mx.sym.var("x"), []
for n in (64, 16, 96, 8, 128, 32):
    ends += [F(F(F(x, num_hidden=n), num_hidden=8 * n), num_hidden=8)]
net = mx.sym.add_n(*ends).simple_bind(mx.cpu(), "null", x=(16384, 32))
print(net.debug_str().splitlines()[-2])"""

CONVOLUTIONS = """\
x = mx.sym.var("x")
for _ in range(8):
    x = mx.sym.BatchNorm(mx.sym.Convolution(x, num_filter=8, kernel=(3, 3)))
net = mx.sym.relu(x).simple_bind(x=(32, 8, 32, 32))
print(net.debug_str().splitlines()[-2])"""

NAMED = """\
x = mx.sym.softmax(mx.sym.var("x"), name="one")
net = mx.sym.softmax(x, name="two").simple_bind(mx.cpu(), "null", x=(8, 8))
print(net.forward()[0].shape)"""


def scratch(kind: str) -> str:
    """How many scratch buffers the graphs of a kind of device have in use."""
    return f"""\
from minimx.core.graph.memory.workspaces import workspaces
net = mx.sym.Convolution(kernel=(5, 5), num_filter=8, no_bias=True, name="c")
for _ in range(8):
    net.simple_bind(mx.{kind}(), "null", c_data=(8, 16, 32, 32)).forward()
print(len(workspaces(mx.{kind}()).each), "scratch buffers for 8 graphs")"""


def drawn(kind: str) -> str:
    """Three numbers after one seed."""
    return f"""\
mx.random.seed(3)
with mx.{kind}():
    drawn = [mx.nd.random.uniform(shape=(1,)).asscalar() for _ in range(3)]
print(*[round(float(number), 4) for number in drawn])"""


planned = partial(
    Example, acts_in="minimx.core.graph.memory.memory.plan_memory", code=BRANCHES
)
ranges = partial(
    Example, acts_in="minimx.core.graph.memory.memory.ranges", code=BRANCHES
)
copies = partial(Example, acts_in="minimx.core.graph.memory.workspaces.workspaces")
streams = partial(Example, acts_in="minimx.core.rng.next_stream", reads="_COPIES")

EXAMPLES = {
    "MXNET_EXEC_ENABLE_INPLACE": planned(
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
    "NNVM_EXEC_MATCH_RANGE": ranges(
        reads="match_range",
        expect={
            "0": "Total 196 MB allocated",
            "1": "Total 184 MB allocated",
            "4": "Total 75 MB allocated",
            "16": "Total 103 MB allocated",
        },
    ),
    "NNVM_AUTO_SEARCH_MATCH_RANGE": ranges(
        reads="auto_search_match_range",
        expect={
            "0": "Total 103 MB allocated",
            "1": "Total 75 MB allocated",
        },
    ),
    "MXNET_EXEC_NUM_TEMP": Example(
        acts_in="minimx.core.graph.memory.memory.workspace_count",
        reads="exec_num_temp",
        code=BRANCHES,
        expect={
            "1": "Total 103 MB allocated",
            "2": "Total 120 MB allocated",
        },
    ),
    "NNVM_EXEC_NUM_TEMP": Example(
        acts_in="minimx.core.graph.memory.memory.colour_count",
        reads="num_temp",
        code=BRANCHES,
        expect={
            "1": "Total 103 MB allocated",
            "4": "Total 180 MB allocated",
        },
    ),
    "MXNET_EXEC_INPLACE_GRAD_SUM_CAP": Example(
        acts_in="minimx.core.graph.passes.prepare._differentiated",
        reads="inplace_grad_sum_cap",
        code="""\
x = mx.sym.softmax(mx.sym.var("x"))
with mx.knobs(MXNET_EXEC_BULK_EXEC_TRAIN=0), mx.Record() as seen:
    net = mx.sym.add_n(*[x * k for k in range(10)]).simple_bind(x=(8, 8))
    net.forward(is_train=True); net.backward(); mx.nd.waitall()
print(seen.texts(seen.ops()["name"]).count("elemwise_add"), "additions of two")""",
        expect={
            "8": "9 additions of two",
            "16": "0 additions of two",
        },
    ),
    "MXNET_MEMORY_OPT": ranges(
        reads="memory_opt",
        expect={
            "0": "Total 103 MB allocated",
            "1": "Total 75 MB allocated",
        },
    ),
    "MXNET_MEM_PLAN_VERBOSE_LOGGING": Example(
        acts_in="minimx.graphs.log.announce",
        code=NAMED,
        expect={
            "0": "(8, 8)",
            "1": "one = softmax\n"
            "  one_output: 256 B, new block 0: no block is free\n"
            "two = softmax\n"
            "  two_output: the caller's memory: it is handed out\n"
            "1 blocks, 256 B; apart, 256 B; needed at once, 256 B\n"
            "match range 16 (tried 16: 256 B)\n"
            "(8, 8)",
        },
    ),
    "MXNET_BACKWARD_DO_MIRROR": Example(
        acts_in="minimx.core.graph.passes.mirror.chosen",
        reads="backward_do_mirror",
        code=CONVOLUTIONS,
        expect={
            "0": "Total 9 MB allocated",
            "1": "Total 6 MB allocated",
        },
    ),
    "MXNET_BACKWARD_MIRROR_STEP": Example(
        acts_in="minimx.core.graph.passes.mirror.chosen",
        reads="backward_mirror_step",
        code="""\
x = mx.sym.var("x")
for _ in range(36): x = mx.sym.softmax(x)
with mx.knobs(MXNET_BACKWARD_DO_MIRROR=1):
    net = x.simple_bind(x=(512, 512))
    print(net.debug_str().splitlines()[-2])""",
        expect={
            "100": "Total 36 MB allocated",
            "18": "Total 19 MB allocated",
            "6": "Total 11 MB allocated",
            "1": "Total 36 MB allocated",
        },
    ),
    "MINIMX_MIRROR": Example(
        acts_in="minimx.core.graph.passes.mirror.chosen",
        reads="mirror",
        code="""\
x = mx.sym.var("x")
for _ in range(8):
    x = mx.sym.BatchNorm(mx.sym.Convolution(x, num_filter=8, kernel=(3, 3)))
with mx.knobs(MXNET_BACKWARD_DO_MIRROR=1):
    print(x.simple_bind(x=(32, 8, 32, 32)).debug_str().splitlines()[-2])""",
        expect={
            "1.x": "Total 9 MB allocated",
            "remap": "Total 6 MB allocated",
            "best": "Total 4 MB allocated",
        },
    ),
    "MXNET_CPU_TEMP_COPY": copies(
        reads="_TEMP_COPY",
        code=scratch("cpu"),
        expect={
            "4": "4 scratch buffers for 8 graphs",
            "1": "1 scratch buffers for 8 graphs",
        },
    ),
    "MXNET_GPU_TEMP_COPY": copies(
        reads="_TEMP_COPY",
        code=scratch("gpu"),
        expect={
            "1": "1 scratch buffers for 8 graphs",
            "4": "4 scratch buffers for 8 graphs",
        },
    ),
    "MXNET_CPU_PARALLEL_RAND_COPY": streams(
        code=drawn("cpu"),
        expect={
            "1": "0.2393 0.8573 0.8116",
            "2": "0.2393 0.1061 0.8573",
        },
    ),
    "MXNET_GPU_PARALLEL_RAND_COPY": streams(
        code=drawn("gpu"),
        expect={
            "4": "0.5773 0.9867 0.2928",
            "1": "0.5773 0.8641 0.8578",
        },
    ),
    "MXNET_GPU_CUDNN_DROPOUT_STATE_COPY": streams(
        needs=SIMULATED,
        code="""\
x, F = mx.sym.var("x"), mx.sym.Dropout
with mx.knobs(MINIMX_CLOCK="virtual", MXNET_EXEC_BULK_EXEC_TRAIN=0):
    net = mx.sym.concat(F(x), F(x)).simple_bind(mx.gpu(), x=(1024, 1024))
    with mx.Record() as seen: net.forward(is_train=True)[0].wait_to_read()
print(max(seen.ops()["t_end"]) - min(seen.ops()["t_start"]), "ns")""",
        expect={
            "4": "65593 ns",
            "1": "82632 ns",
        },
    ),
}
