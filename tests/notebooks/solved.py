"""Every solution, judged as if it had been handed in; and every untouched exercise.

    python -m tests.notebooks.solved           # all notebooks: writes solved.json
    python -m tests.notebooks.solved 03 same   # only these; the others stay

Takes some minutes. `test_solved.py` reads what is written, so that it need not run
anything: a change of an exercise, of its check or of its solution asks for another run.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

from minimx_widgets.course.teaching import editions, exercises
from minimx_widgets.course.teaching.exercises import Exercise
from minimx_widgets.course.teaching.grading import judging
from minimx_widgets.course.teaching.grading.judging import Task
from minimx_widgets.course.teaching.grading.supervising import attempt
from tests.notebooks.answers import ROOT, fingerprint, notebooks, short

STORED: Final = Path(__file__).with_name("solved.json")
SOLUTIONS: Final = ROOT / "tests" / "notebooks" / "solutions"


def key(exercise: Exercise, solution: str) -> str:
    """Changes with an exercise, its check and its solution."""
    return fingerprint("\0".join([exercise.attempt, exercise.check, solution]))


def judged(path: Path) -> dict[str, list[str]]:
    """By exercise: its key, what its solution gets, and what it gets untouched."""
    book = exercises.read(path)
    own = exercises.code(book)
    solved = editions.solutions(SOLUTIONS / f"{path.stem}.md")
    judging.prepare([own])
    found = {}
    for each in exercises.exercises(book):
        cells = [*own[: each.place], solved[each.name], *own[each.place + 1 :]]
        right = attempt(Task(cells, each.place, own, each))
        untouched = attempt(Task(own, each.place, own, each))
        print(each.name, right, untouched, sep="\n  ", file=sys.stderr)
        results = [right.result, untouched.result]
        found[each.name] = [key(each, solved[each.name]), *results]
    return found


def main(wanted: list[str]) -> None:
    stored = json.loads(STORED.read_text("utf-8")) if STORED.exists() else {}
    for path in notebooks():
        if not wanted or short(path) in wanted:
            stored[short(path)] = judged(path)
    STORED.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
