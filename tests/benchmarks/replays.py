"""How well replays predict: runs that are replayed under other knobs, then measured.

    python -m tests.benchmarks.replays            # on a quiet machine
    python -m tests.benchmarks.replays --times=9  # each measured nine times

First four runs of each program are replayed as they were recorded: the makespan on the
virtual clock is compared with that of the run itself on the wall clock, the peak with
that of another run. Then other knobs, whose run is measured as well.

Peaks of the naive engine are equal to the byte; with threads they depend on when arrays
are freed. A makespan on the wall clock varies from run to run: what is compared is the
median of several, and their spread stands beside it.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from typing import Any

from minimx import gluon
from minimx.core.device import cpu, gpu
from minimx.experiments import measured, rerun
from tests.experiments.programs import Program, perceptron, recorded

NAIVE = {"MXNET_ENGINE_TYPE": "NaiveEngine"}
THREADED = {"MXNET_ENGINE_TYPE": "ThreadedEnginePerDevice"}
DELAYED = {"MINIMX_SIM_DELAY": 100.0}


def lenet() -> gluon.nn.HybridSequential:
    net = gluon.nn.HybridSequential()
    net.add(
        gluon.nn.Conv2D(20, 3, activation="relu"),
        gluon.nn.MaxPool2D(2),
        gluon.nn.Conv2D(50, 3, activation="relu"),
        gluon.nn.Flatten(),
        gluon.nn.Dense(128, activation="relu"),
        gluon.nn.Dense(10),
    )
    return net


#: By name: what makes the program, and the knobs that its record is made under.
PROGRAMS: dict[str, tuple[Callable[[], Program], dict[str, Any]]] = {
    "perceptron": (
        lambda: Program(perceptron(1024, 1024, 10), cpu(), 256),
        THREADED,
    ),
    "perceptron, naive": (
        lambda: Program(perceptron(1024, 1024, 10), cpu(), 256),
        NAIVE,
    ),
    "LeNet": (lambda: Program(lenet(), cpu(), 128), THREADED),
    "LeNet, a graph": (lambda: Program(lenet(), cpu(), 128, hybrid=True), THREADED),
    "simulated GPU": (
        lambda: Program(perceptron(64, 10), gpu(), 64),
        THREADED | DELAYED,
    ),
}
CHANGES: list[dict[str, Any]] = [
    {},
    NAIVE,
    THREADED,
    {"MXNET_CPU_WORKER_NTHREADS": 4},
    {"MXNET_CPU_MEM_POOL_TYPE": "Unpooled", "MXNET_GPU_MEM_POOL_TYPE": "Unpooled"},
]


def as_recorded(name: str, runs: int = 4) -> list[tuple[bool, float]]:
    """For each run: whether another run has the replayed peak; virtual over wall."""
    make, knobs = PROGRAMS[name]
    program, rows = make(), []
    for _ in range(runs):
        record = recorded(program, **knobs)
        found, own = rerun(record), measured(record)
        again = measured(recorded(program, **knobs))
        rows.append((found.peak == again["peak"], found.makespan / own["makespan"]))
    return rows


def compared(name: str, times: int) -> list[tuple[str, bool, float, float]]:
    """By knobs: whether peaks are equal, predicted over measured, and the spread."""
    make, knobs = PROGRAMS[name]
    program = make()
    runs = [recorded(program, **knobs) for _ in range(times)]
    runs.sort(key=lambda each: measured(each)["makespan"])
    record, rows = runs[times // 2], []
    for changes in CHANGES:
        if changes == knobs:
            continue
        found = rerun(record, **changes)
        again = [measured(found.measure(program).record) for _ in range(times)]
        spans = [each["makespan"] for each in again]
        middle = statistics.median(spans)
        shown = ", ".join(f"{k.split('_', 1)[1]}={v}" for k, v in changes.items())
        rows.append(
            (
                shown or "as recorded",
                all(each["peak"] == found.peak for each in again),
                found.makespan / middle,
                (max(spans) - min(spans)) / middle,
            )
        )
    return rows


def _is_near(ratio: float) -> bool:
    return 0.85 <= ratio <= 1.15


def _printed(name: str) -> list[tuple[bool, float]]:
    """`as_recorded`, a line of it printed."""
    rows = as_recorded(name)
    print(f"{name:20}" + "".join(f"{ratio:6.2f}" for _, ratio in rows))
    return rows


def main(arguments: list[str] | None = None) -> int:
    """Print the table; returns 1 where a peak differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=5)
    times = parser.parse_args(arguments).times
    print("replayed as recorded, virtual over wall")
    own = [row for name in PROGRAMS for row in _printed(name)]
    print(
        f"{sum(same for same, _ in own)} of {len(own)} peaks are equal, "
        f"{sum(_is_near(ratio) for _, ratio in own)} makespans within 15 %\n"
    )
    print(f"{'program':20}{'replayed and measured under':52}peak  predicted  spread")
    equal, ratios = True, []
    for name in PROGRAMS:
        for changes, same, ratio, spread in compared(name, times):
            equal &= same
            ratios.append(ratio)
            said = "equal" if same else "OTHER"
            print(f"{name:20}{changes:52}{said}  {ratio:8.2f}  {spread:7.0%}")
    near = sum(map(_is_near, ratios))
    print(f"{near} of {len(ratios)} makespans within 15 % of the median measured")
    return 0 if equal and all(same for same, _ in own) else 1


if __name__ == "__main__":
    sys.exit(main())
