"""The exercise on two libraries, judged by the rule that judges the libraries."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minimx_widgets.course.parts.checks import Feedback, check
from minimx_widgets.course.same.record import LIBRARIES, Comparison

SENTENCE = (
    "Each step starts from the weights that the one before has left, and a deep "
    "network with a large learning rate answers a small change of its weights with a "
    "larger change of its gradients, so a difference in the last digit is multiplied "
    "step by step until it is as large as that of another seed."
)
#: Standard deviation of the scores, and the difference that is to be seen.
CASES = ((0.013, 0.01), (0.013, 0.005), (0.002, 0.01), (0.1, 0.03))


@check
def check_seeds(attempt: Callable[[float, float], Any]) -> Feedback:
    """`attempt(spread, wanted)`: the fewest seeds whose noise is below `wanted`."""
    texts = []
    for spread, wanted in CASES:
        answer = attempt(spread, wanted)
        if answer is Ellipsis:
            return Feedback(False, "a `...` is still there", "a number of seeds")
        if isinstance(answer, bool) or not isinstance(answer, int | float | np.number):
            return Feedback(False, f"it returned {answer!r}", "a number of seeds")
        seeds = int(answer)
        if seeds != answer or seeds < 1:
            idea = "one cannot run a part of a seed: the next whole number"
            return Feedback(False, f"it returned {answer!r}", "a whole number", idea)
        case = f"a spread of {spread:g} and a difference of {wanted:g}"
        noise = _noise(spread, max(seeds, 2))
        if noise >= wanted:
            idea = _cause(seeds, spread, wanted)
            seen = f"{seeds} seeds for {case} leave a noise of {noise:.4f}"
            return Feedback(False, seen, f"less than {wanted:g}", idea)
        if seeds > 2 and _noise(spread, seeds - 1) < wanted:
            seen = f"{seeds} seeds for {case}: one seed less would do"
            return Feedback(False, seen, "the fewest seeds", "the next whole number")
        texts.append(f"{seeds} for {case}")
    return Feedback(True, "; ".join(texts))


def _noise(spread: float, seeds: int) -> float:
    """The noise of a comparison whose scores have just that spread."""
    places = np.arange(seeds) - (seeds - 1) / 2
    scores = 0.5 + spread * places / places.std(ddof=1)
    runs = [{name: {"scores": [score]} for name in LIBRARIES} for score in scores]
    return Comparison("resnet", {}, {}, runs).noise


def _cause(seeds: int, spread: float, wanted: float) -> str:
    """Which part of the formula is missing."""
    ratio = (spread / wanted) ** 2
    if seeds == math.floor(4 * ratio) + 1:
        return "the spread of the *other* side: variances of two means add up"
    if seeds == math.floor(2 * ratio) + 1:
        return "*two* standard errors: one is exceeded by chance every third time"
    return "a mean of n scores spreads by spread / √n, not by spread / n"
