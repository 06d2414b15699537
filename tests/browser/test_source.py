"""From a knob and from an operation to the lines of the package, by mouse and keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.browser.conftest import Notebook

pytestmark = pytest.mark.browser

MAKE = """
import ipywidgets
import minimx as mx
from minimx_widgets import EngineTimeline, KnobPanel

with mx.Record() as record:
    x = mx.nd.ones((200, 200))
    for _ in range(4):
        x = mx.nd.dot(x, x)
    mx.nd.waitall()
ipywidgets.VBox([EngineTimeline(record), KnobPanel(("MXNET_ENGINE_TYPE",), height=200)])
"""
PRINT = "from minimx_widgets import source; print(source('dot'))"


def panel(view: str) -> str:
    return f"[data-view={view}] .mx-code-panel"


def test_lines_are_opened_below_the_view_and_marked(notebook: Notebook) -> None:
    notebook.open(notebook.lab.notebook("source.ipynb", MAKE, PRINT))
    notebook.run(0)
    notebook.page.evaluate("() => { jupyterapp.shell.collapseLeft(); }")
    operations = "document.querySelector('[data-view=engine]')?.dataset.operations"
    notebook.until(f"() => {operations} > 0")
    engine = notebook.page.locator("[data-view=engine]")
    code = notebook.page.locator(panel("engine"))

    # An operation: nothing selected, then by keyboard.
    engine.get_by_role("button", name="Source of the selected").click()
    assert "Select an operation first" in code.inner_text()
    engine.focus()
    for _ in range(3):
        notebook.page.keyboard.press("ArrowRight")
    notebook.page.keyboard.press("o")
    place = code.locator("p code").first
    notebook.until(
        "() => document.querySelector('[data-view=engine]').dataset.source_of === 'dot'"
    )
    assert place.inner_text().startswith("minimx/core/operators/matmul.py:")
    assert '@register("dot"' in code.locator("mark").first.inner_text()
    lines = notebook.run(1).splitlines()
    assert lines[0].startswith(place.inner_text())
    sheet = code.locator("pre").first
    assert len(lines) - 1 == sheet.locator(".mx-line").count()
    asked = code.locator("pre").last
    assert "x = mx.nd.dot(x, x)" in asked.locator("mark").inner_text()

    # A knob, by the button of its card, and by keyboard.
    row = notebook.page.locator("[data-knob=MXNET_ENGINE_TYPE]")
    row.hover()
    notebook.page.click(".mx-source-of")
    knobs = notebook.page.locator(panel("knobs"))
    knobs.locator("mark").first.wait_for(state="visible")
    assert "minimx/core/engine/__init__.py" in knobs.inner_text()
    marked = " ".join(knobs.locator("mark").all_inner_texts())
    assert 'knobs.get("MXNET_ENGINE_TYPE")' in marked
    for dark in (False, True):
        notebook.dark(dark)
        notebook.page.mouse.move(2, 2)
        knobs.scroll_into_view_if_needed()
        notebook.shoot(f"source-{'dark' if dark else 'light'}")
    knobs.locator(".mx-lines").focus()
    notebook.page.keyboard.press("Escape")
    assert not knobs.is_visible()
    row.locator("select").focus()
    notebook.page.locator("[data-view=knobs]").focus()
    notebook.page.keyboard.press("o")
    knobs.locator("mark").first.wait_for(state="visible")
    knobs.get_by_role("button", name="Close the source").click()
    assert not knobs.is_visible()
    assert notebook.complaints == []
