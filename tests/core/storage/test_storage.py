"""One pool per device, and every knob that tunes it moves what it says it moves."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest

from minimx.core import drivers, storage
from minimx.core.device import Device, cpu, cpu_pinned, cpu_shared, gpu
from minimx.core.errors import DeviceError, KnobError
from minimx.core.knobs import knobs
from minimx.core.knobs.declarations.simulated import host_share
from minimx.core.storage import Block, pool_for, stats

MIB = 1 << 20
DEVICES = {"CPU": cpu(), "GPU": gpu(0), "CPU_PINNED": cpu_pinned()}


@pytest.fixture(autouse=True)
def fresh_pools() -> Iterator[None]:
    """Begin and end with empty caches and default knobs."""
    yield
    knobs.reset()
    gc.collect()
    for pool in storage.pools():
        pool.release_all()


@pytest.fixture(params=DEVICES)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def size_on(kind: str, nbytes: int) -> int:
    block = pool_for(DEVICES[kind]).alloc(nbytes)
    block.free()
    return block.size


def hits_on(kind: str) -> int:
    """How many of four equal requests in a row are served from idle blocks."""
    before = stats(DEVICES[kind]).n_hit
    for _ in range(4):
        pool_for(DEVICES[kind]).alloc(7 * MIB + 1).free()
    return stats(DEVICES[kind]).n_hit - before


def flushes_on(kind: str) -> int:
    """How often three misses after an idle block make the pool give it back."""
    pool = pool_for(DEVICES[kind])
    pool.release_all()
    pool.alloc(1000).free()
    before = stats(DEVICES[kind]).n_flush
    blocks = [pool.alloc(n) for n in (10_000, 20_000, 30_000)]
    after = stats(DEVICES[kind]).n_flush
    for block in blocks:
        block.free()
    return after - before


# Pools


def test_one_pool_per_device_and_one_for_all_of_the_host() -> None:
    assert pool_for(cpu(0)) is pool_for(cpu(3))
    assert pool_for(cpu_pinned(0)) is pool_for(cpu_pinned(1))
    pools = {pool_for(d) for d in (cpu(), cpu_pinned(), cpu_shared(), gpu())}
    assert len(pools) == 4


def test_threads_that_come_together_get_one_pool() -> None:
    with knobs(MINIMX_SIM_GPUS=4):
        start = Barrier(8)

        def open_it(_: int) -> storage.Pool:
            start.wait()
            return pool_for(gpu(3))

        with ThreadPoolExecutor(8) as threads:
            assert len(set(threads.map(open_it, range(8)))) == 1


def test_a_device_that_is_not_there_has_no_pool() -> None:
    with pytest.raises(DeviceError, match=r"gpu\(9\) does not exist"):
        pool_for(gpu(9))


def test_shared_memory_is_never_kept() -> None:
    block = pool_for(cpu_shared()).alloc(5000)
    block.data[:] = 1
    assert block.size == 5000
    block.free()
    assert stats(cpu_shared()).reserved == 0


def test_emptying_a_cache_gives_idle_blocks_back() -> None:
    pool_for(gpu()).alloc(3 * MIB).free()
    assert stats(gpu()).cached == 4 * MIB
    assert storage.empty_cache(gpu()) == 4 * MIB
    pool_for(gpu()).alloc(3 * MIB).free()
    gpu().empty_cache()
    assert stats(gpu()).cached == 0
    assert storage.empty_cache(Device("gpu", 15)) == 0


def test_the_driver_counts_idle_blocks_as_used() -> None:
    free, total = storage.device_memory_info(gpu())
    pool_for(gpu()).alloc(2 * MIB).free()
    assert storage.device_memory_info(gpu()) == (free - 2 * MIB, total)


def test_the_log_says_which_manager_a_device_has(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", "minimx.core.storage")
    pool_for(gpu())
    caplog.clear()
    with knobs(MXNET_GPU_MEM_POOL_TYPE="Round"):
        with knobs(MXNET_GPU_MEM_POOL_TYPE="Unpooled"):
            pass
        with knobs(MXNET_USE_NAIVE_STORAGE_MANAGERS=1):
            pass
        knobs.set(MXNET_CPU_MEM_POOL_ROUND_LINEAR_CUTOFF=30)  # of the others
    told = [text for text in caplog.messages if text.endswith(" GPU")]
    managers = ["Pooled (Round)", "Unpooled", "Pooled (Round)", "Naive"]
    managers += ["Pooled (Round)", "Pooled (Naive)"]
    assert told == [f"Using {name} StorageManager for GPU" for name in managers]
    caplog.clear()
    with knobs(MINIMX_SIM_GPUS=2):
        pool_for(gpu(1))
    assert caplog.messages == ["Using Pooled (Naive) StorageManager for GPU"]


# Every knob, on every kind of device, there and back


def test_pool_type_is_live(kind: str) -> None:
    assert (size_on(kind, 10_000), hits_on(kind)) == (12_288, 3)
    with knobs(**{f"MXNET_{kind}_MEM_POOL_TYPE": "Round"}):
        assert (size_on(kind, 10_000), hits_on(kind)) == (16_384, 3)
    with knobs(**{f"MXNET_{kind}_MEM_POOL_TYPE": "Unpooled"}):
        assert (size_on(kind, 10_000), hits_on(kind)) == (10_000, 0)
    assert (size_on(kind, 10_000), hits_on(kind)) == (12_288, 3)


def test_page_size_is_live(kind: str) -> None:
    with knobs(**{f"MXNET_{kind}_MEM_POOL_PAGE_SIZE": 65536}):
        assert size_on(kind, 1) == 65536
    assert size_on(kind, 1) == 4096


@pytest.mark.filterwarnings("ignore:.*is another name of:UserWarning")
def test_the_names_that_mxnet_reads_act_as_well(kind: str) -> None:
    with knobs(**{f"MXNET_{kind}_POOL_PAGE_SIZE": 65536}):
        assert size_on(kind, 1) == 65536
    assert size_on(kind, 1) == 4096
    with knobs(MXNET_USE_NAIVE_STORAGE_MANAGER=1):
        assert (size_on(kind, 10_000), hits_on(kind)) == (10_000, 0)


def test_large_round_size_is_live(kind: str) -> None:
    with knobs(**{f"MXNET_{kind}_MEM_LARGE_ALLOC_ROUND_SIZE": 1}):
        assert size_on(kind, 3_000_000) == 3_002_368
    assert size_on(kind, 3_000_000) == 4 * MIB


def test_linear_cutoff_is_live(kind: str) -> None:
    with knobs(
        **{
            f"MXNET_{kind}_MEM_POOL_TYPE": "Round",
            f"MXNET_{kind}_MEM_POOL_ROUND_LINEAR_CUTOFF": 20,
        }
    ):
        assert size_on(kind, 4 * MIB + 1) == 5 * MIB
        knobs.reset(f"MXNET_{kind}_MEM_POOL_ROUND_LINEAR_CUTOFF")
        assert size_on(kind, 4 * MIB + 1) == 8 * MIB


def test_reserve_is_live(kind: str) -> None:
    assert flushes_on(kind) == 0
    with knobs(**{f"MXNET_{kind}_MEM_POOL_RESERVE": 100}):
        assert flushes_on(kind) == 1
    assert flushes_on(kind) == 0


def test_naive_storage_managers_bypass_every_pool(kind: str) -> None:
    with knobs(MXNET_USE_NAIVE_STORAGE_MANAGERS=1):
        assert (size_on(kind, 10_000), hits_on(kind)) == (10_000, 0)
    assert hits_on(kind) == 3


def test_number_and_size_of_simulated_gpus_are_live() -> None:
    with knobs(MINIMX_SIM_GPUS=2, MINIMX_SIM_GPU_MEMORY="8MiB"):
        assert drivers.num_gpus() == 2
        assert storage.device_memory_info(gpu(1)) == (8 * MIB, 8 * MIB)
        assert storage.device_memory_info(gpu(0))[1] == 8 * MIB
    with pytest.raises(DeviceError):
        pool_for(gpu(1))
    assert storage.device_memory_info(gpu(0))[1] == host_share()


# Turning knobs while blocks are out


def test_blocks_outlive_a_change_of_pool(kind: str) -> None:
    pool = pool_for(DEVICES[kind])
    before = stats(DEVICES[kind])  # of tests that keep arrays in their modules
    block, idle = pool.alloc(10_000), pool.alloc(20_000)
    idle.free()
    block.data[:] = 7
    with knobs(**{f"MXNET_{kind}_MEM_POOL_TYPE": "Round"}):
        assert stats(DEVICES[kind]).cached == 0
        other = pool.alloc(10_000)
        other.data[:] = 8
        assert (block.data == 7).all()
        block.free()
        now = stats(DEVICES[kind])
        assert now.n_live - before.n_live == 1
        assert now.live_rounded - before.live_rounded == 16_384
        assert now.cached == 0
        other.free()


def test_a_knob_that_does_not_concern_the_pool_leaves_its_cache_alone() -> None:
    pool_for(gpu()).alloc(1).free()
    with knobs(MXNET_GPU_MEM_POOL_ROUND_LINEAR_CUTOFF=25, MXNET_CPU_MEM_POOL_RESERVE=9):
        assert stats(gpu()).cached == 4096


def test_settings_that_clash_change_nothing(kind: str) -> None:
    page = f"MXNET_{kind}_MEM_POOL_PAGE_SIZE"
    with pytest.raises(KnobError, match=f"{page}=5000: .* power of two"):
        knobs.set(**{f"MXNET_{kind}_MEM_POOL_TYPE": "Round", page: 5000})
    assert knobs.diff() == {}
    assert size_on(kind, 10_000) == 12_288
    with knobs(**{page: 5000}):  # fine for the Naive pool
        assert size_on(kind, 10_001) == 15_000
        with pytest.raises(KnobError, match="Naive"):
            knobs.set(**{f"MXNET_{kind}_MEM_POOL_TYPE": "Round"})
        assert size_on(kind, 10_001) == 15_000


@pytest.mark.parametrize(
    "change", [{"MINIMX_SIM_GPU_MEMORY": "64MiB"}, {"MINIMX_SIM_GPUS": 0}]
)
def test_a_gpu_with_arrays_is_not_rebuilt(change: dict[str, object]) -> None:
    block = pool_for(gpu()).alloc(5 * MIB)
    (name,) = change
    with pytest.raises(KnobError, match=rf"{name}: arrays live on gpu\(0\) \(1, 5 MiB"):
        knobs.set(**change)
    assert knobs.diff() == {}
    assert pool_for(gpu()).in_use() == [block]
    block.free()
    knobs.set(**change)


def test_what_hangs_in_a_cycle_does_not_keep_a_gpu() -> None:
    class Holder:
        block: Block

        def __init__(self) -> None:
            self.block, self.me = pool_for(gpu()).alloc(1), self

        def __del__(self) -> None:
            self.block.free()

    gc.disable()
    try:
        Holder()
        with knobs(MINIMX_SIM_GPU_MEMORY="64MiB"):
            assert stats(gpu()).n_live == 0
    finally:
        gc.enable()


def test_operations_under_way_may_finish_before_a_gpu_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waiting = [pool_for(gpu()).alloc(1)]
    monkeypatch.setattr(storage, "_before_rebuild", [])
    storage.before_rebuild(lambda: waiting.pop().free())
    with knobs(MINIMX_SIM_GPU_MEMORY="64MiB"):
        assert waiting == []


def test_more_gpus_leave_the_first_alone() -> None:
    block = pool_for(gpu(0)).alloc(100)
    with knobs(MINIMX_SIM_GPUS=2):
        pool_for(gpu(1)).alloc(100).free()
        assert pool_for(gpu(0)).in_use() == [block]
    block.free()


def test_clashing_settings_of_the_environment_warn_and_are_dropped() -> None:
    program = (
        "import warnings\n"
        "with warnings.catch_warnings(record=True) as told:\n"
        "    warnings.simplefilter('always')\n"
        "    from minimx import storage\n"
        "from minimx.core.device import gpu\n"
        "print(storage.pool_for(gpu()).policy.name, [str(w.message) for w in told])\n"
    )
    settings = {
        "MXNET_GPU_MEM_POOL_TYPE": "Round",
        "MXNET_GPU_MEM_POOL_PAGE_SIZE": "5000",
        "PYTHONPATH": ":".join(sys.path),
    }
    done = subprocess.run(
        [sys.executable, "-c", program], env=settings, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Naive")
    assert "The pool of gpu starts with its defaults" in done.stdout


def test_lent_memory_is_what_numpy_says_it_is() -> None:
    block = pool_for(gpu()).alloc(4000)
    numbers = block.data[:4000].view(np.float32)
    numbers[:] = np.arange(1000)
    assert numbers.base is not None
    assert numbers.sum() == 499_500
    block.free()


def test_this_room_needs_neither_numba_nor_scipy() -> None:
    assert Path(storage.__file__).parent.name == "storage"
    code = (
        "import sys; from minimx.core.storage import pool_for; "
        "from minimx.core.device import gpu; pool_for(gpu()).alloc(1); "
        "print({'numba', 'scipy', 'matplotlib'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "set()", done.stderr
