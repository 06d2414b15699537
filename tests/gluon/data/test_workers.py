"""Worker processes: what they share, what they draw, and how they end."""

from __future__ import annotations

import gc
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import nd
from minimx.core import storage
from minimx.core.device import cpu, cpu_shared
from minimx.core.errors import DataError
from minimx.core.knobs import knobs
from minimx.gluon import nn
from minimx.gluon.data import ArrayDataset, DataLoader, Dataset, SimpleDataset
from minimx.gluon.data.vision import transforms

LENGTH = 12
Sample = Callable[[int], Any]


class Made(Dataset):
    """Samples by a function of their number."""

    def __init__(self, sample: Sample, length: int = LENGTH) -> None:
        self.make = sample
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, idx: Any) -> Any:
        return self.make(idx)


#: What earlier tests have started and left, such as Python's tracker of resources.
EARLIER: set[int] = set()


def children() -> set[int]:
    """The processes that this test has started, as the kernel has them."""
    tasks = Path("/proc/self/task").glob("*/children")
    every = {int(pid) for task in tasks for pid in task.read_text().split()}
    return every - EARLIER


def shared_files() -> set[str]:
    return set(os.listdir("/dev/shm"))


@pytest.fixture(autouse=True)
def nothing_stays_behind() -> Iterator[None]:
    EARLIER.clear()
    EARLIER.update(children())
    files = shared_files()
    descriptors = len(os.listdir("/proc/self/fd"))
    yield
    gc.collect()
    nd.waitall()
    storage.empty_cache(cpu_shared())
    assert not children()
    assert shared_files() <= files
    assert len(os.listdir("/proc/self/fd")) <= descriptors + 2
    assert not multiprocessing.active_children()


def test_processes_make_the_batches() -> None:
    loader = DataLoader(Made(lambda i: os.getpid()), 1, num_workers=2)
    makers = {int(batch.asscalar()) for batch in loader}
    assert len(makers) == 2
    assert makers == children()
    # They stay for the next pass.
    assert {int(batch.asscalar()) for batch in loader} == makers


def test_batches_are_mapped_and_not_copied() -> None:
    data = ArrayDataset(np.ones((LENGTH, 100, 100), np.float32), np.arange(LENGTH))
    x, y = next(iter(DataLoader(data, 4, num_workers=1)))
    assert x.context is y.context is cpu_shared(0)
    assert (x.shape, y.asnumpy().tolist()) == ((4, 100, 100), [0, 1, 2, 3])
    maps = Path("/proc/self/maps").read_text().splitlines()
    inside = [
        line
        for line in maps
        if (ends := [int(end, 16) for end in line.split()[0].split("-")])
        and ends[0] <= x.view().ctypes.data < ends[1]
    ]
    assert len(inside) == 1
    assert "memfd:minimx" in inside[0]
    assert (x.asnumpy() == 1).all()
    x += 1  # it is ours to write to
    assert (x.asnumpy() == 2).all()


@pytest.mark.parametrize("batchify", [None, list])
def test_arrays_and_operators_work_in_a_worker(batchify: Any) -> None:
    dense = nn.Dense(3, in_units=50)
    dense.initialize()
    row = nd.arange(50).reshape((1, 50))
    expected = dense(row).asnumpy()

    def sample(i: int) -> Any:
        assert mx.current_context() is cpu(0)
        big = nd.dot(nd.ones((200, 200)), nd.ones((200, 200))).sum() + i
        return dense(row), big

    loader = DataLoader(Made(sample, 4), 2, num_workers=2, batchify_fn=batchify)
    batch = next(iter(loader))
    assert isinstance(batch, list)
    outs, sums = batch if batchify is None else batch[0]
    np.testing.assert_allclose(outs.asnumpy().reshape(-1, 3)[:1], expected)
    assert sums.asnumpy().ravel()[0] == 200**3


def test_a_network_takes_shared_batches() -> None:
    data = ArrayDataset(np.ones((4, 5000), np.float32), np.zeros(4, np.float32))
    net = nn.Dense(1)
    net.initialize()
    for hybrid in (False, True):
        net.hybridize(hybrid)
        for x, y in DataLoader(data, 2, num_workers=1):
            with mx.autograd.record():
                loss = mx.gluon.loss.L2Loss()(net(x), y)
            loss.backward()
            assert loss.context is cpu(0)
            assert (net.weight.grad().asnumpy() != 0).any()


