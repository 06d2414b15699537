"""Every live knob moves what it says it moves, and back; the last test wants all."""

from __future__ import annotations

import io
import pathlib
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from minimx import context, nd
from minimx.core import autograd, engine, events, storage
from minimx.core.device import Device, cpu, cpu_pinned, gpu
from minimx.core.knobs import knobs
from minimx.core.knobs.declarations.simulated import host_share
from minimx.core.record import Record
from minimx.gluon import utils as gluon_utils
from minimx.gluon.data import vision
from tests.core.knobs import (
    test_convolution_liveness,
    test_cuda_liveness,
    test_data_liveness,
    test_kvstore_liveness,
    test_mirror_liveness,
    test_onednn_layers_liveness,
    test_onednn_liveness,
    test_pass_liveness,
    test_planner_liveness,
    test_profiler_liveness,
    test_running_liveness,
    test_simulated_liveness,
    test_sparse_liveness,
    test_tensor_core_liveness,
    test_thread_liveness,
    test_training_liveness,
    test_tuning_liveness,
)
from tests.core.knobs.proofs import PROVEN, by_example, defaults, proves, turned

__all__ = [
    "defaults", "test_convolution_liveness", "test_cuda_liveness",
    "test_data_liveness", "test_kvstore_liveness", "test_mirror_liveness",
    "test_onednn_layers_liveness", "test_onednn_liveness",
    "test_pass_liveness", "test_planner_liveness",
    "test_profiler_liveness", "test_running_liveness", "test_simulated_liveness",
    "test_sparse_liveness", "test_tensor_core_liveness", "test_thread_liveness",
    "test_training_liveness", "test_tuning_liveness",
]  # fmt: skip

KINDS = {"GPU": gpu(0), "CPU": cpu(0), "CPU_PINNED": cpu_pinned(0)}

every_kind = pytest.mark.parametrize("kind", KINDS)


def of_every_kind(name: str) -> list[str]:
    return [name.replace("*", kind) for kind in KINDS]


# The engine


def lanes(device: Device, prop: int, count: int) -> set[str]:
    """The workers that serve a device, of which `count` must be able to meet."""
    meeting = threading.Barrier(count)
    seen: list[str] = []

    def note(wait: bool) -> None:
        seen.append(threading.current_thread().name)
        if wait:
            meeting.wait(timeout=20)

    for turn in range(5 * count):
        engine.push(partial(note, turn < count), device, (), (), "lane", prop=prop)
    engine.wait_all()
    return set(seen)


@proves("MXNET_ENGINE_TYPE")
def test_the_engine_type_changes_the_lane_of_an_operation() -> None:
    def observe() -> tuple[str, bool]:
        mine = threading.current_thread().name
        return engine.engine_type(), lanes(cpu(), engine.NORMAL, 1) == {mine}

    before, during = turned(observe, MXNET_ENGINE_TYPE="NaiveEngine")
    assert before == ("ThreadedEnginePerDevice", False)
    assert during == ("NaiveEngine", True)
    _, during = turned(observe, MXNET_ENGINE_TYPE="ThreadedEngine")
    assert during == ("ThreadedEngine", False)


@proves(
    "MXNET_CPU_WORKER_NTHREADS",
    "MXNET_CPU_PRIORITY_NTHREADS",
    "MXNET_GPU_WORKER_NTHREADS",
    "MXNET_GPU_COPY_NTHREADS",
)
@pytest.mark.parametrize(
    ("name", "device", "prop"),
    [
        ("MXNET_CPU_WORKER_NTHREADS", cpu(), engine.NORMAL),
        ("MXNET_CPU_PRIORITY_NTHREADS", cpu(), engine.CPU_PRIORITIZED),
        ("MXNET_GPU_WORKER_NTHREADS", gpu(), engine.NORMAL),
        ("MXNET_GPU_COPY_NTHREADS", gpu(), engine.COPY_TO_GPU),
    ],
)
def test_a_thread_count_is_a_number_of_lanes(
    name: str, device: Device, prop: int
) -> None:
    def observe() -> int:
        return len(lanes(device, prop, knobs.get(name)))

    assert turned(observe, **{name: 3}) == (knobs.get(name), 3)


@proves("DMLC_LOG_STACK_TRACE_DEPTH")
def test_the_stack_depth_is_the_number_of_callers_in_an_error() -> None:
    def fail() -> None:
        raise ValueError("on purpose")

    def asking_line() -> None:
        engine.push(fail, cpu(), (), (engine.Var(),), "failing")

    def observe() -> int:
        asking_line()
        with pytest.raises(ValueError, match="on purpose") as caught:
            engine.wait_all()
        notes = "\n".join(caught.value.__notes__)
        assert notes.count("pushed at") == 1
        return notes.count("called at")

    assert turned(observe, DMLC_LOG_STACK_TRACE_DEPTH=3) == (0, 3)


