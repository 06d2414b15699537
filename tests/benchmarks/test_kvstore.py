"""The report of simulated and measured steps, from figures that are given."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from minimx.kvstore.simulation import Cluster, Layer, Link, Workload
from tests.benchmarks.kvstore import __main__ as command
from tests.benchmarks.kvstore import calibration

WIRE = Link(1e-6, 1e9)
MACHINE = Cluster(
    *("test", WIRE, WIRE),
    cores=2,
    update=Link(0.0, 1e18),
    collectives={2: Link(1e-3, 1e18), 4: Link(2e-3, 1e18)},
    measured=True,
)


def steps(step: float, factor: float = 1.0) -> calibration.Steps:
    layers = [list(Layer("dense", 10, 0.004 * factor, 0.008 * factor))]
    row: dict[str, Any] = {"step": step, "processor": 0.013, "layers": layers}
    return {"net": {**row, "dispatch": 0.001}}


def test_the_least_of_all_rounds_counts() -> None:
    slow = replace(
        MACHINE, together=1.5, memory=1.0, update=Link(1.0, 1e19), collectives={
            2: Link(2e-3, 1e19), 4: Link(1e-3, 1e9)
        }
    )  # fmt: skip
    best = calibration.best_machine([slow, MACHINE])
    assert (best.together, best.memory) == (1.0, MACHINE.memory)
    assert best.update == Link(0.0, 1e19)
    assert best.collectives == {2: Link(1e-3, 1e19), 4: Link(1e-3, 1e18)}
    rounds = [one["net"] for one in (steps(1.0, factor=3.0), steps(1.0))]
    assert calibration.best_workload(rounds).compute_seconds == pytest.approx(0.012)


def test_the_table_shows_the_largest_error() -> None:
    rounds = {
        1: [steps(0.012), steps(0.5)],
        2: [steps(0.014)],  # 12 + 1 of Python + 1 of the sum
        4: [steps(0.035)],  # 2 × (12 + 1) + 2 of the sum = 28
    }
    lines, worst = calibration.table(MACHINE, rounds)
    assert "| net | 1 | 12.0 ms | 12.0 ms | 1.00 | 13.0 ms |" in lines
    assert "| net | 2 | 14.0 ms | 14.0 ms | 1.00 | 13.0 ms |" in lines
    assert "| net | 4 | 28.0 ms | 35.0 ms | 0.80 | 13.0 ms |" in lines
    assert worst == pytest.approx(0.2)


def test_parts_are_chosen(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    layers = (Layer("dense", 10, 1e-3, 1e-3),)
    monkeypatch.setattr(command, "WORKLOAD", Workload(layers))
    command.main(["--only", "simulator"])
    text = capsys.readouterr().out
    assert "## simulator" in text
    assert "| p3 |" in text
    assert "## steps" not in text
