"""An exception is kept on what it spoils and raised once, where somebody waits."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import traceback
import weakref
from collections.abc import Callable

import pytest

from minimx.core import engine
from minimx.core.device import cpu
from minimx.core.engine import Var
from minimx.core.errors import ShapeError
from minimx.core.knobs import knobs


def fail() -> None:
    raise ShapeError("scale must be positive")


def push_failing(var: Var, fn: Callable[[], object] = fail) -> None:
    engine.push(fn, cpu(), [], [var], "normal")  # the pushing line


def nothing() -> None:
    pass


def test_the_five_steps_of_a_failure(asynchronous: str) -> None:
    spoiled, dependent, ran = Var(), Var(), []
    push_failing(spoiled)  # 1: returns normally
    engine.push(lambda: ran.append(1), cpu(), [spoiled], [dependent], "plus")  # 2: too
    with pytest.raises(ShapeError, match="scale must be positive"):
        engine.wait_to_read(dependent)  # 3: raised where somebody waits
    assert not ran
    engine.wait_to_read(spoiled)  # 4: once, although it spoiled two
    engine.wait_all()  # 5: and all is well
    engine.push(lambda: ran.append(2), cpu(), [spoiled], [dependent], "plus")
    engine.wait_to_read(dependent)
    assert ran == [2]
    assert (spoiled.version, dependent.version) == (1, 2)


@pytest.mark.parametrize("clock", ["wall", "virtual"])
def test_naive_raises_at_the_call(clock: str) -> None:
    with knobs(MXNET_ENGINE_TYPE="NaiveEngine", MINIMX_CLOCK=clock):
        with pytest.raises(ShapeError):
            push_failing(Var())
        engine.wait_all()


def test_wait_all_raises_the_first_and_forgets_the_rest(asynchronous: str) -> None:
    first, second = Var(), Var()

    def other() -> None:
        raise ValueError("the second")

    push_failing(first)
    engine.wait_to_write(Var())
    engine.push(other, cpu(), [], [second], "other")
    with pytest.raises(ShapeError):
        engine.wait_all()
    engine.wait_all()
    engine.wait_to_read(second)


def test_a_failure_without_outputs_reaches_wait_all(asynchronous: str) -> None:
    engine.push(fail, cpu(), [], [], "normal")
    with pytest.raises(ShapeError):
        engine.wait_all()


def test_no_skip_runs_and_still_inherits(asynchronous: str) -> None:
    spoiled, out, ran = Var(), Var(), []
    push_failing(spoiled)
    engine.push(
        lambda: ran.append(1), cpu(), [spoiled], [out], "must", prop=engine.NO_SKIP
    )
    with pytest.raises(ShapeError):
        engine.wait_to_read(out)
    assert ran == [1]


def test_a_spoiled_output_is_a_reason_to_skip(asynchronous: str) -> None:
    spoiled, ran = Var(), []
    push_failing(spoiled)
    engine.push(lambda: ran.append(1), cpu(), [], [spoiled], "write")
    with pytest.raises(ShapeError):
        engine.wait_to_write(spoiled)
    assert not ran


def test_of_two_waiting_threads_one_is_told(threaded: str) -> None:
    spoiled, told = Var(), []
    push_failing(spoiled)

    def wait() -> None:
        try:
            engine.wait_to_read(spoiled)
        except ShapeError:
            told.append(1)

    threads = [threading.Thread(target=wait) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == [1]


def test_the_message_ends_with_the_pushing_line(asynchronous: str) -> None:
    spoiled = Var()
    push_failing(spoiled)
    with pytest.raises(ShapeError) as caught:
        engine.wait_to_read(spoiled)
    *_, where, source = "".join(traceback.format_exception(caught.value)).splitlines()
    assert where.startswith("normal, pushed at test_failures.py:")
    assert where.endswith(" in push_failing")
    assert (
        source == '    engine.push(fn, cpu(), [], [var], "normal")  # the pushing line'
    )
    assert any("in fail" in line for line in traceback.format_tb(caught.tb))


def test_the_depth_knob_adds_callers(asynchronous: str) -> None:
    def frames() -> int:
        spoiled = Var()
        push_failing(spoiled)
        with pytest.raises(ShapeError) as caught:
            engine.wait_to_read(spoiled)
        (note,) = caught.value.__notes__
        return str(note).count(" at ")

    assert frames() == 1
    with knobs(DMLC_LOG_STACK_TRACE_DEPTH=3):
        assert frames() == 4
    assert frames() == 1


def test_in_a_notebook_the_message_names_the_cell() -> None:
    program = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="nocolor", cache_size=0)
shell.run_cell("from minimx import engine; from minimx.core.device import cpu")
shell.run_cell("x = 1\\nengine.push(lambda: 1 / 0, cpu(), [], [], 'divide');",
               store_history=True)
try:
    sys.modules["minimx.core.engine"].wait_all()
except ZeroDivisionError as error:
    print(*error.__notes__)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert done.stderr == ""
    where, source = done.stdout.rstrip().splitlines()
    assert where == "divide, pushed at Cell In[1]:2 in <module>"
    assert source.strip().startswith("engine.push(lambda: 1 / 0")


def test_one_exception_object_can_be_raised_again_and_again(asynchronous: str) -> None:
    error = ShapeError("the same object")

    def fail_again() -> None:
        raise error.with_traceback(None)

    depths = []
    for _ in range(4):
        spoiled = Var()
        push_failing(spoiled, fail_again)
        with pytest.raises(ShapeError):
            engine.wait_to_read(spoiled)
        depths.append(len(traceback.extract_tb(error.__traceback__)))
    assert len(set(depths)) == 1
    assert len(error.__notes__) == 1


def test_a_raised_failure_keeps_nothing_alive(asynchronous: str) -> None:
    class Thing:
        """What the operation worked on."""

    thing, spoiled = Thing(), Var()
    gone = weakref.ref(thing)

    def fail_with(it: Thing = thing) -> None:
        raise ValueError("with a thing in hand")

    gc.collect()
    gc.disable()
    try:
        push_failing(spoiled, fail_with)
        with pytest.raises(ValueError, match="in hand"):
            engine.wait_to_read(spoiled)
        del thing, fail_with
        assert gone() is None
    finally:
        gc.enable()


def test_a_failure_survives_a_change_of_engine() -> None:
    spoiled = Var()
    push_failing(spoiled)
    with (
        knobs(MXNET_ENGINE_TYPE="NaiveEngine"),
        pytest.raises(ShapeError, match="positive"),
    ):
        engine.push(nothing, cpu(), [spoiled], [], "read")


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_even_an_exit_is_delivered(threaded: str, kind: type[BaseException]) -> None:
    def leave() -> None:
        raise kind

    var = Var()
    engine.push(leave, cpu(), [], [var], "leave")
    with pytest.raises(kind):
        engine.wait_to_read(var)
    engine.push(nothing, cpu(), [], [var], "next")
    engine.wait_all()
