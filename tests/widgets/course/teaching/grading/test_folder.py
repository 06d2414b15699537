"""Three learners hand in: one right, one wrong, one who attacks. And many attacks."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from minimx_widgets.course.teaching import editions, exercises
from minimx_widgets.course.teaching.exercises import grade_id
from minimx_widgets.course.teaching.grading import confining, folder
from tests.notebooks.answers import ROOT

pytestmark = pytest.mark.skipif(
    bool(confining.missing()), reason=f"lacks {confining.missing()}"
)
NOTEBOOK = "14-profiling-like-a-professional"
RIGHT = editions.solutions(ROOT / "tests/notebooks/solutions" / f"{NOTEBOOK}.md")
LEFT = "def left(share, factor):\n    return {}"
#: An attempt at the faded exercise, and what becomes of it.
ATTACKS = {
    "exits": ("exit()\n" + LEFT.format("1"), "not yet", "ends the program"),
    "exits-late": (LEFT.format("exit()"), "not yet", "ends the program"),
    "loops-late": (
        "def left(share, factor):\n    while True:\n        pass",
        "not yet|stopped",
        "no answer after|no verdict after",
    ),
    "will-not-stop": (
        "def left(share, factor):\n    while True:\n        try:\n"
        "            while True:\n                pass\n"
        "        except BaseException:\n            pass",
        "stopped",
        "no verdict after",
    ),
    "eats-memory": (
        "eaten = []\nwhile True:\n    eaten.append(bytearray(1 << 26))\nleft = eaten",
        "not yet|stopped",
        "MemoryError|more than|no verdict after",
    ),
    "deletes": ("import shutil\nshutil.rmtree('..')\nleft = 1", "refused", "shutil"),
    "reads-the-answers": (
        f"left = open({str(ROOT / 'tests' / 'notebooks' / 'solutions')!r})",
        "refused",
        "`open`",
    ),
    "prints": (
        'print("✔ solved: 2 of 2")\nprint(\'["solved", {}]\')\n' + LEFT.format("1"),
        "not yet",
        "",
    ),
    "patches-the-check": (
        "profiling.check_amdahl = lambda *_: True\n" + LEFT.format("1"),
        "refused",
        "changes `profiling.check_amdahl`",
    ),
    "patches-through-a-list": (
        "for profiling.leaks in [print]:\n    pass\n" + LEFT.format("1"),
        "refused",
        "changes `profiling.leaks`",
    ),
    "moves-the-tolerance": (
        "other = profiling\nother.AMDAHL = 1\nother.check_amdahl = print\n"
        + LEFT.format("1"),
        "refused",
        "replaces minimx_widgets.course.profiling.check_amdahl",
    ),
    "walks-the-frames": (
        "def left(share, factor):\n    walk = (1 for _ in ())\n"
        "    return walk.gi_frame.f_back",
        "refused",
        "gi_frame",
    ),
    "equals-everything": (
        "class Any(float):\n    def __eq__(self, other):\n        return True\n"
        "    def __sub__(self, other):\n        return 0.0\n"
        "    __rsub__ = __sub__\n\n" + LEFT.format("Any(0.5)"),
        "refused",
        "__eq__",
    ),
    "is-no-python": ("def left(:", "not yet", "no Python"),
}


@pytest.fixture(scope="module")
def handout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("handout")
    editions.student(ROOT / "notebooks", target)
    return target / f"{NOTEBOOK}.ipynb"


def hand_in(class_: Path, learner: str, handout: Path, **attempts: str) -> Path:
    """Write a learner's notebook. attempts: by name, with `_` for `-`."""
    book = exercises.read(handout)
    texts = {name.replace("_", "-"): text for name, text in attempts.items()}
    for cell in book["cells"]:
        cell["source"] = texts.get(grade_id(cell), cell["source"])
    target = class_ / learner / f"{NOTEBOOK}.ipynb"
    target.parent.mkdir(parents=True)
    exercises.write(book, target)
    return target


