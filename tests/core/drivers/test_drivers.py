"""Drivers: what they lend is aligned, writable, counted, and limited."""

from __future__ import annotations

import mmap
import multiprocessing
import os
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from minimx.core import drivers
from minimx.core.device import Device, cpu, cpu_pinned, cpu_shared, gpu
from minimx.core.drivers import Driver
from minimx.core.drivers.base import ALIGNMENT, Costs, DeviceFull, address_of
from minimx.core.drivers.counting import CountingDriver
from minimx.core.drivers.host import HostDriver, physical_memory
from minimx.core.drivers.shared import MOST_DESCRIPTORS, Segment, SharedDriver
from minimx.core.errors import DataError, DeviceError
from minimx.core.knobs import knobs
from minimx.core.knobs.declarations import simulated
from minimx.tools.simulated_gpu import GIVEN_BACK, SimulatedGPU

MIB = 1 << 20


@pytest.fixture(params=["host", "pinned", "shared", "gpu", "counting"])
def driver(request: pytest.FixtureRequest) -> Driver:
    makers: dict[str, Callable[[], Driver]] = {
        "host": lambda: HostDriver(cpu()),
        "pinned": lambda: HostDriver(cpu_pinned()),
        "shared": lambda: SharedDriver(cpu_shared()),
        "gpu": lambda: SimulatedGPU(gpu(), MIB),
        "counting": lambda: CountingDriver(gpu(), MIB),
    }
    return makers[request.param]()


def test_regions_are_counted_and_come_back(driver: Driver) -> None:
    regions = [driver.alloc(n) for n in (1, 600, 4096)]
    assert [region.nbytes for region in regions] == [1, 600, 4096]
    assert driver.calls == 3
    assert driver.used >= 4697
    assert 0 < driver.free_bytes < driver.total_bytes
    for region in regions:
        driver.free(region)
    assert driver.used == 0


def test_regions_are_bytes_of_their_own(driver: Driver) -> None:
    if isinstance(driver, CountingDriver):
        assert driver.alloc(100).data.size == 0
        return
    regions = [driver.alloc(100) for _ in range(8)]
    for i, region in enumerate(regions):
        assert (region.data.shape, region.data.dtype.name) == ((100,), "uint8")
        assert address_of(region.data) % ALIGNMENT == 0
        region.data[:] = i
    assert all((region.data == i).all() for i, region in enumerate(regions))
    assert len({region.address for region in regions}) == 8


def test_what_is_not_kept_comes_back(driver: Driver) -> None:
    regions = [driver.alloc(1000) for _ in range(4)]
    driver.keep_only(regions[1:3])
    one, two = regions[1:3]
    assert driver.used >= 2000
    driver.free(one)
    driver.free(two)
    assert driver.used == 0


def test_more_than_there_is_is_refused(driver: Driver) -> None:
    with pytest.raises(DeviceFull):
        driver.alloc(driver.total_bytes + 1)
    assert (driver.used, driver.calls) == (0, 0)


def test_a_simulated_gpu_says_what_it_is() -> None:
    text = repr(SimulatedGPU(gpu(), 64 * MIB))
    assert text.startswith("<gpu(0): simulated GPU, 64 MiB in grains of 512 bytes")
    assert "5 µs a launch" in text
    assert "12 GB/s to the host" in text


def test_a_simulated_gpu_fragments() -> None:
    driver = SimulatedGPU(gpu(), 8 * 512)
    regions = [driver.alloc(512) for _ in range(8)]
    for region in regions[::2]:
        driver.free(region)
    assert (driver.free_bytes, driver.largest_free) == (2048, 512)
    with pytest.raises(DeviceFull, match="the largest has 512"):
        driver.alloc(1024)


def test_counting_gives_the_addresses_of_the_simulated_gpu() -> None:
    real, counted = SimulatedGPU(gpu(), MIB), CountingDriver(gpu(), MIB)
    rng = np.random.default_rng(0)
    lent = []
    for nbytes in rng.integers(1, 5000, 300).tolist():
        lent.append((real.alloc(nbytes), counted.alloc(nbytes)))
        assert lent[-1][0].address == lent[-1][1].address
        if len(lent) > 50:
            for driver, region in zip((real, counted), lent.pop(17), strict=True):
                driver.free(region)


def test_host_memory_is_the_machines() -> None:
    driver = HostDriver(cpu())
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert driver.total_bytes == pages
    before = driver.free_bytes
    region = driver.alloc(10 * MIB)  # asks nobody: counted from the last look
    assert before - driver.free_bytes == pytest.approx(10 * MIB, abs=64 * MIB)
    driver.free(region)


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_shared_memory_is_seen_by_a_forked_child() -> None:
    region = SharedDriver(cpu_shared()).alloc(16)
    region.data[:] = 0
    child = os.fork()
    if not child:
        region.data[3] = 42
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert region.data[3] == 42


def test_shared_memory_is_mapped_by_its_descriptor() -> None:
    driver = SharedDriver(cpu_shared())
    ours = driver.alloc(1 << 16)
    assert isinstance(ours, Segment)
    theirs = driver.attach(os.dup(ours.fd), 1 << 16)
    theirs.data[7] = 42
    assert ours.data[7] == 42
    assert driver.used == 2 << 16
    with pytest.raises(DataError, match="65,536 bytes, not the 65,537"):
        driver.attach(os.dup(ours.fd), (1 << 16) + 1)
    driver.free(theirs)
    assert ours.data[7] == 42
    assert driver.used == 1 << 16


