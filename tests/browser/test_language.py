"""A notebook of the course in JupyterLab, in the pseudo-language: markdown and card."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from minimx.commands.cli import copies as bringing
from minimx.commands.cli import lab
from minimx_widgets.course.translating import catalogs, copies, pseudo

if TYPE_CHECKING:
    from tests.browser.conftest import JupyterLab, Notebook

pytestmark = pytest.mark.browser

CARD = ".jp-OutputArea-output .widget-vbox:has-text('⟦Ƥŕéďĩćţ.⟧') >> nth=0"


def test_a_card_and_its_page_speak_the_language_of_the_folder(
    notebook: Notebook, jupyterlab: JupyterLab
) -> None:
    course, folder = lab.notebooks_folder(), jupyterlab.folder / "pseudo"
    assert course is not None
    path = jupyterlab.folder / "pseudo.po"
    template = catalogs.read(catalogs.FOLDER / catalogs.TEMPLATE)
    path.write_bytes(catalogs.written(pseudo.translated(template)))
    with copies.of(str(path), course, folder) as translated:
        bringing.bring(translated, folder)
    notebook.open(f"pseudo/{lab.FIRST}")
    notebook.until("() => document.body.innerText.includes('⟦00 · Ţĥé ķńõƀ ƀõáŕď⟧')")
    notebook.run(1, timeout=120)
    notebook.run(10)
    card = notebook.page.locator(CARD)
    lines = re.search(r"ƒĩŕśţ (\d)", card.inner_text())
    assert lines is not None
    home = {"1": 5, "2": 3, "3": 2}[lines[1]]  # one too many
    field = card.locator("input[type=text]").first
    field.fill(f"{home} ⟦õƒ 10⟧")  # with the unit, as the card writes it
    field.press("Tab")
    card.locator("button:has-text('⟦Ĺõćķ ĩń')").click()
    notebook.until("() => document.body.innerText.includes('⟦Ýõũ śáĩď')")
    card.scroll_into_view_if_needed()
    notebook.shoot("language-pseudo")
    said = card.inner_text()
    assert "⟦Ĩƒ ýõũ ćõũńţ MXNET_HOME: ĩţ ĩś á ďéƒáũĺţ áŕǵũḿéńţ" in said
    assert "You said" not in said
