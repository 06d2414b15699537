"""The course as `minimx lab` opens it: a copy that is trusted, beside a clean checkout.

No answer stands in it before a cell is run; what is saved lands in the copy.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from minimx.commands.cli import lab
from tests.browser.learner import RESTART, bring

if TYPE_CHECKING:
    from tests.browser.conftest import JupyterLab, Notebook

pytestmark = pytest.mark.browser

NOTEBOOK = "jupyterapp.shell.currentWidget"
TRUSTED = f"""() => {NOTEBOOK}.model.cells.length > 1
  && [...{NOTEBOOK}.model.cells].every(cell => cell.type !== 'code' || cell.trusted)"""
OUTPUTS = f"""() => [...{NOTEBOOK}.model.cells]
  .filter(cell => cell.type === 'code' && cell.outputs.length).length"""
POOLS = "08-pools-and-fragmentation.ipynb"
CARD = ".jp-OutputArea-output .widget-vbox:has-text('Predict.') >> nth=0"
SAVE = """async () => { await jupyterapp.commands.execute('docmanager:save'); }"""


def git_status() -> str:
    """What git says of the notebooks in this checkout."""
    source = lab.notebooks_folder()
    return subprocess.run(
        ["git", "status", "--porcelain", "--", "."],
        cwd=source,
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def test_a_copy_has_no_answers_and_remembers_a_prediction(
    notebook: Notebook, jupyterlab: JupyterLab
) -> None:
    before = git_status()
    bring(jupyterlab, "mine")
    notebook.open(f"mine/{POOLS}")
    notebook.until(TRUSTED)
    assert notebook.page.evaluate(OUTPUTS) == 0
    notebook.run(1, timeout=120)
    notebook.run(6)
    notebook.run(7)
    card = notebook.page.locator(CARD)
    field = card.locator("input[type=text]").first
    field.fill("17 MB")
    field.press("Enter")
    notebook.until("() => document.body.innerText.includes('1,048,576 (MiB)')")
    field.fill("2^4 + 1 MiB")
    field.press("Tab")
    notebook.until("() => document.body.innerText.includes('read as 17 MiB')")
    card.locator("button:has-text('Lock in')").click()
    notebook.until("() => document.body.innerText.includes('You said 17 MiB')")
    notebook.shoot("prediction-card")
    notebook.dark()
    notebook.shoot("prediction-card-dark")
    notebook.page.evaluate(RESTART)
    notebook.run(1, timeout=120)
    notebook.run(6)
    notebook.run(7)  # the answer is locked in, in another kernel
    notebook.until("() => document.body.innerText.includes('You said 17 MiB')")
    assert card.locator("button:has-text('Lock in')").is_disabled()
    ledger = jupyterlab.folder / "mine" / "predictions.jsonl"
    assert ledger.read_text().count('"value": 17.0') == 1
    notebook.page.evaluate(SAVE)
    notebook.reload()
    notebook.until(f"() => window.jupyterapp && {NOTEBOOK}?.model?.cells?.length > 1")
    notebook.until(TRUSTED)
    assert git_status() == before
