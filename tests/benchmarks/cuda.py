"""What a real GPU does with our CUDA kernels, beside PyTorch and CuPy: one command.

    python -m tests.benchmarks.cuda            on a machine with an NVIDIA GPU
    python -m tests.benchmarks.cuda --save results.json      and keep the numbers

All compute on the same card in one run, in float32 without TF32; each time is the
median of some calls, each waited for. Bandwidths are those of the bytes that an
operator has to read and to write, beside what a copy on the device reaches. Products of
matrices are timed as our tiles compute them, also where CuPy's cuBLAS would do it.
Convolution is timed for both algorithms in three directions. Last, networks train for
some steps on the CPU, on gpu(0) and in PyTorch; the losses of the first two must agree.

Without a GPU it says why, and ends. `--play` takes tiny sizes, for numba's simulator:
its times mean nothing, but everything runs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from importlib import import_module
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

import minimx as mx
from minimx.core.drivers import driver_for, working
from minimx.core.kernels.convolution import DATA, FORWARD, WEIGHT, Geometry
from minimx.cuda import toolkit
from minimx.fast.convolution.algorithms import on_cuda

GPU = mx.gpu(0)
RUNS = 15
#: Seconds of the same work before a measurement: an idle card has a slow clock.
WARM = 0.1
#: Seconds after which no further run begins.
LONGEST = 1.0
#: Layers of ResNet-50: channels, pixels along a side, filters, kernel, stride.
LAYERS = ((64, 56, 64, 3, 1), (128, 28, 128, 3, 1), (256, 14, 1024, 1, 1))

Call = Callable[[], Any]


class Row(NamedTuple):
    """One line of the table: seconds of ours and of others, and what follows.

    work: how many of `unit` a call does, for the rate. note: what else is to be said.
    """

    name: str
    seconds: float
    others: dict[str, float]
    work: float = 0.0
    unit: str = ""
    note: str = ""

    @property
    def rate(self) -> float:
        """Of the unit, in 10⁹ a second."""
        return self.work / self.seconds / 1e9

    def words(self) -> list[str]:
        """The cells of the row."""
        cells = [self.name, f"{1e6 * self.seconds:,.0f} µs"]
        cells.append(f"{self.rate:,.0f} G{self.unit}/s" if self.work else "")
        shares = [f"{t / self.seconds:.2f} of {who}" for who, t in self.others.items()]
        return [*cells, ", ".join(shares), self.note]


def peer(name: str) -> Any:
    """A module that computes on the same card, or None where it cannot."""
    if toolkit.simulated():
        return None
    try:
        module = import_module(name)
        if name == "torch" and not module.cuda.is_available():
            return None
    except Exception as missing:  # CuPy raises errors of its own without its libraries
        print(f"without {name}: {missing}")
        return None
    if name == "torch":
        module.backends.cuda.matmul.allow_tf32 = False
        module.backends.cudnn.allow_tf32 = False
    return module


def seconds(call: Call, wait: Call = mx.nd.waitall) -> float:
    """The median of some runs after those that compile and warm up, each waited for."""
    call()
    wait()
    found: list[float] = []
    end = perf_counter() + WARM
    while perf_counter() < end:
        call()
        wait()
    while len(found) < RUNS and sum(found) < LONGEST:
        begin = perf_counter()
        call()
        wait()
        found.append(perf_counter() - begin)
    return median(found)


def others(torch: Call | None, cupy: Call | None = None) -> dict[str, float]:
    """The seconds of the peers that are there; a call is None where it has none."""
    found = {}
    if torch is not None and (module := peer("torch")):
        found["PyTorch"] = seconds(torch, module.cuda.synchronize)
    if cupy is not None and (module := peer("cupy")):
        found["CuPy"] = seconds(cupy, module.cuda.Device().synchronize)
    return found


def memory(size: int) -> Iterator[Row]:
    """Bytes a second of operators that move numbers, and their share of a copy."""
    x, y = (mx.nd.random.uniform(shape=(size,), ctx=GPU) for _ in range(2))
    torch, cupy = peer("torch"), peer("cupy")
    a: Any
    b: Any
    c: Any
    d: Any
    a = b = c = d = None
    if torch:
        a, b = torch.rand(size, device="cuda"), torch.rand(size, device="cuda")
    if cupy:
        c, d = (cupy.random.rand(size, dtype=np.float32) for _ in range(2))
    cases: list[tuple[str, Call, int, Any, Any]] = [
        ("copy on the device", lambda: x.copyto(y), 8,
         lambda: b.copy_(a), lambda: cupy.copyto(d, c)),
        ("a + b", lambda: mx.nd.broadcast_add(x, y), 12,
         lambda: a + b, lambda: c + d),
        ("relu", lambda: mx.nd.relu(x), 8,
         lambda: torch.relu(a), lambda: cupy.maximum(c, 0)),
        ("exp", lambda: mx.nd.exp(x), 8, lambda: torch.exp(a), lambda: cupy.exp(c)),
        ("tanh", lambda: mx.nd.tanh(x), 8, lambda: torch.tanh(a), lambda: cupy.tanh(c)),
        ("sum", lambda: mx.nd.sum(x), 4, lambda: a.sum(), lambda: c.sum()),
        ("softmax of rows of 1024", lambda: mx.nd.softmax(x.reshape((-1, 1024))), 8,
         lambda: torch.softmax(a.view(-1, 1024), 1), None),
        ("transpose", lambda: mx.nd.transpose(x.reshape((-1, 4096))), 8,
         lambda: a.view(-1, 4096).t().contiguous(), None),
        ("cumsum", lambda: mx.nd.cumsum(x), 8,
         lambda: torch.cumsum(a, 0), lambda: cupy.cumsum(c)),
    ]  # fmt: skip
    if size < 4096:  # played
        cases = [case for case in cases if "of rows" not in case[0]][:6]
    best = 0.0
    for name, call, nbytes, in_torch, in_cupy in cases:
        row = Row(name, seconds(call), others(in_torch, in_cupy), nbytes * size, "B")
        best = best or row.work / min(row.seconds, *row.others.values(), row.seconds)
        share = row.work / row.seconds / best
        yield row._replace(note=f"{share:.2f} of the best copy")


def products(sides: Sequence[int]) -> Iterator[Row]:
    """A product of square matrices in our tiles, and half precision as it is called."""
    from minimx.cuda.kernels.core import matmul

    torch, cupy = peer("torch"), peer("cupy")
    for side in sides:
        numba = toolkit.cuda()
        numbers = np.random.default_rng(1).normal(size=(side, side)).astype("float32")
        a: Any = None
        b: Any = None
        if torch:
            a = torch.tensor(numbers, device="cuda")
        if cupy:
            b = cupy.asarray(numbers)
        with working(GPU):
            there, out = numba.to_device(numbers), numba.device_array_like(numbers)
            flat = [array.reshape(-1) for array in (there, there, out)]
            steps = side, 1, side, 1
            took = seconds(
                lambda: matmul.in_tiles(flat, (1, side, side, side), steps),  # noqa: B023
                numba.synchronize,
            )
        both = others(lambda: a @ a, lambda: b @ b)  # noqa: B023
        yield Row(f"product of {side}, tiles", took, both, 2 * side**3, "FLOP")
        for dtype in ("float32", "float16"):
            x = mx.nd.array(numbers, ctx=GPU, dtype=dtype)
            took = seconds(lambda: mx.nd.dot(x, x))  # noqa: B023
            half = a.half() if torch and dtype == "float16" else a
            both = others(lambda: half @ half)  # noqa: B023
            yield Row(f"dot of {side}, {dtype}", took, both, 2 * side**3, "FLOP")


def convolutions(batch: int, most: int) -> Iterator[Row]:
    """Every algorithm in every direction, as the tuner measures it."""
    from minimx.fast.convolution.tuner import measure_on_cuda

    for channels, side, filters, kernel, stride in LAYERS:
        channels, side, filters = (min(n, most) for n in (channels, side, filters))
        pad = kernel // 2
        out = (side + 2 * pad - kernel) // stride + 1
        at = Geometry._make(
            (batch, channels, side, side, filters, kernel, kernel, stride, stride)
            + (1, 1, pad, pad, 1, out, out)
        )
        for direction in (FORWARD, DATA, WEIGHT):
            both = others(in_torch(direction, at))
            for one in on_cuda(direction, at, 4):
                # The first of three compiles, and finds an idle card with a slow clock.
                took = min(
                    measure_on_cuda(one, at, np.float32, np.inf) for _ in range(3)
                )
                name = f"conv {channels}×{side}², {filters} of {kernel}², {direction}"
                name = f"{name}, {one.name}"
                yield Row(name, took, both, 2 * at.products, "FLOP")


def in_torch(direction: str, at: Geometry) -> Call | None:
    """One direction of a convolution in PyTorch, or None without it."""
    torch = peer("torch")
    if not torch:
        return None
    data = torch.rand(at.images, at.channels, at.height, at.width, device="cuda")
    shape = at.filters, at.channels, at.kernel_h, at.kernel_w
    weight = torch.rand(*shape, device="cuda")
    out = torch.rand(at.images, at.filters, at.out_h, at.out_w, device="cuda")
    lengths = [at.stride_h, at.stride_w], [at.pad_h, at.pad_w]
    if direction == FORWARD:
        return lambda: torch.conv2d(data, weight, None, *lengths)
    settings = *lengths, [1, 1], False, [0, 0], 1
    mask = [direction == DATA, direction == WEIGHT, False]
    back = torch.ops.aten.convolution_backward
    return lambda: back(out, data, weight, None, *settings, mask)


def algebra(side: int) -> Iterator[Row]:
    """Factors and solutions of one large matrix."""
    drawn = np.random.default_rng(0)
    square = drawn.normal(size=(side, side)).astype("float32")
    positive = square @ square.T + side * np.eye(side, dtype="float32")
    a, p = (mx.nd.array(x, ctx=GPU) for x in (square, positive))
    linalg, np_linalg = mx.nd.linalg, mx.np.linalg
    like: Any = positive
    torch, s, q = peer("torch"), None, None
    if torch:
        s, q = (torch.tensor(x, device="cuda") for x in (square, positive))
        like = torch.linalg
    triangle, lower = linalg.potrf(p), None
    if torch:
        lower = like.cholesky(q)
    v = p.as_np_ndarray()
    cases: list[tuple[str, Call, Any]] = [
        ("potrf", lambda: linalg.potrf(p), lambda: like.cholesky(q)),
        ("trsm", lambda: linalg.trsm(triangle, a),
         lambda: like.solve_triangular(lower, s, upper=False)),
        ("solve", lambda: np_linalg.solve(v, a.as_np_ndarray()),
         lambda: like.solve(q, s)),
        ("inverse", lambda: linalg.inverse(p), lambda: like.inv(q)),
        ("det", lambda: linalg.slogdet(p), lambda: like.slogdet(q)),
        ("gelqf", lambda: linalg.gelqf(a), lambda: like.qr(s)),
        ("syevd", lambda: linalg.syevd(p), lambda: like.eigh(q)),
        ("svd", lambda: np_linalg.svd(a.as_np_ndarray()),
         lambda: like.svd(s, full_matrices=False)),
    ]  # fmt: skip
    for name, ours, theirs in cases:
        yield Row(f"{name} of {side}", seconds(ours), others(theirs))


# -- training --------------------------------------------------------------------------


def lenet(nn: Any) -> tuple[Any, tuple[int, ...]]:
    """LeNet for images of 28 by 28."""
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(20, 5, activation="tanh"), nn.MaxPool2D(2, 2),
        nn.Conv2D(50, 5, activation="tanh"), nn.MaxPool2D(2, 2),
        nn.Flatten(), nn.Dense(500, activation="tanh"), nn.Dense(10),
    )  # fmt: skip
    return net, (64, 1, 28, 28)


def lenet_of_torch(nn: Any) -> Any:
    """The same for PyTorch."""
    return nn.Sequential(
        nn.Conv2d(1, 20, 5), nn.Tanh(), nn.MaxPool2d(2, 2),
        nn.Conv2d(20, 50, 5), nn.Tanh(), nn.MaxPool2d(2, 2),
        nn.Flatten(), nn.Linear(800, 500), nn.Tanh(), nn.Linear(500, 10),
    )  # fmt: skip


def resnet(nn: Any) -> tuple[Any, tuple[int, ...]]:
    """ResNet-18 for images of 64 by 64."""
    return mx.gluon.model_zoo.vision.resnet18_v1(classes=10), (16, 3, 64, 64)


def resnet_of_torch(nn: Any) -> Any:
    """The same for PyTorch, from torchvision."""
    return import_module("torchvision").models.resnet18(num_classes=10)


def small(nn: Any) -> tuple[Any, tuple[int, ...]]:
    """Something that the simulator can train."""
    net = nn.HybridSequential()
    net.add(nn.Conv2D(2, 3, activation="relu"), nn.Flatten(), nn.Dense(3))
    return net, (2, 1, 5, 5)


def losses(make: Any, at: Any, steps: int) -> tuple[list[float], float]:
    """The losses of some steps on a device from one start, and seconds for each."""
    mx.random.seed(1)
    net, shape = make(mx.gluon.nn)
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
    return found, median(times[len(times) // 2 :])


def step_of_torch(make: Any, shape: tuple[int, ...]) -> Call | None:
    """A training step in PyTorch that ends with the loss as a number."""
    torch = peer("torch")
    if not torch or make is None:
        return None
    net = make(torch.nn).cuda()
    x = torch.randn(*shape, device="cuda")
    y = torch.arange(shape[0], device="cuda") % 3
    trainer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    measure = torch.nn.CrossEntropyLoss()

    def step() -> float:
        trainer.zero_grad()
        loss = measure(net(x), y)
        loss.backward()
        trainer.step()
        return float(loss)

    return step


def training(nets: dict[str, tuple[Any, Any, bool]], steps: int) -> Iterator[Row]:
    """A step on gpu(0), and how far its losses are from others, at most.

    nets: how to make it here and in PyTorch, and whether it is trained on the CPU as
    well; if not, the first losses on gpu(0) are what the others are compared with. With
    recorded launches products are ours, as those of cuBLAS cannot be recorded.
    """
    from minimx.cuda.kernels.core import matmul

    as_it_is = matmul.cublas
    for name, (make, in_torch, on_cpu) in nets.items():
        here, slow = losses(make, mx.cpu() if on_cpu else GPU, steps)
        both = others(step_of_torch(in_torch, make(mx.gluon.nn)[1]))
        ways = {"": 0} if toolkit.simulated() else {"": 0, ", launches recorded": 1}
        for way, recorded in ways.items():
            ours: Any = (lambda: None) if recorded else as_it_is
            matmul.cublas = ours
            with mx.knobs(MXNET_ENABLE_CUDA_GRAPHS=recorded):
                there, fast = losses(make, GPU, steps)
            far = max(abs(a - b) / abs(b) for a, b in zip(there, here, strict=True))
            note = f"losses of {steps} steps within {far:.1e}"
            if on_cpu:
                note = f"CPU {1e3 * slow:.1f} ms, {note}"
            yield Row(f"{name}, a training step{way}", fast, both, note=note)
        matmul.cublas = as_it_is


def measured(play: bool) -> Iterator[Row]:
    """All rows."""
    if play:
        yield from memory(64)
        yield from products([4])
        yield from convolutions(1, 3)
        yield from algebra(3)
        yield from training({"a small net": (small, None, True)}, 2)
        return
    nets = {
        "LeNet": (lenet, lenet_of_torch, True),
        "ResNet-18": (resnet, resnet_of_torch, False),
    }
    yield from memory(1 << 28)
    yield from products([1024, 2048, 4096])
    yield from convolutions(32, 1 << 30)
    yield from training(nets, 30)
    yield from algebra(1024)


def main(arguments: Sequence[str]) -> int:
    """Print the table; 1 where there is nothing to measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--play", action="store_true", help="tiny sizes, simulated")
    parser.add_argument("--save", type=Path, help="a file for the numbers, as JSON")
    chosen = parser.parse_args(arguments)
    found = toolkit.look()
    if found.kind != ("simulator" if chosen.play else "cuda"):
        print(f"No GPU to measure: {found}. It takes one, and minimx[cuda].")
        return 1
    with working(GPU):
        card = repr(driver_for(GPU))
    print(card)
    rows = []
    with mx.knobs(MINIMX_CUDA_VERBOSE=0):
        for row in measured(chosen.play):
            rows.append(row)
            name, took, *rest = row.words()
            print("  ".join([name.ljust(44), took.rjust(12), *rest]).rstrip())
            sys.stdout.flush()
            if chosen.save:
                whole = {"date": f"{date.today()}", "card": card}
                table = {**whole, "rows": [row._asdict() for row in rows]}
                chosen.save.write_text(json.dumps(table, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
