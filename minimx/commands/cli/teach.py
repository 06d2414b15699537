"""`minimx student`, `grade`, `quiz` and `class`: the course for a class.

What may be written after them, and what they do, stands in
`minimx_widgets.course.teaching.command`: the framework knows nothing of the course.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from typing import Any

WHAT = {
    "student": "write the course without answers, to hand out to a class",
    "grade": "judge the exercises that a class has handed in",
    "quiz": "the predictions as questions, with a key",
    "class": "what a class predicted, on a page",
}


def declare(commands: Any, asked: str) -> None:
    """Declare the four commands; with all their words the one that was asked for."""
    for name, what in WHAT.items():
        command = commands.add_parser(name, help=what)
        if name == asked:
            _command().declare(name, command)


def run(options: argparse.Namespace) -> int:
    """Do what was asked for; returns the exit code."""
    return int(_command().run(options, sys.stdout))


def _command() -> Any:
    return importlib.import_module("minimx_widgets.course.teaching.command")
