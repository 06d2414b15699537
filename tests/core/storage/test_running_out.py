"""A device that is full in the middle of a step: told in time, and nothing is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import gluon
from minimx.core import autograd, storage
from minimx.core.arrays.chunk import Chunk
from minimx.core.device import gpu
from minimx.core.engine import threaded
from minimx.core.engine.var import var_lock
from minimx.core.errors import OutOfMemory
from minimx.core.events import Owner
from minimx.core.knobs import knobs
from minimx.core.storage import pool_for
from minimx.gluon import nn

MIB = 1 << 20


@pytest.fixture(autouse=True)
def a_small_gpu() -> Iterator[None]:
    with knobs(MINIMX_SIM_GPU_MEMORY="8MiB", MXNET_GPU_MEM_POOL_RESERVE=0):
        yield
        mx.nd.waitall()


@pytest.fixture(params=["NaiveEngine", "ThreadedEnginePerDevice"], autouse=True)
def engine(request: pytest.FixtureRequest) -> Iterator[str]:
    with knobs(MXNET_ENGINE_TYPE=request.param):
        yield request.param


def network(**hybrid: Any) -> tuple[Any, Any]:
    """Some layers with 256 numbers each for every example, and a Trainer."""
    net = nn.HybridSequential()
    for _ in range(4):
        net.add(nn.Dense(256, activation="tanh"))
    net.initialize(ctx=gpu())
    if hybrid:
        net.hybridize(**hybrid)
    return net, gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0})


def step(net: Any, trainer: Any, examples: int) -> Any:
    x = mx.nd.ones((examples, 16), ctx=gpu())
    with autograd.record():
        loss = net(x).sum()
    loss.backward()
    trainer.step(examples)
    mx.nd.waitall()
    return loss.asscalar()


@pytest.mark.parametrize(
    "hybrid", [{}, {"active": True}, {"static_alloc": True, "static_shape": True}]
)
def test_a_smaller_batch_fits_where_a_large_one_did_not(hybrid: Any) -> None:
    net, trainer = network(**hybrid)
    with pytest.raises(OutOfMemory) as full:
        step(net, trainer, 4000)  # 4 MB for each layer
    assert "The largest owners:" in str(full.value)
    del full
    first = step(net, trainer, 8)
    assert np.isfinite(first)
    assert step(net, trainer, 8) == first  # the rate is 0; and nothing is amiss
    lent = storage.stats(gpu()).live_requested
    for _ in range(3):
        with pytest.raises(OutOfMemory):
            step(net, trainer, 4000)
        assert step(net, trainer, 8) == first
    assert storage.stats(gpu()).live_requested == lent


def refusal(net: Any, trainer: Any, examples: int) -> str:
    with pytest.raises(OutOfMemory) as full:
        step(net, trainer, examples)
    mx.nd.waitall()
    return str(full.value)


def test_the_layer_that_holds_most_is_named() -> None:
    net, trainer = network()
    step(net, trainer, 8)
    told = refusal(net, trainer, 1500)
    del net, trainer
    assert " in hybridsequential" in told
    assert "/dense" in told
    assert "(activation, forward)" in told


def test_a_parameter_is_whole_or_not_there() -> None:
    param = gluon.Parameter("weight", shape=(MIB,))
    hoard = mx.nd.ones((5 * MIB,), ctx=gpu(), dtype="int8")
    hoard.wait_to_read()
    with pytest.raises(OutOfMemory):
        param.initialize(mx.init.One(), ctx=gpu())
    with pytest.raises(mx.errors.ParameterError):
        param.data()
    mx.nd.waitall()  # nobody is told twice
    del hoard
    param.grad_req = "null"
    param.initialize(mx.init.One(), ctx=gpu())
    assert param.data().sum().asscalar() == MIB


def test_a_cast_without_room_leaves_the_parameter_as_it_was(engine: str) -> None:
    param = gluon.Parameter("weight", shape=(MIB,), grad_req="null")
    param.initialize(mx.init.One(), ctx=gpu())
    if engine == "NaiveEngine":
        with pytest.raises(OutOfMemory):
            param.cast("float64")
        assert param.dtype == np.float32
    assert param.data().sum().asscalar() == MIB


def test_the_optimizer_makes_anew_what_had_no_room() -> None:
    sgd = mx.optimizer.SGD(learning_rate=1, multi_precision=True)
    updater = mx.optimizer.get_updater(sgd)
    weight, grad = (
        mx.nd.ones((MIB // 2,), ctx=gpu(), dtype="float16") for _ in range(2)
    )
    hoard = mx.nd.ones((5 * MIB,), ctx=gpu(), dtype="int8")
    mx.nd.waitall()
    with pytest.raises(OutOfMemory):  # 2 MiB, for the weight in float32
        updater(0, grad, weight)
        mx.nd.waitall()
    del hoard
    updater(0, grad, weight)
    assert (weight.asnumpy() == 0).all()
    updater(0, grad, weight)
    assert (weight.asnumpy() == -1).all()


def test_states_from_a_file_stay_where_they_are_until_there_is_room() -> None:
    def made() -> Any:
        return mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=1, momentum=1))

    weight, grad = (mx.nd.ones((MIB // 2,)) for _ in range(2))
    first, updater = made(), made()
    first(0, grad, weight)
    updater.set_states(first.get_states())
    weight, grad = weight.as_in_context(gpu()), grad.as_in_context(gpu())
    hoard = mx.nd.ones((3 * MIB,), ctx=gpu(), dtype="int8")
    mx.nd.waitall()
    with pytest.raises(OutOfMemory):
        updater(0, grad, weight)
    del hoard
    updater(0, grad, weight)
    assert (weight.asnumpy() == -2).all()  # 1 - 1 - (1 + 1)


def test_two_who_find_no_memory_make_one_block() -> None:
    chunk = Chunk(gpu(), 1000, Owner("test", "", "other", "temporary"))
    before = pool_for(gpu()).stats().n_live
    meet = threading.Barrier(8)
    found = []

    def use(mine: Chunk) -> None:
        meet.wait()
        found.append(mine.memory().ctypes.data)

    threads = [threading.Thread(target=use, args=(chunk,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1
    assert pool_for(gpu()).stats().n_live == before + 1
    del threads, thread, chunk
    assert pool_for(gpu()).stats().n_live == before


def test_what_could_not_be_computed_reads_as_zeros_once_it_was_told() -> None:
    with pytest.raises(OutOfMemory):
        big = mx.nd.ones((4 * MIB,), ctx=gpu())
        big.wait_to_read()
    with knobs(MXNET_ENGINE_TYPE="ThreadedEngine"):
        hoard = mx.nd.ones((7 * MIB,), ctx=gpu(), dtype="int8")
        hoard.wait_to_read()
        small = mx.nd.ones((MIB,), ctx=gpu())
        with pytest.raises(OutOfMemory):
            small.wait_to_read()
        del hoard
        assert not small.asnumpy().any()


class SlowToLetGo:
    """The lock of vars, where a worker loses its core after it has given it back."""

    def __init__(self, lock: Any) -> None:
        self.lock, self.released = lock, 0

    def acquire(self) -> None:
        self.lock.acquire()

    def release(self) -> None:
        self.lock.release()
        self.released += 1
        time.sleep(0.004)

    def __enter__(self) -> None:
        self.lock.acquire()

    def __exit__(self, *_: object) -> None:
        self.lock.release()


def test_what_a_worker_is_about_to_let_go_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow = SlowToLetGo(var_lock)
    monkeypatch.setattr(threaded, "var_lock", slow)
    with knobs(MXNET_ENGINE_TYPE="ThreadedEngine"):
        for _ in range(5):
            hoard = mx.nd.ones((7 * MIB,), ctx=gpu(), dtype="int8")
            while hoard.chunk.writer is not None:
                time.sleep(0)
            hoard.wait_to_read()
            del hoard
            assert mx.nd.ones((MIB,), ctx=gpu()).sum().asscalar() == MIB
    assert slow.released
