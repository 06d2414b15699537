"""The knobs of the simulated machine move what they say, in times and in records."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from time import perf_counter

import pytest

import minimx as mx
from minimx import context
from minimx.core import engine
from minimx.core.device import gpu
from minimx.core.drivers import driver_for
from minimx.core.engine import Var
from minimx.core.knobs import knobs
from minimx.core.knobs.declarations.simulated import host_share
from minimx.core.record import Record
from tests.core.knobs.proofs import defaults, proves, turned

__all__ = ["defaults"]

MEGABYTE = 1_000_000
LAUNCH = 5_000


@pytest.fixture
def virtual(defaults: None) -> Iterator[None]:
    """Exact times."""
    with knobs(MINIMX_CLOCK="virtual"):
        yield


def copies(a: int = 0, b: int = 1) -> list[tuple[str, int]]:
    """What a copy of 12 MB from one GPU to another does, and how long each part is."""
    source = mx.nd.ones((3 * MEGABYTE,), ctx=gpu(a))
    mx.nd.waitall()
    with Record() as record:
        there = source.as_in_context(gpu(b))
        mx.nd.waitall()
    assert there.asnumpy().sum() == 3 * MEGABYTE
    ops = record.ops()
    names = record.texts(ops["name"])
    return list(zip(names, (ops["t_end"] - ops["t_start"]).tolist(), strict=True))


@proves("MXNET_ENABLE_GPU_P2P")
def test_without_peer_access_a_copy_goes_through_the_host(virtual: None) -> None:
    with knobs(MINIMX_SIM_GPUS=2):
        direct, staged = turned(copies, MXNET_ENABLE_GPU_P2P=0)
    ms = MEGABYTE + LAUNCH  # 12 MB at 12 GB/s
    assert direct == [("CopyGPU2GPU", ms)]
    assert staged == [("CopyGPU2CPU", ms), ("CopyCPU2GPU", ms)]


@proves("MINIMX_SIM_LINKS")
def test_links_decide_how_long_a_copy_takes(virtual: None) -> None:
    with knobs(MINIMX_SIM_GPUS=8):
        pcie, mesh = turned(copies, MINIMX_SIM_LINKS="mesh")
        assert mesh == [("CopyGPU2GPU", LAUNCH + round(12e6 / 23))]
        assert turned(copies, MINIMX_SIM_LINKS="nvswitch")[1] < mesh
        with knobs(MINIMX_SIM_LINKS="sockets"):
            assert copies(0, 3) == pcie
            assert len(copies(0, 4)) == 2
        with knobs(MINIMX_SIM_LINKS="mesh"):
            assert copies(0, 5) == pcie


def empty() -> int:
    """The time of an operation without work."""
    start = engine.current.now()  # type: ignore[attr-defined]
    done = Var()
    engine.push(lambda: None, gpu(), [], [done], "empty")
    engine.wait_to_read(done)
    return engine.current.now() - start - 5_000  # type: ignore[attr-defined, no-any-return]


@proves("MINIMX_SIM_LAUNCH")
def test_a_launch_takes_its_time(virtual: None) -> None:
    assert turned(empty, MINIMX_SIM_LAUNCH=20) == (5_000, 20_000)


@proves("MINIMX_SIM_HOST_BANDWIDTH")
def test_copies_from_the_host_take_as_long_as_it_says(virtual: None) -> None:
    def observe() -> int:
        with Record() as record:
            mx.nd.array([0.0] * MEGABYTE, ctx=gpu()).wait_to_read()
        ops = record.ops()
        return int((ops["t_end"] - ops["t_start"]).sum())

    before, during = turned(observe, MINIMX_SIM_HOST_BANDWIDTH=4)
    assert (before, during) == (LAUNCH + round(1e6 / 3), LAUNCH + MEGABYTE)


@proves("MINIMX_SIM_DRIVER_CALL")
def test_what_the_pool_cannot_serve_takes_a_driver_call(virtual: None) -> None:
    def observe() -> list[int]:
        times = []
        context.gpu_memory_info(0)
        gc.collect()  # garbage of earlier tests would refill the pool just below
        gpu().empty_cache()
        for _ in range(2):
            with Record() as record:
                mx.nd.ones((1000,), ctx=gpu()).wait_to_read()
            ops = record.ops()
            times.append(int((ops["t_end"] - ops["t_start"])[0]))
        return times

    before, during = turned(observe, MINIMX_SIM_DRIVER_CALL=100)
    assert during == [before[0] + 100_000, before[1]]


@proves("MINIMX_SIM_GPU_PRESET")
def test_a_preset_brings_memory_and_costs() -> None:
    def observe() -> tuple[int, float, bool]:
        driver = driver_for(gpu())
        return (
            context.gpu_memory_info(0)[1],
            driver.costs.flops,
            "K80/16" in repr(driver),
        )

    before, during = turned(observe, MINIMX_SIM_GPU_PRESET="K80/16")
    assert before == (host_share(), 5e12, False)
    assert during == (768 << 20, 4.37e12 / 16, True)
    with knobs(MINIMX_SIM_GPU_PRESET="M60", MINIMX_SIM_GPU_MEMORY="64MiB"):
        assert context.gpu_memory_info(0)[1] == 64 << 20  # what is said wins
    with knobs(MINIMX_SIM_GPU_PRESET="M60"):
        assert context.gpu_memory_info(0)[1] == 8 << 30


@proves("MINIMX_SIM_DELAY")
@pytest.mark.parametrize("kind", ["NaiveEngine", "ThreadedEnginePerDevice"])
def test_a_delay_is_felt_on_the_wall(kind: str) -> None:
    def observe() -> bool:
        source = mx.nd.ones((100, 100), ctx=gpu())
        mx.nd.waitall()
        start = perf_counter()
        source.as_in_context(mx.cpu()).wait_to_read()  # declares 8 µs
        return perf_counter() - start >= 8e-6 * 25_000

    with knobs(MXNET_ENGINE_TYPE=kind):
        assert turned(observe, MINIMX_SIM_DELAY=25_000) == (False, True)
