"""The benchmark of workers and threads runs, and its ratios are those of the rounds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.benchmarks import threads
from tests.benchmarks.measuring import rounds
from tests.benchmarks.measuring.rounds import Measured
from tests.benchmarks.peers import PEERS, Peer


def test_a_case_is_measured_under_four_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "found.json"
    words = ["--only", "add_small", "--rounds", "2", "--seconds", "0.01"]
    threads.main([*words, "--save", str(path)])
    *_, head, _, row = capsys.readouterr().out.splitlines()
    assert [cell.strip() for cell in head.split("|")[2:6]] == [
        threads.name_of(*setting) for setting in threads.SETTINGS
    ]
    shares = [float(cell) for cell in row.split("|")[2:6]]
    assert min(shares) == 1
    saved = json.loads(path.read_text(encoding="utf-8"))
    assert {*map(len, saved["values"]["add_small"].values())} == {2}
    assert len(saved["rounds"]) == 2


def test_only_whole_rounds_count(monkeypatch: pytest.MonkeyPatch) -> None:
    peers = [replace(PEERS[0], name=name) for name in ("one", "two")]
    orders: list[list[str]] = []

    def one_round(cases: object, turned: list[Peer], *rest: object) -> Measured:
        orders.append([peer.name for peer in turned])
        if len(orders) == 3:  # as after Ctrl-C
            return Measured({"mlp": {"one": [9.0]}}, unfinished=["mlp"])
        return Measured({"mlp": {"one": [1.0], "two": [2.0]}}, {"mlp": [{}]})

    monkeypatch.setattr(rounds, "run", one_round)
    values, watched = threads.measured([], peers, 5, 0.1)
    assert values == {"mlp": {"one": [1.0, 1.0], "two": [2.0, 2.0]}}
    assert len(watched) == 2
    assert orders == [["one", "two"], ["two", "one"], ["one", "two"]]


def test_a_setting_that_dies_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    died = Measured(failures={"mlp": {"2 × 2": "no memory"}})
    monkeypatch.setattr(rounds, "run", lambda *_: died)
    with pytest.raises(RuntimeError, match="2 × 2.*no memory"):
        threads.measured([], [PEERS[0]], 1, 0.1)


def test_the_setting_with_the_smallest_median_is_the_best() -> None:
    row = {"1 × 1": [1.0, 9.0, 9.0], "1 × 2": [4.0, 4.0, 4.0], "2 × 2": [6.0, 5.0, 4.0]}
    assert threads.ratios(row) == {"1 × 1": 2.25, "1 × 2": 1.0, "2 × 2": 1.25}
    table = threads.table({"mlp": {**row, "2 × 1": [4.0, 4.0, 4.0]}})
    assert table.splitlines()[-1].endswith("| 2.25 | 1.00 | 1.00 | 1.25 | missed |")
