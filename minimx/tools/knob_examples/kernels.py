"""Examples of graph passes, kernels and number formats."""

from __future__ import annotations

from functools import partial

from minimx.tools.knob_examples import Example
from minimx.tools.knob_examples.needs import OURS

CHAIN = """\
y = mx.sym.sin(mx.sym.relu(mx.sym.var("x") * 2)) + 1
net = y.simple_bind(mx.cpu(), "null", x=(128, 64))
with mx.Record() as seen: net.forward()[0].wait_to_read()
print(seen.texts(seen.ops()["name"]))"""

MEASURED = """\
from minimx.fast import tuning
with mx.knobs(OMP_NUM_THREADS=2, MXNET_CPU_PARALLEL_SIZE=None):
    mx.nd.exp(mx.nd.ones((tuning.SMALL,))).wait_to_read()
    sizes = [row.crossing for row in mx.runtime.operator_tuning()]
"""

fusion = partial(Example, code=CHAIN)
passes = partial(Example)

EXAMPLES = {
    "MXNET_CPU_PARALLEL_SIZE": Example(
        acts_in="minimx.core.kernels.threads.parts",
        code="""\
from minimx.core.kernels import threads
with mx.knobs(OMP_NUM_THREADS=2):
    print("parts of 100,000 elements:", threads.parts(100_000))""",
        expect={
            "200000": "parts of 100,000 elements: 1",
            "50000": "parts of 100,000 elements: 2",
        },
    ),
    "MXNET_OPTIMIZER_AGGREGATION_SIZE": Example(
        acts_in="minimx.optimizer.sgd.SGD.aggregate_num",
        code="""\
update = mx.optimizer.get_updater(mx.optimizer.SGD())
w = [mx.nd.ones((3,)) for _ in range(12)]
mx.nd.waitall()
with mx.Record() as seen: update(list(range(12)), w, w); mx.nd.waitall()
print(len(seen.ops()), "operations update 12 weights")""",
        expect={
            "4": "3 operations update 12 weights",
            "1": "12 operations update 12 weights",
        },
    ),
    "MXNET_ENFORCE_DETERMINISM": Example(
        needs=OURS,
        acts_in="minimx.fast.convolution.choosing.excluded",
        reads="deterministic",
        code="""\
from minimx.core.operators.conv import Convolution
conv = Convolution.of(kernel=(5, 5), num_filter=32, no_bias=True, workspace=1)
with mx.knobs(OMP_NUM_THREADS=2):
    found = conv.choice("weight", mx.nd.ones((24, 32, 12, 12)).spec)
print("weight gradient:", next(x.algorithm.name for x in found if not x.excluded))""",
        expect={
            "0": "weight gradient: lean",
            "1": "weight gradient: direct",
        },
    ),
    "MXNET_USE_FUSION": fusion(
        acts_in="minimx.core.graph.passes.prepare._simplifications",
        reads="use_fusion",
        expect={
            "1": "['_FusedOp']",
            "0": "['[_mul_scalar,relu,sin,_plus_scalar]']",
        },
    ),
    "MINIMX_FUSION_LEAST": fusion(
        acts_in="minimx.core.graph.passes.prepare._simplifications",
        reads="fusion_least",
        expect={
            "8192": "['_FusedOp']",
            "8193": "['[_mul_scalar,relu,sin,_plus_scalar]']",
        },
    ),
    "MXNET_FUSION_VERBOSE": Example(
        acts_in="minimx.fast.fusion.loop._tell",
        code="""\
import contextlib, io
y = mx.sym.sin(mx.sym.relu(mx.sym.var("x") * 2)) + 1
with contextlib.redirect_stdout(io.StringIO()) as said:
    y.simple_bind(mx.cpu(), "null", x=(128, 64)).forward()[0].wait_to_read()
print("the source is printed:", "def kernel" in said.getvalue())""",
        expect={
            "0": "the source is printed: False",
            "1": "the source is printed: True",
        },
    ),
    "MXNET_RTC_VERBOSE": Example(
        acts_in="minimx.fast.fusion.loop._tell",
        code="""\
import contextlib, io
y = mx.sym.sin(mx.sym.relu(mx.sym.var("x") * 2)) + 1
with contextlib.redirect_stdout(io.StringIO()) as said:
    y.simple_bind(mx.cpu(), "null", x=(128, 64)).forward()[0].wait_to_read()
print(said.getvalue().count("compiled in"), "times to compile")""",
        expect={
            "0": "0 times to compile",
            "1": "1 times to compile",
        },
    ),
    "MXNET_RTC_SIZE_WARNING": Example(
        acts_in="minimx.fast.fusion.loop._tell",
        code="""\
import warnings
from minimx.fast.fusion import loop as fused
fused._texts = {str(n) for n in range(fused.MANY - 1)}  # as if so many were made
with warnings.catch_warnings(record=True) as said: fused._tell("another", 0.1)
print(len(said), "warning at kernel", fused.MANY)""",
        expect={
            "1": "1 warning at kernel 10000",
            "0": "0 warning at kernel 10000",
        },
    ),
    "MXNET_ELIMINATE_COMMON_EXPR": Example(
        acts_in="minimx.core.graph.passes.prepare._simplifications",
        reads="eliminate_common_expr",
        code="""\
x = mx.sym.var("x")
y = mx.sym.softmax(x) + mx.sym.softmax(x)
net = y.simple_bind(mx.cpu(), "null", x=(4, 4))
with mx.Record() as seen: net.forward()[0].wait_to_read()
print(seen.texts(seen.ops()["name"]))""",
        expect={
            "1": "['[softmax,elemwise_add]']",
            "0": "['[softmax,softmax,elemwise_add]']",
        },
    ),
    "MXNET_NODE_ELIMINATION": Example(
        acts_in="minimx.core.graph.passes.prepare._simplifications",
        reads="node_elimination",
        code="""\
y = mx.sym.Dropout(mx.sym.softmax(mx.sym.var("x")))
net = y.simple_bind(mx.cpu(), "null", x=(4, 4))
with mx.Record() as seen: net.forward()[0].wait_to_read()
print(seen.texts(seen.ops()["name"]))""",
        expect={
            "1": "['softmax']",
            "0": "['[softmax,Dropout]']",
        },
    ),
    "MXNET_SUBGRAPH_BACKEND": Example(
        acts_in="minimx.core.graph.passes.prepare.prepare",
        reads="subgraph_backend",
        code="""\
x = mx.sym.Convolution(mx.sym.var("x"), kernel=(3, 3), num_filter=4)
with mx.Record() as seen:
    net = mx.sym.BatchNorm(x).simple_bind(mx.cpu(), "null", x=(1, 3, 8, 8))
    net.forward()[0].wait_to_read()
print(seen.texts(seen.ops()["name"])[-1])""",
        expect={
            "NONE": "[Convolution,BatchNorm]",
            "MINIMX": "Subgraph backend MINIMX is activated: "
            "1 patterns, 9 nodes became 8.\n"
            "_sg_minimx_conv",
        },
    ),
    "MXNET_SUBGRAPH_VERBOSE": Example(
        acts_in="minimx.core.graph.passes.partition.print_summary",
        code="""\
x = mx.sym.Convolution(mx.sym.var("x"), kernel=(3, 3), num_filter=4)
with mx.knobs(MXNET_SUBGRAPH_BACKEND="MINIMX"):
    net = mx.sym.BatchNorm(x).simple_bind(mx.cpu(), "null", x=(1, 3, 8, 8))
    print(net.forward()[0].shape)""",
        expect={
            "1": "Subgraph backend MINIMX is activated: "
            "1 patterns, 9 nodes became 8.\n"
            "(1, 4, 6, 6)",
            "0": "(1, 4, 6, 6)",
        },
    ),
    "MXNET_USE_OPERATOR_TUNING": Example(
        acts_in="minimx.fast.tuning._asked_for",
        code=MEASURED + 'print("exp was measured:", len(sizes) > 0)',
        expect={
            "1": "exp was measured: True",
            "0": "exp was measured: False",
            "float64": "exp was measured: False",
        },
    ),
    "MXNET_USE_NUM_CORES_OPERATOR_TUNING": Example(
        acts_in="minimx.fast.tuning.cores",
        code=MEASURED + 'print("never cut:", min(sizes) == float("inf"))',
        expect={
            "0": "never cut: False",
            "1": "never cut: True",
        },
    ),
    "MXNET_VERBOSE_TUNING_INFO": Example(
        acts_in="minimx.fast.tuning._tell_of",
        before="""\
import contextlib, io; from minimx.fast.tuning import forget; forget()
""",
        code="""\
with contextlib.redirect_stdout(io.StringIO()) as said:
    for n in (1, 2):
        with mx.knobs(OMP_NUM_THREADS=n): mx.nd.ones((10**6,)).exp().wait_to_read()
print(said.getvalue().count("operator tuning: exp(x)"), "times printed"); forget()""",
        expect={
            "0": "0 times printed",
            "1": "1 times printed",
        },
    ),
    "MXNET_OUTPUT_TUNING_DATA": Example(
        acts_in="minimx.fast.tuning._tell_of",
        before="""\
import contextlib, io; from minimx.fast.tuning import forget; forget()
""",
        code="""\
with contextlib.redirect_stdout(io.StringIO()) as said:
    for n in (1, 2):
        with mx.knobs(OMP_NUM_THREADS=n): mx.nd.ones((10**6,)).exp().wait_to_read()
print(said.getvalue().count('TUNING "exp(x)",float32'), "rows"); forget()""",
        expect={
            "0": "0 rows",
            "1": "1 rows",
        },
    ),
    "MXNET_TUNING_WEIGHT_SCALE": Example(
        acts_in="minimx.fast.tuning._start",
        code=MEASURED + 'print("cut from ten million on, or later:", min(sizes) > 1e7)',
        expect={
            "0": "cut from ten million on, or later: False",
            "100000": "cut from ten million on, or later: True",
        },
    ),
    "MXNET_SAFE_ACCUMULATION": Example(
        acts_in="minimx.core.operators.reduce.adding",
        code="""\
x = mx.nd.ones((70_000,), dtype="float16")
total = mx.nd.softmax(x).astype("float32").sum().asscalar()
print(f"sum of shares {total:.2f}, norm {mx.nd.norm(x).asscalar()}")""",
        expect={
            "0": "sum of shares 34.18, norm 45.25",
            "1": "sum of shares 1.00, norm 264.5",
        },
    ),
    "MXNET_FC_TRUE_FP16": Example(
        acts_in="minimx.core.kernels.cpu.matmul._added_narrowly",
        code="""\
x = mx.nd.ones((2, 5000), dtype="float16")
print("5000 ones add up to", int(mx.nd.dot(x, x.T)[0, 0].asscalar()))""",
        expect={
            "0": "5000 ones add up to 5000",
            "1": "5000 ones add up to 2048",
        },
    ),
}
