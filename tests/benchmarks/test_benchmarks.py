"""That the measuring works; how fast anything is, is `make bench`'s affair."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.benchmarks import __main__ as command
from tests.benchmarks import peers
from tests.benchmarks.cases import CASES, GROUPS, LONG, TARGETS, blocks, chosen

QUICK = ("--rounds", "1", "--seconds", "0.01")
NUMPY = peers.Peer("numpy", "numpy", "numpy_api", "library.ones(4) + 1")


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of results."""
    monkeypatch.setattr(command, "RESULTS", tmp_path)
    return tmp_path


def test_every_target_is_about_a_case_and_contenders_that_have_it() -> None:
    cases = {case.name: case for case in CASES}
    known = {peer.name: peer for peer in peers.PEERS}
    for target in TARGETS:
        assert peers.takes_part(known[target.ours], cases[target.case]), target
        for name in target.theirs:
            case = cases[target.against or target.case]
            assert peers.takes_part(known[name], case), target


def test_a_case_has_a_group_and_a_title_of_its_own() -> None:
    assert {case.group for case in CASES} == set(GROUPS)
    assert len({case.title for case in CASES}) == len(CASES)
    assert len({case.name for case in CASES}) == len(CASES)


def test_cases_are_chosen_by_name_and_group_and_bring_what_they_are_compared_with() -> (
    None
):
    assert [case.name for case in chosen(["lstm"], ["memory"])] == [
        "lstm",
        "resnet_memory",
    ]
    assert [case.name for case in chosen(["decode_2"])] == ["decode_1", "decode_2"]
    assert len(chosen(groups=["networks"])) == 36


def test_without_a_choice_all_cases_are_run_and_the_long_ones_in_few_rounds() -> None:
    assert [case.name for case in chosen()] == [case.name for case in CASES]
    for case in chosen():
        [alone] = [one for one in chosen([case.name]) if one.name == case.name]
        if case.group in LONG:
            assert case.rounds == LONG[case.group] < alone.rounds
        else:
            assert case == alone


def test_cases_that_are_compared_take_turns_in_the_same_rounds() -> None:
    cases = chosen(["curve_graph", "lstm", "mlp_recorded"])
    assert [[case.name for case in block] for block in blocks(cases)] == [
        ["mlp", "mlp_recorded"],
        ["lstm"],
        ["curve", "curve_graph"],
    ]


def test_one_case_runs_for_us_and_for_numpy_and_is_saved(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    who = ["--only", "add_small", "--peers", "minimx", "numpy"]
    assert command.main([*who, *QUICK]) == 0
    out, progress = capsys.readouterr()
    assert "| `a + b`, 4 elements | " in out
    assert "µs" in out
    assert "round 1 of 1" in progress
    [file] = results.glob("20*.json")
    saved = json.loads(file.read_text())
    assert {*saved["values"]["add_small"]} == {"minimx", "numpy"}
    assert 0 <= saved["rounds"]["add_small"][0]["others"] <= 1
    assert saved["conditions"]["libraries"].keys() == {"numpy"}
    assert saved["unfinished"] == []


def test_cases_are_listed_without_a_measurement(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert command.main(["--list", "--group", "memory"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("memory     resnet_memory")
    assert out.count("\n") == 1


def test_a_peer_that_is_not_installed_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "listed", lambda: False)
    wanted = ["numpy", "torch", "minimx onednn"]
    found = peers.present(wanted, tmp_path, tmp_path)
    assert [peer.name for peer in found] == ["numpy"]
    out = capsys.readouterr().out
    assert "torch is left out" in out
    assert "minimx onednn is left out: no oneDNN" in out


def test_onednn_beside_the_interpreter_is_handed_to_those_that_need_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "listed", lambda: False)
    monkeypatch.setenv("PYTHONPATH", "mine")
    place = tmp_path / "lib" / "python3.11" / "site-packages"
    place.mkdir(parents=True)
    [peer] = peers.present(["minimx onednn"], tmp_path, tmp_path)
    environment = peer.environment()
    assert environment["PYTHONPATH"].split(":") == [str(place), "mine"]
    assert environment["MXNET_ONEDNN_ENABLED"] == "1"


def test_the_versions_of_the_libraries_are_asked_of_their_interpreters(
    tmp_path: Path,
) -> None:
    import numpy

    assert peers.versions([NUMPY], tmp_path) == {"numpy": numpy.__version__}
