"""`minimx student` and `minimx grade`: the course for a class.

    minimx student handout/                     # without any answer, to hand out
    minimx student source/ --solutions          # with the solutions, for instructors
    minimx grade submissions/ --out grades.csv  # a folder of notebooks per learner

What they do stands in `minimx_widgets.course.teaching`.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import Any, TextIO

from minimx.commands.cli.lab import notebooks_folder

ROOM = "minimx_widgets.course.teaching"
MIB = 1 << 20


def declare(commands: Any) -> None:
    """What may be written after the two commands."""
    student = commands.add_parser(
        "student", help="write the course without answers, to hand out to a class"
    )
    student.add_argument("folder", metavar="FOLDER", help="a new folder")
    student.add_argument(
        "--solutions",
        action="store_true",
        help="rather the instructor's edition, with all solutions (in a checkout)",
    )
    grade = commands.add_parser(
        "grade", help="judge the exercises that a class has handed in"
    )
    grade.add_argument("folder", metavar="FOLDER", help="one folder for each learner")
    grade.add_argument("--out", metavar="CSV", help="FOLDER/grades.csv by default")
    grade.add_argument(
        "--notebook",
        action="append",
        default=[],
        metavar="N",
        help="only notebooks whose names begin so, as in 08; may be repeated",
    )
    grade.add_argument(
        "--seconds", type=float, default=60.0, help="of one exercise (60)"
    )
    grade.add_argument(
        "--memory",
        type=int,
        default=4096,
        metavar="MIB",
        help="of one (4096)",
    )


def run(options: argparse.Namespace, out: TextIO) -> int:
    """Do what was asked for; returns the exit code."""
    course = notebooks_folder()
    if course is None:
        return _says(options, "the notebooks of the course are not here", 1)
    try:
        if options.command == "student":
            return _student(options, course, out)
        return _grade(options, course, out)
    except ModuleNotFoundError as error:
        return _says(options, f"{error}. Try: pip install 'minimx[lab]'", 1)
    except (ValueError, OSError) as error:
        return _says(options, f"{error}.", 2)


def _says(options: argparse.Namespace, what: str, code: int) -> int:
    print(f"minimx {options.command}: {what}", file=sys.stderr)
    return code


def _student(options: argparse.Namespace, course: Path, out: TextIO) -> int:
    editions: Any = importlib.import_module(f"{ROOM}.editions")
    target = Path(options.folder).expanduser()
    if options.solutions:
        answers = course.parent / "tests" / "notebooks" / "solutions"
        if not answers.is_dir():
            return _says(
                options,
                "solutions are not installed: learners would have them, too. Run from "
                "a checkout of minimx.",
                1,
            )
        written = editions.instructor(course, target, answers)
    else:
        written = editions.student(course, target)
    print(f"{target}: {len(written)} notebooks.", file=out)
    return 0


def _grade(options: argparse.Namespace, course: Path, out: TextIO) -> int:
    from minimx.tools.progress import Bar

    confining: Any = importlib.import_module(f"{ROOM}.grading.confining")
    graded: Any = importlib.import_module(f"{ROOM}.grading.folder")
    lacking = confining.missing()
    if lacking:
        return _says(
            options,
            f"what learners wrote must not harm this machine, and it lacks {lacking}. "
            "Grade on Linux, or in a container.",
            1,
        )
    folder = Path(options.folder).expanduser()
    table = Path(options.out).expanduser() if options.out else folder / "grades.csv"
    originals = graded.course(course, options.notebook)
    limits = confining.Limits(options.seconds, options.memory * MIB)
    with Bar() as bar:
        rows = graded.grade(folder, table, originals, limits, bar.show)
    for learner, points, most, looked in graded.totals(rows):
        note = f"  ({looked} to be looked at)" if looked else ""
        print(f"{learner:24} {points:g} of {most:g} points{note}", file=out)
    print(f"The table with all reasons is {table}", file=out)
    return 0
