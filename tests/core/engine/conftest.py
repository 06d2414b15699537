"""The engines under test, and random programs with a sequential interpreter."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import pytest

from minimx.core import engine
from minimx.core.device import cpu, cpu_pinned, gpu
from minimx.core.engine import Var
from minimx.core.knobs import knobs

KINDS: dict[str, dict[str, object]] = {
    "naive": {"MXNET_ENGINE_TYPE": "NaiveEngine"},
    "pooled": {"MXNET_ENGINE_TYPE": "ThreadedEngine"},
    "per device": {"MXNET_ENGINE_TYPE": "ThreadedEnginePerDevice"},
    "per device, many": {
        "MXNET_ENGINE_TYPE": "ThreadedEnginePerDevice",
        "MXNET_CPU_WORKER_NTHREADS": 4,
    },
    "virtual naive": {"MXNET_ENGINE_TYPE": "NaiveEngine", "MINIMX_CLOCK": "virtual"},
    "virtual": {
        "MXNET_ENGINE_TYPE": "ThreadedEnginePerDevice",
        "MXNET_CPU_WORKER_NTHREADS": 2,
        "MINIMX_CLOCK": "virtual",
    },
}


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    """Nothing of one test is left for the next."""
    yield
    engine.set_bulk_size(0)
    try:
        engine.wait_all()
    finally:
        knobs.reset()


@pytest.fixture(params=KINDS)
def any_engine(request: pytest.FixtureRequest) -> Iterator[str]:
    """Every engine in turn."""
    with knobs(**KINDS[request.param]):
        yield request.param


@pytest.fixture(params=["pooled", "per device", "per device, many"])
def threaded(request: pytest.FixtureRequest) -> Iterator[str]:
    """Every engine with worker threads in turn."""
    with knobs(**KINDS[request.param]):
        yield request.param


@pytest.fixture(params=["pooled", "per device", "virtual"])
def asynchronous(request: pytest.FixtureRequest) -> Iterator[str]:
    """Every engine whose pushes return before the operation has run."""
    with knobs(**KINDS[request.param]):
        yield request.param


class Step(NamedTuple):
    """One operation of a random program, by the numbers of its vars."""

    reads: Sequence[int]
    writes: Sequence[int]
    device: int = 0
    prop: int = engine.NORMAL
    priority: int = 0


DEVICES = (cpu(0), gpu(0), cpu(1), cpu_pinned(0))


class Machine:
    """Runs a program of `Step`s on an engine and looks for rules that are broken.

    Every operation mixes what it reads into what it writes, so that any change of order
    that matters changes the result.
    """

    def __init__(self, n_vars: int) -> None:
        self.vars = [Var() for _ in range(n_vars)]
        self.values = list(range(n_vars))
        self.broken: list[str] = []
        self._readers = [0] * n_vars
        self._writers = [0] * n_vars
        self._lock = threading.Lock()

    @staticmethod
    def mix(values: list[int], number: int, step: Step) -> None:
        """What operation `number` does to the values."""
        seen = sum(values[i] for i in step.reads)
        for i in dict.fromkeys(step.writes):
            values[i] = (values[i] * 31 + seen * 17 + number) % 1_000_003

    def run(self, number: int, step: Step) -> None:
        """The operation, checking that nobody is in its way."""
        writes = set(step.writes)
        reads = set(step.reads) - writes
        with self._lock:
            for i in reads:
                self._readers[i] += 1
            for i in writes:
                self._writers[i] += 1
            if any(self._writers[i] for i in reads):
                self.broken.append(f"{number} reads what somebody writes")
            if any(self._readers[i] or self._writers[i] > 1 for i in writes):
                self.broken.append(f"{number} writes what somebody uses")
        time.sleep(0)  # lets another thread in
        self.mix(self.values, number, step)
        with self._lock:
            for i in reads:
                self._readers[i] -= 1
            for i in writes:
                self._writers[i] -= 1

    def push(self, number: int, step: Step, checked: bool = True) -> None:
        """Push one operation to the current engine."""
        run = partial(
            self.run if checked else partial(self.mix, self.values), number, step
        )
        engine.push(
            run,
            DEVICES[step.device],
            [self.vars[i] for i in step.reads],
            [self.vars[i] for i in step.writes],
            "step",
            priority=step.priority,
            prop=step.prop,
        )

    def expect(self, program: Sequence[Step]) -> None:
        """Wait, and compare with sequential execution."""
        engine.wait_all()
        values = list(range(len(self.vars)))
        writes = [0] * len(self.vars)
        for number, step in enumerate(program):
            self.mix(values, number, step)
            for i in set(step.writes):
                writes[i] += 1
        assert not self.broken
        assert self.values == values
        assert [var.version for var in self.vars] == writes
        assert all(v.writer is None and v.readers == 0 for v in self.vars)


@pytest.fixture
def machine() -> type[Machine]:
    """The interpreter of random programs."""
    return Machine


@pytest.fixture
def step() -> type[Step]:
    """One operation of a random program."""
    return Step
