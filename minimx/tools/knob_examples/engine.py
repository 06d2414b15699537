"""Examples of the engine's knobs: who works, and on how many threads."""

from __future__ import annotations

from minimx.tools.knob_examples import Example
from minimx.tools.knob_examples.needs import LINUX, OPENCV, SIMULATED

EXAMPLES = {
    "MXNET_ENGINE_TYPE": Example(
        acts_in="minimx.core.engine._make",
        reads="name",
        code="""\
with mx.Record() as seen:
    mx.nd.ones((2, 2)).wait_to_read()
print(seen.texts(seen.ops()["worker"]))""",
        expect={
            "ThreadedEnginePerDevice": "['cpu(0)/0']",
            "ThreadedEngine": "['pool/0']",
            "NaiveEngine": "['python']",
        },
    ),
    "MXNET_CPU_WORKER_NTHREADS": Example(
        acts_in="minimx.core.engine._make",
        reads="sizes",
        code="""\
x = mx.nd.ones((64, 64))
with mx.knobs(MINIMX_CLOCK="virtual"), mx.Record() as seen:
    products = [mx.nd.dot(x, x) for _ in range(12)]
    mx.nd.waitall()
print(sorted(set(seen.texts(seen.ops()["worker"]))))""",
        expect={
            "1": "['cpu(0)/0']",
            "3": "['cpu(0)/0', 'cpu(0)/1', 'cpu(0)/2']",
        },
    ),
    "MXNET_CPU_PRIORITY_NTHREADS": Example(
        acts_in="minimx.core.engine._make",
        reads="sizes",
        code="""\
how = {"prop": mx.engine.CPU_PRIORITIZED, "cost": mx.ops.Cost(10**6, 0)}
with mx.knobs(MINIMX_CLOCK="virtual"), mx.Record() as seen:
    [mx.engine.push(int, mx.cpu(), (), (), "urgent", **how) for _ in range(12)]
    mx.nd.waitall()
print(len(set(seen.texts(seen.ops()["worker"]))), "workers of the priority lane")""",
        expect={
            "4": "4 workers of the priority lane",
            "2": "2 workers of the priority lane",
        },
    ),
    "MXNET_GPU_WORKER_NTHREADS": Example(
        acts_in="minimx.core.engine._make",
        reads="sizes",
        needs=SIMULATED,
        code="""\
with mx.knobs(MINIMX_CLOCK="virtual"), mx.Record() as seen:
    for _ in range(12):
        mx.nd.ones((64, 64), ctx=mx.gpu())
    mx.nd.waitall()
print(sorted(set(seen.texts(seen.ops()["worker"]))))""",
        expect={
            "2": "['gpu(0)/0', 'gpu(0)/1']",
            "1": "['gpu(0)/0']",
        },
    ),
    "MXNET_GPU_COPY_NTHREADS": Example(
        acts_in="minimx.core.engine._make",
        reads="sizes",
        needs=SIMULATED,
        code="""\
with mx.knobs(MINIMX_CLOCK="virtual"), mx.Record() as seen:
    for _ in range(12):
        mx.nd.array([1, 2, 3], ctx=mx.gpu())
    mx.nd.waitall()
print(sorted(set(seen.texts(seen.ops()["worker"]))))""",
        expect={
            "2": "['gpu(0) copy/0', 'gpu(0) copy/1']",
            "1": "['gpu(0) copy/0']",
        },
    ),
    "OMP_NUM_THREADS": Example(
        acts_in="minimx.core.kernels.threads.count",
        code="""\
from minimx.core.kernels import threads
print("a kernel over 10 million elements:", threads.parts(10_000_000), "parts")""",
        expect={
            "1": "a kernel over 10 million elements: 1 parts",
            "2": "a kernel over 10 million elements: 2 parts",
        },
    ),
    "MXNET_GPU_WORKER_NSTREAMS": Example(
        acts_in="minimx.cuda.streams.streams",
        needs=SIMULATED,
        code="""\
x = mx.sym.Convolution(kernel=(5, 5), num_filter=8, no_bias=True, name="x")
net = x.simple_bind(mx.gpu(), x_data=(8, 16, 32, 32))
with mx.knobs(MINIMX_CLOCK="virtual"), mx.Record() as seen:
    net.forward(is_train=True), net.backward(), mx.nd.waitall()
print(max(seen.ops()["t_end"]) - min(seen.ops()["t_start"]), "ns")""",
        expect={
            "1": "44485 ns",
            "2": "39485 ns",
        },
    ),
    "MXNET_CPU_NNPACK_NTHREADS": Example(
        acts_in="minimx.core.kernels.threads.transforming",
        code="""\
from minimx.core.kernels import threads
with mx.knobs(OMP_NUM_THREADS=8):
    print("Winograd:", threads.transforming(), "threads of", threads.count())""",
        expect={
            "4": "Winograd: 4 threads of 8",
            "1": "Winograd: 1 threads of 8",
        },
    ),
    "MXNET_MP_WORKER_NTHREADS": Example(
        acts_in="minimx.gluon.data.worker.run",
        code="""\
from minimx.gluon.data import DataLoader, SimpleDataset
ask = lambda _: mx.knobs.MXNET_CPU_WORKER_NTHREADS
for batch in DataLoader(SimpleDataset([0]).transform(ask), 1, num_workers=1):
    print(batch.asscalar(), "engine threads in a worker process")""",
        expect={
            "1": "1 engine threads in a worker process",
            "3": "3 engine threads in a worker process",
        },
    ),
    "MXNET_MP_OPENCV_NUM_THREADS": Example(
        acts_in="minimx.image.codec._limit_threads",
        needs=OPENCV,
        code="""\
from minimx.gluon.data import DataLoader, SimpleDataset
from minimx.image.codec import opencv
ask = lambda _: opencv().getNumThreads()
for batch in DataLoader(SimpleDataset([0]).transform(ask), 1, num_workers=1):
    print(batch.asscalar(), "threads of OpenCV in a worker process")""",
        expect={
            "0": "1 threads of OpenCV in a worker process",
            "3": "3 threads of OpenCV in a worker process",
        },
    ),
    "MXNET_OMP_MAX_THREADS": Example(
        acts_in="minimx.core.kernels.threads.count",
        code="""\
from minimx.core.kernels import threads
with mx.knobs(OMP_NUM_THREADS=None):
    print("limited to one:", threads.count() == 1 < mx.knobs.OMP_NUM_THREADS)""",
        expect={
            "0": "limited to one: False",
            "1": "limited to one: True",
        },
    ),
    "KMP_AFFINITY": Example(
        acts_in="minimx.fast.pinning.pin",
        reads="wish",
        needs=LINUX,
        code="""\
from minimx.fast import pinning
cores = []
mx.engine.push(lambda: cores.extend(pinning.team()), mx.cpu(), (), (), "ask")
mx.nd.waitall()
print("a thread stays on one core:", all(len(core) == 1 for core in cores))""",
        expect={
            "": "a thread stays on one core: False",
            "granularity=fine,compact,1,0": "a thread stays on one core: True",
        },
    ),
    "MXNET_ENGINE_INFO": Example(
        acts_in="minimx.core.engine.wait_log.logged",
        code="""\
import contextlib, io, time
mx.engine.push(lambda: time.sleep(0.02), mx.cpu(), (), (), "nap")
with contextlib.redirect_stdout(io.StringIO()) as said:
    mx.nd.waitall()
print(len(said.getvalue().splitlines()), "lines, around the wait")""",
        expect={
            "0": "0 lines, around the wait",
            "1": "2 lines, around the wait",
        },
    ),
}
