"""What all engines promise: sequential results, versions, waits, and clean endings."""

from __future__ import annotations

import gc
import signal
import threading
import weakref
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minimx.core import engine
from minimx.core.device import cpu, gpu
from minimx.core.engine import Var, workers
from minimx.core.engine.workers import Worker
from minimx.core.errors import EngineError
from minimx.core.knobs import knobs
from tests.probe.interrupts import traced

N_VARS = 6
SOON = 20.0  # seconds that nothing here should take

PROPS = (
    engine.NORMAL,
    engine.COPY_FROM_GPU,
    engine.COPY_TO_GPU,
    engine.CPU_PRIORITIZED,
    engine.GPU_PRIORITIZED,
    engine.NO_SKIP,
)
NUMBERS = st.lists(st.integers(0, N_VARS - 1), max_size=4)
STEPS = st.tuples(
    NUMBERS,
    NUMBERS,
    st.integers(0, 3),
    st.sampled_from(PROPS),
    st.integers(-2, 2),
)
SAME_FIXTURE = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
    max_examples=30,
)


@SAME_FIXTURE
@given(st.lists(STEPS, max_size=30), st.integers(0, 5))
def test_random_programs_run_as_if_one_by_one(
    any_engine: str, machine: Any, step: Any, program: list[Any], bulk: int
) -> None:
    steps = [step(*fields) for fields in program]
    it = machine(N_VARS)
    with engine.bulk(bulk):
        for number, one in enumerate(steps):
            it.push(number, one)
    it.expect(steps)


def test_what_an_operation_held_is_free_once_it_is_done(threaded: str) -> None:
    class Held:
        pass

    held, var = Held(), Var()
    gone = weakref.ref(held)
    run = partial(lambda _: None, held)
    operation = engine.Operation(run, cpu(), (), (var,), "holds")
    del held, run
    engine.current.submit(operation)
    engine.wait_to_read(var)
    assert gone() is None, "although the operation itself is still known"


def test_push_returns_before_the_operation_runs(asynchronous: str) -> None:
    gate, ran = threading.Event(), []
    var = Var()

    def slow() -> None:
        gate.wait(SOON)
        ran.append(1)

    engine.push(slow, cpu(), [], [var], "slow")
    assert not ran
    gate.set()
    engine.wait_to_read(var)
    assert ran == [1]
    assert var.version == 1


def test_naive_runs_inside_push() -> None:
    with knobs(MXNET_ENGINE_TYPE="NaiveEngine"):
        names: list[str] = []
        engine.push(
            lambda: names.append(threading.current_thread().name), cpu(), [], [], "f"
        )
        assert names == [threading.current_thread().name]


def test_independent_operations_overlap(threaded: str) -> None:
    """Two operations that can only end together, on two devices."""
    meeting = threading.Barrier(2, timeout=SOON)
    engine.push(meeting.wait, cpu(0), [], [Var()], "one")
    engine.push(meeting.wait, cpu(1), [], [Var()], "two")
    engine.wait_all()


def test_wait_to_read_does_not_wait_for_readers(threaded: str) -> None:
    gate, var = threading.Event(), Var()
    engine.push(lambda: gate.wait(SOON), cpu(), [var], [], "reader")
    engine.wait_to_read(var)
    assert not gate.is_set()
    gate.set()


def test_wait_to_write_waits_for_readers(asynchronous: str) -> None:
    var, done = Var(), []
    for _ in range(3):
        engine.push(lambda: done.append(1), cpu(), [var], [], "reader")
    engine.wait_to_write(var)
    assert done == [1, 1, 1]
    assert var.version == 0


def test_many_threads_wait_for_one_var(threaded: str) -> None:
    gate, var, woken = threading.Event(), Var(), []
    engine.push(lambda: gate.wait(SOON), cpu(), [], [var], "slow")

    def wait(how: Any) -> None:
        how(var)
        woken.append(1)

    waits = [engine.wait_to_read, engine.wait_to_write, lambda _: engine.wait_all()] * 3
    threads = [threading.Thread(target=wait, args=(how,)) for how in waits]
    for thread in threads:
        thread.start()
    gate.set()
    for thread in threads:
        thread.join(SOON)
    assert len(woken) == len(threads)


