"""That the measuring works; how fast anything is, is `make bench`'s affair."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks import __main__ as command
from tests.benchmarks import measure, peers, report
from tests.benchmarks.cases import CASES, TARGETS

TIMES: measure.Times = {
    "mlp": {"minimx": [0.002, 0.003, 0.009], "mxnet": [0.002], "torch": []},
    "mlp_recorded": {"minimx": [0.0033], "mxnet": [], "torch": []},
    "lenet": {"minimx": [0.030], "mxnet": [0.010], "torch": [0.008]},
}
CONDITIONS = {"date": "today", "cores": 2, "cpu": "C", "python": "3", "load": 0.1}


def test_one_case_runs_for_us_and_for_numpy(capfd: pytest.CaptureFixture[str]) -> None:
    quick = ["--rounds", "1", "--seconds", "0.01", "--no-save"]
    command.main(["--only", "add_small", "--peers", "minimx", "numpy", *quick])
    out = capfd.readouterr().out
    assert "| `a + b`, 4 elements | " in out
    assert "µs" in out


def test_every_target_is_about_a_case_and_a_peer() -> None:
    cases = {case.name for case in CASES}
    names = {peer.name for peer in peers.PEERS}
    for target in TARGETS:
        assert {target.case, target.against or target.case} <= cases
        assert {target.ours, target.theirs} <= names


def test_a_ratio_compares_medians() -> None:
    found = {
        (target.case, target.ours): value
        for target in TARGETS
        if (value := report.ratio(TIMES, target)) is not None
    }
    assert found == {
        ("mlp", "minimx"): pytest.approx(1.5),
        ("lenet", "minimx"): pytest.approx(3.0),
        ("mlp_recorded", "minimx"): pytest.approx(1.1),
    }


def test_misses_are_marked_and_named() -> None:
    text = report.readme_text(
        TIMES, ["minimx", "mxnet", "torch"], CONDITIONS | {"rounds": 3}
    )
    lenet = next(line for line in text.splitlines() if "LeNet" in line)
    assert lenet.endswith("| 30.0 ms | 10.0 ms | 8.00 ms | 3.00 (≤ 1.5) **missed** |")
    assert "Missed: lenet (minimx)" in text


def test_the_readme_keeps_what_stands_around_the_table(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
    report.put_into(readme, "new")
    assert readme.read_text() == f"before\n{report.BEGIN}\nnew\n{report.END}\nafter\n"


def test_a_run_is_saved_whole(tmp_path: Path) -> None:
    report.save(tmp_path / "results" / "today.json", TIMES, CONDITIONS)
    assert report.load(tmp_path / "results" / "today.json") == (TIMES, CONDITIONS)


def test_a_peer_that_is_not_installed_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [p.name for p in command.present(["numpy", "torch"], tmp_path)] == ["numpy"]
    assert "torch is left out" in capsys.readouterr().out


def test_a_peer_that_dies_is_named(tmp_path: Path) -> None:
    broken = peers.Peer("broken", "minimx", "no_such_program", "")
    with (
        pytest.raises(RuntimeError, match="broken died in case 'import'"),
        measure.Worker(broken, tmp_path) as worker,
    ):
        worker.measure(CASES[0], 0.01)
