"""A learner in JupyterLab: opens a copy of a notebook, runs it, answers what it asks.

walk = Walk(notebook, bring(jupyterlab, "mine"), "08-pools-and-fragmentation")
walk.answer(7, "50 MiB", sure=90)
walk.solve(41, wrong, right)
"""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playwright.sync_api import Locator

from minimx.commands.cli import lab
from minimx_widgets.course.predicting.card import PredictCard, drawn
from minimx_widgets.course.predicting.ledger import NAME, Ledger
from minimx_widgets.course.predicting.units import shown
from minimx_widgets.course.recalling import bank
from minimx_widgets.course.teaching import editions, exercises
from tests.notebooks.answers import STORED
from tests.notebooks.solved import SOLUTIONS

if TYPE_CHECKING:
    from tests.browser.conftest import JupyterLab, Notebook

BRING = """\
import sys
from pathlib import Path
from minimx.commands.cli import copies
source, target = map(Path, sys.argv[1:])
done = copies.bring(source, target)
print(copies.sign(target / name for name in done.shipped))
"""
#: Gives the cell of a number its own mark, and brings it into sight.
FIND = """async index => {
  const book = jupyterapp.shell.currentWidget.content;
  await book.scrollToItem(index, 'start');
  const { node } = book.widgets[index];
  node.dataset.walk = index;
  node.scrollIntoView({ block: 'start' });
}"""
EDIT = """index => {
  const book = jupyterapp.shell.currentWidget.content;
  book.activeCellIndex = index;
  book.mode = 'edit';
  book.activeCell.editor.focus();
}"""
SOURCE = """index => {
  const { model } = jupyterapp.shell.currentWidget.content.widgets[index];
  return model.sharedModel.getSource();
}"""
#: Cards, each a box with a field and a button; not the box around several.
CARDS = ".widget-vbox:not(:has(.widget-vbox))"
RESTART = """async () => {
  await jupyterapp.shell.currentWidget.sessionContext.restartKernel();
}"""
LEARNER = 5  # from which the numbers of all questions are drawn
SURE, UNSURE = 90, 55


def bring(jupyterlab: JupyterLab, name: str) -> Path:
    """Copy the course to a folder of the server, signed as the lab does; the folder."""
    folder = jupyterlab.folder / name
    source = lab.notebooks_folder()
    assert source is not None
    data = jupyterlab.folder.parent / "jupyter_data_dir"
    done = subprocess.run(
        [sys.executable, "-c", BRING, source, folder],
        env={**os.environ, "JUPYTER_DATA_DIR": str(data)},
        check=True,
        capture_output=True,
        text=True,
    )
    assert int(done.stdout) > 10
    return folder


def plain(text: str) -> str:
    """HTML as it is read on the page, in one line."""
    return " ".join(unescape(re.sub(r"<[^>]+>", "", text)).split())


@dataclass(frozen=True)
class Exercise:
    """What a learner writes first, what the check says to it, and then.

    wrong: pairs of texts to replace in the notebook's own attempt, or the whole
    attempt. says: of what the check answers. The right attempt is the repository's.
    """

    wrong: str | Mapping[str, str]
    says: str