def test_shared_memory_keeps_few_descriptors_open() -> None:
    driver = SharedDriver(cpu_shared())
    before = len(os.listdir("/proc/self/fd"))
    lent = [driver.alloc(1 << 14) for _ in range(3 * MOST_DESCRIPTORS)]
    assert len(os.listdir("/proc/self/fd")) <= before + 2 * MOST_DESCRIPTORS
    ours = next(region for region in lent if isinstance(region, Segment))
    ours.data[7] = 42
    copied = driver.attach(os.dup(ours.fd), 1 << 14)
    assert not isinstance(copied, Segment)
    assert copied.data[7] == 42
    for region in [*lent, copied]:
        driver.free(region)
    assert driver.used == 0
    del lent, ours, copied, region
    assert len(os.listdir("/proc/self/fd")) == before


def test_costs_follow_the_roofline() -> None:
    costs = Costs(launch_ns=100, flops=1e9, memory_bandwidth=2e9, host_bandwidth=5e8)
    assert costs.run_ns(flops=0, bytes_moved=0) == 100
    assert costs.run_ns(flops=1000, bytes_moved=1000) == 100 + 1000
    assert costs.run_ns(flops=1000, bytes_moved=4000) == 100 + 2000
    assert costs.copy_ns(500) == 100 + 1000


# Which devices there are


@pytest.fixture
def two_gpus() -> Iterator[None]:
    with knobs(MINIMX_SIM_GPUS=2, MINIMX_SIM_GPU_MEMORY="4MiB"):
        yield
        drivers.forget(gpu(0))
        drivers.forget(gpu(1))


@pytest.mark.usefixtures("two_gpus")
def test_each_device_has_one_driver() -> None:
    assert drivers.num_gpus() == 2
    first, second = drivers.driver_for(gpu(0)), drivers.driver_for(gpu(1))
    assert first is drivers.driver_for(gpu(0))
    assert first is not second
    assert (second.device, second.total_bytes) == (gpu(1), 4 * MIB)
    assert isinstance(drivers.driver_for(cpu()), HostDriver)
    assert isinstance(drivers.driver_for(cpu_shared()), SharedDriver)
    assert first in drivers.opened()


@pytest.mark.parametrize(
    ("count", "there"),
    [(0, "there is no GPU"), (1, r"only gpu\(0\)"), (3, r"gpu\(0\) to gpu\(2\)")],
)
def test_a_gpu_that_does_not_exist_can_be_named_but_not_used(
    count: int, there: str
) -> None:
    device = Device("gpu", 7)
    with knobs(MINIMX_SIM_GPUS=count):
        with pytest.raises(DeviceError, match=there) as refusal:
            drivers.driver_for(device)
        assert "MINIMX_SIM_GPUS=8" in str(refusal.value)


def test_an_arena_beyond_the_machine_is_refused() -> None:
    drivers.forget(gpu(0))
    with (
        knobs(MINIMX_SIM_GPU_MEMORY=1 << 60),
        pytest.raises(DeviceError, match="MINIMX_SIM_GPU_MEMORY"),
    ):
        drivers.driver_for(gpu(0))


def resident() -> int:
    """The bytes of this process that lie in memory."""
    with open("/proc/self/statm", encoding="ascii") as report:
        return int(report.read().split()[1]) * mmap.PAGESIZE


def test_an_arena_takes_memory_of_the_host_only_while_it_is_used() -> None:
    before = resident()
    device = SimulatedGPU(gpu(), simulated.host_share())
    assert resident() - before < 16 * MIB
    region = device.alloc(256 * MIB)
    region.data[:] = 1
    assert resident() - before > 200 * MIB
    device.free(region)
    assert resident() - before < 64 * MIB


def test_neighbours_of_what_is_given_back_stay_as_they_are() -> None:
    device = SimulatedGPU(gpu(), 64 * MIB)
    one, two, three = (device.alloc(8 * MIB + 512) for _ in range(3))
    for region in (one, two, three):
        region.data[:] = 7
    device.free(two)
    assert one.data.min() == three.data.min() == 7


def test_an_arena_that_nobody_asked_for_is_halved_until_the_host_has_it() -> None:
    device = SimulatedGPU(gpu(), 1 << 60, halve=True)
    assert GIVEN_BACK < device.total_bytes < 1 << 60
    region = device.alloc(MIB)
    region.data[:] = 1
    assert device.used == MIB
    with pytest.raises(DeviceFull):
        SimulatedGPU(gpu(), 1 << 60)


def test_the_generic_card_has_what_the_host_can_give() -> None:
    share = simulated.host_share()
    assert share % (1 << 30) == 0
    assert share <= max(physical_memory(), 1 << 30)
    drivers.forget(gpu(0))
    assert drivers.driver_for(gpu(0)).total_bytes == share


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_process_with_arenas_larger_than_the_host_forks() -> None:
    arenas = [SimulatedGPU(gpu(), simulated.host_share()) for _ in range(3)]
    child = multiprocessing.get_context("fork").Process(target=int)
    child.start()
    child.join(timeout=60)
    assert child.exitcode == 0
    assert len(arenas) == 3
