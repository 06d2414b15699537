"""Engines are exchanged while the program runs; threads come and go without a trace."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from functools import partial

import pytest

from minimx.core import engine
from minimx.core.device import cpu, gpu
from minimx.core.engine import Var, threaded
from minimx.core.engine.var import Claim, append
from minimx.core.engine.workers import Worker
from minimx.core.errors import EngineError
from minimx.core.knobs import knobs

SOON = 20.0


def workers() -> list[str]:
    return [t.name for t in threading.enumerate() if isinstance(t, Worker)]


def busy(n: int = 50) -> Var:
    var = Var()
    for prop in (engine.NORMAL, engine.COPY_TO_GPU, engine.CPU_PRIORITIZED):
        for _ in range(n):
            engine.push(lambda: None, gpu(), [], [var], "work", prop=prop)
    return var


def test_the_knob_names_the_engine() -> None:
    for name in ("NaiveEngine", "ThreadedEngine", "ThreadedEnginePerDevice"):
        with knobs(MXNET_ENGINE_TYPE=name):
            assert engine.engine_type() == name
    assert engine.engine_type() == "ThreadedEnginePerDevice"


def test_switching_finishes_what_was_pushed_and_leaves_no_thread() -> None:
    before = threading.active_count() - len(workers())
    for name in ("ThreadedEngine", "ThreadedEnginePerDevice", "NaiveEngine"):
        var = busy()
        knobs.set(MXNET_ENGINE_TYPE=name)
        assert workers() == []
        assert var.version == 150
    assert threading.active_count() == before


def test_restarting_again_and_again_leaks_no_threads() -> None:
    for n in itertools.islice(itertools.cycle([1, 2, 3]), 30):
        knobs.set(MXNET_CPU_WORKER_NTHREADS=n)
        engine.push(lambda: None, cpu(), [], [], "work")
        engine.wait_all()
        assert len(workers()) == n
    knobs.set(MXNET_ENGINE_TYPE="NaiveEngine")
    assert workers() == []


def test_threads_push_while_the_engine_changes() -> None:
    """Every push runs once, in order for each thread, whatever engine it met."""
    stop = threading.Event()
    variables = [Var() for _ in range(3)]
    logs: list[list[int]] = [[] for _ in variables]
    counts = [0] * len(variables)
    errors: list[BaseException] = []

    def train(me: int) -> None:
        try:
            for i in itertools.count():
                note = partial(logs[me].append, i)
                engine.current.push(note, cpu(me), [], [variables[me]], "step")
                counts[me] += 1
                if i % 10 == 0:
                    engine.wait_to_read(variables[me])
                if stop.is_set():
                    return
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=train, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    kinds = ["NaiveEngine", "ThreadedEngine", "ThreadedEnginePerDevice"]
    for i, kind in enumerate(kinds * 5):
        knobs.set(MXNET_ENGINE_TYPE=kind, MINIMX_CLOCK=("wall", "virtual")[i % 2])
    stop.set()
    for thread in threads:
        thread.join(SOON)
    engine.wait_all()
    assert not errors
    assert logs == [list(range(n)) for n in counts]
    assert [var.version for var in variables] == counts


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("clock", ["wall", "virtual"])
def test_what_was_joined_as_the_engine_closed_runs_first(
    clock: str, waits: bool
) -> None:
    """A push that found the old engine may join operations when Naive is current."""
    closed, var, ran = engine.current, Var(), list[str]()
    with knobs(MXNET_ENGINE_TYPE="NaiveEngine", MINIMX_CLOCK=clock), engine.bulk(8):
        closed.push(partial(ran.append, "first"), cpu(), [], [var], "first")
        if not waits:
            engine.push(partial(ran.append, "second"), cpu(), [], [var], "second")
        engine.wait_to_read(var)
        assert ran == (["first"] if waits else ["first", "second"])


def test_a_wait_under_naive_does_not_wait_for_other_threads() -> None:
    """An operation may itself wait for a thread that waits for nothing."""
    running, over = threading.Event(), threading.Event()

    def slow() -> None:
        running.set()
        over.wait(SOON)

    with knobs(MXNET_ENGINE_TYPE="NaiveEngine"):
        other = threading.Thread(
            target=engine.push, args=(slow, cpu(), [], [Var()], "slow")
        )
        other.start()
        assert running.wait(SOON)
        mine = threading.Thread(target=engine.wait_to_read, args=(Var(),))
        mine.start()
        mine.join(5)
        assert not mine.is_alive()
        over.set()
        other.join(SOON)


def test_a_push_that_found_the_engine_open_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It may be halfway, with the lock of all vars, when the engine is to close."""
    var, halfway, ran = Var(), threading.Event(), list[int]()

    def slowly(claim: Claim) -> bool:
        halfway.set()
        time.sleep(0.3)
        return append(claim)

    with knobs(MXNET_ENGINE_TYPE="ThreadedEngine"):
        engine.push(lambda: None, cpu(), [], [var], "workers start")
        engine.wait_to_read(var)
        monkeypatch.setattr(threaded, "append", slowly)
        pushing = threading.Thread(
            target=engine.push, args=(partial(ran.append, 1), cpu(), [], [var], "late")
        )
        pushing.start()
        assert halfway.wait(SOON)
        knobs.set(MXNET_ENGINE_TYPE="NaiveEngine")
        monkeypatch.undo()
        pushing.join(SOON)
        assert ran == [1] and var.version == 2
        engine.wait_all()