# Bulking


def bulks(work: Callable[[], object]) -> int:
    """How many joined operations the engine was handed."""
    engine.wait_all()
    with Record() as record:
        work()
        engine.wait_all()
    return record.texts(record.ops()["name"]).count("ImperativeBulk")


def backward() -> None:
    """A backward pass of some twenty operations."""
    x = nd.ones((4,))
    x.attach_grad()
    with autograd.record():
        y = x
        for _ in range(20):
            y = nd.sin(y)
    engine.wait_all()
    y.backward()


@proves(
    "MXNET_EXEC_BULK_EXEC_TRAIN",
    "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN",
    "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_BWD",
)
@pytest.mark.parametrize("ending", ["", "_BWD"])
def test_the_bulk_size_is_how_many_operations_a_backward_pass_joins(
    ending: str,
) -> None:
    name = f"MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN{ending}"
    before, during = turned(lambda: bulks(backward), **{name: 5})
    assert 0 < before < during
    assert turned(lambda: bulks(backward), **{name: 1}) == (before, 0)
    assert turned(lambda: bulks(backward), MXNET_EXEC_BULK_EXEC_TRAIN=0) == (before, 0)


@proves("MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_FWD")
def test_the_forward_bulk_size_is_how_many_operations_a_bulk_block_joins() -> None:
    x = nd.ones((4,))

    def forward() -> None:
        with engine.bulk():
            for _ in range(12):
                nd.sin(x)

    name = "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN"
    assert turned(lambda: bulks(forward), **{f"{name}_FWD": 3}) == (1, 4)
    assert turned(lambda: bulks(forward), **{f"{name}_FWD": 0}) == (1, 0)
    assert turned(lambda: bulks(forward), **{name: 6}) == (1, 2)


# The pools


def block_size(device: Device, nbytes: int) -> int:
    """The size of the block that serves a request."""
    block = storage.pool_for(device).alloc(nbytes, events.owner("liveness"))
    found = storage.stats(device).live_rounded
    size = block.size
    block.free()
    assert found - storage.stats(device).live_rounded == size
    return int(size)


def reused(device: Device) -> bool:
    """Whether the second of two equal requests finds the first one's block."""
    block_size(device, 50_000)
    hits = storage.stats(device).n_hit
    block_size(device, 50_000)
    return storage.stats(device).n_hit > hits


@proves(*of_every_kind("MXNET_*_MEM_POOL_TYPE"))
@every_kind
def test_the_pool_type_decides_about_size_and_reuse(kind: str) -> None:
    device = KINDS[kind]
    name = f"MXNET_{kind}_MEM_POOL_TYPE"

    def observe() -> tuple[int, bool]:
        return block_size(device, 10_000), reused(device)

    assert turned(observe, **{name: "Round"}) == ((12_288, True), (16_384, True))
    before, (_, again) = turned(observe, **{name: "Unpooled"})
    assert before[1]
    assert not again


@proves(*of_every_kind("MXNET_*_MEM_POOL_PAGE_SIZE"))
@every_kind
def test_the_page_size_is_the_smallest_block(kind: str) -> None:
    seen = turned(
        lambda: block_size(KINDS[kind], 1), **{f"MXNET_{kind}_MEM_POOL_PAGE_SIZE": 8192}
    )
    assert seen == (4096, 8192)


@proves(*of_every_kind("MXNET_*_MEM_LARGE_ALLOC_ROUND_SIZE"))
@every_kind
def test_the_large_round_size_rounds_large_blocks(kind: str) -> None:
    name = f"MXNET_{kind}_MEM_LARGE_ALLOC_ROUND_SIZE"
    seen = turned(lambda: block_size(KINDS[kind], 3_000_000), **{name: 1})
    assert seen == (4 << 20, 3_002_368)


@proves(*of_every_kind("MXNET_*_MEM_POOL_ROUND_LINEAR_CUTOFF"))
@every_kind
def test_the_cutoff_ends_the_powers_of_two(kind: str) -> None:
    name = f"MXNET_{kind}_MEM_POOL_ROUND_LINEAR_CUTOFF"
    with knobs(**{f"MXNET_{kind}_MEM_POOL_TYPE": "Round"}):
        seen = turned(lambda: block_size(KINDS[kind], 36 << 20), **{name: 28})
    assert seen == (48 << 20, 64 << 20)


