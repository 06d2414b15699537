"""Checks of exercises: what was expected, what was seen, which idea to revisit."""

from __future__ import annotations

import contextlib
import functools
import os
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import minimx
from minimx.policies.asking import Overrun
from minimx.policies.watching import limited
from minimx_widgets.course.parts.text import words
from minimx_widgets.language import tr

#: Seconds that a check lets an attempt run.
LIMIT = 30.0
# Where lines live that are not the learner's: minimx, its widgets, Python itself.
_OTHERS = tuple(
    f"{folder}{os.sep}"
    for folder in (
        Path(minimx.__file__).parent,
        Path(__file__).parents[2],
        Path(contextlib.__file__).parent,
    )
)


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
            return tr("✔ solved: {seen}", seen=tr(self.seen))
        lines = [tr("✘ not yet: {seen}", seen=tr(self.seen))]
        if self.expected:
            lines.append(tr("  expected: {expected}", expected=tr(self.expected)))
        if self.idea:
            lines.append(tr("  look again at: {idea}", idea=tr(self.idea)))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        colour = "--jp-success-color1" if self.passed else "--jp-warn-color1"
        first, *more = words(repr(self)).split("\n")
        text = f"<b>{first}</b>" + "".join(f"<br>{line.strip()}" for line in more)
        style = f"border-left:4px solid var({colour});padding:0.3em 0.8em"
        return f'<div style="{style}">{text}</div>'


def check(function: Callable[..., Feedback]) -> Callable[..., Feedback]:
    """Make a function that judges an exercise safe to call on any attempt.

    An attempt that is missing (`...` or None), that raises, that ends the program or
    that runs for longer than 30 seconds becomes feedback with the learner's line, never
    a bare traceback. Ctrl-C and the kernel's stop button still interrupt it.
    """

    @functools.wraps(function)
    def judged(attempt: Any, *args: Any, **kwargs: Any) -> Feedback:
        if attempt is None or attempt is Ellipsis:
            return Feedback(False, "nothing to check yet", "your own solution above")
        try:
            with limited(LIMIT):
                return function(attempt, *args, **kwargs)
        except Overrun as error:
            return Feedback(
                False,
                f"no answer after {LIMIT:g} seconds",
                "an attempt that comes to an end",
                _place(error) or "a loop that does not end",
            )
        except SystemExit as error:
            return Feedback(
                False,
                "the attempt ends the program (exit or quit)",
                "a function that returns its answer",
                _place(error),
            )
        except Exception as error:  # shown to the learner, with its place
            return _raised(error)

    return judged


def _raised(error: Exception) -> Feedback:
    """What an attempt raised; a blank that was left in is named as such."""
    blank = isinstance(error, TypeError) and "ellipsis" in str(error)
    if blank:
        seen, expected = "a blank is still there: ...", "your own text for each `...`"
    else:
        seen = f"{type(error).__name__}: {error}"
        expected = "an answer without an exception"
    return Feedback(False, seen, expected, _place(error))


def _place(error: BaseException) -> str:
    line = _learners_line(error)
    return f"the line `{line}`" if line else ""


def _learners_line(error: BaseException) -> str:
    """The innermost line of a traceback that the learner wrote; empty if none is."""
    lines = [
        frame.line
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(_OTHERS)
    ]
    return (lines[-1] or "") if lines else ""
