"""`minimx student`, `grade`, `quiz`, `slides`, `class` and `strings`, for teachers.

What may be written after them, and what they do, stands in `MODULE`: the framework
knows nothing of the course.
"""

from __future__ import annotations

import importlib
from typing import Any

MODULE = "minimx_widgets.course.teaching.command"
WHAT = {
    "student": "write the course without answers, to hand out to a class",
    "grade": "judge the exercises that a class has handed in",
    "quiz": "the predictions as questions, with a key",
    "slides": "slides for each notebook, as HTML files",
    "class": "what a class predicted, on a page",
    "strings": "the course's texts in one file, to be translated",
}


def declare(commands: Any, asked: str) -> None:
    """Declare the six commands; with all their words the one that was asked for."""
    for name, what in WHAT.items():
        command = commands.add_parser(name, help=what)
        if name == asked:
            importlib.import_module(MODULE).declare(name, command)
