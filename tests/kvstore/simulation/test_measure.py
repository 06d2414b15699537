"""The measured machine: as a file, and for a short time really measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from minimx.core.errors import ArgumentError, MXNetError
from minimx.kvstore.simulation import Cluster, Link, ranks
from minimx.kvstore.simulation.measure import load, measure_machine, save

FACTS = {
    "name": "test",
    "cores": 2,
    "memory": 2e10,
    "host_memory": 1e10,
    "together": 1.25,
    "update": [1e-4, 1e9],
    "message": [2e-6, 3e9],
    "sums": {"2": [5e-4, 1e9], "4": [1e-3, 5e8]},
}


def test_a_measured_machine_comes_back_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "machine.json"
    path.write_text(json.dumps(FACTS))
    found = load(path)
    assert found.wire == Link(1e-6, 3e9)
    assert found.collectives[4] == Link(1e-3, 5e8)
    for text in (
        "measured: 2 cores",
        "20 GB/s",
        "sum over 4 ranks 1e+03 µs + 0.5 GB/s",
    ):
        assert text in repr(found)
    save(found, tmp_path / "again.json")
    assert load(tmp_path / "again.json") == found


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"cores": 0}, "cores is 0"),
        ({"cores": True}, "cores is True"),
        ({"memory": -1}, "memory is -1"),
        ({"update": [1e-4]}, r"update is \[0.0001\]"),
        ({"update": [1e-4, "fast"]}, "bandwidth of update is 'fast'"),
        ({"message": [float("nan"), 1]}, "latency of message is nan"),
        ({"sums": {"one": [0, 1]}}, "sums is"),
        ({"sums": {"2": [0, 0]}}, r"bandwidth of sums\[2\] is 0"),
        ({"more": 1}, "needs an object with cores"),
    ],
)
def test_a_file_that_is_wrong_is_an_error(
    wrong: dict[str, Any], said: str, tmp_path: Path
) -> None:
    path = tmp_path / "machine.json"
    path.write_text(json.dumps({**FACTS, **wrong}))
    with pytest.raises(ArgumentError, match=f"describes no measured machine.*{said}"):
        load(path)
    path.write_text("{")
    with pytest.raises(ArgumentError, match="no JSON"):
        load(path)


def test_a_described_cluster_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="described, not measured"):
        save(Cluster.pcie(), tmp_path / "machine.json")


def test_a_measuring_process_that_fails_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ranks, "__name__", "minimx.no_such_program")
    with pytest.raises(MXNetError, match="failed: .* ended with 1: .*no_such_program"):
        measure_machine(ranks=())


@pytest.mark.alone
@pytest.mark.timeout(90)
def test_this_machine_is_measured() -> None:
    found = measure_machine(ranks=(2,))
    assert found.measured
    assert 1e8 < found.memory < 1e12
    assert found.update is not None and found.update.latency < 0.1
    for link in found.collectives.values():
        assert 1e-6 < link.latency < 0.1
        assert 1e7 < link.bandwidth < 1e12