@pytest.mark.parametrize("clock", ["wall", "virtual"])
@pytest.mark.parametrize("name", ["NaiveEngine", "ThreadedEngine"])
def test_an_operation_cannot_change_its_engine(name: str, clock: str) -> None:
    refused: list[str] = []

    def turn() -> None:
        try:
            knobs.set(MXNET_CPU_WORKER_NTHREADS=3)
        except EngineError as error:
            refused.append(str(error))

    with knobs(MXNET_ENGINE_TYPE=name, MINIMX_CLOCK=clock):
        engine.push(turn, cpu(), [], [Var()], "turn")
        engine.wait_all()
        assert len(refused) == 1
        assert knobs.get("MXNET_CPU_WORKER_NTHREADS") == 1
        engine.push(lambda: None, cpu(), [], [Var()], "next")
        engine.wait_all()


def test_an_interrupted_switch_changes_nothing() -> None:
    gate, var, old = threading.Event(), Var(), engine.current
    begun = threading.Event()

    def interrupt() -> None:
        begun.wait(SOON)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        gate.wait(SOON)

    engine.push(interrupt, cpu(), [], [var], "slow")
    with pytest.raises(KeyboardInterrupt):
        begun.set()
        knobs.set(MXNET_ENGINE_TYPE="ThreadedEngine")
        pytest.fail("the switch was not interrupted")
    gate.set()
    assert engine.engine_type() == "ThreadedEnginePerDevice"
    assert engine.current is old or not old.open
    engine.push(lambda: None, cpu(), [], [var], "next")
    engine.wait_to_read(var)
    assert var.version == 2


def test_a_stale_engine_hands_on_and_does_not_wait() -> None:
    stale = engine.current
    with knobs(MXNET_ENGINE_TYPE="ThreadedEngine"):
        var = Var()
        stale.push(lambda: None, cpu(), [], [var], "work")
        stale.wait_to_read(var)
        assert var.version == 1
        stale.wait_to_write(var)
        stale.wait_all()


def test_the_switch_interval_is_the_users_again_under_naive() -> None:
    users = sys.getswitchinterval()
    with knobs(MXNET_ENGINE_TYPE="NaiveEngine"):
        sys.setswitchinterval(0.004)
        with knobs(MXNET_ENGINE_TYPE="ThreadedEngine"):
            assert sys.getswitchinterval() <= 0.001
        assert sys.getswitchinterval() == pytest.approx(0.004)
        sys.setswitchinterval(max(users, 0.005))


def run(program: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **environ},
    )


PRELUDE = """
import threading, time
from minimx import engine
from minimx.core.device import cpu
from minimx.core.engine import Var
"""


LEFT_TO_DO = """
var, running = Var(), threading.Event()
def fail(): raise ValueError("never seen")
def slow():
    running.set()
    time.sleep(0.2)
    print("ended")
engine.push(fail, cpu(1), [], [Var()], "fail")
engine.push(slow, cpu(), [], [var], "slow")
for _ in range(1000):
    engine.push(lambda: time.sleep(1), cpu(), [var], [Var()], "never")
"""


@pytest.mark.parametrize("name", ["ThreadedEngine", "ThreadedEnginePerDevice"])
def test_a_program_ends_although_much_is_left_to_do(name: str) -> None:
    """What runs comes to its end, what waits is dropped, also after a failure."""
    done = run(PRELUDE + LEFT_TO_DO + "running.wait(20)", MXNET_ENGINE_TYPE=name)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")


def test_a_virtual_program_ends_although_much_is_left_to_do() -> None:
    done = run(PRELUDE + LEFT_TO_DO, MINIMX_CLOCK="virtual")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_work_pushed_at_the_very_end_runs_inline() -> None:
    done = run(
        """
import atexit
atexit.register(lambda: engine.push(lambda: print("late"), cpu(), [], [], "late"))
"""
        + PRELUDE
    )
    assert (done.stdout, done.stderr) == ("late\n", "")


FORK = """
import os, sys, warnings
warnings.simplefilter("ignore", DeprecationWarning)
var, log = Var(), []
engine.push(lambda: (time.sleep(0.1), log.append(1)), cpu(), [], [var], "slow")
child = os.fork()
assert log == [1] and var.version == 1   # finished before forking, in both
engine.push(lambda: log.append(2), cpu(), [var], [var], "next")
engine.wait_to_read(var)
assert log == [1, 2] and var.version == 2
if child == 0:
    os._exit(0)
_, status = os.waitpid(child, 0)
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("clock", ["wall", "virtual"])
@pytest.mark.parametrize(
    "name", ["NaiveEngine", "ThreadedEngine", "ThreadedEnginePerDevice"]
)
def test_parent_and_child_go_on_after_a_fork(name: str, clock: str) -> None:
    done = run(PRELUDE + FORK, MXNET_ENGINE_TYPE=name, MINIMX_CLOCK=clock)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forking_while_other_threads_push_and_bulk() -> None:
    done = run(
        PRELUDE
        + """
import os, sys, warnings
warnings.simplefilter("ignore", DeprecationWarning)
stop = threading.Event()
def train(var):
    with engine.bulk(3):
        while not stop.is_set():
            engine.push(lambda: None, cpu(), [], [var], "step")
            engine.wait_to_read(var)
threads = [threading.Thread(target=train, args=(Var(),)) for _ in range(2)]
for thread in threads: thread.start()
for _ in range(5):
    child = os.fork()
    if child == 0:
        var = Var()
        engine.push(lambda: None, cpu(), [], [var], "child")
        engine.wait_to_read(var)
        os._exit(var.version)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 1
stop.set()
for thread in threads: thread.join()
"""
    )
    assert (done.returncode, done.stderr) == (0, "")