@pytest.mark.parametrize("kind", ["wait_to_read", "wait_to_write", "wait_all"])
def test_waiting_inside_an_operation_is_refused(asynchronous: str, kind: str) -> None:
    var, other = Var(), Var()
    arguments = () if kind == "wait_all" else (other,)
    engine.push(lambda: getattr(engine, kind)(*arguments), cpu(), [], [var], "waits")
    with pytest.raises(EngineError, match="Add the vars"):
        engine.wait_to_read(var)


def test_operations_may_push_operations(any_engine: str) -> None:
    order: list[int] = []
    a, b = Var(), Var()

    def outer() -> None:
        order.append(1)
        engine.push(lambda: order.append(2), cpu(), [], [b], "inner")

    engine.push(outer, cpu(), [], [a], "outer")
    engine.wait_all()
    assert order == [1, 2]
    assert (a.version, b.version) == (1, 1)


class _Thing:
    """Something that a closure keeps alive."""


def test_what_an_operation_held_is_gone_when_wait_all_returns(any_engine: str) -> None:
    gc.disable()
    try:
        for _ in range(50):
            thing, var = _Thing(), Var()
            gone = weakref.ref(thing)
            engine.push(partial(id, thing), cpu(), [], [var], "f")
            del thing
            engine.wait_all()
            assert gone() is None
    finally:
        gc.enable()


def test_an_idle_worker_holds_nothing(threaded: str) -> None:
    """Vars are chunks of memory: the last operation must not keep them."""

    class Tracked(Var):
        __slots__ = ("__weakref__",)

    var, other = Tracked(), Tracked()
    gone = weakref.ref(var), weakref.ref(other)
    engine.push(lambda: None, cpu(), [var], [other], "one")
    engine.push(lambda: None, cpu(), [other], [var], "two")
    engine.wait_all()
    del var, other
    assert [ref() for ref in gone] == [None, None]


def test_an_interrupted_wait_leaves_everything_intact(threaded: str) -> None:
    gate, var, done = threading.Event(), Var(), []

    def interrupt() -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        gate.wait(SOON)
        done.append(1)

    for wait in (
        engine.wait_to_read,
        engine.wait_to_write,
        lambda _: engine.wait_all(),
    ):
        gate.clear()
        with pytest.raises(KeyboardInterrupt):
            engine.push(interrupt, cpu(), [], [var], "slow")
            wait(var)
        engine.push(lambda: done.append(2), cpu(), [], [var], "next")
        gate.set()
        engine.wait_to_write(var)
    assert done == [1, 2] * 3
    engine.wait_all()
    assert var.readers == 0
    assert var.writer is None


def start_all_workers() -> None:
    """Python's own `Thread.start` does not survive an interrupt."""
    gate = threading.Event()
    for prop in (engine.NORMAL, engine.COPY_TO_GPU):
        for _ in range(20):
            engine.push(partial(gate.wait, SOON), gpu(), [], [], "start", prop=prop)
    gate.set()
    engine.wait_all()


class _Alarm(BaseException):
    """Raised by a signal wherever the main thread happens to be."""


def test_interrupts_at_random_moments_lose_nothing(threaded: str) -> None:
    """What was pushed runs once, what was not pushed never, and nothing is stuck."""
    start_all_workers()
    variables = [Var() for _ in range(4)]
    ran = [0]
    finished = True

    def ring(number: int, frame: object) -> None:
        if not finished:
            # Again 5 ms later, because one may get lost in a destructor. Not at a fixed
            # rate: a second one just behind would stop the clean-up after the first.
            signal.setitimer(signal.ITIMER_VIRTUAL, 5e-3)
            raise _Alarm

    def count() -> None:
        ran[0] += 1  # all operations write the first var, so they take turns

    # Not ITIMER_REAL: its signal is the one that ends a test that takes too long.
    old = signal.signal(signal.SIGVTALRM, ring)
    gc.disable()
    try:
        for i in range(300):
            try:
                finished = False
                signal.setitimer(signal.ITIMER_VIRTUAL, 1e-5 + i * 1.1e-6)
                while True:
                    engine.push(
                        count,
                        gpu(),
                        variables[2:],
                        variables[:2],
                        "count",
                        prop=(engine.NORMAL, engine.COPY_TO_GPU)[i % 2],
                    )
            except _Alarm:
                finished = True
        engine.wait_all()
    finally:
        gc.enable()
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, old)
    assert variables[0].version == variables[1].version == ran[0]
    assert all(v.readers == 0 and v.writer is None for v in variables)


