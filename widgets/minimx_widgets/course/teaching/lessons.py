"""A page for those who teach a notebook, made from the notebook.

    python -m minimx_widgets.course.teaching.lessons book/lessons   # in a checkout

Outcomes and the sketch for the board stand in the notebook's metadata. Everything else
is read off its cells: minutes, predictions to ask aloud, wrong answers that learners
give and the idea behind each, exercises with their points. Exit tickets are those of
`recalling/bank.py`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from minimx_widgets.course.predicting.units import shown
from minimx_widgets.course.recalling import bank as recalled
from minimx_widgets.course.recalling.rounds import COUNT
from minimx_widgets.course.teaching import exercises
from minimx_widgets.course.teaching.editions import FOLDED
from minimx_widgets.course.teaching.questions import Question, questions
from minimx_widgets.course.teaching.recalled import variants

#: Words a minute of a reader in a second language, and minutes of everything else.
PACE = 100
CELL, PREDICTION, QUESTION, FADED, FREE = 0.5, 2.0, 1.5, 6.0, 12.0
#: Sections that can be read at home, and the one that may be worked on there.
HOME = ("Before the case", "Case", "Read the core", "Claim verdict")
HOMEWORK = "Free exercise"
#: How cells begin that ask several questions.
ROUNDS = ("recall(", "exit_ticket(")


class Part(NamedTuple):
    """A section of a notebook: its heading, and minutes with a class."""

    heading: str
    minutes: float


def parts(book: dict[str, Any]) -> list[Part]:
    """The sections of a notebook, in its order, and how long each takes."""
    found: dict[str, float] = {}
    points = {each.place: each.points for each in exercises.exercises(book)}
    heading = "Before the case"
    for place, cell in enumerate(book["cells"]):
        if cell["cell_type"] == "markdown":
            for text in re.split(r"^(?=## )", cell["source"], flags=re.MULTILINE):
                if text.startswith("## "):
                    heading = text.split("\n")[0][3:].strip()
                words = len(FOLDED.sub(r"\1", text).split())
                took = words / PACE + QUESTION * len(FOLDED.findall(text))
                found[heading] = found.get(heading, 0) + took
            continue
        took = CELL
        if place in points:
            took = FREE if points[place] > 2 else FADED
        elif "PredictCard(" in cell["source"]:
            took = PREDICTION
        elif cell["source"].startswith(ROUNDS):
            took = COUNT * PREDICTION
        found[heading] = found.get(heading, 0) + took
    return [Part(*each) for each in found.items()]


def core(found: Sequence[Part]) -> float:
    """Minutes of the core path: without what is done at home or marked (more)."""
    left_out = (*HOME, HOMEWORK)
    return sum(
        part.minutes
        for part in found
        if part.heading not in left_out and "(more)" not in part.heading
    )


def lesson(path: Path, bank: Sequence[Question]) -> str:
    """The page of a notebook, in Markdown. bank: its questions."""
    book = exercises.read(path)
    title = book["cells"][0]["source"].split("\n")[0].lstrip("# ")
    about = book["metadata"]["minimx"]
    link = f"[{path.name}](../../notebooks/{path.name})"
    text = [
        f"# Teaching {title}",
        f"The notebook: {link}, from which `make pages` writes this page.",
        "## Learners will be able to",
        "\n".join(f"- {outcome}" for outcome in about["outcomes"]),
        "## Time",
        *_times(parts(book)),
        "## On the board",
        about["board"],
        "## Ask aloud, before anything runs",
        *_asked(bank),
        "## Exercises",
        *_exercises(book),
        "## Exit ticket",
        f"Each learner gets {COUNT} of these, with other numbers: first those about "
        "what they predicted wrong. Later notebooks ask them again.",
        *_exit(next(key for key in recalled.ORDER if is_of(key, path))),
    ]
    return "\n\n".join(text) + "\n"


def _times(found: Sequence[Part]) -> Iterator[str]:
    total = sum(part.minutes for part in found)
    yield (
        f"About {5 * round(total / 5)} minutes for readers in a second language "
        f"({PACE} words a minute), of which {5 * round(core(found) / 5)} are the core "
        "path: without the free exercise, and without what can be read at home."
    )
    rows = [
        f"| {part.heading} | {max(1, round(part.minutes))} | "
        f"{'at home' if part.heading in HOME or '(more)' in part.heading else ''} |"
        for part in found
    ]
    yield "\n".join(["| section | minutes | |", "|---|---:|---|", *rows])


def _asked(bank: Sequence[Question]) -> Iterator[str]:
    for question in bank:
        first = question.variants[0]
        answer = shown(first.answer, first.unit)
        by = question.by or "the machine on which this was measured; yours says another"
        yield f"**{first.text}** {answer}, says {by}."
        mistakes = [f"- {shown(value)}: {idea}" for value, idea in first.wrong]
        if mistakes:
            yield "\n".join(mistakes)


def _exercises(book: dict[str, Any]) -> Iterator[str]:
    rows = [
        f"| `{each.name}` | {each.points:g} | `{each.check.split('(')[0]}` |"
        for each in exercises.exercises(book)
    ]
    yield "\n".join(["| exercise | points | check |", "|---|---:|---|", *rows])


def _exit(notebook: str) -> Iterator[str]:
    for question in recalled.of(notebook):
        first = next(variants(question))
        if first.options:
            said = first.options[int(first.answer) - 1]
            others = [f"“{first.options[int(place) - 1]}”" for place, _ in first.wrong]
        else:
            said = f"{first.said(first.answer)}."
            others = [shown(value) for value, _ in first.wrong]
        yield f"**{first.text}** {said}"
        yield "\n".join(
            f"- {one}: {idea}"
            for one, (_, idea) in zip(others, first.wrong, strict=True)
        )


def pages(folder: Path, answers: Path) -> Iterator[tuple[str, str]]:
    """(name, text) of the page of each notebook, without the ending of its file."""
    bank = questions(folder, answers)
    stored = json.loads(answers.read_text(encoding="utf-8"))
    for path in sorted(folder.glob("*.ipynb")):
        titles = {name for key, names in stored.items() for name in names
                  if is_of(key, path)}  # fmt: skip
        yield path.stem, lesson(path, [each for each in bank if each.name in titles])


def is_of(key: str, path: Path) -> bool:
    """Whether what stands before the slash in names of cards means this notebook."""
    return path.stem.startswith(key) or f"-{key}" in path.stem


def main(target: Path, root: Path) -> None:
    """Write all pages. root: a checkout."""
    target.mkdir(parents=True, exist_ok=True)
    answers = root / "tests" / "notebooks" / "answers.json"
    for name, text in pages(root / "notebooks", answers):
        (target / f"{name}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path.cwd())
