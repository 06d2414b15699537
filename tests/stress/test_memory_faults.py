"""1,000 allocations that a device refuses, in the middle of training steps.

A simulated GPU refuses one request, drawn at random, of every first attempt at a step.
Whatever the world and the engine: somebody is told, once; the books stay exact and
nothing is lost; and the step, taken again from the same state, gives to the bit what
it gives when nothing disturbs it.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np
import pytest

import minimx as mx
from minimx import gluon
from minimx.core import autograd, storage
from minimx.core.device import gpu
from minimx.core.drivers.addressed import AddressedDriver
from minimx.core.drivers.base import DeviceFull, Region
from minimx.core.errors import OutOfMemory
from minimx.core.knobs import knobs
from minimx.core.storage import Block, pool_for
from minimx.gluon import nn

ENGINES = "NaiveEngine", "ThreadedEnginePerDevice"
LATER, FIRST = 100, 25  # faults for each world and engine: 4 * 2 * 125 = 1,000
X = np.random.RandomState(0).randn(4, 6).astype("float32")
Y = np.array([0, 1, 2, 1], "float32")


class Faults:
    """Counts the requests to the simulated GPU, and refuses one of them.

    `refuse`: which one, from 1; 0: none. A pool that is refused gives its idle blocks
    back and asks again, twice, so the same request is refused three times.
    """

    def __init__(self) -> None:
        self.asked = self.refuse = self.refused = 0

    def alloc(self, driver: AddressedDriver, nbytes: int) -> Region:
        """In place of `AddressedDriver.alloc`."""
        again = self.refused in (1, 2)
        if not again:
            self.asked += 1
        if self.refuse and (again or self.asked == self.refuse):
            self.refused += 1
            raise DeviceFull("refused on purpose.")
        return self.honest(driver, nbytes)

    honest = staticmethod(AddressedDriver.alloc)

    def during(self, step: Callable[[], object], refuse: int = 0) -> int:
        """Take a step; how many requests it made. Nothing is idle when it begins."""
        gpu().empty_cache()
        self.asked = self.refused = 0
        self.refuse = refuse
        try:
            step()
        finally:
            self.refuse = 0
        return self.asked


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Iterator[Faults]:
    made = Faults()
    monkeypatch.setattr(
        AddressedDriver, "alloc", lambda driver, nbytes: made.alloc(driver, nbytes)
    )
    # Nothing is about to be freed, so a pool need not wait for it a thousand times.
    no_pause = SimpleNamespace(sleep=lambda seconds: None)
    monkeypatch.setattr("minimx.core.storage.pool.time", no_pause)
    gc.collect()
    gc.freeze()  # what others left behind need not be gone through a thousand times
    yield made
    gc.unfreeze()


class World(Protocol):
    """A small network in training."""

    def step(self) -> Any:
        """One step, to its end; the outputs."""

    def state(self) -> Any:
        """All that training depends on, in host memory."""

    def restore(self, state: Any) -> None:
        """Go on from there."""


class Gluon:
    """A Gluon network with a Trainer."""

    def __init__(self, **hybrid: Any) -> None:
        mx.random.seed(3)
        self.net = net = nn.HybridSequential()
        net.add(nn.Dense(8), nn.BatchNorm(), nn.Activation("relu"))
        net.add(nn.Dropout(0.3), nn.Dense(3))
        if hybrid.pop("hybridize"):
            net.hybridize(**hybrid)
        net.initialize(mx.init.Xavier(), ctx=gpu())
        self.trainer = gluon.Trainer(net.collect_params(), "adam")
        self.loss = gluon.loss.SoftmaxCrossEntropyLoss()

    def step(self) -> Any:
        mx.random.seed(5)
        x, y = mx.nd.array(X, ctx=gpu()), mx.nd.array(Y, ctx=gpu())
        with autograd.record():
            loss = self.loss(self.net(x), y)
        loss.backward()
        self.trainer.step(len(Y))
        found = loss.asnumpy()
        mx.nd.waitall()
        return found

    def state(self) -> Any:
        params = self.net.collect_params().values()
        (updater,) = self.trainer._updaters
        return [p.data().asnumpy() for p in params], updater.get_states(True)

    def restore(self, state: Any) -> None:
        values, states = state
        for p, value in zip(self.net.collect_params().values(), values, strict=True):
            p.set_data(mx.nd.array(value))
        (updater,) = self.trainer._updaters
        updater.set_states(states)
        mx.nd.waitall()


class Module:
    """The same network as a symbol, run by an executor."""

    def __init__(self) -> None:
        mx.random.seed(3)
        net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=8, name="fc1")
        net = mx.sym.Activation(mx.sym.BatchNorm(net, name="bn"), act_type="relu")
        net = mx.sym.FullyConnected(mx.sym.Dropout(net, p=0.3), num_hidden=3)
        net = mx.sym.SoftmaxOutput(net, name="softmax")
        self.module = module = mx.mod.Module(net, context=gpu())
        module.bind([("data", X.shape)], [("softmax_label", Y.shape)])
        module.init_params(mx.init.Xavier())
        module.init_optimizer(kvstore=None, optimizer="adam")

    def step(self) -> Any:
        mx.random.seed(5)
        batch = mx.io.DataBatch([mx.nd.array(X)], [mx.nd.array(Y)])
        self.module.forward_backward(batch)
        self.module.update()
        found = self.module.get_outputs()[0].asnumpy()
        mx.nd.waitall()
        return found

    def state(self) -> Any:
        args, states = self.module.get_params()
        copied = [{k: v.asnumpy() for k, v in d.items()} for d in (args, states)]
        return copied, self.module._updater.get_states(True)

    def restore(self, state: Any) -> None:
        values, states = state
        arrays = [{k: mx.nd.array(v) for k, v in d.items()} for d in values]
        self.module.set_params(arrays[0], arrays[1])
        self.module._updater.set_states(states)
        mx.nd.waitall()


WORLDS: dict[str, Callable[[], World]] = {
    "imperative": lambda: Gluon(hybridize=False),
    "hybridized": lambda: Gluon(hybridize=True),
    "static": lambda: Gluon(hybridize=True, static_alloc=True, static_shape=True),
    "module": Module,
}

every_world = pytest.mark.parametrize("world", WORLDS)
every_engine = pytest.mark.parametrize("engine", ENGINES)


def numbers(state: Any) -> list[Any]:
    """The parameters of a state, as NumPy arrays."""
    values, _ = state
    if isinstance(values[0], dict):
        return [v for d in values for v in d.values()]
    return list(values)


def same(one: list[Any], other: list[Any]) -> bool:
    """Equal to the bit."""
    return [x.tobytes() for x in one] == [x.tobytes() for x in other]


def lent() -> dict[int, Block]:
    """The blocks on loan on the GPU, by the number of the loan."""
    gc.collect()
    return {block.id: block for block in pool_for(gpu()).in_use()}


def check_books() -> None:
    """Every sum in the books is the sum of what is there, down to the driver's."""
    pool = pool_for(gpu())
    stats, blocks = storage.stats(gpu()), pool.in_use()
    assert stats.n_live == len(blocks)
    assert stats.live_requested == sum(b.requested for b in blocks)
    assert stats.live_rounded == sum(b.size for b in blocks)
    assert stats.cached == sum(size * n for size, n in pool.idle().items())
    sizes = [block.size for block in blocks]
    sizes += [size for size, n in pool.idle().items() for _ in range(n)]
    assert stats.device_used == sum(-(-size // 512) * 512 for size in sizes)


def refused(faults: Faults, step: Callable[[], object], which: int) -> bool:
    """Take a step of which a request is refused; one error says so, and only one.

    False if the step came to its end with fewer requests: how often threads find an
    idle block is a matter of time.
    """
    try:
        faults.during(step, which)
    except OutOfMemory as error:
        assert str(error).startswith("gpu(0): ")
        assert faults.refused == 3
        mx.nd.waitall()
        return True
    assert faults.refused == 0
    return False


@pytest.mark.stress
@every_engine
@every_world
def test_a_refused_request_costs_one_step(
    world: str, engine: str, faults: Faults
) -> None:
    """Every step of a run is disturbed once; the run ends as if none had been."""
    dice = random.Random(f"{world} {engine}")
    with knobs(MXNET_ENGINE_TYPE=engine):
        calm, run = WORLDS[world](), WORLDS[world]()
        for number in range(LATER):
            pool = ("Unpooled", "Naive", "Round")[number % 3]
            with knobs(MXNET_GPU_MEM_POOL_TYPE=pool):
                if number == 0:
                    calm.step()
                    run.step()
                asked = faults.during(calm.step)
                before, blocks = run.state(), lent()
                refused(faults, run.step, dice.randint(1, asked))
                new = [b for n, b in lent().items() if n not in blocks]
                # The optimizer's states come back to the device at the first update.
                assert {b.owner.category for b in new} <= {"optimizer state"}
                check_books()
                run.restore(before)
                run.step()
                check_books()
        assert same(numbers(run.state()), numbers(calm.state()))


@pytest.mark.stress
@every_engine
@every_world
def test_a_refused_request_before_anything_has_settled(
    world: str, engine: str, faults: Faults
) -> None:
    """The first step makes parameters, memory for graphs and states of the optimizer.

    What could not be made is made by the next attempt; nothing is half made.
    """
    dice = random.Random(f"first {world} {engine}")
    make = WORLDS[world]

    def begin() -> World:
        made = make()
        made.step()
        return made

    with knobs(MXNET_ENGINE_TYPE=engine):
        asked = faults.during(begin)
        calm = numbers(begin().state())
        empty = lent()
        for _ in range(FIRST):
            while not refused(faults, begin, dice.randint(1, asked)):
                pass
            assert lent().keys() == empty.keys()
            check_books()
            assert same(numbers(begin().state()), calm)