@proves(*of_every_kind("MXNET_*_MEM_POOL_RESERVE"))
@every_kind
def test_the_reserve_makes_a_miss_give_idle_blocks_back(kind: str) -> None:
    device = KINDS[kind]

    def observe() -> int:
        storage.empty_cache(device)
        flushes = storage.stats(device).n_flush
        block_size(device, 1 << 20)
        block_size(device, 2 << 20)  # a size that is not idle: a miss
        return storage.stats(device).n_flush - flushes

    before, during = turned(observe, **{f"MXNET_{kind}_MEM_POOL_RESERVE": 100})
    assert before == 0
    assert during > 0


@proves("MXNET_USE_NAIVE_STORAGE_MANAGERS")
@every_kind
def test_naive_storage_managers_never_reuse(kind: str) -> None:
    seen = turned(lambda: reused(KINDS[kind]), MXNET_USE_NAIVE_STORAGE_MANAGERS=1)
    assert seen == (True, False)


# Kernels


def threads_of_a_kernel(size: int) -> int:
    """How many threads a pointwise kernel works with."""
    from minimx.core.kernels import threads

    return threads.parts(size)


@proves("OMP_NUM_THREADS")
def test_the_number_of_kernel_threads() -> None:
    from minimx.core.kernels import threads

    other = 1 if threads.count() > 1 else 2
    seen = turned(lambda: threads_of_a_kernel(10**7), OMP_NUM_THREADS=other)
    assert seen == (threads.count(), other)


@proves("MXNET_CPU_PARALLEL_SIZE")
def test_the_size_from_which_kernels_are_parallel() -> None:
    with knobs(OMP_NUM_THREADS=2):
        seen = turned(lambda: threads_of_a_kernel(1000), MXNET_CPU_PARALLEL_SIZE=1000)
        assert seen == (1, 2)
        seen = turned(lambda: threads_of_a_kernel(10**6), MXNET_CPU_PARALLEL_SIZE=10**9)
        assert seen == (2, 1)


@proves("MXNET_SAFE_ACCUMULATION")
def test_sums_in_float16_stand_still_without_safe_accumulation() -> None:
    x = nd.full((70_000,), 0.1, dtype="float16")

    def observe() -> tuple[float, ...]:
        shares = nd.softmax(x).asnumpy().astype("float64").sum()
        line = nd.LayerNorm(x, nd.ones_like(x), nd.zeros_like(x), output_mean_var=True)
        found = nd.norm(x).asscalar(), shares, line[1].asscalar()
        return tuple(round(float(number), 1) for number in found)

    narrow, wide = turned(observe, MXNET_SAFE_ACCUMULATION=1)
    # MXNet says 4.523 and 34.18; its means overflow as well, to 256 / infinity.
    assert narrow == (4.5, 34.2, 0.0)
    assert wide == (26.5, 1.0, 0.1)


@proves("MXNET_FC_TRUE_FP16")
@pytest.mark.parametrize("device", [cpu(0), gpu(0)])
def test_a_product_of_halves_stands_still_at_2048(device: Device) -> None:
    a = nd.ones((2, 5000), device, dtype="float16")
    b = nd.ones((3, 5000), device, dtype="float16")

    def observe() -> list[float]:
        found = (
            nd.FullyConnected(a, b, num_hidden=3, no_bias=True),
            nd.dot(a, b, transpose_b=True),
            nd.batch_dot(a.expand_dims(0), b.expand_dims(0), transpose_b=True),
        )
        return [float(out.asnumpy().astype("float64").mean()) for out in found]

    # 5000 itself is a float16: between 4096 and 8192 they are 4 apart.
    assert turned(observe, MXNET_FC_TRUE_FP16=1) == ([5000.0] * 3, [2048.0] * 3)


@proves("MXNET_ENFORCE_DETERMINISM")
def test_determinism_forbids_the_gradient_whose_sum_depends_on_threads() -> None:
    images, weight = nd.ones((24, 32, 12, 12)), nd.ones((32, 32, 5, 5))
    weight.attach_grad()
    settings: dict[str, Any] = {
        "kernel": (5, 5),
        "num_filter": 32,
        "no_bias": True,
        "workspace": 1,
    }

    def observe() -> int:
        with autograd.record():
            total = nd.Convolution(images, weight, **settings).sum()
        engine.wait_all()
        with Record() as record:
            total.backward()
            engine.wait_all()
        mem = record.mem()
        words = record.texts(mem["category"])
        # Not what graphs hold already when recording begins.
        scratch = [
            w == "workspace" and op for w, op in zip(words, mem["op"], strict=True)
        ]
        return int(mem["requested"][np.array(scratch, bool)].sum())

    with knobs(OMP_NUM_THREADS=2):
        without, with_ = turned(observe, MXNET_ENFORCE_DETERMINISM=1)
    assert without > 0
    assert with_ == 0


