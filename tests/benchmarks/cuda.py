"""What a real GPU does with our CUDA kernels: one command, one table.

    python -m tests.benchmarks.cuda            on a machine with an NVIDIA GPU

Bandwidths are those of the bytes that an operator has to read and to write, beside what
a plain copy on the device reaches (the target of elementwise kernels is 80 % of it).
Convolution is timed for both algorithms in three directions. Last, LeNet and ResNet-18
train for some steps on the CPU and on gpu(0) from one start; their losses must agree.

Without a GPU it says why, and ends. `--play` takes tiny sizes, for numba's simulator:
its times mean nothing, but everything runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np

import minimx as mx
from minimx.core.drivers import driver_for, working
from minimx.core.kernels.convolution import DATA, FORWARD, WEIGHT, Geometry
from minimx.cuda import toolkit
from minimx.fast.convolution.algorithms import on_cuda

GPU = mx.gpu(0)
RUNS = 5
#: Layers of ResNet-50: channels, pixels along a side, filters, kernel, stride.
LAYERS = ((64, 56, 64, 3, 1), (128, 28, 128, 3, 1), (256, 14, 1024, 1, 1))


def seconds(call: Callable[[], Any]) -> float:
    """The shortest of some runs after one that compiles, each waited for."""
    call()
    mx.nd.waitall()
    found = []
    for _ in range(RUNS):
        begin = perf_counter()
        call()
        mx.nd.waitall()
        found.append(perf_counter() - begin)
    return min(found)


def memory(size: int) -> list[tuple[str, str, str]]:
    """Bytes a second of operators that move numbers, and their share of a copy."""
    x, y = mx.nd.ones((size,), ctx=GPU), mx.nd.ones((size,), ctx=GPU)
    rows = [("copy on the device", seconds(lambda: x.copyto(y)), 8 * size)]
    rows += [
        ("a + b", seconds(lambda: mx.nd.broadcast_add(x, y)), 12 * size),
        ("relu", seconds(lambda: mx.nd.relu(x)), 8 * size),
        ("exp", seconds(lambda: mx.nd.exp(x)), 8 * size),
        ("sum", seconds(lambda: mx.nd.sum(x)), 4 * size),
        ("cumsum", seconds(lambda: mx.nd.cumsum(x)), 12 * size),
    ]
    best = rows[0][2] / rows[0][1]
    found = []
    for name, took, nbytes in rows:
        rate = nbytes / took
        share = f"{rate / 1e9:,.0f} GB/s, {rate / best:.2f} of a copy"
        found.append((name, f"{1e6 * took:,.0f} µs", share))
    return found


def products(side: int) -> list[tuple[str, str, str]]:
    """A product of square matrices; half precision goes through float32."""
    found = []
    for dtype in ("float32", "float16"):
        a = mx.nd.ones((side, side), ctx=GPU, dtype=dtype)
        took = seconds(lambda a=a: mx.nd.dot(a, a))  # type: ignore[misc]
        rate = f"{2 * side**3 / took / 1e9:,.0f} GFLOP/s"
        found.append((f"dot {side}, {dtype}", f"{1e3 * took:.2f} ms", rate))
    return found


def convolutions(batch: int, most: int) -> list[tuple[str, str, str]]:
    """Every algorithm in every direction, as the tuner measures it."""
    from minimx.fast.convolution.tuner import measure_on_cuda

    found = []
    for channels, side, filters, kernel, stride in LAYERS:
        channels, side, filters = (min(n, most) for n in (channels, side, filters))
        pad = kernel // 2
        out = (side + 2 * pad - kernel) // stride + 1
        at = Geometry._make(
            (batch, channels, side, side, filters, kernel, kernel, stride, stride)
            + (1, 1, pad, pad, 1, out, out)
        )
        for direction in (FORWARD, DATA, WEIGHT):
            for one in on_cuda(direction, at, 4):
                took = measure_on_cuda(one, at, np.float32, np.inf)
                name = f"conv {channels}×{side}², {filters} of {kernel}², {direction}"
                rate = f"{2 * at.products / took / 1e9:,.0f} GFLOP/s"
                found.append((f"{name}, {one.name}", f"{1e3 * took:.2f} ms", rate))
    return found


def lenet() -> tuple[Any, tuple[int, ...]]:
    """LeNet for images of 28 by 28."""
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(20, 5, activation="tanh"), nn.MaxPool2D(2, 2),
        nn.Conv2D(50, 5, activation="tanh"), nn.MaxPool2D(2, 2),
        nn.Flatten(), nn.Dense(500, activation="tanh"), nn.Dense(10),
    )  # fmt: skip
    return net, (64, 1, 28, 28)


def resnet() -> tuple[Any, tuple[int, ...]]:
    """ResNet-18 for images of 64 by 64."""
    return mx.gluon.model_zoo.vision.resnet18_v1(classes=10), (16, 3, 64, 64)


def small() -> tuple[Any, tuple[int, ...]]:
    """Something that the simulator can train."""
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    net.add(nn.Conv2D(2, 3, activation="relu"), nn.Flatten(), nn.Dense(3))
    return net, (2, 1, 5, 5)


def losses(make: Callable[[], Any], at: Any, steps: int) -> tuple[list[float], float]:
    """The losses of some steps on a device from one start, and seconds for each."""
    mx.random.seed(1)
    net, shape = make()
    net.initialize(mx.init.Xavier(), ctx=mx.cpu())
    x = mx.nd.array(np.random.default_rng(0).normal(size=shape))
    y = mx.nd.array(np.arange(shape[0]) % 3)
    net(x)
    net.collect_params().reset_ctx(at)
    net.hybridize(static_alloc=True, static_shape=True)
    x, y = x.as_in_context(at), y.as_in_context(at)
    settings = {"learning_rate": 0.01, "momentum": 0.9}
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", settings)
    measure, found, times = mx.gluon.loss.SoftmaxCrossEntropyLoss(), [], []
    for _ in range(steps):
        begin = perf_counter()
        with mx.autograd.record():
            loss = measure(net(x), y)
        loss.backward()
        trainer.step(shape[0])
        found.append(float(loss.mean().asscalar()))
        times.append(perf_counter() - begin)
    return found, min(times)


def curves(nets: dict[str, Any], steps: int) -> list[tuple[str, str, str]]:
    """How far the losses on gpu(0) are from those on the CPU, at most."""
    rows = []
    for name, make in nets.items():
        here, slow = losses(make, mx.cpu(), steps)
        there, fast = losses(make, GPU, steps)
        far = max(abs(a - b) / abs(b) for a, b in zip(there, here, strict=True))
        took = f"{1e3 * fast:.1f} ms, CPU {1e3 * slow:.1f} ms"
        rows.append((f"{name}, {steps} steps", took, f"losses within {far:.1e}"))
    return rows


def measured(play: bool) -> list[tuple[str, str, str]]:
    """All rows: what, how long, and what follows from it."""
    with mx.knobs(MINIMX_CUDA_VERBOSE=0):
        if play:
            rows = [*memory(64), *products(4), *convolutions(1, 3)]
            return [*rows, *curves({"a small net": small}, 2)]
        rows = [*memory(1 << 26), *products(2048), *convolutions(32, 1 << 30)]
        return [*rows, *curves({"LeNet": lenet, "ResNet-18": resnet}, 30)]


def main(arguments: Sequence[str]) -> int:
    """Print the table; 1 where there is nothing to measure."""
    found, play = toolkit.look(), "--play" in arguments
    if found.kind != ("simulator" if play else "cuda"):
        print(f"No GPU to measure: {found}. It takes one, and minimx[cuda].")
        return 1
    with working(GPU):
        print(repr(driver_for(GPU)))
    width = [0, 0, 0]
    rows = measured(play)
    for row in rows:
        width = [max(n, len(word)) for n, word in zip(width, row, strict=True)]
    for row in rows:
        words = [word.ljust(n) for n, word in zip(width, row, strict=True)]
        print("  ".join(words).rstrip())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
