"""The knobs of running graphs move what they say they move, in Symbol and in Gluon."""

from __future__ import annotations

import gc
import pathlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import gluon
from minimx.core import autograd, storage
from minimx.core.device import Device, cpu, gpu
from minimx.core.graph.memory import workspaces
from minimx.core.knobs import knobs
from minimx.core.record import Record
from minimx.cuda import captures
from tests.core.knobs.proofs import defaults, proves, turned

__all__ = ["defaults"]

#: What a network computes: operators of F on its inputs.
Build = Callable[..., Any]
Work = Callable[[], Any]


def in_symbol(build: Build, inputs: list[Any], train: bool) -> Work:
    """A bound symbol, as something to be run."""
    names = [f"x{i}" for i in range(len(inputs))]
    symbol = build(mx.sym, *map(mx.sym.var, names))
    grads = {name: mx.nd.zeros_like(x) for name, x in zip(names, inputs, strict=True)}
    executor = symbol.bind(
        inputs[0].context,
        dict(zip(names, inputs, strict=True)),
        args_grad=grads if train else None,
        grad_req="write" if train else "null",
    )

    def run() -> Any:
        outs = executor.forward(is_train=train)
        if train:
            executor.backward([mx.nd.ones_like(out) for out in outs])
        return outs

    return run


class Net(gluon.HybridBlock):
    """A block that computes what a function says."""

    def __init__(self, build: Build) -> None:
        super().__init__()
        self.build = build

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **params: Any) -> Any:
        return self.build(F, x, *args)


def in_gluon(build: Build, inputs: list[Any], train: bool) -> Work:
    """A hybridized block, as something to be run."""
    net = Net(build)
    net.hybridize(static_alloc=True, static_shape=True)
    for x in inputs if train else ():
        x.attach_grad()

    def run() -> Any:
        if not train:
            return [net(*inputs)]
        with autograd.record():
            outs = net(*inputs)
        outs = outs if isinstance(outs, (list, tuple)) else [outs]
        autograd.backward(list(outs), [mx.nd.ones_like(out) for out in outs])
        return outs

    return run


every_world = pytest.mark.parametrize("world", [in_symbol, in_gluon])


def names(work: Work) -> list[str]:
    """The operations that a second run pushes."""
    work()
    mx.nd.waitall()
    with Record() as record:
        work()
        mx.nd.waitall()
    found = record.texts(record.ops()["name"])
    return [name for name in found if name not in ("ones_like", "_ones")]


def chain(F: Any, x: Any) -> Any:  # noqa: N803 (MXNet's name)
    for _ in range(4):
        x = F.softmax(F.dot(x, x))
    return x


@proves("MXNET_EXEC_BULK_EXEC_INFERENCE")
@every_world
def test_a_prediction_is_one_operation_or_many(world: Any) -> None:
    def observe() -> int:
        return len(names(world(chain, [mx.nd.ones((4, 4))], False)))

    assert turned(observe, MXNET_EXEC_BULK_EXEC_INFERENCE=0) == (1, 8)


@proves(
    "MXNET_EXEC_BULK_EXEC_TRAIN",
    "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN",
    "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_FWD",
    "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_BWD",
)
@every_world
def test_training_runs_in_segments(world: Any) -> None:
    def observe() -> int:
        return len(names(world(chain, [mx.nd.ones((4, 4))], True)))

    size = "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN"
    before, apart = turned(observe, MXNET_EXEC_BULK_EXEC_TRAIN=0)
    assert before <= 4 < apart
    assert turned(observe, **{f"{size}_FWD": 2}) == (before, before + 3)
    assert turned(observe, **{f"{size}_BWD": 5})[1] > before
    assert turned(observe, **{size: 1}) == (before, apart)


# On the virtual clock


@contextmanager
def virtually(**changes: object) -> Iterator[None]:
    with knobs(MINIMX_CLOCK="virtual", **changes):
        yield


def makespan(works: list[Work], runs: int = 1) -> list[int]:
    """How long runs of several graphs at once take, in nanoseconds."""
    found = []
    for _ in range(runs):
        mx.nd.waitall()
        with Record() as record:
            for work in works:
                work()
            mx.nd.waitall()
        ops = record.ops()
        found.append(int(ops["t_end"].max() - ops["t_start"].min()))
    return found


def overlap(works: list[Work], name: str) -> bool:
    """Whether operations of a name run at the same time if several graphs are run.

    What other threads push meanwhile does not count; it may move a start by a little.
    """
    mx.nd.waitall()
    with Record() as record:
        for work in works:
            work()
        mx.nd.waitall()
    ops = record.ops()
    rows = [name == text for text in record.texts(ops["name"])]
    spans = sorted(zip(ops["t_start"][rows], ops["t_end"][rows], strict=True))
    assert len(spans) >= 2
    return any(later < end for (_, end), (later, _) in pairwise(spans))