@dataclass
class Walk:
    """A learner's way through one notebook.

    stem: the name of its file. mistakes: by card, how many of the known wrong answers
    to give, counted from 0; all other cards are answered right. sentence: what is
    written where a sentence is asked for. exercises: by name.
    """

    notebook: Notebook
    folder: Path
    stem: str
    mistakes: Mapping[str, int]
    sentence: str
    exercises: Mapping[str, Exercise]
    given: dict[tuple[str, str], bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        path = self.folder / f"{self.stem}.ipynb"
        self.topic = self.stem[:2]
        book = exercises.read(path)
        self.sources = exercises.code(book)
        self.tasks = {each.place: each for each in exercises.exercises(book)}
        self.right = editions.solutions(SOLUTIONS / f"{self.stem}.md")
        self.ledger = self.folder / NAME
        self.ledger.write_text(json.dumps({"learner": LEARNER}) + "\n")

    # -- the way -----------------------------------------------------------------------

    def whole(self) -> None:
        """From the first cell to the last one; every cell has to run without error."""
        self.notebook.open(f"{self.folder.name}/{self.stem}.ipynb")
        for place, source in enumerate(self.sources):
            if source:
                self.step(place, source)
        assert self.notebook.complaints == []
        self.check_ledger()

    def step(self, place: int, source: str) -> None:
        """Run a cell and do what it asks for."""
        if place in self.tasks:
            self.solve(place)
            return
        if "explained(" in source and 'sentence = """' in source:
            self.explain(place, source)
            return
        self.cell(place)
        self.notebook.run(place, timeout=120)
        if match := re.fullmatch(r'(recall|exit_ticket)\("(\w+)"\)', source):
            self.round(place, match[1].replace("_", "-"))
        elif "PredictCard(" in source:
            self.predict(place, source)

    def predict(self, place: int, source: str) -> None:
        """Answer a card of the notebook, wrong or right as planned."""
        name, numbers = asked(source)
        card = stored(self.topic)[name]
        (answer,) = (one for one in card["answers"] if one["numbers"] == numbers)
        mistake = self.mistakes.get(name)
        value = answer["seen"] if mistake is None else answer["wrong"][mistake]
        box = self.cell(place).locator(CARDS)
        self.lock_in(box, shown(value, card["unit"]), SURE)
        self.given[name, ""] = mistake is None
        if mistake is None:
            assert "✔" in box.inner_text(), (name, box.inner_text())
            return
        text = box.inner_text()
        assert "What may be behind it:" in text, (name, text)
        assert "too high" in text or "too low" in text, text
        self.shoot("wrong")
        before = self.ledger.read_text()
        self.notebook.run(place)  # the answer is still locked in
        box.get_by_text("You said").wait_for()
        assert box.get_by_role("button", name="Lock in").is_disabled()
        assert self.ledger.read_text() == before

    def round(self, place: int, kind: str) -> None:
        """Answer a recall or an exit ticket: the first wrong and sure, then right."""
        where = f"{self.topic}/{kind}"
        asked_for = {
            name: attempt
            for line in self.lines()
            if line.get("asked_at") == where
            for name, attempt in line["questions"].items()
        }
        assert len(asked_for) == 2
        boxes = self.cell(place).locator(CARDS)
        for number, (name, attempt) in enumerate(asked_for.items()):
            question = known(name, where, attempt)
            box = boxes.nth(number)
            if number:
                self.lock_in(box, question.right_answer(), UNSURE)
                assert "✔" in box.inner_text(), box.inner_text()
            else:
                text, lesson = wrong(question)
                self.lock_in(box, text, SURE)
                assert plain(lesson) in plain(box.inner_text()), box.inner_text()
            self.given[name, where] = bool(number)
        self.shoot(kind)

    def explain(self, place: int, source: str) -> None:
        """One word seven times is no sentence; then a real one."""
        banana = source.replace('"""\n\n"""', f'"""\n{"banana " * 7}\n"""')
        assert "different words" in self.write(place, banana)
        sentence = source.replace('"""\n\n"""', f'"""\n{self.sentence}\n"""')
        assert "ours:" in self.write(place, sentence)

    def solve(self, place: int) -> None:
        """An exercise: as it stands, with a typical mistake, and solved."""
        task = self.tasks[place]
        plan = self.exercises[task.name]
        assert "✘ not yet" in self.notebook.run(place)
        attempt = task.attempt
        if isinstance(plan.wrong, str):
            attempt = plan.wrong
        else:
            for blank, text in plan.wrong.items():
                assert blank in attempt
                attempt = attempt.replace(blank, text)
        said = self.write(place, f"{attempt}\n\n{task.check}")
        assert "✘ not yet" in said, said
        assert plan.says in said, said
        said = self.write(place, f"{self.right[task.name]}\n\n{task.check}")
        assert "✔ solved" in said, said
        self.cell(place)
        self.shoot(task.name.partition("-")[2])

    # -- what hands do -----------------------------------------------------------------

    def last(self, source: str) -> int:
        """The place of the last cell with this code."""
        return max(place for place, text in enumerate(self.sources) if text == source)

    def cell(self, place: int) -> Locator:
        """A cell on the page, brought into sight."""
        self.notebook.page.evaluate(FIND, place)
        return self.notebook.page.locator(f'[data-walk="{place}"]')

    def lock_in(self, card: Locator, text: str, sure: int) -> None:
        """Write an answer, move the slider by keys, press the button at once; wait."""
        card.locator("input[type=text]").first.fill(text)
        steps = (sure - 70) // 5
        for _ in range(abs(steps)):
            card.locator(".noUi-handle").press(
                "ArrowRight" if steps > 0 else "ArrowLeft"
            )
        card.get_by_role("button", name="Lock in").click()
        card.get_by_text("You said").wait_for(timeout=60_000)
        assert card.locator("input[type=text]").first.is_disabled()
        assert card.get_by_role("button", name="Lock in").is_disabled()

    def write(self, place: int, source: str) -> str:
        """Replace the text of a cell, as one pastes it, and run it; what it says."""
        page = self.notebook.page
        self.cell(place)
        page.evaluate(EDIT, place)
        page.keyboard.press("ControlOrMeta+a")
        page.keyboard.insert_text(source)
        assert page.evaluate(SOURCE, place) == source
        return self.notebook.run(place, timeout=120)

    def shoot(self, station: str) -> None:
        """A picture, the exit ticket's in the dark theme as well."""
        name = f"walk-{self.topic}-{station}"
        self.notebook.shoot(name)
        if station == "exit-ticket":
            self.notebook.dark()
            self.notebook.shoot(f"{name}-dark")
            self.notebook.dark(False)

    # -- what is kept ------------------------------------------------------------------

    def lines(self) -> list[dict[str, Any]]:
        """What the ledger holds."""
        return [json.loads(line) for line in self.ledger.read_text().splitlines()]

    def check_ledger(self) -> None:
        """Every answer once, right or wrong as it was given, with its confidence."""
        answers = [line for line in self.lines() if "card" in line]
        found = {(line["card"], line["place"]): line["right"] for line in answers}
        assert found == self.given
        assert len(answers) == len(found)
        cards = {name for name, place in found if not place}
        assert cards == set(stored(self.topic))
        for line in answers:
            guessed = line["place"] and line["right"]
            assert line["sure"] == (UNSURE if guessed else SURE), line
            assert bool(line["lesson"]) is not line["right"], line

    def after_a_restart(self, places: list[int]) -> None:
        """Run cells again in a new kernel: the cards among them are locked."""
        before = self.ledger.read_text()
        self.notebook.page.evaluate(RESTART)
        for place in places:
            self.notebook.run(place, timeout=120)
            for card in self.cell(place).locator(CARDS).all():
                card.get_by_text("You said").wait_for()
                assert card.get_by_role("button", name="Lock in").is_disabled()
        assert self.ledger.read_text() == before


@functools.cache
def stored(topic: str) -> dict[str, Any]:
    """The cards of a notebook with their answers, as `answers.py` has found them."""
    return dict(json.loads(STORED.read_text("utf-8"))[topic])


def asked(source: str) -> tuple[str, dict[str, float]]:
    """The card of a cell, and the numbers that this learner is asked for."""
    (name,) = re.findall(r'\bname="([\w/-]+)"', source)
    match = re.search(r"\bnumbers=(\{[^}]*\})", source)
    choices = eval(match[1]) if match else {}
    return name, drawn(choices, LEARNER, name, 0)


def known(name: str, place: str, attempt: int) -> PredictCard:
    """A question of the bank, as this learner sees it."""
    mine = Ledger()
    mine.learner = LEARNER
    return bank.every()[name].card("Recall.", place, attempt, mine)


def wrong(question: PredictCard) -> tuple[str, str]:
    """The first known wrong answer to a question, as it is typed, and its lesson."""
    key, lesson = next(iter(question._wrong.items()))
    value = key(**question.numbers) if callable(key) else key
    return question._said(float(value)), lesson
