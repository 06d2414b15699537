"""`minimx student`, `grade`, `quiz` and `class`: the course for a class.

    minimx student handout/                     # without any answer, to hand out
    minimx student source/ --solutions          # with the solutions, for instructors
    minimx grade submissions/ --out grades.csv  # a folder of notebooks per learner
    minimx quiz --seed 7 --learners 30          # predictions as questions, and a key
    minimx class exports/ --out class.html      # what a class predicted

What they do stands in the other files of this folder.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TextIO

from minimx.commands.cli import copies
from minimx.commands.cli.lab import notebooks_folder

MIB = 1 << 20


def declare(name: str, parser: argparse.ArgumentParser) -> None:
    """What may be written after a command. parser: its own."""
    add = parser.add_argument
    if name == "student":
        add("folder", metavar="FOLDER", help="a new folder")
        add(
            "--solutions",
            action="store_true",
            help="rather the instructor's edition, with all solutions (in a checkout)",
        )
    elif name == "grade":
        add("folder", metavar="FOLDER", help="one folder for each learner")
        add("--out", metavar="CSV", help="FOLDER/grades.csv by default")
        _add_notebooks(parser)
        add("--seconds", type=float, default=30.0, help="that a check may take (30)")
        add("--memory", type=int, default=4096, metavar="MIB", help="of one (4096)")
    elif name == "quiz":
        add("--seed", type=int, default=0, help="other numbers for each")
        add("--learners", type=int, default=1, metavar="N")
        formats = ["csv", "markdown", "gift"]
        what = "gift is Moodle's, with all variants"
        add("--format", choices=formats, default="csv", help=what)
        _add_notebooks(parser)
        add("--out", metavar="FILE", help="the terminal by default")
    else:
        add("folder", metavar="FOLDER", help="exports of all learners")
        add("--out", metavar="FILE", default="class.html", help="class.html by default")


def _add_notebooks(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--notebook",
        action="append",
        default=[],
        metavar="N",
        help="only notebooks whose names begin so, as in 08; may be repeated",
    )


def run(options: argparse.Namespace) -> int:
    """Do what was asked for; returns the exit code."""
    out = sys.stdout
    course = notebooks_folder()
    if course is None:
        return _says(options, "the notebooks of the course are not here", 1)
    try:
        if options.command == "student":
            return _student(options, course, out)
        if options.command == "quiz":
            return _quiz(options, course, out)
        if options.command == "class":
            return _class(options, out)
        return _grade(options, course, out)
    except ModuleNotFoundError as error:
        return _says(options, f"{error}. Try: pip install 'minimx[lab]'", 1)
    except (ValueError, OSError) as error:
        return _says(options, f"{error}.", 2)


def _says(options: argparse.Namespace, what: str, code: int) -> int:
    print(f"minimx {options.command}: {what}", file=sys.stderr)
    return code


def _student(options: argparse.Namespace, course: Path, out: TextIO) -> int:
    from minimx_widgets.course.teaching import editions

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
        copies.mark(course, target)
    print(f"{target}: {len(written)} notebooks.", file=out)
    return 0


def _grade(options: argparse.Namespace, course: Path, out: TextIO) -> int:
    from minimx.tools.progress import Bar
    from minimx_widgets.course.teaching.grading import confining

    lacking = confining.missing()
    if lacking:
        return _says(
            options,
            f"what learners wrote must not harm this machine, and it lacks {lacking}. "
            "Grade on Linux, or in a container.",
            1,
        )
    from minimx_widgets.course.teaching.grading import folder as graded

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


def _quiz(options: argparse.Namespace, course: Path, out: TextIO) -> int:
    from minimx_widgets.course.teaching import questions as asking

    answers = course.parent / "tests" / "notebooks" / "answers.json"
    if not answers.is_file():
        what = "answers are not installed. Run from a checkout of minimx."
        return _says(options, what, 1)
    if options.learners < 1:
        raise ValueError(f"--learners {options.learners}: at least 1 is needed")
    bank = asking.exact(asking.questions(course, answers))
    if options.notebook:
        beginnings = tuple(f"{name}/" for name in options.notebook)
        bank = [each for each in bank if each.name.startswith(beginnings)]
        if not bank:
            raise ValueError(f"no question of {', '.join(options.notebook)}")
    if options.format == "gift":
        text = asking.as_gift(bank)
    else:
        sheets = asking.drawn(bank, options.seed, options.learners)
        write = asking.as_csv if options.format == "csv" else asking.as_markdown
        text = write(sheets)
    if options.out:
        Path(options.out).expanduser().write_text(text, encoding="utf-8")
    else:
        out.write(text)
    return 0


def _class(options: argparse.Namespace, out: TextIO) -> int:
    from minimx_widgets.course.teaching import classroom

    target = Path(options.out).expanduser()
    text = classroom.page(Path(options.folder).expanduser(), target.suffix == ".md")
    target.write_text(text, encoding="utf-8")
    print(target, file=out)
    return 0
