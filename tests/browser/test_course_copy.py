"""The course as `minimx lab` opens it: a copy that is trusted, beside a clean checkout.

The stored pictures show without a cell being run; what is saved lands in the copy.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from minimx.commands.cli import lab

if TYPE_CHECKING:
    from tests.browser.conftest import JupyterLab, Notebook

pytestmark = pytest.mark.browser

BRING = """\
import sys
from pathlib import Path
from minimx.commands.cli import copies
source, target = map(Path, sys.argv[1:])
done = copies.bring(source, target)
print(copies.sign(target / name for name in done.shipped))
"""
NOTEBOOK = "jupyterapp.shell.currentWidget"
TRUSTED = f"""() => {NOTEBOOK}.model.cells.length > 1
  && [...{NOTEBOOK}.model.cells].every(cell => cell.type !== 'code' || cell.trusted)"""
# How many stored outputs are pictures, and how many of those are drawn.
STORED = f"""() => [...{NOTEBOOK}.model.cells]
  .filter(cell => cell.type === 'code')
  .map(cell => cell.outputs.toJSON().some(out =>
    (out.data?.['image/svg+xml'] ?? out.data?.['text/html'] ?? '').toString()
      .includes('<svg')))"""
DRAWN = f"""index => {{
  const cell = {NOTEBOOK}.content.widgets.filter(c => c.model.type === 'code')[index];
  {NOTEBOOK}.content.scrollToItem({NOTEBOOK}.content.widgets.indexOf(cell));
  const picture = cell.node.querySelector('.jp-OutputArea-output svg,'
    + '.jp-OutputArea-output img');
  return !!picture && picture.getBoundingClientRect().height > 50;
}}"""
SAVE = """async () => { await jupyterapp.commands.execute('docmanager:save'); }"""


def bring(jupyterlab: JupyterLab, folder: str) -> int:
    """The course's notebooks in a folder of the server, signed as the lab signs."""
    source = lab.notebooks_folder()
    assert source is not None
    data = jupyterlab.folder.parent / "jupyter_data_dir"
    done = subprocess.run(
        [sys.executable, "-c", BRING, source, jupyterlab.folder / folder],
        env={**os.environ, "JUPYTER_DATA_DIR": str(data)},
        check=True,
        capture_output=True,
        text=True,
    )
    return int(done.stdout)


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


def test_a_copy_is_trusted_shows_its_pictures_and_leaves_the_checkout_alone(
    notebook: Notebook, jupyterlab: JupyterLab
) -> None:
    before = git_status()
    assert bring(jupyterlab, "mine") > 10
    notebook.open(f"mine/{lab.FIRST}")
    notebook.until(TRUSTED)
    stored = notebook.page.evaluate(STORED)
    pictures = [index for index, picture in enumerate(stored) if picture]
    assert pictures
    for index in pictures[:3]:
        notebook.until(DRAWN, index)
    notebook.shoot("course-copy")
    notebook.run(1)
    notebook.page.evaluate(SAVE)
    notebook.reload()
    notebook.until(f"() => window.jupyterapp && {NOTEBOOK}?.model?.cells?.length > 1")
    notebook.until(TRUSTED)
    assert git_status() == before
