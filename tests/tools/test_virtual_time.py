"""On the virtual clock numbers are exact: makespans, starts, waits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from time import perf_counter_ns

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minimx.core import engine, events
from minimx.core.device import Device, cpu, gpu
from minimx.core.drivers import driver_for
from minimx.core.engine import Operation, Var
from minimx.core.engine.kinds import CPU_PRIORITIZED
from minimx.core.engine.lanes import LAYOUTS, Lane, Sizes
from minimx.core.engine.var import Claim, distinct
from minimx.core.errors import DeviceError
from minimx.core.knobs import knobs
from minimx.core.record import Record
from minimx.tools.virtual_time import virtual
from minimx.tools.virtual_time.simulation import Job, Simulation
from minimx.tools.virtual_time.virtual import PUSH_NS, VirtualEngine


@dataclass(frozen=True)
class Cost:
    """So many operations, so many bytes."""

    flops: int
    bytes_moved: int = 0


def flops_as_ns(operation: Operation) -> int:
    """One nanosecond per operation makes round numbers."""
    assert operation.cost is not None
    return operation.cost.flops


def never(closed: engine.Engine) -> engine.Engine:
    raise AssertionError("nobody switches here")


@pytest.fixture
def make() -> Iterator[Callable[..., VirtualEngine]]:
    """Virtual engines on which pushing is free and a flop takes a nanosecond."""
    made: list[VirtualEngine] = []

    def make(
        layout: str = "ThreadedEnginePerDevice", push_ns: int = 0, **sizes: int
    ) -> VirtualEngine:
        one = VirtualEngine(
            layout, LAYOUTS[layout], Sizes(**sizes), never, flops_as_ns, push_ns
        )
        made.append(one)
        return one

    yield make
    for one in made:
        one.close()


def six_operations(it: VirtualEngine, ran: list[str]) -> int:
    """a, b, c = a + b, d = 2 a, a += 1, e = c + d; returns the makespan."""
    a, b, c, d, e = (Var() for _ in range(5))
    program: list[tuple[str, list[Var], list[Var], int]] = [
        ("a", [], [a], 2),
        ("b", [], [b], 3),
        ("c = a + b", [a, b], [c], 1),
        ("d = 2 a", [a], [d], 2),
        ("a += 1", [a], [a], 1),
        ("e = c + d", [c, d], [e], 1),
    ]
    for name, reads, writes, ns in program:
        run = partial(ran.append, name)
        it.push(run, cpu(), reads, writes, name, cost=Cost(ns))
    it.wait_all()
    return it.now()


@pytest.mark.parametrize(
    ("layout", "workers", "makespan"),
    [
        ("NaiveEngine", 1, 10),
        ("ThreadedEnginePerDevice", 1, 10),
        ("ThreadedEnginePerDevice", 2, 5),
        ("ThreadedEnginePerDevice", 3, 5),
        ("ThreadedEngine", 1, 5),
    ],
)
def test_makespans_are_exact(
    make: Callable[..., VirtualEngine], layout: str, workers: int, makespan: int
) -> None:
    ran: list[str] = []
    assert six_operations(make(layout, cpu_workers=workers), ran) == makespan
    assert sorted(ran) == ["a", "a += 1", "b", "c = a + b", "d = 2 a", "e = c + d"]


def test_functions_run_in_the_order_of_their_starts(
    make: Callable[..., VirtualEngine],
) -> None:
    ran: list[str] = []
    six_operations(make(cpu_workers=2), ran)
    assert ran == ["a", "b", "d = 2 a", "c = a + b", "a += 1", "e = c + d"]


def test_pushing_takes_time_and_hides_behind_work(
    make: Callable[..., VirtualEngine],
) -> None:
    it, var = make(push_ns=10), Var()
    for _ in range(5):
        it.push(lambda: None, cpu(), [], [var], "work", cost=Cost(100))
    assert it.now() == 50
    it.wait_to_read(var)
    assert it.now() == 10 + 5 * 100


def test_a_wait_takes_as_long_as_what_it_waits_for(
    make: Callable[..., VirtualEngine],
) -> None:
    it, early, late = make(cpu_workers=2), Var(), Var()
    it.push(lambda: None, cpu(), [], [late], "late", cost=Cost(1000))
    it.push(lambda: None, cpu(), [], [early], "early", cost=Cost(10))
    it.wait_to_read(early)
    assert it.now() == 10
    it.wait_to_read(early)
    assert it.now() == 10
    it.wait_to_write(late)
    assert it.now() == 1000


def test_copies_overlap_with_computing(make: Callable[..., VirtualEngine]) -> None:
    def makespan(prop: int) -> int:
        it = make(gpu_workers=1, gpu_copy=1)
        for _ in range(4):
            batch = Var()
            it.push(lambda: None, gpu(), [], [batch], "copy", prop=prop, cost=Cost(100))
            it.push(lambda: None, gpu(), [batch], [Var()], "compute", cost=Cost(100))
        it.wait_all()
        return it.now()

    assert makespan(engine.NORMAL) == 800
    assert makespan(engine.COPY_TO_GPU) == 500


def test_a_bulk_takes_the_time_of_its_parts_and_delays_its_outputs() -> None:
    def arrival(bulk: int) -> int:
        with knobs(MINIMX_CLOCK="virtual"):
            start, first = virtual.now(), Var()
            with engine.bulk(bulk):
                for var in (first, Var(), Var()):
                    engine.push(lambda: None, cpu(), [], [var], "work")
            engine.wait_to_read(first)
            return virtual.now() - start

    alone = driver_for(cpu()).costs.run_ns(0, 0)
    assert arrival(0) == max(PUSH_NS + alone, 3 * PUSH_NS)
    assert arrival(10) == PUSH_NS + 3 * alone


@pytest.mark.parametrize("device", [cpu(), gpu()])
def test_declared_costs_count(device: Device) -> None:
    costs = driver_for(device).costs

    def took(prop: int, cost: Cost) -> int:
        with knobs(MINIMX_CLOCK="virtual"):
            start = virtual.now()
            engine.push(lambda: None, device, [], [Var()], "f", prop=prop, cost=cost)
            engine.wait_all()
            return virtual.now() - start - PUSH_NS

    assert took(engine.NORMAL, Cost(10**9, 8)) == costs.run_ns(10**9, 8)
    assert took(engine.NORMAL, Cost(8, 10**9)) == costs.run_ns(8, 10**9)
    assert took(engine.COPY_TO_GPU, Cost(0, 2 * 10**6)) == costs.copy_ns(10**6)


def test_dependencies_of_joined_operations_are_those_of_the_program() -> None:
    """What is joined is linked to what was pushed before it, though nothing ran yet."""
    with knobs(MINIMX_CLOCK="virtual"), Record() as record:
        var = Var()
        first = engine.push(lambda: None, cpu(), [], [var], "first")
        with engine.bulk(4):
            part = engine.push(lambda: None, cpu(), [var], [Var()], "part")
        engine.wait_all()
    edges = record.table("deps")
    kinds = record.texts(edges["kind"])
    rows = zip(edges["src"].tolist(), edges["dst"].tolist(), kinds, strict=True)
    assert (first, part, "RAW") in list(rows)


def test_the_clock_goes_on_when_the_engine_changes_and_inside_operations() -> None:
    inside: list[int] = []
    with knobs(MINIMX_CLOCK="virtual"):
        before = virtual.now()
        engine.push(lambda: inside.append(virtual.now()), cpu(), [], [], "look")
        knobs.set(MXNET_ENGINE_TYPE="ThreadedEngine")
        after = virtual.now()
        assert before < inside[0] < after
    with knobs(MINIMX_CLOCK="virtual"):
        assert virtual.now() == after
    assert events.clock is perf_counter_ns


def test_programs_take_the_same_time_whenever_they_run() -> None:
    def once() -> list[int]:
        times = []
        with knobs(MINIMX_CLOCK="virtual", MXNET_CPU_WORKER_NTHREADS=3):
            start = virtual.now()
            variables = [Var() for _ in range(5)]
            for i in range(200):
                engine.push(
                    lambda: None,
                    (cpu(), gpu())[i % 2],
                    [variables[i % 5], variables[i * 7 % 5]],
                    [variables[i * 3 % 5]],
                    "step",
                    cost=Cost(i * 10**6, i * 1000),
                )
                if i % 20 == 0:
                    engine.wait_to_read(variables[i % 5])
                    times.append(virtual.now() - start)
            engine.wait_all()
            return [*times, virtual.now() - start]

    assert once() == once()


def test_the_thread_that_pushes_far_ahead_has_to_wait(
    make: Callable[..., VirtualEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(virtual, "MOST_PENDING", 10)
    it, ran = make(), list[int]()
    for _ in range(11):
        it.push(lambda: ran.append(1), cpu(), [], [Var()], "work", cost=Cost(1))
    assert len(ran) >= 5
    assert it.now() >= 5


def test_operations_pushed_by_operations_start_at_their_time(
    make: Callable[..., VirtualEngine],
) -> None:
    it, starts = make(cpu_workers=2), list[int]()

    def outer() -> None:
        it.push(lambda: starts.append(it.now()), cpu(), [], [], "inner", cost=Cost(5))

    gate = Var()
    it.push(lambda: None, cpu(), [], [gate], "gate", cost=Cost(100))
    it.push(outer, cpu(), [gate], [], "outer", cost=Cost(7))
    it.wait_all()
    assert starts == [100]
    assert it.now() == 107


def test_a_cost_that_cannot_be_told_is_the_operations_failure() -> None:
    with knobs(MINIMX_CLOCK="virtual"):
        var = Var()
        engine.push(lambda: None, gpu(99), [], [var], "far away")
        with pytest.raises(DeviceError, match="does not exist"):
            engine.wait_to_read(var)
        engine.push(lambda: None, cpu(), [], [var], "next")
        engine.wait_all()


def test_functions_run_on_a_thread_of_their_own() -> None:
    with knobs(MINIMX_CLOCK="virtual"):
        names: list[str] = []
        engine.push(
            lambda: names.append(threading.current_thread().name), cpu(), [], [], "f"
        )
        engine.wait_all()
    assert names == ["virtual"]


# The simulation itself

SETS = st.sets(st.integers(0, 3), max_size=2)
JOBS = st.lists(
    st.tuples(SETS, SETS, st.integers(0, 9), st.integers(0, 5), st.integers(0, 2)),
    max_size=15,
)


@given(JOBS, st.integers(1, 3), st.booleans())
def test_simulated_runs_keep_the_rules(
    jobs: list[tuple[set[int], set[int], int, int, int]],
    threads: int,
    by_priority: bool,
) -> None:
    variables = [Var() for _ in range(4)]
    spans: dict[Job, tuple[int, int, str]] = {}
    durations: dict[Job, int] = {}

    def run(job: Job, worker: str) -> int:
        spans[job] = it.time, it.time + durations[job], worker
        return it.time + durations[job]

    it = Simulation(run)
    time, pushed = 0, []
    for reads, writes, duration, pause, priority in jobs:
        time += pause
        chosen = distinct([variables[i] for i in reads], [variables[i] for i in writes])
        lane = Lane("lane", threads, by_priority)
        job = Job(Claim(*chosen, adds=1), lane, time, priority)
        durations[job] = duration
        pushed.append(job)
        it.push(job)
    while it.pending:
        it.step()
    assert set(spans) == set(pushed)
    for i, job in enumerate(pushed):
        start, end, worker = spans[job]
        assert start >= job.ready >= job.pushed
        for earlier in pushed[:i]:
            s, e, w = spans[earlier]
            if conflict(earlier.claim, job.claim):
                assert e <= start
            elif w == worker:
                assert e <= start or end <= s
    # No worker is idle while a ready job waits.
    for job in pushed:
        for moment in range(job.ready, spans[job][0]):
            assert sum(s <= moment < e for s, e, _ in spans.values()) == threads


def conflict(a: Claim, b: Claim) -> bool:
    return bool(
        set(a.writes) & {*b.reads, *b.writes} or set(b.writes) & {*a.reads, *a.writes}
    )


def test_a_worker_looks_at_what_it_has_made_ready(
    make: Callable[..., VirtualEngine],
) -> None:
    """The successor of an operation may be more urgent than what lay in the queue."""
    it, made = make(cpu_priority=1), Var()
    ran: list[str] = []

    def push(name: str, reads: list[Var], writes: list[Var], priority: int) -> None:
        run = partial(ran.append, name)
        it.push(
            run, cpu(), reads, writes, name, priority, CPU_PRIORITIZED, cost=Cost(10)
        )

    push("first", [], [made], 0)
    push("waits", [], [Var()], 1)
    push("urgent", [made], [Var()], 2)
    it.wait_all()
    assert ran == ["first", "urgent", "waits"]
