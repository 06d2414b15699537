"""The start page that `minimx lab` opens: first minutes in the course, and others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Locator

from minimx_widgets.course.predicting.ledger import NAME
from tests.browser.axe import AXE_SCRIPT, violations
from tests.browser.conftest import IS_READY

if TYPE_CHECKING:
    from tests.browser.conftest import JupyterLab, Notebook

pytestmark = pytest.mark.browser

#: `minimx lab`, which prints the command in place of running it.
LAB = """\
import sys
from minimx.commands.cli import lab
lab.start = lambda command, environ: print(*command, sep="\\n") or 0
sys.exit(lab.run(sys.argv[1], True, []))
"""
KVSTORE = '.mx-view[data-view="kvstore"]'
RUN = '[data-command="notebook:run-cell-and-select-next"]'
PAGE = ".jp-OutputArea-output .mx-start"
PATH = "path => jupyterapp.shell.currentWidget?.context?.path === path"
LOADED = """() => [...document.querySelectorAll('.mx-start img')]
  .filter(image => image.complete && image.naturalWidth).length"""
TOP = """() => { jupyterapp.shell.currentWidget.content.scrollToItem(0, 'start'); }"""


def open_lab(jupyterlab: JupyterLab, folder: str) -> str:
    """What `minimx lab` does before JupyterLab starts; the path that it would open."""
    data = jupyterlab.folder.parent / "jupyter_data_dir"
    done = subprocess.run(
        [sys.executable, "-c", LAB, jupyterlab.folder / folder],
        env={**os.environ, "JUPYTER_DATA_DIR": str(data)},
        check=True,
        capture_output=True,
        text=True,
    )
    (address,) = (
        line.partition("/lab/tree/")[2]
        for line in done.stdout.splitlines()
        if "default_url=" in line
    )
    return f"{folder}/{address}"


def test_a_newcomer_sees_a_surprising_plot_in_three_clicks(
    notebook: Notebook, jupyterlab: JupyterLab
) -> None:
    """From the start of JupyterLab: GPUs wait, and with one more click they do not."""
    path = open_lab(jupyterlab, "newcomer")
    page, clicks, began = notebook.page, 0, time.monotonic()
    notebook.visit(f"lab/tree/{path}")
    page.locator(PAGE).wait_for(timeout=60_000)  # nothing has been run yet
    notebook.until(IS_READY, timeout=90)  # while the newcomer reads
    notebook.shoot("start-new")

    def click(what: Locator) -> None:
        nonlocal clicks
        what.click()
        clicks += 1

    button = page.locator(RUN).first
    click(button)  # the first cell is text
    click(button)
    page.locator(KVSTORE).wait_for(timeout=120_000)
    assert notebook.data("kvstore", "store") == "local"
    took = time.monotonic() - began
    assert clicks <= 3
    assert took < 180
    notebook.shoot("start-plot")
    click(page.get_by_role("radio", name="ring"))
    notebook.until(f"() => document.querySelector('{KVSTORE}').dataset.store == 'ring'")
    notebook.shoot("start-ring")
    assert clicks == 3
    print(f"\nthe first plot after {took:.1f} s")
    assert notebook.complaints == []


def test_the_page_leads_on_and_follows_the_ledger(
    notebook: Notebook, jupyterlab: JupyterLab
) -> None:
    path = open_lab(jupyterlab, "returning")
    folder = jupyterlab.folder / "returning"
    count = len(list(folder.glob("*.ipynb"))) - 1
    page = notebook.page
    notebook.open(path)
    cards = page.locator(f"{PAGE} li.card a")
    assert cards.count() == count
    notebook.until(f"() => ({LOADED})() === {count}")
    assert "You have made no predictions yet" in page.locator(PAGE).inner_text()

    # The page is brought up to date by its cell, whatever the ledger looks like.
    write_ledger(folder)
    said = notebook.run(3, timeout=120)
    assert "1 of 4 predictions" in said
    assert f"1 line of {NAME} cannot be read" in said
    page.locator(f"{PAGE} .next", has_text="Go on with").wait_for()
    page.evaluate(TOP)
    notebook.shoot("start-later")
    notebook.dark()
    notebook.shoot("start-later-dark")

    # The system check unfolds by keyboard.
    summary = page.locator(f"{PAGE} summary")
    summary.focus()
    page.keyboard.press("Enter")
    page.locator(f"{PAGE} details[open] table").wait_for()
    assert "numba" in page.locator(f"{PAGE} details").inner_text()
    notebook.shoot("start-check-dark")
    found = barriers(notebook, "dark")
    notebook.dark(False)
    assert [*found, *barriers(notebook, "light")] == []

    # A card opens its notebook, by keyboard as well.
    card = cards.filter(has_text="08 · Pools")
    card.focus()
    notebook.shoot("start-cards")
    page.keyboard.press("Enter")
    notebook.until(PATH, "returning/08-pools-and-fragmentation.ipynb", timeout=60)
    assert notebook.complaints == []


def barriers(notebook: Notebook, theme: str) -> list[str]:
    """What axe-core finds on the start page."""
    if AXE_SCRIPT:
        notebook.page.evaluate(AXE_SCRIPT)
        return violations(notebook.page, PAGE, theme)
    return []


def write_ledger(folder: Path) -> None:
    """One answer of notebook 00, and a line that is torn."""
    answer = {"card": "00/mxnet", "asked": "?", "value": 1.0, "seen": 1.0, "unit": ""}
    lines = ['{"learner": 5}', json.dumps({**answer, "sure": 60, "right": True}), "{"]
    (folder / NAME).write_text("\n".join(lines) + "\n")