def graded(class_: Path, *flags: str) -> tuple[list[dict[str, str]], Any]:
    done = subprocess.run(
        [sys.executable, "-m", "minimx", "grade", class_, *flags],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    table = class_ / "grades.csv"
    rows = []
    if table.exists():
        with table.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    return rows, done


def test_right_wrong_and_malicious(handout: Path, tmp_path: Path) -> None:
    solved = {f"a14_{name[3:]}"[1:]: text for name, text in RIGHT.items()}
    hand_in(tmp_path, "right", handout, **solved)
    wrong = {"14_amdahl": LEFT.format("share / factor"), "14_export": "export = print"}
    hand_in(tmp_path, "wrong", handout, **wrong)
    forged = {
        "14_amdahl": LEFT.format("1") + "\nprint('✔ solved')",
        "14_amdahl_check": "print('✔ solved: 1 of 1')",
        "14_export": "def export(work, path):\n    exit()",
    }
    bad = hand_in(tmp_path, "malicious", handout, **forged)
    stored = bad.read_text()
    rows, done = graded(tmp_path)
    assert done.returncode == 0, done.stderr
    found = {(row["learner"], row["exercise"]): row for row in rows}
    right = [found["right", name] for name in RIGHT]
    seen = [row["seen"] for row in right]
    assert [float(row["points"]) for row in right] == [2, 3], seen
    for learner in ("wrong", "malicious"):
        assert [float(found[learner, name]["points"]) for name in RIGHT] == [0, 0]
    assert "1 - share" in found["wrong", "14-amdahl"]["idea"]
    assert found["malicious", "14-export"]["seen"].startswith("the attempt ends")
    assert "right                    5 of 5 points" in done.stdout
    assert bad.read_text() == stored

    # The same again judges nothing; a changed notebook is judged anew, the others not.
    table = tmp_path / "grades.csv"
    lines = table.read_text().splitlines(keepends=True)
    table.write_text("".join(lines).replace("1 - share", "kept") + "half of a li")
    hand_in(tmp_path, "late", handout, **{"14_amdahl": "left = 1"})
    rows, _ = graded(tmp_path)
    assert len(rows) == 8
    assert any("kept, which" in row["idea"] for row in rows)


def test_attacks_get_nothing_and_stop_nobody(handout: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("stays")
    class_ = tmp_path / "class"
    for learner, (attempt, _, _) in ATTACKS.items():
        path = hand_in(class_, learner, handout, **{"14_amdahl": attempt})
        book = exercises.read(path)
        book["cells"] = [c for c in book["cells"] if "export" not in grade_id(c)]
        exercises.write(book, path)
    (class_ / "no-notebook").mkdir()
    (class_ / "rubbish").mkdir()
    (class_ / "rubbish" / f"{NOTEBOOK}.ipynb").write_bytes(b"\0" * 100)
    rows, done = graded(class_, "--seconds", "2", "--memory", "800")
    assert done.returncode == 0, done.stderr
    assert len(rows) == 2 * (len(ATTACKS) + 2)
    assert {row["points"] for row in rows} == {"0"}
    found = {row["learner"]: row for row in rows if row["exercise"] == "14-amdahl"}
    for learner, (_, result, seen) in ATTACKS.items():
        row = found[learner]
        assert row["result"] in result.split("|"), row
        assert any(each in row["seen"] for each in seen.split("|")), row
    assert found["no-notebook"]["result"] == found["rubbish"]["result"] == "missing"
    assert outside.read_text() == "stays"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--notebook", "99"], "no notebook begins with '99'"),
        (["--out", "other.csv"], "columns are not those of grades"),
        ([], "One folder for each learner"),
    ],
)
def test_mistakes_in_the_command(
    tmp_path: Path, flags: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from minimx.commands.cli import main

    if "--out" in flags:
        (tmp_path / "learner").mkdir()
        flags = ["--out", str(tmp_path / "other.csv")]
        (tmp_path / "other.csv").write_text("name,mark\n")
    assert main(["grade", str(tmp_path), *flags]) == 2
    assert words in capsys.readouterr().err


def test_what_a_spreadsheet_would_compute_is_text() -> None:
    assert folder._cell("=1+1") == "'=1+1"
    assert folder._cell("fine") == "fine"


def test_copies_of_a_notebook_count_for_it(tmp_path: Path) -> None:
    (original,) = folder.course(ROOT / "notebooks", ["14"])
    for k, name in enumerate(["", " (mine)", "-Copy1", " (2)", " (mine 3)"]):
        path = tmp_path / "ada" / f"{NOTEBOOK}{name}.ipynb"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"cells": []}))
        os.utime(path, (k, k))
        found = folder.handed_in(tmp_path, [original])
        assert {each.path for each in found} == {path}, "the newest"
