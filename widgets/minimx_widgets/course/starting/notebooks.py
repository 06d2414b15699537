"""The notebooks of a folder, and how far a learner is in each.

first, *others = read(Path("my-notebooks")).notebooks
first.title                    # "00 · The knob board"
progress(first, ledger).text   # "1 of 2 predictions"
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from minimx_widgets.course.predicting.ledger import Answer
from minimx_widgets.course.recalling.rounds import COUNT
from minimx_widgets.course.teaching import exercises
from minimx_widgets.course.teaching.exercises import NotANotebook
from minimx_widgets.language import tr

#: What `minimx lab` and JupyterLab add to the names of further copies.
COPY: Final = re.compile(r"( \((mine|new)( \d+)?\)|-Copy\d+)$")
TICKET: Final = re.compile(r'^exit_ticket\("(\w+)"\)', re.MULTILINE)
CARD: Final = re.compile(r'\bname="(\w+/[\w-]+)"')


@dataclass(frozen=True)
class Notebook:
    """A notebook of the course.

    file: its name. title, about: its heading and the sentences below it. topic: what
    stands before the slash in the names of its cards. cards: those names.
    """

    file: str
    title: str
    about: str
    topic: str
    cards: frozenset[str]


@dataclass
class Folder:
    """What was found: the course, further copies of it, and files without a notebook.

    copies, damaged: names of files.
    """

    notebooks: list[Notebook] = field(default_factory=list)
    copies: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Progress:
    """How far a learner is in a notebook, counted in answers that are locked in.

    predicted, of: its cards. right: of those predicted, at the first try. ticket: the
    answers to its exit ticket.
    """

    predicted: int
    of: int
    right: int
    ticket: int

    @property
    def done(self) -> bool:
        """Whether every card and the exit ticket are answered."""
        return self.predicted >= self.of and self.ticket >= COUNT

    @property
    def share(self) -> float:
        """From 0 to 1."""
        return (self.predicted + min(self.ticket, COUNT)) / (self.of + COUNT)

    @property
    def text(self) -> str:
        """In words, in the learner's language.

        >>> Progress(1, 4, 1, 0).text, Progress(4, 4, 3, 2).text
        ('1 of 4 predictions', 'done: 3 of 4 predictions right')
        """
        if self.done:
            return tr(f"done: {self.right} of {self.of} predictions right")
        if not self.predicted and not self.ticket:
            return tr(f"{self.of} prediction{'s' * (self.of != 1)} to make")
        if self.ticket:
            text = f"{self.predicted} of {self.of} predictions, exit ticket begun"
            return tr(text)
        return tr(f"{self.predicted} of {self.of} predictions")


def read(folder: Path) -> Folder:
    """All notebooks that have an exit ticket; the numbered ones come first."""
    found = Folder()
    for path in sorted(folder.glob("*.ipynb"), key=lambda path: path.name):
        try:
            book = exercises.read(path)
        except NotANotebook:
            found.damaged.append(path.name)
            continue
        notebook = _of_the_course(path, book)
        if notebook is not None and COPY.search(path.stem):
            found.copies.append(path.name)
        elif notebook is not None:
            found.notebooks.append(notebook)
    return found


def progress(notebook: Notebook, answers: Iterable[Answer]) -> Progress:
    """How far the learner is who gave these answers, the oldest first."""
    first: dict[str, Answer] = {}
    ticket = set()
    for each in answers:
        if not each.place and each.card in notebook.cards:
            first.setdefault(each.card, each)
        elif each.place == f"{notebook.topic}/exit-ticket":
            ticket.add(each.card)
    right = sum(each.right for each in first.values())
    return Progress(len(first), len(notebook.cards), right, len(ticket))


def _of_the_course(path: Path, book: dict[str, Any]) -> Notebook | None:
    """The notebook; None for one that asks no exit ticket, so is not of the course."""
    code = "\n".join(
        cell["source"] for cell in book["cells"] if cell["cell_type"] == "code"
    )
    ticket = TICKET.search(code)
    if ticket is None:
        return None
    head = book["cells"][0]["source"] if book["cells"][0]["cell_type"] != "code" else ""
    parts = [part.strip() for part in head.split("\n\n")] + ["", ""]
    title = parts[0].lstrip("# ") or path.stem
    cards = frozenset(
        card for card in CARD.findall(code) if card.startswith(f"{ticket[1]}/")
    )
    return Notebook(path.name, title, _plain(parts[1]), ticket[1], cards)


def _plain(markdown: str) -> str:
    r"""One line of text without marks.

    >>> _plain("A **knob** is `%env`\nhere, see [01](01.ipynb).")
    'A knob is %env here, see 01.'
    """
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", markdown)
    return " ".join(re.sub(r"\*+|`", "", text).split())
