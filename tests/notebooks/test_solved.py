"""Every solution solves its exercise, and no exercise is solved already.

Reads what `python -m tests.notebooks.solved` wrote; nothing is run here.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from minimx_widgets.course.teaching import editions, exercises
from tests.notebooks.answers import notebooks, short
from tests.notebooks.solved import SOLUTIONS, STORED, key


@pytest.mark.parametrize("path", notebooks(), ids=[path.stem for path in notebooks()])
def test_solutions_pass_and_untouched_exercises_do_not(path: Path) -> None:
    solved = editions.solutions(SOLUTIONS / f"{path.stem}.md")
    stored = json.loads(STORED.read_text("utf-8"))[short(path)]
    assert stored == {
        each.name: [key(each, solved[each.name]), "solved", "not yet"]
        for each in exercises.exercises(exercises.read(path))
    }, "run python -m tests.notebooks.solved"
