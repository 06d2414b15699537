"""Slides for a lesson, made from a notebook: one HTML file that needs no network.

    for path, questions in of(folder, bank):
        text = deck(path, questions)

What a class looks at together is on them: what the lesson is for, each prediction with
its answer folded, the pictures and tables that the notebook's cells gave, the verdicts,
and an exit ticket. Beside it, as notes that a key shows: the sketch for the board, and
the wrong answers that learners give with the idea behind each.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from nbconvert.filters.markdown_mistune import markdown2html_mistune

from minimx_widgets.course.recalling.rounds import COUNT
from minimx_widgets.course.teaching import exercises
from minimx_widgets.course.teaching.editions import FOLDED
from minimx_widgets.course.teaching.lessons import is_of
from minimx_widgets.course.teaching.questions import Question, Variant

PAGE = Path(__file__).with_name("deck.html")
#: What a cell gave and a class can look at, the best first.
PICTURES = {"image/svg+xml": "svg+xml", "image/png": "png"}
#: Cells whose outputs are shown in another way.
NOT_SHOWN = ("PredictCard(", "recall(", "exit_ticket(", "read_core(", "hints(")


def of(folder: Path, bank: Sequence[Question]) -> Iterator[tuple[Path, list[Question]]]:
    """The notebooks of a folder that questions are about, each with its questions."""
    for path in sorted(folder.glob("*.ipynb")):
        mine = [each for each in bank if is_of(each.name.partition("/")[0], path)]
        if mine:
            yield path, mine


def deck(path: Path, bank: Sequence[Question]) -> str:
    """The slides of a notebook, as the text of an HTML file.

    bank: its predictions, and the questions of its exit ticket. Raises NotANotebook.
    """
    book = exercises.read(path)
    title = book["cells"][0]["source"].split("\n")[0].lstrip("# ")
    asked = {each.name: each for each in bank}
    slides = [_first(title, book), *_sections(book, asked), *_last(book, asked)]
    page = PAGE.read_text(encoding="utf-8").replace("TITLE", html.escape(title))
    return page.replace("<!-- SLIDES -->", "\n".join(slides))


def _slide(*parts: str, notes: str = "") -> str:
    note = f'<div class="note">{notes}</div>' if notes else ""
    return "<section>\n{}\n{}</section>".format("\n".join(filter(None, parts)), note)


def _heading(text: str) -> str:
    return f"<h2>{html.escape(text)}</h2>"


def _first(title: str, book: dict[str, Any]) -> str:
    lines = book["cells"][0]["source"].split("\n\n")
    story = next((line for line in lines[1:] if line and line[0] not in "-#"), "")
    about = book["metadata"]["minimx"]
    outcomes = "".join(f"<li>{html.escape(one)}</li>" for one in about["outcomes"])
    return _slide(
        f"<h1>{html.escape(title)}</h1>",
        _from_markdown(story),
        f"<ul>{outcomes}</ul>",
        notes="On the board: " + html.escape(about["board"]),
    )


def _sections(book: dict[str, Any], asked: dict[str, Question]) -> Iterator[str]:
    """The slides of the cells, in their order."""
    heading = before = ""
    for cell in book["cells"][1:]:
        source = cell["source"]
        if cell["cell_type"] == "markdown":
            found = re.findall(r"^##+ (.+)$", source, flags=re.MULTILINE)
            heading = found[-1] if found else heading
            before = _last_words(source)
            continue
        if "PredictCard(" in source:
            names = re.findall(r'name="([^"]+)"', source)
            yield from (_question(asked[name]) for name in names if name in asked)
        elif not any(each in source for each in NOT_SHOWN):
            shown = list(filter(None, map(_shown, cell.get("outputs", ()))))
            if shown:
                yield _slide(_heading(heading), before, *shown)
                before = ""


def _last(book: dict[str, Any], asked: dict[str, Question]) -> Iterator[str]:
    """Exercises, and as many questions as an exit ticket has."""
    rows = [
        f"<li><code>{html.escape(each.name)}</code>, {each.points:g} points</li>"
        for each in exercises.exercises(book)
    ]
    if rows:
        yield _slide(_heading("Your turn: the exercises"), f"<ul>{''.join(rows)}</ul>")
    code = "\n".join(exercises.code(book))
    tickets = [each for name, each in asked.items() if f'"{name}"' not in code]
    yield from (_question(each, "Exit ticket") for each in tickets[:COUNT])


def _question(question: Question, heading: str = "Predict") -> str:
    first = question.variants[0]
    by = question.by or "the machine on which the course was measured"
    answer = f"<p><b>{html.escape(_answer(first))}</b> <small>{by}</small></p>"
    mistakes = "".join(
        f"<li>{html.escape(first.said(value))}: {html.escape(idea)}</li>"
        for value, idea in first.wrong
    )
    options = "".join(f"<li>{html.escape(each)}</li>" for each in first.options)
    return _slide(
        _heading(heading),
        f"<p>{html.escape(first.text)}</p>",
        options and f'<ol type="a">{options}</ol>',
        f"<details><summary>Answer</summary>{answer}</details>",
        notes=mistakes
        and f"Wrong answers, and what is behind them:<ul>{mistakes}</ul>",
    )


def _answer(variant: Variant) -> str:
    said = variant.said(variant.answer)
    if variant.options:
        return f"({said}) {variant.options[int(variant.answer) - 1]}"
    return said


def _last_words(source: str) -> str:
    """The last paragraph before a cell, if it is one of text; as HTML."""
    parts = FOLDED.sub("", source).strip().split("\n\n")
    last = parts[-1].strip()
    return (
        "" if last.startswith(("#", "-", "|", "<", "`", "*“")) else _from_markdown(last)
    )


def _from_markdown(text: str) -> str:
    # Links lead to other notebooks, which are not beside the slides.
    unlinked = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", text)
    return str(markdown2html_mistune(unlinked)).strip()


def _shown(output: dict[str, Any]) -> str:
    """What a cell gave, as HTML: a picture, or a table; otherwise nothing."""
    data = {kind: "".join(each) for kind, each in output.get("data", {}).items()}
    words = html.escape(data.get("text/plain", ""), quote=True)
    for kind, ending in PICTURES.items():
        if kind in data:
            raw = data[kind]
            if ending != "png":
                raw = base64.b64encode(raw.encode()).decode()
            # A file of its own: names inside one SVG file do not meet those of another.
            source = f"data:image/{ending};base64,{raw.strip()}"
            return f'<img src="{source}" alt="{words}">'
    table = data.get("text/html", "")
    return f'<div class="wide">{table}</div>' if "<table" in table else ""
