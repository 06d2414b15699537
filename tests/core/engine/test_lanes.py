"""Who is served where, in which order, and by how many."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

import pytest

from minimx.core import engine
from minimx.core.device import Device, cpu, cpu_pinned, gpu
from minimx.core.engine import Var
from minimx.core.engine.lanes import Lane, Sizes, per_device, pooled
from minimx.core.knobs import knobs

SIZES = Sizes(cpu_workers=3, cpu_priority=5, gpu_workers=6, gpu_copy=7)
SOON = 20.0


@pytest.mark.parametrize(
    ("device", "prop", "lane"),
    [
        (cpu(0), engine.NORMAL, Lane("cpu(0)", 3)),
        (cpu(1), engine.NO_SKIP, Lane("cpu(1)", 3)),
        (cpu_pinned(1), engine.NORMAL, Lane("cpu(1)", 3)),
        (cpu(0), engine.CPU_PRIORITIZED, Lane("cpu priority", 5, by_priority=True)),
        (cpu(3), engine.CPU_PRIORITIZED, Lane("cpu priority", 5, by_priority=True)),
        (gpu(1), engine.NORMAL, Lane("gpu(1)", 6)),
        (gpu(1), engine.GPU_PRIORITIZED, Lane("gpu(1) priority", 6, by_priority=True)),
        (gpu(0), engine.COPY_TO_GPU, Lane("gpu(0) copy", 7, by_priority=True)),
        (gpu(0), engine.COPY_FROM_GPU, Lane("gpu(0) copy", 7, by_priority=True)),
    ],
)
def test_lanes_per_device(device: Device, prop: int, lane: Lane) -> None:
    assert per_device(device, prop, SIZES) == lane


def test_pooled_lanes() -> None:
    assert pooled(gpu(0), engine.COPY_TO_GPU, SIZES) == Lane("copy", 1)
    for device in (cpu(0), cpu(1), gpu(2)):
        assert pooled(device, engine.NORMAL, SIZES) == Lane("pool", 16, eager=False)


def lane_of(device: Device, prop: int = engine.NORMAL) -> str:
    names: list[str] = []
    engine.push(
        lambda: names.append(threading.current_thread().name),
        device,
        [],
        [Var()],
        "where",
        prop=prop,
    )
    engine.wait_all()
    return names[0].split("/")[0]


def test_operations_run_on_the_threads_of_their_lane() -> None:
    assert lane_of(cpu(0)) == "cpu(0)"
    assert lane_of(gpu(0), engine.COPY_FROM_GPU) == "gpu(0) copy"
    assert lane_of(cpu(0), engine.CPU_PRIORITIZED) == "cpu priority"
    with knobs(MXNET_ENGINE_TYPE="ThreadedEngine"):
        assert lane_of(gpu(0), engine.COPY_FROM_GPU) == "copy"
        assert lane_of(gpu(0)) == "pool"


THREAD_KNOBS = {
    "MXNET_CPU_WORKER_NTHREADS": (cpu(0), engine.NORMAL),
    "MXNET_CPU_PRIORITY_NTHREADS": (cpu(0), engine.CPU_PRIORITIZED),
    "MXNET_GPU_WORKER_NTHREADS": (gpu(0), engine.NORMAL),
    "MXNET_GPU_COPY_NTHREADS": (gpu(0), engine.COPY_TO_GPU),
}


def together(device: Device, prop: int) -> int:
    """How many operations run at the same time on a lane that has enough to do."""
    threads = per_device(device, prop, sizes()).threads
    everybody = threading.Condition()
    inside, most = [0], [0]

    def work() -> None:
        with everybody:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            everybody.notify_all()
            everybody.wait_for(lambda: most[0] >= threads, SOON)
            inside[0] -= 1

    for _ in range(threads * 2):
        engine.push(work, device, [], [Var()], "work", prop=prop)
    engine.wait_all()
    return most[0]


def sizes() -> Sizes:
    return Sizes(
        knobs.get("MXNET_CPU_WORKER_NTHREADS"),
        knobs.get("MXNET_CPU_PRIORITY_NTHREADS"),
        knobs.get("MXNET_GPU_WORKER_NTHREADS"),
        knobs.get("MXNET_GPU_COPY_NTHREADS"),
    )


@pytest.mark.parametrize("knob", THREAD_KNOBS)
def test_thread_count_knobs_act_at_once(knob: str) -> None:
    device, prop = THREAD_KNOBS[knob]
    before = together(device, prop)
    assert before == knobs.get(knob)
    with knobs(**{knob: 3}):
        assert together(device, prop) == 3
    assert together(device, prop) == before


PRIORITY_LANES = {
    "MXNET_CPU_PRIORITY_NTHREADS": (cpu(0), engine.CPU_PRIORITIZED),
    "MXNET_GPU_WORKER_NTHREADS": (gpu(0), engine.GPU_PRIORITIZED),
    "MXNET_GPU_COPY_NTHREADS": (gpu(0), engine.COPY_TO_GPU),
}


class Long:
    """A cost: some seconds on the virtual clock."""

    flops = 10**12
    bytes_moved = 10**12


def close_gate(device: Device, prop: int) -> Callable[[], None]:
    """Keep a lane with one worker busy; returns what ends that."""
    gate, closed = threading.Event(), threading.Event()

    def block() -> None:
        closed.set()
        gate.wait(SOON)

    if knobs.get("MINIMX_CLOCK") == "virtual":
        engine.push(lambda: None, device, [], [], "gate", prop=prop, cost=Long())
    else:
        engine.push(block, device, [], [], "gate", prop=prop)
        assert closed.wait(SOON)
    return gate.set


@pytest.mark.parametrize("knob", PRIORITY_LANES)
@pytest.mark.parametrize("clock", ["wall", "virtual"])
def test_priority_lanes_serve_the_highest_first_and_equals_in_order(
    knob: str, clock: str
) -> None:
    device, prop = PRIORITY_LANES[knob]
    with knobs(**{knob: 1, "MINIMX_CLOCK": clock}):
        order: list[int] = []
        open_gate = close_gate(device, prop)
        for i, priority in enumerate([0, -1, 5, 0, 5, 2]):
            engine.push(
                partial(order.append, i),
                device,
                [],
                [Var()],
                "work",
                priority=priority,
                prop=prop,
            )
        open_gate()
        engine.wait_all()
    assert order == [2, 4, 5, 0, 3, 1]


def test_plain_lanes_ignore_priorities() -> None:
    order: list[int] = []
    open_gate = close_gate(cpu(), engine.NORMAL)
    for i in range(5):
        engine.push(partial(order.append, i), cpu(), [], [], "work", priority=i)
    open_gate()
    engine.wait_all()
    assert order == list(range(5))


def test_copies_pass_computing_by() -> None:
    """A copy has a lane of its own: it ends while the GPU's workers are busy."""
    gate, copied = threading.Event(), Var()
    for _ in range(4):
        engine.push(lambda: gate.wait(SOON), gpu(), [], [Var()], "compute")
    engine.push(lambda: None, gpu(), [], [copied], "copy", prop=engine.COPY_TO_GPU)
    engine.wait_to_read(copied)
    assert not gate.is_set()
    gate.set()


def test_workers_call_the_start_hooks_and_again_when_kernel_threads_change() -> None:
    calls: list[str] = []

    def hook() -> None:
        calls.append(threading.current_thread().name)

    engine.on_worker_start.append(hook)
    try:
        engine.push(lambda: None, cpu(7), [], [], "work")
        engine.wait_all()
        assert calls == ["cpu(7)/0"]
        with knobs(OMP_NUM_THREADS=3):
            engine.push(lambda: None, cpu(7), [], [], "work")
            engine.wait_all()
            assert calls == ["cpu(7)/0"] * 2
    finally:
        engine.on_worker_start.remove(hook)


def test_a_hook_that_fails_does_not_stop_the_lane(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def hook() -> None:
        raise ValueError("no such library")

    ran = []
    engine.on_worker_start.append(hook)
    try:
        engine.push(lambda: ran.append(1), cpu(8), [], [], "work")
        engine.wait_all()
    finally:
        engine.on_worker_start.remove(hook)
    assert ran == [1]
    assert "no such library" in capsys.readouterr().err
