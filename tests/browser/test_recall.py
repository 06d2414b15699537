"""A recall in JupyterLab, by keyboard: one answer wrong, one right, both remembered."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Locator

from minimx_widgets.course.predicting.ledger import MARK, NAME

if TYPE_CHECKING:
    from tests.browser.conftest import JupyterLab, Notebook

pytestmark = pytest.mark.browser

CELL = 'from minimx_widgets.course import recall\n\nrecall("09")'
RESTART = """async () => {
  await jupyterapp.shell.currentWidget.sessionContext.restartKernel();
}"""
FOCUSED = "() => document.activeElement?.textContent ?? ''"
CARDS = ".jp-OutputArea-output .widget-vbox .widget-vbox:has-text('Recall.')"


def wrong(card: str, sure: int) -> str:
    """A line of a ledger, as a card of an earlier notebook has written it."""
    answer = {"card": card, "asked": "?", "value": 1.0, "seen": 2.0, "unit": ""}
    return json.dumps({**answer, "sure": sure, "right": False, "topic": card[:2]})


def says(notebook: Notebook, text: str) -> None:
    notebook.until("text => document.body.innerText.includes(text)", text)


def type_in(notebook: Notebook, card: Locator, text: str) -> None:
    """Answer a card without a mouse."""
    card.locator("input[type=text]").first.focus()
    keyboard = notebook.page.keyboard
    keyboard.type(text)
    for _ in range(4):  # over the slider to the button
        keyboard.press("Tab")
        if "Lock in" in notebook.page.evaluate(FOCUSED):
            break
    keyboard.press("Enter")


def test_a_recall_is_answered_wrong_and_right_and_stays(
    notebook: Notebook, jupyterlab: JupyterLab
) -> None:
    folder = jupyterlab.folder / "recalled"
    folder.mkdir()
    (folder / MARK).write_text("{}")
    lines = ['{"learner": 5}', wrong("01/naive", 60), wrong("08/round", 90)]
    (folder / NAME).write_text("\n".join(lines) + "\n")
    notebook.open(jupyterlab.notebook("recalled/09.ipynb", CELL))
    notebook.run(0, timeout=120)
    cards = notebook.page.locator(CARDS)
    first, second = cards.nth(0), cards.nth(1)
    size = first.inner_text().partition("A request of ")[2].partition(" MiB")[0]
    type_in(notebook, first, f"{size} MiB")
    says(notebook, "What may be behind it: That is the request itself.")
    options = second.locator("li").all_inner_texts()
    (right,) = (k for k, text in enumerate(options) if "waits for the whole" in text)
    type_in(notebook, second, "abc"[right])
    says(notebook, f"You said {'abc'[right]}, which is right.")
    notebook.shoot("recall")
    notebook.page.evaluate(RESTART)
    notebook.run(0, timeout=120)
    says(notebook, f"You said {size} MiB")
    says(notebook, "which is right.")
    assert cards.nth(0).locator("button:has-text('Lock in')").is_disabled()
    written = [json.loads(line) for line in (folder / NAME).read_text().splitlines()]
    given = [(each["card"], each["right"]) for each in written if "place" in each]
    assert given == [("08/cutoff-again", False), ("01/reading", True)]
    notebook.page.locator("button:has-text('Ask me others')").click()
    notebook.until("card => !document.body.innerText.includes(card)", "You said")
    assert cards.count() == 2  # the wrong one again, with another size
    assert f"A request of {size} MiB" not in cards.nth(0).inner_text()