@pytest.mark.parametrize("busy", [False, True])
def test_an_interrupt_at_each_place_of_a_push_leaves_no_claim(
    threaded: str, busy: bool
) -> None:
    variables = [Var() for _ in range(4)]
    ran = []

    def push() -> None:
        engine.push(lambda: ran.append(1), gpu(), variables[2:], variables[:2], "push")

    start_all_workers()
    for place in range(1, 500):
        gate = threading.Event()
        if busy:  # so that the push has to queue behind a read and a write
            waits = partial(gate.wait, SOON)
            engine.push(waits, cpu(), variables[:1], variables[3:], "busy")
        interrupted = False
        try:
            traced(push, place)
        except KeyboardInterrupt:
            interrupted = True
        gate.set()
        engine.wait_all()
        assert variables[0].version == variables[1].version == len(ran), place
        assert all(v.readers == 0 and v.writer is None for v in variables), place
        if not interrupted:
            break
    assert 5 < place < 100  # few of compiled code


def test_two_pushing_threads_cannot_lock_each_other_out(threaded: str) -> None:
    a, b = Var(), Var()
    count = [0]

    def both() -> None:
        count[0] += 1

    def push(writes: list[Var]) -> None:
        for _ in range(500):
            engine.push(both, cpu(), [], writes, "both")

    threads = [threading.Thread(target=push, args=(w,)) for w in ([a, b], [b, a]) * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SOON)
    engine.wait_all()
    assert count == [2000]
    assert a.version == b.version == 2000


def test_push_from_a_destructor(threaded: str) -> None:
    """A destructor may run at any allocation, also while the engine holds its lock."""
    var, ran = Var(), []

    class Last:
        def __init__(self) -> None:
            self.me = self  # only the collector gets it

        def __del__(self) -> None:
            engine.push(lambda: ran.append(1), cpu(), [var], [], "farewell")

    old = gc.get_threshold()
    gc.set_threshold(5, 1, 1)
    try:
        for _ in range(200):
            Last()
            engine.push(lambda: None, cpu(), [], [var], "work")
        gc.collect()
    finally:
        gc.set_threshold(*old)
    engine.wait_all()
    assert len(ran) == 200


def test_a_push_from_inside_the_start_of_a_worker(
    threaded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a destructor does that the collector runs just then."""
    started: list[str] = []
    ran: list[str] = []
    begin = workers.start

    def starting(worker: Worker, workers: list[Worker]) -> None:
        if not started:
            started.append(worker.name)
            engine.push(lambda: ran.append("inner"), cpu(), [], [], "farewell")
        begin(worker, workers)

    with knobs(MXNET_CPU_WORKER_NTHREADS=2):
        monkeypatch.setattr(workers, "start", starting)
        engine.push(lambda: ran.append("outer"), cpu(), [], [], "work")
        engine.wait_all()
        names = [t.name for t in threading.enumerate() if isinstance(t, Worker)]
    assert sorted(ran) == ["inner", "outer"]
    assert started
    assert len(names) == len(set(names)) <= 2


def test_threads_are_started_when_they_are_needed() -> None:
    def lanes() -> set[str]:
        return {t.name for t in threading.enumerate() if isinstance(t, Worker)}

    with knobs(MXNET_ENGINE_TYPE="ThreadedEngine"):
        assert lanes() == set()
        engine.push(lambda: None, cpu(), [], [], "one")
        engine.wait_all()
        assert lanes() == {"pool/0"}
        engine.push(lambda: None, cpu(), [], [], "two")
        engine.wait_all()
        assert lanes() == {"pool/0"}
        meeting = threading.Barrier(5, timeout=SOON)
        for _ in range(5):
            engine.push(meeting.wait, cpu(), [], [], "meet")
        engine.wait_all()
        assert len(lanes()) == 5
    assert lanes() == set()
