"""Interleaved rounds: every peer measures a case, one after the other, again and again.

A machine is faster in one minute than in the next, so times of different minutes must
not be compared. Here all peers take part in every round; a peer's time is the median
over the rounds of the best it did in each.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from tests.benchmarks.cases import Case
from tests.benchmarks.peers import Peer

HERE = Path(__file__).parent
#: OpenMP threads go on spinning for a while after their work; let them fall asleep
#: before the next peer is measured.
SETTLE = 0.25

#: {case: {peer: [seconds in round 0, 1, …]}}
Times = dict[str, dict[str, list[float]]]


class Worker:
    """A peer's interpreter, kept warm from round to round."""

    def __init__(self, peer: Peer, peers: Path) -> None:
        self.peer = peer
        program = HERE / "programs" / f"{peer.program}.py"
        self._process = subprocess.Popen(
            [peer.python(peers), HERE / "worker.py", program, peer.library],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=peer.environment(),
            text=True,
        )

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        if kind is not None:
            self._process.kill()
        self._process.wait()

    def measure(self, case: Case, seconds: float) -> float | None:
        """Seconds per call, None if this peer has no such case."""
        assert self._process.stdin is not None and self._process.stdout is not None
        question = json.dumps({"case": case.name, "seconds": seconds})
        self._process.stdin.write(question + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(
                f"{self.peer.name} died in case {case.name!r}; its words stand above."
            )
        found: float | None = json.loads(line).get("seconds")
        return found


def start_time(peer: Peer, case: Case, peers: Path) -> float:
    """Seconds that a fresh interpreter takes to import a library, or to use it once."""
    last = f"; {peer.first}" if case.name == "first" else ""
    program = (
        "import time; start = time.perf_counter(); "
        f"import {peer.library} as library{last}; print(time.perf_counter() - start)"
    )
    done = subprocess.run(
        [peer.python(peers), "-c", program],
        env=peer.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout.split()[-1])


def run(
    cases: Iterable[Case],
    peers: Sequence[Peer],
    folder: Path,
    rounds: int,
    seconds: float,
    say: Callable[[str], None] = print,
) -> Times:
    """Measure every case with every peer that has it."""
    times: Times = {}
    with ExitStack() as stack:
        workers = {
            peer.name: stack.enter_context(Worker(peer, folder)) for peer in peers
        }
        for case in cases:
            row = times[case.name] = {peer.name: [] for peer in peers}
            for _ in range(rounds):
                for peer in peers:
                    if case.library in ("", peer.library):
                        took = _once(case, peer, workers[peer.name], folder, seconds)
                        row[peer.name] += [] if took is None else [took]
            say(f"{case.title}: {_said(row)}")
    return times


def _once(
    case: Case, peer: Peer, worker: Worker, folder: Path, seconds: float
) -> float | None:
    time.sleep(SETTLE)
    if case.kind == "start":
        return start_time(peer, case, folder)
    return worker.measure(case, seconds)


def _said(row: dict[str, list[float]]) -> str:
    return ", ".join(
        f"{peer} {human(typical(times))}" for peer, times in row.items() if times
    )


def typical(times: Sequence[float]) -> float:
    """The median of the rounds."""
    return statistics.median(times)


def human(seconds: float) -> str:
    """A time with three digits and a unit.

    >>> human(1.2345e-5), human(0.02), human(2.5)
    ('12.3 µs', '20.0 ms', '2.50 s')
    """
    for factor, unit in ((1e6, "µs"), (1e3, "ms"), (1.0, "s")):
        value = seconds * factor
        if value < 999.5 or unit == "s":
            digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
            return f"{value:.{digits}f} {unit}"
    raise AssertionError
