"""The simulator's steps against measured ones: three networks on 1, 2 and 4 ranks.

The machine's constants, the steps of one rank (with its records) and those of several
are measured in turns, again and again; of each the least counts, as whatever else runs
can only lengthen it. No constant is fitted to the steps of several ranks.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from minimx.kvstore.simulation import Cluster, Layer, Link, Workload, simulate
from minimx.kvstore.simulation.measure import ONE_THREAD, measure_machine
from minimx.tools.mpi import mpiexec

PROGRAM = Path(__file__).with_name("steps.py")
ROOT = Path(__file__).parents[3]
RANKS: Final = (1, 2, 4)

#: {network: {"step": seconds, "processor": seconds, "layers": …, "dispatch": …}}
Steps = dict[str, dict[str, Any]]


def launched(program: Path, ranks: int, *words: str) -> str:
    """What a job of so many ranks prints; CalledProcessError if it fails."""
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [mpiexec(), "-n", str(ranks), sys.executable, str(program), *words],
        env={**os.environ, **ONE_THREAD, "PYTHONPATH": paths},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


def best_machine(found: Sequence[Cluster]) -> Cluster:
    """The least of each constant over several measurements."""

    def least(links: Sequence[Link | None]) -> Link:
        given = [link for link in links if link is not None]
        return Link(
            min(link.latency for link in given), max(link.bandwidth for link in given)
        )

    return replace(
        found[0],
        wire=least([one.wire for one in found]),
        host=least([one.host for one in found]),
        memory=max(one.memory for one in found),
        host_memory=max(one.host_memory for one in found),
        together=min(one.together for one in found),
        update=least([one.update for one in found]),
        collectives={
            ranks: least([one.collectives[ranks] for one in found])
            for ranks in found[0].collectives
        },
    )


def best_workload(found: Sequence[dict[str, Any]]) -> Workload:
    """The least of each layer's times over several measurements of one rank."""
    layers = [
        same[0]._replace(
            forward=min(one.forward for one in same),
            backward=min(one.backward for one in same),
        )
        for same in zip(
            *([Layer(*row) for row in one["layers"]] for one in found), strict=True
        )
    ]
    return Workload(tuple(layers), min(one["dispatch"] for one in found))


def table(machine: Cluster, steps: dict[int, list[Steps]]) -> tuple[list[str], float]:
    """A Markdown table of seconds, and the largest error."""
    lines = ["| network | ranks | simulated | measured | ratio | processor of a rank |"]
    lines.append("| --- | ---: | ---: | ---: | ---: | ---: |")
    worst = 0.0
    for name in steps[RANKS[0]][0]:
        workload = best_workload([one[name] for one in steps[1]])
        for ranks in RANKS:
            measured = min(one[name]["step"] for one in steps[ranks])
            processor = min(one[name]["processor"] for one in steps[ranks])
            found = simulate(workload, machine, "ring", ranks).step_seconds
            worst = max(worst, abs(found / measured - 1))
            lines.append(
                f"| {name} | {ranks} | {found * 1e3:.1f} ms | {measured * 1e3:.1f} ms "
                f"| {found / measured:.2f} | {processor * 1e3:.1f} ms |"
            )
    return lines, worst


def run(rounds: int) -> list[str]:
    """Measure in turns; the lines of the report."""
    machines: list[Cluster] = []
    steps: dict[int, list[Steps]] = {ranks: [] for ranks in RANKS}
    for _ in range(rounds):
        machines.append(measure_machine())
        for ranks in RANKS:
            steps[ranks].append(json.loads(launched(PROGRAM, ranks)))
    machine = best_machine(machines)
    lines, worst = table(machine, steps)
    for name in steps[1][0]:
        workload = best_workload([one[name] for one in steps[1]])
        lines.append(
            f"{name}: {workload}, {workload.dispatch * 1e3:.3g} ms of Python beside it"
        )
    return [repr(machine), *lines, f"largest error {worst:.0%} (target 15 %)"]
