"""Interleaved rounds: all contenders measure a case, one after the other, repeatedly.

A machine is faster in one minute than in the next, so times of different minutes must
not be compared. Here all contenders take part in every round, each round begins with
another one, and cases that a target compares take turns in the same rounds. What others
did on the machine in the meantime is written down for each round.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from minimx.tools.progress import Bar
from tests.benchmarks.cases import Case, blocks
from tests.benchmarks.measuring.interpreters import PeerDied, Starts, Worker
from tests.benchmarks.measuring.machine import Watch
from tests.benchmarks.peers import Peer, takes_part
from tests.benchmarks.reporting.ratios import Values, amount, typical

#: OpenMP threads go on spinning for a while after their work; let them fall asleep
#: before the next contender is measured.
SETTLE = 0.25


@dataclass
class Measured:
    """What a run found.

    values: {case: {contender: [value of round 0, 1, …]}}, seconds or bytes. rounds:
    {case: [{"others": share of the processors that others used, "load": …}, …]}.
    failures: {case: {contender: why}}. unfinished: cases that were not measured to the
    end because the run was interrupted.
    """

    values: Values = field(default_factory=dict)
    rounds: dict[str, list[dict[str, float | None]]] = field(default_factory=dict)
    failures: dict[str, dict[str, str]] = field(default_factory=dict)
    unfinished: list[str] = field(default_factory=list)


class Bench:
    """The contenders' interpreters; each is started when it is first needed."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self._folder, self.seconds = folder, seconds
        self._workers: dict[str, Worker] = {}
        self._stack = ExitStack()
        home = self._stack.enter_context(tempfile.TemporaryDirectory())
        self._starts = Starts(folder, Path(home))

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, kind: object, *rest: object) -> None:
        for name in [*self._workers]:
            self._end(name, kill=kind is not None)
        self._stack.close()

    def pids(self) -> list[int]:
        """The interpreters that run."""
        return [worker.pid for worker in self._workers.values()]

    def value(self, case: Case, peer: Peer, keep: tuple[str, ...]) -> float | None:
        """A contender's turn; None if it has no such case. Raises PeerDied."""
        time.sleep(SETTLE)
        if case.kind != "loop":
            return self._starts.measure(case, peer)
        if peer.name not in self._workers:
            self._workers[peer.name] = Worker(peer, self._folder)
        try:
            return self._workers[peer.name].measure(case, self.seconds, keep)
        except PeerDied:
            self._end(peer.name, kill=True)
            raise

    def _end(self, name: str, kill: bool) -> None:
        self._workers.pop(name).close(kill)


def turns(block: Sequence[Case], peers: Sequence[Peer], number: int) -> Iterator[
    tuple[Case, Peer]
]:  # fmt: skip
    """Whose turn it is in a round: each round begins with another contender."""
    first = number % max(len(peers), 1)
    for case in block:
        if number < case.rounds:
            for peer in (*peers[first:], *peers[:first]):
                if takes_part(peer, case):
                    yield case, peer


def run(
    cases: Iterable[Case],
    peers: Sequence[Peer],
    folder: Path,
    rounds: int,
    seconds: float,
    say: Callable[[str], None] = print,
) -> Measured:
    """Measure every case with every contender that has it.

    Ctrl-C ends it early; what was measured until then is returned. A contender that
    dies in a case has no more turns in that case.
    """
    todo = blocks(cases)
    found = Measured(unfinished=[case.name for block in todo for case in block])

    def expected(case: Case) -> float:
        return max(case.takes, seconds) + SETTLE

    steps = [
        (block, [*turns(block, peers, number)])
        for block in todo
        for number in range(rounds)
    ]
    total = sum(expected(case) for _, step in steps for case, _ in step)
    done = 0.0
    try:
        with Bench(folder, seconds) as bench, Bar() as bar:
            for place, (block, step) in enumerate(steps):
                number = place % rounds + 1
                watch = Watch(bench.pids())
                for case, peer in step:
                    name = f"{case.title}, {peer.name}, round {number} of {rounds}"
                    bar.show(round(done, 1), round(total, 1), name, "s")
                    _turn(bench, case, peer, block, found)
                    done += expected(case)
                _note(found, step, watch.others(bench.pids()))
                if number == rounds:
                    bar.close()
                    for case in block:
                        found.unfinished.remove(case.name)
                        say(summary(found, case))
    except KeyboardInterrupt:  # interpreters that were in the middle of a case are gone
        found.values = {name: row for name, row in found.values.items() if row}
        done = sum(map(len, todo)) - len(found.unfinished)
        say(f"\nInterrupted: {done} cases are finished; what was measured is kept.")
    return found


def _turn(
    bench: Bench, case: Case, peer: Peer, block: Sequence[Case], found: Measured
) -> None:
    row = found.values.setdefault(case.name, {})
    if peer.name in found.failures.get(case.name, {}) or row.get(peer.name) == []:
        return  # it died, or has no such case
    keep = tuple(one.program or one.name for one in block)
    try:
        value = bench.value(case, peer, keep)
    except PeerDied as failure:
        found.failures.setdefault(case.name, {})[peer.name] = str(failure)
        row.setdefault(peer.name, [])
        return
    row.setdefault(peer.name, []).extend([] if value is None else [value])


def _note(
    found: Measured, step: Sequence[tuple[Case, Peer]], others: float | None
) -> None:
    load = round(os.getloadavg()[0], 2)
    for name in dict.fromkeys(case.name for case, _ in step):
        found.rounds.setdefault(name, []).append({"others": others, "load": load})


def summary(found: Measured, case: Case) -> str:
    """A case in a line."""
    row = found.values.get(case.name, {})
    parts = [f"{peer} {amount(case, typical(v))}" for peer, v in row.items() if v]
    parts += [f"{peer} FAILED" for peer in found.failures.get(case.name, {})]
    return f"{case.title}: {', '.join(parts) or 'no contender has it'}"
