"""Checks of exercises: what was expected, what was seen, which idea to revisit."""

from __future__ import annotations

import functools
import html
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Feedback:
    """The answer of a check.

    passed: whether the exercise is solved.
    seen, expected: what the learner's code did, and what was wanted.
    idea: the misconception behind it, or what to look at again.
    """

    passed: bool
    seen: str
    expected: str = ""
    idea: str = ""

    def __repr__(self) -> str:
        if self.passed:
            return f"✔ solved: {self.seen}"
        lines = [f"✘ not yet: {self.seen}"]
        if self.expected:
            lines.append(f"  expected: {self.expected}")
        if self.idea:
            lines.append(f"  look again at: {self.idea}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        colour = "--jp-success-color1" if self.passed else "--jp-warn-color1"
        text = html.escape(repr(self)).replace("\n", "<br>&nbsp;&nbsp;")
        style = f"border-left:4px solid var({colour});padding:0.3em 0.8em"
        return f'<div style="{style}">{text}</div>'


def check(function: Callable[..., Feedback]) -> Callable[..., Feedback]:
    """Make a function that judges an exercise safe to call on any attempt.

    An attempt that is missing (`...` or None) or that raises becomes feedback with the
    line that raised, never a bare traceback.
    """

    @functools.wraps(function)
    def judged(attempt: Any, *args: Any, **kwargs: Any) -> Feedback:
        if attempt is None or attempt is Ellipsis:
            return Feedback(False, "nothing to check yet", "your own solution above")
        try:
            return function(attempt, *args, **kwargs)
        except Exception as error:  # shown to the learner, with its place
            where = traceback.extract_tb(error.__traceback__)[-1]
            return Feedback(
                False,
                f"{type(error).__name__} in line {where.lineno}: {error}",
                "an answer without an exception",
                f"the line `{where.line}`" if where.line else "",
            )

    return judged