def convolution(F: Any, x: Any, w: Any) -> Any:  # noqa: N803
    return F.Convolution(x, w, kernel=(5, 5), num_filter=8, no_bias=True)


@proves("MXNET_CPU_TEMP_COPY", "MXNET_GPU_TEMP_COPY")
@every_world
@pytest.mark.parametrize(("kind", "copies"), [("CPU", 1), ("GPU", 2)])
def test_convolutions_with_workspaces_of_their_own_overlap(
    kind: str, copies: int, world: Any
) -> None:
    device: Device = cpu() if kind == "CPU" else gpu(0)

    def observe() -> tuple[bool, int]:
        workspaces.forget()
        with virtually(MXNET_CPU_WORKER_NTHREADS=2, MXNET_GPU_WORKER_NTHREADS=2):
            inputs = [
                mx.nd.ones((8, 16, 32, 32), ctx=device),
                mx.nd.ones((8, 16, 5, 5), ctx=device),
            ]
            works = [world(convolution, inputs, False) for _ in range(2)]
            overlap(works, "Convolution")  # which lets the workspaces grow
            every = workspaces.workspaces(device).each
            used = sum(one.nbytes > 0 for one in every)
            return overlap(works, "Convolution"), used

    before, during = turned(observe, **{f"MXNET_{kind}_TEMP_COPY": copies})
    assert during == (copies == 2, copies)
    assert before == (copies == 1, 3 - copies)


def noise(F: Any, x: Any) -> Any:  # noqa: N803
    return F.concat(F.random.uniform(shape=(2, 2)), F.random.normal(shape=(2, 2)), x)


@proves("MXNET_CPU_PARALLEL_RAND_COPY", "MXNET_GPU_PARALLEL_RAND_COPY")
@pytest.mark.parametrize(("kind", "copies"), [("CPU", 2), ("GPU", 1)])
def test_another_number_of_streams_gives_other_numbers(kind: str, copies: int) -> None:
    device: Device = cpu() if kind == "CPU" else gpu(0)
    symbol = noise(mx.sym, mx.sym.var("x"))

    def in_graph() -> Any:
        executor = symbol.bind(device, {"x": mx.nd.zeros((2, 2), ctx=device)})
        return executor.forward()[0]

    def in_block() -> Any:
        return in_gluon(noise, [mx.nd.zeros((2, 2), ctx=device)], False)()[0]

    def by_hand() -> Any:
        with device:
            return noise(mx.nd, mx.nd.zeros((2, 2), ctx=device))

    def observe() -> list[bytes]:
        found = []
        for draw in (in_graph, in_block, by_hand):
            mx.random.seed(3)
            found.append(draw().asnumpy().tobytes())
        assert found[0] == found[1] == found[2]
        return found

    before, during = turned(observe, **{f"MXNET_{kind}_PARALLEL_RAND_COPY": copies})
    assert before != during


def two_dropouts(F: Any, x: Any) -> Any:  # noqa: N803
    return F.concat(F.Dropout(x, p=0.5), F.Dropout(x, p=0.5), dim=0)


@proves("MXNET_GPU_CUDNN_DROPOUT_STATE_COPY")
@every_world
def test_dropouts_with_states_of_their_own_overlap(world: Any) -> None:
    def observe() -> bool:
        with virtually(MXNET_EXEC_BULK_EXEC_TRAIN=0):
            x = mx.nd.ones((1024, 1024), ctx=gpu(0))
            return overlap([world(two_dropouts, [x], True)], "Dropout")

    assert turned(observe, MXNET_GPU_CUDNN_DROPOUT_STATE_COPY=1) == (True, False)


# Recorded launches


def runs(world: Any, count: int = 4) -> list[int]:
    with virtually():
        x = mx.nd.ones((4, 4), ctx=gpu(0))
        return makespan([world(chain, [x], False)], count)


@proves("MXNET_ENABLE_CUDA_GRAPHS")
@every_world
def test_the_second_run_records_and_later_ones_are_fast(world: Any) -> None:
    plain, recorded = turned(lambda: runs(world), MXNET_ENABLE_CUDA_GRAPHS=1)
    assert len(set(plain)) == 1
    first, second, third, fourth = recorded
    assert first == plain[0]
    assert third < first < second
    assert third == fourth


def test_random_operators_stay_outside_a_recording() -> None:
    def observe(F: Any, x: Any) -> Any:  # noqa: N803
        return F.dot(F.Dropout(F.dot(x, x), p=0.5), x)

    with virtually(MXNET_ENABLE_CUDA_GRAPHS=1):
        x = mx.nd.ones((4, 4), ctx=gpu(0))
        work = in_symbol(observe, [x], True)
        times = makespan([work], 3)
    assert times[2] < times[1]


