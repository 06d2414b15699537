"""Ranks that share cores: what takes turns, and what was measured as a whole."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from minimx.kvstore.simulation import Cluster, Layer, Link, Workload, simulate

WIRE = Link(0.0, 1e12)
UPDATE = Link(1e-4, 1e9)
#: 0.5 ms and 4 ms for each megabyte; four ranks take twice as long as two.
SUMS = {2: Link(5e-4, 250e6), 4: Link(1e-3, 125e6)}
MACHINE = Cluster(
    "test", WIRE, WIRE, cores=2, update=UPDATE, collectives=SUMS, measured=True
)
NET = Workload(
    tuple(Layer(str(k), 250_000, 0.001, 0.002) for k in range(4)), dispatch=0.003
)
COMPUTING, BYTES, KEYS = 0.012, 4e6, 4


def close(value: float) -> Any:
    return pytest.approx(value, rel=1e-9)


def test_ranks_that_share_cores_compute_in_turns_and_wait_for_sums() -> None:
    update = KEYS * 1e-4 + BYTES / 1e9
    step = {n: simulate(NET, MACHINE, "ring", n).step_seconds for n in (1, 2, 4)}
    assert step[1] == close(COMPUTING + update)  # Python works on the other core
    assert step[2] == close(COMPUTING + 0.003 + update + KEYS * 5e-4 + BYTES / 250e6)
    assert step[4] == close(
        2 * (COMPUTING + 0.003 + update) + KEYS * 1e-3 + BYTES / 125e6
    )


def test_cores_enough_for_all_threads_let_sums_hide() -> None:
    many = replace(MACHINE, cores=8)
    found = simulate(NET, many, "ring", 4)
    assert found.compute_seconds == close(COMPUTING + KEYS * 1e-4 + BYTES / 1e9)
    assert found.overlap > 0.1
    assert simulate(NET, MACHINE, "ring", 4).overlap == close(0.0)


def test_a_step_of_python_alone_is_as_long_as_python() -> None:
    busy = replace(NET, dispatch=2 * COMPUTING)
    update = KEYS * 1e-4 + BYTES / 1e9
    found = simulate(busy, MACHINE, "ring", 1)
    assert found.step_seconds == close(2 * COMPUTING + update)


def test_sums_between_measured_numbers_of_ranks() -> None:
    three, eight = MACHINE.collective(3), MACHINE.collective(8)
    assert three is not None and eight is not None
    assert three.latency == close(7.5e-4)
    assert three.bandwidth == close(1 / (6 / 1e9))
    assert eight == Link(close(2e-3), close(62.5e6))
    assert Cluster.pcie().collective(3) is None
