"""The benchmark of workers and threads runs, and its ratios are those of the rounds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks import threads


def test_a_case_is_measured_under_four_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "found.json"
    words = ["--only", "add_small", "--rounds", "1", "--seconds", "0.01"]
    threads.main([*words, "--save", str(path)])
    *_, head, _, row = capsys.readouterr().out.splitlines()
    assert [cell.strip() for cell in head.split("|")[2:6]] == [
        threads.name_of(*setting) for setting in threads.SETTINGS
    ]
    shares = [float(cell) for cell in row.split("|")[2:6]]
    assert min(shares) == 1
    assert (
        path.read_text(encoding="utf-8").count('"2 × 2"')
        + path.read_text(encoding="utf-8").count("2 \\u00d7 2")
        == 1
    )


def test_the_setting_with_the_smallest_median_is_the_best() -> None:
    row = {"1 × 1": [1.0, 9.0, 9.0], "1 × 2": [4.0, 4.0, 4.0], "2 × 2": [6.0, 5.0, 4.0]}
    assert threads.ratios(row) == {"1 × 1": 2.25, "1 × 2": 1.0, "2 × 2": 1.25}
    table = threads.table({"mlp": {**row, "2 × 1": [4.0, 4.0, 4.0]}})
    assert table.splitlines()[-1].endswith("| 2.25 | 1.00 | 1.00 | 1.25 | missed |")