def lines(capsys: pytest.CaptureFixture[str], world: Any) -> list[str]:
    capsys.readouterr()
    with knobs(MXNET_ENABLE_CUDA_GRAPHS=1):
        runs(world)
    return capsys.readouterr().out.splitlines()


@proves("MXNET_CUDA_GRAPHS_VERBOSE")
@every_world
def test_recordings_are_told(world: Any, capsys: pytest.CaptureFixture[str]) -> None:
    quiet, told = turned(lambda: lines(capsys, world), MXNET_CUDA_GRAPHS_VERBOSE=1)
    assert quiet == []
    assert sum("recording segment [dot,softmax" in line for line in told) == 1
    assert sum("replaying 1 graphs" in line for line in told) == 2


@proves("MXNET_CUDA_GRAPHS_MAX_LOG_ENTRIES")
@every_world
def test_some_recordings_are_announced(
    world: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    def observe() -> int:
        captures.restart_counting()
        told = [*lines(capsys, world), *lines(capsys, world), *lines(capsys, world)]
        return sum(line.startswith("Created CUDA graph") for line in told)

    assert turned(observe, MXNET_CUDA_GRAPHS_MAX_LOG_ENTRIES=2) == (0, 2)
    assert turned(observe, MXNET_CUDA_GRAPHS_MAX_LOG_ENTRIES=9) == (0, 3)


@proves("MXNET_CUDA_GRAPHS_DBG_FILE", "MXNET_CUDA_GRAPHS_DBG_FILE_FLAGS")
@every_world
def test_recordings_are_drawn(world: Any, tmp_path: pathlib.Path) -> None:
    captures.restart_counting()

    def drawn() -> int:
        for old in tmp_path.iterdir():
            old.unlink()
        with knobs(MXNET_ENABLE_CUDA_GRAPHS=1):
            runs(world)
        found = list(tmp_path.iterdir())
        for path in found:
            assert path.name.startswith("graph-dev0-inf-")
            assert "softmax" in path.read_text()
        # A node is named by how many there were before it: dot9, then dot10.
        return sum(len(re.sub(r"\d+", "0", path.read_text())) for path in found)

    prefix = str(tmp_path / "graph")
    nothing, everything = turned(drawn, MXNET_CUDA_GRAPHS_DBG_FILE=prefix)
    assert nothing == 0
    with knobs(MXNET_CUDA_GRAPHS_DBG_FILE=prefix):
        whole, some = turned(drawn, MXNET_CUDA_GRAPHS_DBG_FILE_FLAGS=4)
        assert 0 < some < whole
    with (
        knobs(MXNET_CUDA_GRAPHS_DBG_FILE=str(tmp_path / "no" / "folder")),
        pytest.warns(UserWarning, match="folder that exists"),
    ):
        drawn()
    assert everything > 0
    assert np.isfinite(everything)
    assert storage.stats(gpu(0)).device == "gpu(0)"


# A second stream


@proves("MXNET_GPU_WORKER_NSTREAMS")
@every_world
def test_both_gradients_of_a_convolution_at_once(world: Any) -> None:
    def observe() -> tuple[int, int]:
        workspaces.forget()
        with virtually():
            inputs = [
                mx.nd.ones((8, 16, 32, 32), ctx=gpu(0)),
                mx.nd.ones((8, 16, 5, 5), ctx=gpu(0)),
            ]
            gc.collect()  # graphs of before, with their workspaces
            storage.reset_peaks(gpu(0))
            (took,) = makespan([world(convolution, inputs, True)])
            return took, storage.categories(gpu(0))["workspace"].peak

    (before, alone), (during, both) = turned(observe, MXNET_GPU_WORKER_NSTREAMS=2)
    assert during <= before - 5_000  # a launch, at least
    assert both > alone
    assert turned(observe, MXNET_GPU_WORKER_NSTREAMS=7)[1] == (during, both)


def test_the_gradients_are_the_same_with_two_streams() -> None:
    rng = np.random.default_rng(0)
    shapes = (2, 3, 8, 8), (8, 3, 5, 5)
    data = [rng.normal(size=shape).astype("f4") for shape in shapes]

    def gradients(count: int) -> list[bytes]:
        inputs = [mx.nd.array(x, ctx=gpu(0)) for x in data]
        with knobs(MXNET_GPU_WORKER_NSTREAMS=count):
            in_gluon(convolution, inputs, True)()
        return [x.grad.asnumpy().tobytes() for x in inputs]

    assert gradients(1) == gradients(2)
