"""Rounds, interpreters and what others do on the machine meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.cases import CASES, Case
from tests.benchmarks.measuring import machine, rounds
from tests.benchmarks.measuring.interpreters import PeerDied, Starts, Worker
from tests.benchmarks.measuring.machine import Watch, disturbed
from tests.benchmarks.peers import Peer

CASE = {case.name: case for case in CASES}
BROKEN = Peer("broken", "minimx", "no_such_program", "")
NUMPY = Peer("numpy", "numpy", "numpy_api", "library.ones(4) + 1")
TORCH = Peer("torch", "torch", "torch_api", "")
A, B = Case("a", "A"), Case("b", "B", rounds=1)


class Scripted(rounds.Bench):
    """A bench whose contenders answer from a script; keeps who was asked."""

    asked: list[tuple[str, str]]
    answers: dict[tuple[str, str], Any]

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        Scripted.asked = []

    def value(self, case: Case, peer: Peer, keep: tuple[str, ...]) -> float | None:
        self.asked.append((case.name, peer.name))
        answer = self.answers.get((case.name, peer.name), 1.0)
        if isinstance(answer, BaseException):
            raise answer
        return None if answer is None else float(answer)


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> type[Scripted]:
    Scripted.answers = {}
    monkeypatch.setattr(rounds, "Bench", Scripted)
    return Scripted


def measured(tmp_path: Path, cases: list[Case], number: int = 2) -> rounds.Measured:
    said: list[str] = []
    return rounds.run(cases, [NUMPY, TORCH], tmp_path, number, 0.01, said.append)


def test_contenders_alternate_and_each_round_begins_with_another(
    scripted: type[Scripted], tmp_path: Path
) -> None:
    found = measured(tmp_path, [A, B])
    order = [("a", "numpy"), ("a", "torch"), ("a", "torch"), ("a", "numpy")]
    assert scripted.asked == [*order, ("b", "numpy"), ("b", "torch")]
    assert found.values["a"] == {"numpy": [1.0, 1.0], "torch": [1.0, 1.0]}
    assert found.values["b"] == {"numpy": [1.0], "torch": [1.0]}
    assert [len(found.rounds[name]) for name in ("a", "b")] == [2, 1]
    assert found.unfinished == []


def test_who_has_no_such_case_is_not_asked_again(
    scripted: type[Scripted], tmp_path: Path
) -> None:
    scripted.answers = {("a", "torch"): None}
    found = measured(tmp_path, [A])
    assert scripted.asked.count(("a", "torch")) == 1
    assert found.values["a"]["torch"] == []


def test_who_dies_is_noted_and_the_others_go_on(
    scripted: type[Scripted], tmp_path: Path
) -> None:
    scripted.answers = {("a", "torch"): PeerDied("torch died")}
    found = measured(tmp_path, [A, B])
    assert found.failures == {"a": {"torch": "torch died"}}
    assert found.values["a"] == {"numpy": [1.0, 1.0], "torch": []}
    assert found.values["b"]["torch"] == [1.0]


def test_an_interrupted_run_keeps_what_it_has_and_says_what_is_not_finished(
    scripted: type[Scripted], tmp_path: Path
) -> None:
    scripted.answers = {("b", "torch"): KeyboardInterrupt()}
    found = measured(tmp_path, [A, B, Case("c", "C")])
    assert found.values == {
        "a": {"numpy": [1.0, 1.0], "torch": [1.0, 1.0]},
        "b": {"numpy": [1.0]},
    }
    assert found.unfinished == ["b", "c"]


def test_an_interrupt_ends_an_interpreter_that_is_in_the_middle_of_a_case(
    tmp_path: Path,
) -> None:
    forever = Case("add_small", "add")
    timer = threading.Timer(0.8, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.perf_counter()
    found = rounds.run([forever], [NUMPY], tmp_path, 1, 60.0, lambda text: None)
    assert time.perf_counter() - start < 30
    assert found.unfinished == ["add_small"]


def test_a_peer_that_dies_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(PeerDied, match="broken died in case 'import'"),
        closing(Worker(BROKEN, tmp_path)) as worker,
    ):
        worker.measure(CASES[0], 0.01)


def test_a_new_interpreter_that_dies_shows_its_last_line(tmp_path: Path) -> None:
    with pytest.raises(PeerDied, match="resnet_memory.*no_such_program"):
        Starts(tmp_path, tmp_path).measure(CASE["resnet_memory"], BROKEN)


@pytest.fixture
def small(tmp_path: Path) -> Peer:
    """A contender that starts at once: a library without arrays, one empty case."""
    program = tmp_path / "small.py"
    program.write_text(
        "class Program:\n"
        "    def __init__(self, library): pass\n"
        "    def nothing(self): return lambda count: None\n"
    )
    place = tmp_path / "json" / "bin"
    place.mkdir(parents=True)
    (place / "python").symlink_to(sys.executable)
    return Peer("small", "json", str(program.with_suffix("")), "library.dumps(1)")


def test_a_start_is_timed_in_a_new_interpreter_with_caches_of_its_own(
    small: Peer, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    starts = Starts(tmp_path, home)
    first = Case("f", "f", "start", "first_start", "nothing")
    second = Case("s", "s", "start", "second_start", "nothing")
    again, cold = starts.measure(second, small), starts.measure(first, small)
    assert again is not None and cold is not None
    assert min(again, cold) > 0.005  # starting an interpreter is part of it
    homes = [path for path in home.iterdir() if (path / "bytecode").is_dir()]
    assert len(homes) == 2  # the second start needed a first; then came another first
    assert starts.measure(CASE["first_start"], small) is None  # it has no LeNet


def test_an_import_is_timed_alone(small: Peer, tmp_path: Path) -> None:
    starts = Starts(tmp_path, tmp_path)
    times = [starts.measure(CASE[name], small) for name in ("import", "first")]
    assert all(took is not None and 0 < took < 5 for took in times)


def test_memory_is_what_calls_add_to_an_import(tmp_path: Path) -> None:
    case = Case("m", "m", "memory", "memory", "add_large")
    added = Starts(tmp_path, tmp_path).measure(case, NUMPY)
    assert added is not None
    # Two arrays, their sum, and the random numbers in double precision.
    assert 12e6 < added < 60e6


def test_others_are_neither_us_nor_our_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(used: int, idle: int, ours: int, ended: int, worker: int) -> None:
        texts = {
            "stat": f"cpu  {used} 0 0 {idle} 0 0 0 0 0 0\n",
            "self/stat": f"1 (python) S 1 1 1 0 -1 0 0 0 0 0 {ours} 0 {ended} 0 20",
            "7/stat": f"7 (python) S 1 1 1 0 -1 0 0 0 0 0 0 {worker} 0 0 20",
        }
        for name, text in texts.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)

    monkeypatch.setattr(machine, "PROC", tmp_path)
    write(used=1000, idle=500, ours=10, ended=20, worker=30)
    watch, unaware = Watch([7]), Watch([])
    write(used=1150, idle=550, ours=30, ended=60, worker=70)
    # 200 ticks, 150 of them used: 20 by us, 40 and 40 by children
    assert watch.others([7]) == 0.25
    assert unaware.others([]) == 0.45
    monkeypatch.setattr(machine, "PROC", tmp_path / "none")
    assert Watch([]).others([]) is None


def test_the_system_says_what_a_child_uses() -> None:
    child = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    watch, unaware = Watch([child.pid]), Watch([])
    time.sleep(0.6)
    aware, rest = watch.others([child.pid]), unaware.others([])
    child.kill()
    child.wait()
    assert aware is not None and rest is not None
    assert 0 <= aware < rest <= 1


def test_a_few_percent_do_not_disturb() -> None:
    assert [disturbed(share) for share in (None, 0.0, 0.02, 0.2)] == [False] * 3 + [
        True
    ]
