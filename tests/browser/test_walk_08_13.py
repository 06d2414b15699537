"""Notebooks 08 and 13 as a learner goes through them, to the exit ticket."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.learner import Exercise, Walk, bring

if TYPE_CHECKING:
    from tests.browser.conftest import JupyterLab, Notebook

pytestmark = pytest.mark.browser

SLABS = {
    "...  # above the cutoff: which multiple of `step`?": "-(-nbytes // 2**21) * 2**21",
    "...  # below it: the smallest k for which 2**k holds the request": "(nbytes - 1)"
    ".bit_length()",
}
WITH_ITS_OWN = {
    "return ...\n": "return devices * nbytes\n",
    "return ...  # a ring: pieces, in two halves": "return 2 * (devices - 1) * nbytes "
    "/ devices",
}
LARGE_FIRST = """\
priorities = {
    "embedding": 5,
    "decoder": 4,
    "lstm2": 3,
    "lstm1": 2,
    "hidden": 1,
    "attention": 0,
}"""


def test_pools(notebook: Notebook, jupyterlab: JupyterLab) -> None:
    walk = Walk(
        notebook,
        bring(jupyterlab, "walked-08"),
        "08-pools-and-fragmentation",
        mistakes={"08/round": 0},
        sentence="A pool gives an idle block to a request of the same size, no other.",
        exercises={
            "08-rounding": Exercise(SLABS, "this is Naive's rule"),
            "08-choice": Exercise(
                'choice = {"type": "Round", "cutoff": 28}', "A cutoff above it makes"
            ),
        },
    )
    walk.whole()
    walk.after_a_restart([1, 4, 6, 7])


def test_kvstore(notebook: Notebook, jupyterlab: JupyterLab) -> None:
    Walk(
        notebook,
        bring(jupyterlab, "walked-13"),
        "13-who-sends-what-to-whom",
        mistakes={"13/step": 1},
        sentence="The gradient of the first layer comes last, and is needed first.",
        exercises={
            "13-busiest": Exercise(WITH_ITS_OWN, "has its own gradient already"),
            "13-order": Exercise(LARGE_FIRST, "large is not urgent"),
        },
    ).whole()