# Files and addresses


def write_digits(home: pathlib.Path, count: int) -> pathlib.Path:
    """Test files of MNIST with `count` black images, where a user would put them."""
    folder = home / "datasets" / "mnist"
    folder.mkdir(parents=True)
    for name, kind, shape in (
        ("t10k-images-idx3-ubyte", 3, (count, 28, 28)),
        ("t10k-labels-idx1-ubyte", 1, (count,)),
    ):
        head = bytes([0, 0, 8, kind]) + np.array(shape, ">i4").tobytes()
        (folder / name).write_bytes(head + bytes(int(np.prod(shape))))
    return home


@proves("MXNET_HOME")
def test_the_home_is_where_data_sets_look_first(tmp_path: pathlib.Path) -> None:
    here, there = (write_digits(tmp_path / str(n), n) for n in (3, 5))
    with knobs(MXNET_HOME=here):
        seen = turned(lambda: len(vision.MNIST(train=False)), MXNET_HOME=there)
    assert seen == (3, 5)


@proves("MXNET_GLUON_REPO")
def test_the_repository_is_where_files_come_from(tmp_path: pathlib.Path) -> None:
    (tmp_path / "gluon").mkdir()
    (tmp_path / "gluon" / "labels.txt").write_text("shirt")

    def address() -> str:
        return gluon_utils.repository_url("gluon/labels.txt")

    before, during = turned(address, MXNET_GLUON_REPO=tmp_path)
    assert before.startswith("https://")
    fetched = gluon_utils.download(during, path=tmp_path / "copy.txt")
    assert pathlib.Path(fetched).read_text() == "shirt"


# minimx's own


@proves("MINIMX_SIM_GPUS")
def test_the_number_of_simulated_gpus() -> None:
    assert turned(context.num_gpus, MINIMX_SIM_GPUS=3) == (1, 3)


@proves("MINIMX_SIM_GPU_MEMORY")
def test_the_memory_of_a_simulated_gpu() -> None:
    def total() -> int:
        return context.gpu_memory_info(0)[1]

    before, during = turned(total, MINIMX_SIM_GPU_MEMORY="64MiB")
    assert before == host_share() >= 1 << 30
    assert during == 64 << 20


@proves("MINIMX_CLOCK")
def test_the_virtual_clock_tells_the_same_times_in_every_run() -> None:
    def times() -> list[list[int]]:
        engine.wait_all()
        with Record() as record:
            x = nd.ones((64, 64))
            for _ in range(5):
                x = nd.dot(x, x)
            engine.wait_all()
        ops = np.sort(record.ops(), order="op")
        start = ops["t_start"].min()
        return [(ops[name] - start).tolist() for name in ("t_start", "t_end")]

    with knobs(MINIMX_CLOCK="virtual"):
        assert times() == times()
    assert times() != times()


@proves("MINIMX_RECORD_CAPACITY")
def test_the_capacity_of_a_record() -> None:
    def observe() -> tuple[int, int]:
        record = Record()
        for step in range(10):
            record.metric(step, "loss", 1.0)
        return len(record.metrics()), record.dropped["metrics"]

    assert turned(observe, MINIMX_RECORD_CAPACITY=4) == ((10, 0), (4, 6))


@proves("MINIMX_CACHE")
def test_compiled_kernels_go_into_the_cache_folder(tmp_path: pathlib.Path) -> None:
    code = (
        "import minimx.nd as nd; from minimx.core.knobs import knobs;"
        f"knobs.set(MINIMX_CACHE={str(tmp_path)!r});"
        "print(nd.exp(nd.ones((3,))).asnumpy()[0] > 2)"
    )
    assert not list(tmp_path.iterdir())
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert done.stdout == "True\n"
    assert [path for path in tmp_path.rglob("*") if path.is_file()]


@proves("MINIMX_PROGRESS")
def test_progress_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    import minimx.core.kernels
    from minimx.commands.cli.compile import run

    monkeypatch.setattr(minimx.core.kernels, "warm_up", lambda: iter([(1, 1, "add")]))

    def lines() -> int:
        out = io.StringIO()
        run(out)
        return len(out.getvalue().splitlines())

    assert turned(lines, MINIMX_PROGRESS=0) == (2, 1)


# All of them


def test_every_live_knob_is_proven_alive() -> None:
    PROVEN.update(by_example())
    assert {knob.name for knob in knobs if knob.live} == PROVEN
