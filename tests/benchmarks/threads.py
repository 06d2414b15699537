"""Workers and threads: do several of both get into each other's way?

    python -m tests.benchmarks.threads             the cases below, four settings each
    python -m tests.benchmarks.threads --only mlp lenet --rounds 3

The engine has MXNET_CPU_WORKER_NTHREADS workers, and each kernel OMP_NUM_THREADS
threads. On two cores 2 workers of 2 threads are twice as many as there are cores. A
setting's ratio is its time divided by that of the best single setting, within a round;
the medians are shown. 2 workers of 2 threads should take at most 1.1 of the best.

Each round has new processes. A sum of 1M elements took 92 to 310 µs under one setting
from process to process, and hardly changed within one. Where its arrays are in memory
may be the reason.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from statistics import median

from tests.benchmarks.cases import CASES, Case
from tests.benchmarks.measuring import rounds
from tests.benchmarks.measuring.machine import machine
from tests.benchmarks.peers import PEERS, Peer
from tests.benchmarks.reporting.ratios import Values
from tests.benchmarks.reporting.tables import markdown

#: Single operators, networks of three sizes, and graphs with branches.
ONLY = (
    *("add_small", "chain", "add_large", "sum_large", "mlp", "lenet", "lenet_graph"),
    *("lstm", "nodes_graph", "resnet_score_1"),
)
#: Workers of the engine, and threads of a kernel.
SETTINGS = ((1, 1), (1, 2), (2, 1), (2, 2))
#: What the last setting may take, by the best one.
MOST = 1.1


def name_of(workers: int, threads: int) -> str:
    """A setting as a contender's name."""
    return f"{workers} × {threads}"


def ratios(row: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """The median ratio of every setting to the one with the smallest median.

    row: seconds of each round, by setting.

    >>> ratios({"1 × 1": [2.0, 2.0], "2 × 2": [3.0, 5.0]})
    {'1 × 1': 1.0, '2 × 2': 2.0}
    """
    best = min(row, key=lambda name: median(row[name]))
    return {
        name: median(a / b for a, b in zip(values, row[best], strict=True))
        for name, values in row.items()
    }


def measured(
    cases: Sequence[Case], peers: Sequence[Peer], many: int, seconds: float
) -> tuple[Values, list[dict[str, list[dict[str, float | None]]]]]:
    """The values of so many rounds, and what else the machine did in each.

    Only whole rounds count: Ctrl-C ends the measurement with those before.
    """
    values: Values = {}
    watched = []
    for number in range(many):
        print(f"Round {number + 1} of {many}")
        first = number % len(peers)
        turned = [*peers[first:], *peers[:first]]
        found = rounds.run(cases, turned, Path(), 1, seconds)
        if found.failures:
            raise RuntimeError(f"These settings died: {found.failures}")
        if found.unfinished:
            break
        watched.append(found.rounds)
        for case, row in found.values.items():
            kept = values.setdefault(case, {peer.name: [] for peer in peers})
            for name, new in row.items():
                kept[name] += new
    return values, watched


def table(values: Mapping[str, Mapping[str, Sequence[float]]]) -> str:
    """The ratios of every case, as Markdown; misses are marked."""
    names = [name_of(*setting) for setting in SETTINGS]
    titles = {case.name: case.title for case in CASES}
    rows = [["case", *names, ""], ["---", *["---:"] * len(names), "---"]]
    for case, row in values.items():
        found = ratios(row)
        cells = [f"{found[name]:.2f}" for name in names]
        missed = found[names[-1]] > MOST
        rows.append([titles[case], *cells, "missed" if missed else "met"])
    return markdown(rows)


def main(arguments: Sequence[str]) -> int:
    """Measure, print and save; 1 if a case misses the target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="CASE", default=ONLY)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--save", type=Path, help="a file for the values, as JSON")
    options = parser.parse_args(arguments)
    (ours,) = (peer for peer in PEERS if peer.name == "minimx")
    peers = []
    for workers, threads in SETTINGS:
        more = {
            "MXNET_CPU_WORKER_NTHREADS": str(workers),
            "OMP_NUM_THREADS": str(threads),
        }
        settings = {**ours.settings, **more}
        peers.append(replace(ours, name=name_of(workers, threads), settings=settings))
    cases = [case for case in CASES if case.name in options.only]
    values, watched = measured(cases, peers, options.rounds, options.seconds)
    conditions = {"date": f"{date.today()}", **machine()}
    if options.save:
        saved = {"conditions": conditions, "values": values, "rounds": watched}
        options.save.write_text(json.dumps(saved, indent=1) + "\n", encoding="utf-8")
    print(f"\n{conditions['cores']} cores of {conditions['cpu']}, {conditions['date']}")
    print(table(values))
    return int(any(ratios(r)[name_of(*SETTINGS[-1])] > MOST for r in values.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