def test_more_arrays_than_a_process_may_open_files() -> None:
    data = ArrayDataset(np.arange(200)[:, None].repeat(5000, 1))
    kept = list(DataLoader(data, 1, num_workers=1))
    assert [int(batch[0, 0].asscalar()) for batch in kept] == list(range(200))
    many = DataLoader(
        Made(lambda i: nd.full((5000,), i), 300), 300, num_workers=1, batchify_fn=list
    )
    (arrays,) = many
    assert [int(array[0].asscalar()) for array in arrays] == list(range(300))


# Random numbers


def draws(i: int) -> tuple[float, float, float]:
    return np.random.random(), random.random(), mx.random.uniform(shape=(1,)).asscalar()


def passes(workers: int, count: int = 1, loader: Any = None, seed: int = 3) -> Any:
    np.random.seed(seed)
    random.seed(seed)
    mx.random.seed(seed)
    loader = loader or DataLoader(Made(draws), 2, num_workers=workers)
    drawn = [[x.asnumpy() for x in batch] for _ in range(count) for batch in loader]
    return np.array(drawn)


def test_the_same_seeds_draw_the_same() -> None:
    once = passes(2, 2)
    np.testing.assert_array_equal(once, passes(2, 2))
    np.testing.assert_array_equal(once, passes(3, 2))  # whoever makes them
    for kind in range(3):  # and no number is drawn twice
        assert len(np.unique(once[:, kind])) == once[:, kind].size
    assert not np.isin(once, passes(2, seed=4)).any()
    loader = DataLoader(Made(draws), 2, num_workers=2)
    first = passes(2, loader=loader)
    np.testing.assert_array_equal(first, passes(2, loader=loader))


def changed(i: int) -> Any:
    """A picture, changed by what draws from all three generators."""
    pixels = np.arange(12 * 10 * 3).reshape(12, 10, 3) + i
    picture = nd.array(pixels % 256, dtype="uint8")
    cropped, _ = mx.image.random_crop(picture, (8, 8))  # Python's
    resized = transforms.RandomResizedCrop(6)(cropped)  # NumPy's
    return transforms.RandomFlipLeftRight()(resized)  # ours


def pictures(**workers: Any) -> Any:
    np.random.seed(3)
    random.seed(3)
    mx.random.seed(3)
    loader = DataLoader(Made(changed, 24), 3, **workers)
    return np.array([batch.asnumpy() for _ in range(2) for batch in loader])


def test_threads_draw_what_processes_draw() -> None:
    once = pictures(num_workers=2)
    assert (once[:8] != once[8:]).any()  # another pass, other numbers
    for count in (1, 2, 4):
        threads = pictures(num_workers=count, thread_pool=True)
        np.testing.assert_array_equal(once, threads)


def test_threads_leave_the_program_s_generators_alone() -> None:
    def following(count: int) -> list[float]:
        pictures(num_workers=count, thread_pool=True)
        ours = mx.random.uniform(shape=(1,)).asscalar()
        return [random.random(), np.random.random(), ours]

    assert following(1) == following(3)


def test_workers_leave_the_order_of_shuffling_alone() -> None:
    orders = []
    for workers in (0, 2):
        np.random.seed(5)
        loader = DataLoader(Made(int), 4, shuffle=True, num_workers=workers)
        orders.append([x.asnumpy().tolist() for _ in range(3) for x in loader])
    assert orders[0] == orders[1]


# Bad days


def kill(pid: int, signum: int = signal.SIGKILL) -> None:
    os.kill(pid, signum)


def test_a_killed_worker_is_told_at_once() -> None:
    def sample(i: int) -> int:
        if i == 5:
            kill(os.getpid())
        return i

    start = time.monotonic()
    seen = []
    with pytest.raises(DataError, match=r"SIGKILL; batches it had to make: .*memory"):
        for batch in DataLoader(Made(sample), 1, num_workers=2):
            seen.append(batch.asscalar())
    assert seen == list(range(len(seen)))
    assert len(seen) <= 5
    assert time.monotonic() - start < 30
    assert not children()


def test_a_worker_may_be_killed_while_it_is_idle() -> None:
    loader = DataLoader(Made(int), 4, num_workers=2)
    before = [batch.asnumpy().tolist() for batch in loader]
    for pid in children():
        kill(pid)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert [batch.asnumpy().tolist() for batch in loader] == before


def test_a_worker_that_leaves_is_told() -> None:
    with pytest.raises(DataError, match="ended with exit code 7"):
        list(DataLoader(Made(lambda i: os._exit(7)), 4, num_workers=1))
    with pytest.raises(DataError, match="SystemExit: 7"):
        list(DataLoader(Made(lambda i: sys.exit(7)), 4, num_workers=1))


