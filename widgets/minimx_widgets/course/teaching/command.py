"""`minimx student`, `grade`, `quiz`, `slides`, `class`: the course for a class.

    minimx student handout/                     # without any answer, to hand out
    minimx student source/ --solutions          # with the solutions, for instructors
    minimx grade submissions/ --out grades.csv  # a folder of notebooks per learner
    minimx quiz --seed 7 --learners 30          # predictions as questions, and a key
    minimx slides decks/                        # an HTML file for each notebook
    minimx class exports/ --out class.html      # what a class predicted
    minimx strings --language de                # the course in another language

What they do stands in the other files of this folder.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from minimx.commands.cli import copies
from minimx.commands.cli.lab import notebooks_folder
from minimx_widgets.course.translating import command as translating

if TYPE_CHECKING:
    from minimx_widgets.course.teaching.questions import Question

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
        add("--language", metavar="CODE", help="as in de, or a .po file")
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
    elif name == "slides":
        add("folder", metavar="FOLDER", help="where the HTML files go")
        _add_notebooks(parser)
    elif name == "strings":
        translating.declare(add)
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
        if options.command in ("quiz", "slides"):
            return _asking(options, course, out)
        if options.command == "class":
            return _class(options, out)
        if options.command == "strings":
            return translating.run(options, course, out)
        return _grade(options, course, out)
    except ModuleNotFoundError as error:
        return _says(options, f"{error}. Try: pip install 'minimx[lab]'", 1)
    except (ValueError, OSError) as error:
        return _says(options, f"{error}.", 2)


def _says(options: argparse.Namespace, what: str, code: int) -> int:
    print(f"minimx {options.command}: {what}", file=sys.stderr)
    return code


def _student(options: argparse.Namespace, course: Path, out: TextIO) -> int:
    from minimx_widgets.course.translating import copies as languages

    target = Path(options.folder).expanduser()
    with languages.of(options.language, course, target) as translated:
        return _edition(options, course, translated, target, out)


def _edition(
    options: argparse.Namespace,
    course: Path,
    translated: Path,
    target: Path,
    out: TextIO,
) -> int:
    from minimx_widgets.course.teaching import editions

    if options.solutions:
        answers = course.parent / "tests" / "notebooks" / "solutions"
        if not answers.is_dir():
            return _says(
                options,
                "solutions are not installed: learners would have them, too. Run from "
                "a checkout of minimx.",
                1,
            )
        written = editions.instructor(translated, target, answers)
    else:
        written = editions.student(translated, target)
        copies.mark(translated, target)
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


def _asking(options: argparse.Namespace, course: Path, out: TextIO) -> int:
    """`quiz` and `slides`, which show answers."""
    from minimx_widgets.course.recalling.bank import ORDER
    from minimx_widgets.course.teaching import questions as asking
    from minimx_widgets.course.teaching.recalled import recalled

    answers = course.parent / "tests" / "notebooks" / "answers.json"
    if not answers.is_file():
        what = "answers are not installed. Run from a checkout of minimx."
        return _says(options, what, 1)
    bank = [*asking.questions(course, answers), *recalled()]
    if options.notebook:
        beginnings = tuple(f"{name}/" for name in options.notebook)
        bank = [each for each in bank if each.name.startswith(beginnings)]
        if not bank:
            raise ValueError(f"no question of {', '.join(options.notebook)}")
    order = {name: place for place, name in enumerate(ORDER)}
    bank.sort(key=lambda each: order[each.name.partition("/")[0]])
    if options.command == "slides":
        return _slides(Path(options.folder).expanduser(), course, bank, out)
    return _quiz(options, asking.exact(bank), out)


def _quiz(options: argparse.Namespace, bank: list[Question], out: TextIO) -> int:
    from minimx_widgets.course.teaching import questions as asking

    if options.learners < 1:
        raise ValueError(f"--learners {options.learners}: at least 1 is needed")
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


def _slides(target: Path, course: Path, bank: list[Question], out: TextIO) -> int:
    from minimx_widgets.course.teaching import slides

    target.mkdir(parents=True, exist_ok=True)
    for path, asked in slides.of(course, bank):
        file = target / f"{path.stem}.html"
        file.write_text(slides.deck(path, asked), encoding="utf-8")
        print(file, file=out)
    return 0


def _class(options: argparse.Namespace, out: TextIO) -> int:
    from minimx_widgets.course.teaching import classroom

    target = Path(options.out).expanduser()
    text = classroom.page(Path(options.folder).expanduser(), target.suffix == ".md")
    target.write_text(text, encoding="utf-8")
    print(target, file=out)
    return 0
