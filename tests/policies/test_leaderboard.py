"""The table of a class: several writers, damaged files, nothing lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minimx.core.errors import ArgumentError, DataError
from minimx.policies import Score, leaderboard, submit
from minimx.policies import leaderboard as function
from minimx.policies.leaderboard import FORMAT

ROOT = Path(__file__).parents[2]
module: Any = sys.modules["minimx.policies.leaderboard"]


def result(ratio: float = 1.5, **changes: Any) -> Score:
    found = Score(
        name="Mine",
        kind="pool",
        seed=0,
        traces=2,
        unit="bytes",
        bound_says="",
        bounds={"a": 1.0},
        ratios={"Mine": {"a": ratio}},
    )
    return replace(found, **changes)


def test_the_best_of_each_learner_in_order(tmp_path: Path) -> None:
    file = tmp_path / "class.json"
    assert leaderboard(file).lines == ()
    submit(result(1.5), "Ada", file)
    submit(result(1.25), "Grace", file)
    submit(result(2.0), "Ada", file)
    found = submit(result(3.0, kind="tree"), "Ada", file)
    assert found == leaderboard(file)
    assert [row[2:] for row in found.rows[1:]] == [
        ["2", "1", "Grace", "Mine", "1.250"],
        ["2", "2", "Ada", "Mine", "1.500"],
        ["2", "1", "Ada", "Mine", "3.000"],
    ]
    assert len(found.lines) == 4  # also what was not the best stays in the file
    assert repr(found).splitlines()[1] == (
        "pool  0     2       1      Grace    Mine    1.250"
    )
    assert "<td>Grace</td>" in found._repr_html_()
    left = {path.name for path in tmp_path.iterdir()}
    assert left <= {"class.json", ".class.json.lock"}


def test_scores_of_other_traces_are_not_compared(tmp_path: Path) -> None:
    file = tmp_path / "class.json"
    submit(result(1.5), "Ada", file)
    found = submit(result(1.2, seed=1), "Grace", file)
    assert [row[3:5] for row in found.rows[1:]] == [["1", "Ada"], ["1", "Grace"]]


#: A line that is right.
LINE: dict[str, Any] = {
    "kind": "pool",
    "learner": "Ada",
    "policy": "Mine",
    "score": 1.5,
    "seed": 0,
    "traces": 2,
}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "cannot be read"),
        ("{", "cannot be read"),
        ("[" * 100_000, "cannot be read"),
        ("[]", "does not say"),
        ('{"format": "other", "lines": []}', "does not say"),
        (json.dumps({"format": FORMAT}), "no list of lines"),
        (json.dumps({"format": FORMAT, "lines": [{"score": 1}]}), "line 0 lacks"),
        (
            json.dumps({"format": FORMAT, "lines": [LINE | {"score": float("nan")}]}),
            "line 0 lacks",
        ),
    ],
)
def test_a_damaged_file_is_an_error_and_stays_as_it_is(
    tmp_path: Path, content: str, says: str
) -> None:
    file = tmp_path / "class.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=says):
        leaderboard(file)
    with pytest.raises(DataError, match=says):
        submit(result(), "Ada", file)
    assert file.read_text(encoding="utf-8") == content


def test_what_is_no_score_and_no_name_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "class.json"
    with pytest.raises(ArgumentError, match="is no result"):
        submit(1.5, "Ada", file)  # type: ignore[arg-type]
    for name in ("", "  ", "two\nlines"):
        with pytest.raises(ArgumentError, match="is no name"):
            submit(result(), name, file)
    with pytest.raises(DataError, match="cannot write beside"):
        submit(result(), "Ada", tmp_path / "no" / "folder.json")
    assert not file.exists()


WRITER = """
import sys
from tests.policies.test_leaderboard import result
from minimx.policies import submit
for number in range(12):
    submit(result(1 + number / 8), f"learner {sys.argv[2]} {number}", sys.argv[1])
"""


def test_several_writers_lose_nothing(tmp_path: Path) -> None:
    file = tmp_path / "class.json"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, file, str(k)], env=env, cwd=ROOT
        )
        for k in range(2)
    ]
    assert [writer.wait(120) for writer in writers] == [0, 0]
    assert len({line["learner"] for line in function(file).lines}) == 24


def test_a_lock_that_was_left_behind_locks_nothing(tmp_path: Path) -> None:
    (tmp_path / ".class.json.lock").touch()
    assert len(submit(result(), "Ada", tmp_path / "class.json").lines) == 1


@pytest.mark.parametrize("fcntl", [True, False])
def test_a_writer_waits_for_another_and_then_gives_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fcntl: bool
) -> None:
    file = tmp_path / "class.json"
    if not fcntl:
        monkeypatch.setattr(module, "fcntl", None)
    submit(result(), "Ada", file)
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    with (
        module._locked(file),
        pytest.raises(DataError, match="someone else has written"),
    ):
        submit(result(), "Grace", file)
    assert [line["learner"] for line in leaderboard(file).lines] == ["Ada"]
    assert len(submit(result(), "Grace", file).lines) == 2