class Picky(Exception):
    """An exception that pickling does not keep."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__("picky")
        self.both = one, two


def test_any_exception_comes_home_with_its_traceback() -> None:
    def unlucky(i: int) -> Any:
        raise Picky(1, 2)

    with pytest.raises(DataError, match="Picky: picky") as caught:
        list(DataLoader(Made(unlucky), 4, num_workers=1))
    assert "unlucky" in caught.value.__notes__[0]
    with pytest.raises(Exception, match="lambda") as other:
        list(DataLoader(Made(lambda i: lambda: i), 4, num_workers=1, batchify_fn=list))
    assert "In a worker" in other.value.__notes__[0]


def test_a_stuck_worker_is_ended() -> None:
    loader = DataLoader(Made(lambda i: time.sleep(600)), 4, num_workers=2, timeout=0.2)
    with pytest.raises(DataError, match=r"in 0\.2 seconds"):
        list(loader)
    assert not children()


def test_leaving_early_ends_the_workers() -> None:
    loader = DataLoader(Made(int), 1, num_workers=2)
    passing = iter(loader)
    next(passing)
    assert len(children()) == 2
    passing.close()  # type: ignore[attr-defined]
    assert not children()
    passing = iter(loader)
    next(passing)
    del passing, loader
    gc.collect()
    assert not children()


def test_several_passes_at_once() -> None:
    loader = DataLoader(Made(int), 5, num_workers=1)
    pairs = [
        (a.asnumpy().tolist(), b.asnumpy().tolist())
        for a, b in zip(loader, loader, strict=True)
    ]
    assert all(a == b for a, b in pairs)
    assert sum(len(a) for a, _ in pairs) == LENGTH
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda: found.append(len(list(loader))))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [3, 3, 3]
    assert len(children()) <= 1


def test_a_forked_child_leaves_our_workers_alone() -> None:
    loader = DataLoader(Made(int), 4, num_workers=2)
    expected = [batch.asnumpy().tolist() for batch in loader]
    ours = children()
    child = multiprocessing.get_context("fork").Process(target=loader.__iter__)
    child.start()
    child.join()
    assert child.exitcode == 0
    assert children() == ours
    assert [batch.asnumpy().tolist() for batch in loader] == expected
    assert children() == ours


INTERRUPTED = """
import os, signal, sys, threading, time
from minimx.gluon.data import DataLoader, SimpleDataset
from minimx.gluon.data.vision import transforms

def slow(x):
    time.sleep({seconds})
    return x

loader = DataLoader(SimpleDataset(list(range(100))).transform(slow), 1, num_workers=2)
passing = iter(loader)
print(flush=True)
next(passing)
"""


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGKILL])
def test_no_worker_outlives_its_program(signum: int) -> None:
    # A process group of its own, as programs of a terminal have.
    program = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED.format(seconds=20)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert program.stdout is not None
    program.stdout.readline()
    workers = Path(f"/proc/{program.pid}/task/{program.pid}/children")
    deadline = time.monotonic() + 60
    while len(pids := workers.read_text().split()) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(pids) == 2
    time.sleep(0.5)  # Python drops a Ctrl-C that comes while it is forking
    kill(program.pid, signum)
    program.communicate(timeout=60)
    assert program.returncode == -signum
    while any(running(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(running(pid) for pid in pids)


def running(pid: str) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


# Other ways to start


def test_a_chosen_start_method_is_kept() -> None:
    program = (
        "import multiprocessing as mp, os\n"
        "import numpy as np\n"
        "from minimx.gluon.data import ArrayDataset, DataLoader\n"
        "if __name__ == '__main__':\n"
        "    mp.set_start_method('spawn')\n"
        "    data = ArrayDataset(np.ones((4, 9000), np.float32))\n"
        "    batches = list(DataLoader(data, 2, num_workers=1))\n"
        "    print([float(b.sum().asscalar()) for b in batches], batches[0].context)\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert found.stdout == "[18000.0, 18000.0] cpu_shared(0)\n"


def test_a_lab_with_work_in_the_engine_may_fork() -> None:
    results = [nd.dot(nd.ones((300, 300)), nd.ones((300, 300))) for _ in range(20)]
    data = SimpleDataset(list(range(4)))
    assert len(list(DataLoader(data, 2, num_workers=2))) == 2
    assert all(float(one[0, 0].asscalar()) == 300 for one in results)
    with knobs(MXNET_ENGINE_TYPE="NaiveEngine"):
        assert len(list(DataLoader(data, 2, num_workers=2))) == 2
