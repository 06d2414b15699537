"""How well replays predict: runs that are replayed under other knobs, then measured.

    python -m tests.benchmarks.replays            # on a quiet machine
    python -m tests.benchmarks.replays --times=9  # each measured nine times

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


def main(arguments: list[str] | None = None) -> int:
    """Print the table; returns 1 where a peak differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=5)
    times = parser.parse_args(arguments).times
    print(f"{'program':20}{'replayed and measured under':52}peak  predicted  spread")
    equal, ratios = True, []
    for name in PROGRAMS:
        for changes, same, ratio, spread in compared(name, times):
            equal &= same
            ratios.append(ratio)
            said = "equal" if same else "OTHER"
            print(f"{name:20}{changes:52}{said}  {ratio:8.2f}  {spread:7.0%}")
    near = sum(0.85 <= each <= 1.15 for each in ratios)
    print(f"{near} of {len(ratios)} makespans within 15 % of the median measured")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
