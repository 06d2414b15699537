"""The second compiler: it begins on an empty cache, and ends with its program."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from minimx.core import kernels
from minimx.core.knobs import knobs
from minimx.core.knobs.declarations.engine import usable_cores
from minimx.core.ops import Op
from minimx.core.ops.spec import Spec
from minimx.fast import ahead
from minimx.operators import warm
from minimx.operators.warm import AT_ONCE, CALLS, Call

#: A program that starts the second process, says so, and lives for a while or dies.
PROGRAM = """
import os, time
from minimx.core.knobs.declarations.engine import usable_cores
from minimx.core.ops import Op
from minimx.core.ops.spec import Spec
from minimx.fast import ahead
ahead.begin()
print(ahead._running[os.getpid()].pid, flush=True)
time.sleep({seconds})
"""


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Processes that would have been started, by their commands; none runs."""
    found: list[list[str]] = []

    def start(command: list[str], **_: Any) -> None:
        found.append(command)

    monkeypatch.setattr(subprocess, "Popen", start)
    monkeypatch.setattr(atexit, "register", lambda *_: None)
    monkeypatch.setattr(ahead, "_running", {})
    monkeypatch.setattr(ahead, "usable_cores", lambda: 2)
    monkeypatch.setattr(ahead, "cache_dir", lambda: tmp_path)
    return found


def test_it_begins_once_on_an_empty_cache(started: Any) -> None:
    ahead.begin()
    ahead.begin()
    assert len(started) == 1


def test_it_does_not_begin_where_kernels_were_compiled(
    started: Any, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "sum.1-of-2.nbc").touch()
    ahead.begin()
    assert started == []
    ahead.begin(
        everything=True
    )  # as `minimx compile` does: they may be of other sources
    assert len(started) == 1


def test_one_processor_is_left_to_the_program(
    started: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ahead, "usable_cores", lambda: 1)
    ahead.begin(everything=True)
    assert started == []


def test_where_no_process_may_be_started_the_program_compiles_alone(
    started: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in the sandbox that grades exercises."""

    def refused(*_: Any, **__: Any) -> None:
        raise PermissionError("Operation not permitted")

    monkeypatch.setattr(subprocess, "Popen", refused)
    ahead.begin()
    ahead.report("conv")
    monkeypatch.undo()
    assert started == []


def alive(process: int) -> bool:
    """Whether a process runs; one that ended and was not waited for does not."""
    status = Path(f"/proc/{process}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.skipif(usable_cores() < 2, reason="has one processor")
@pytest.mark.parametrize("killed", [False, True])
def test_it_ends_with_its_program(tmp_path: Path, killed: bool) -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(seconds=60 if killed else 0)],
        stdout=subprocess.PIPE,
        env=os.environ | {"MINIMX_CACHE": str(tmp_path)},
    )
    assert program.stdout is not None
    child = int(program.stdout.readline())
    if killed:
        program.kill()
    program.wait()
    limit = time.monotonic() + 30
    program.stdout.close()
    while alive(child) and time.monotonic() < limit:
        time.sleep(0.05)
    assert not alive(child)


def test_everything_goes_from_the_last_kernel_to_the_first_and_starts_no_other(
    monkeypatch: pytest.MonkeyPatch, started: Any
) -> None:
    done: list[str] = []

    def one() -> None:
        done.append("one")
        ahead.begin()

    jobs = [("one", one), ("two", lambda: done.append("two"))]
    monkeypatch.setattr(kernels, "_offers", [lambda: jobs])
    monkeypatch.setattr(ahead._Files, "follow", lambda _: None)
    monkeypatch.setattr(ahead, "CALLS", ())
    ahead.main(everything=True)
    assert done == ["two", "one"]
    assert started == []


def test_what_is_compiled_follows_from_what_the_program_has_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second, third, never, loss = (
        Call(file, (), after=file[1:])
        for file in ("1conv", "2softmax", "3conv", "4", f"5{AT_ONCE}")
    )
    monkeypatch.setattr(ahead, "CALLS", (first, second, third, never, loss))
    files = ahead._Files()
    calls = files.expected()
    assert next(calls) is loss  # before the program has compiled anything
    files.names.add("conv")
    assert next(calls) is third  # the last of a step first
    files.names.add("softmax")
    assert [*calls] == [second, first]


def second_process(
    program: str, monkeypatch: pytest.MonkeyPatch
) -> subprocess.Popen[bytes]:
    """A process that stands in for the second compiler, with pipes to and from it."""
    child = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
    )
    monkeypatch.setattr(ahead, "_running", {os.getpid(): child})
    return child


def test_the_program_reports_its_files_until_the_other_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    child = second_process("print(input())", monkeypatch)
    ahead.report("conv")
    assert child.stdout is not None and child.stdout.read() == b"conv\n"
    child.stdout.close()
    child.wait()
    ahead.report("norm")
    assert ahead._running == {os.getpid(): None}
    ahead.report("norm")  # and no other is begun for it
    assert child.stdin is not None
    child.stdin.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="has no forks")
def test_a_fork_reports_nothing_and_lets_the_second_process_live(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not even where it has closed the pipe and its number is another file's."""
    child = second_process("import sys; print(sys.stdin.read())", monkeypatch)
    assert child.stdin is not None and child.stdout is not None
    fork = os.fork()
    if not fork:
        ahead.report("of the fork")
        ahead.begin()
        os._exit(len(ahead._running) != 1)
    assert os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1]) == 0
    assert child.poll() is None
    ahead.report("conv")
    child.stdin.close()
    assert child.stdout.read() == b"conv\n\n"
    child.stdout.close()
    child.wait()


def test_a_folder_that_is_gone_meanwhile_has_no_kernels(tmp_path: Path) -> None:
    assert ahead.empty(tmp_path / "gone")


def test_calls_wait_for_files_of_kernels_that_there_are() -> None:
    packages = ("core.kernels.cpu", "operators.kernels.layers", "fast.cpu")
    for call in CALLS:
        file = "conv" if call.after in ("", AT_ONCE) else call.after
        found = [find_spec(f"minimx.{package}.{file}") for package in packages]
        assert any(found), f"{call.op} waits for {file!r}"


def test_the_gradient_of_a_call_is_that_by_the_inputs_it_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run: list[str] = []

    def launch(op: Op, specs: tuple[Spec, ...]) -> tuple[Spec, ...]:
        run.append(op.name)
        return op.plan(specs).outs

    monkeypatch.setattr(warm, "launch", launch)
    shapes, settings = ((4, 8), (2, 8)), {"num_hidden": 2, "no_bias": True}
    Call("FullyConnected", shapes, settings).run()
    for wanted in ((0,), (1,), warm.EVERY):
        Call("FullyConnected", shapes, settings, wanted).run()
    assert run == ["FullyConnected", "dot", "dot", "dot", "dot"]


def test_knobs_of_the_program_are_not_handed_on(
    started: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    environments: list[dict[str, str]] = []

    def start(command: list[str], *, env: dict[str, str], **_: Any) -> None:
        environments.append(env)

    monkeypatch.setattr(subprocess, "Popen", start)
    monkeypatch.setenv("MXNET_EXEC_BULK_EXEC_TRAIN", "0")
    assert "MXNET_EXEC_BULK_EXEC_TRAIN" in knobs
    ahead.begin()
    assert "MXNET_EXEC_BULK_EXEC_TRAIN" not in environments[0]
    assert environments[0]["PYTHONPATH"].split(os.pathsep) == sys.path
