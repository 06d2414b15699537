"""Notebooks 00 and 06 as a learner goes through them, to the exit ticket."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.learner import Exercise, Walk, bring

if TYPE_CHECKING:
    from tests.browser.conftest import JupyterLab, Notebook

pytestmark = pytest.mark.browser

SENTENCE = "MXNet copies the variable once into a part, and minimx tells the part."
#: Loses what is empty: zero, nothing, the empty text.
FORGETS = {
    "...  # 1 remember: which part of the board will you need?": "{name: board[name] "
    "for name in changes if board[name]}",
    "...  # 4 put back": "board.update(before)",
}
ACCEPTS_ANYTHING = """\
@contextmanager
def turned(board, **changes):
    before = {name: board.get(name) for name in changes}
    board.update(changes)
    try:
        yield board
    finally:
        board.update(before)"""
NEVER_RELEASES = {
    "...  # measure: how much is alive now?": "most = max(most, sum(alive.values()))",
    "...  # release: who may go, and when?": "pass",
}


def test_the_knob_board(notebook: Notebook, jupyterlab: JupyterLab) -> None:
    walk = Walk(
        notebook,
        bring(jupyterlab, "walked-00"),
        "00-knob-board",
        mistakes={"00/mxnet": 0},
        sentence=SENTENCE,
        exercises={
            "00-restores": Exercise(FORGETS, "also 0, '' and None are values"),
            "00-turned": Exercise(ACCEPTS_ANYTHING, "`volum` is no setting"),
        },
    )
    walk.whole()
    # Four cards, two recalls and two exit tickets; one of each was wrong.
    assert "8 predictions, 5 right" in notebook.run(walk.last("my_predictions()"))


def test_memory_planning(notebook: Notebook, jupyterlab: JupyterLab) -> None:
    Walk(
        notebook,
        bring(jupyterlab, "walked-06"),
        "06-memory-planning-and-in-place",
        mistakes={"06/at-once": 0},
        sentence="The place of the input is free only after the last line that reads.",
        exercises={
            "06-needed": Exercise(NEVER_RELEASES, "nothing was ever taken out"),
            "06-marks": Exercise('marks = {"a", "d", "e"}', "written over x"),
        },
    ).whole()
