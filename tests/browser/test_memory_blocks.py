"""Each allocation as a shape: who asked for a byte, and from which line of a cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.browser.conftest import Notebook

pytestmark = pytest.mark.browser

MAKE = """
import minimx as mx
from minimx import autograd, gluon, nd

net = gluon.nn.HybridSequential()
net.add(gluon.nn.Dense(256, activation="relu"), gluon.nn.Dense(10))
net.initialize()
x = nd.random.normal(shape=(64, 400))
net(x).wait_to_read()
with mx.Record() as record:
    for _ in range(2):
        with autograd.record():
            out = net(x)
            loss = (out * out).mean()
        loss.backward()
    mx.nd.waitall()
"""
SHOW = """
import ipywidgets
from minimx_widgets import EngineTimeline, MemoryTimeline
engine = EngineTimeline(record, height=110)
memory = MemoryTimeline(record, show="blocks", axis="events", height=260)
ipywidgets.VBox([engine, memory])
"""
TELL = "print(memory.about({block}))"


def data(view: str, key: str) -> str:
    return f"document.querySelector('[data-view={view}]')?.dataset.{key}"


def test_pointing_at_a_byte_tells_who_asked_for_it(notebook: Notebook) -> None:
    notebook.open(notebook.lab.notebook("blocks.ipynb", MAKE, SHOW))
    notebook.run(0)
    notebook.run(1)
    page = notebook.page
    page.evaluate("() => { jupyterapp.shell.collapseLeft(); }")
    notebook.until(f"() => Number({data('memory', 'blocks')}) > 4")
    view = page.locator("[data-view=memory]")
    tip = view.locator(".mx-tip")

    # By mouse: the lowest block at the right end is the oldest that is still in use.
    surface = view.locator(".mx-surface").first
    surface.scroll_into_view_if_needed()
    box = surface.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] - 40, box["y"] + box["height"] - 26)
    notebook.until(f"() => {data('memory', 'facts')}")
    told = tip.inner_text()
    for label in ("operator", "layer", "asked for", "got", "lived", "read last by"):
        assert label in told, told
    page.mouse.click(box["x"] + box["width"] - 40, box["y"] + box["height"] - 26)
    notebook.until(f"() => {data('memory', 'block')}")

    # By keyboard: through the events until one was asked for by a line of the cell.
    page.mouse.move(2, 2)
    view.focus()
    page.keyboard.press("Escape")
    for _ in range(60):
        page.keyboard.press("ArrowLeft")
        page.wait_for_timeout(40)
        block = page.evaluate(f"() => {data('memory', 'block')}")
        if block:
            notebook.until(f"() => {data('memory', 'facts')} === '{block}'")
            if "Cell In[" in tip.inner_text():
                break
    told = tip.inner_text()
    assert "Cell In[" in told and "written by" in told, told
    line = told.split("Cell In[")[1].split("]:")[1].split()[0]
    for dark in (False, True):
        notebook.dark(dark)
        notebook.shoot(f"memory-blocks-{'dark' if dark else 'light'}")
    up = page.evaluate(f"() => {data('memory', 'block')}")
    page.keyboard.press("ArrowDown")
    notebook.until(f"() => {data('memory', 'block')} !== '{up}'")
    page.keyboard.press("ArrowUp")
    notebook.until(f"() => {data('memory', 'block')} === '{up}'")

    # The line of the cell, and what the pool did.
    page.keyboard.press("o")
    panel = view.locator(".mx-code-panel")
    panel.locator("mark").first.wait_for()
    assert "Cell In[" in panel.locator("p code").first.inner_text()
    text = MAKE.strip().split("\n")[int(line) - 1]
    assert text.strip() in panel.locator("mark").first.inner_text()
    places = panel.locator("p code").all_inner_texts()
    assert any("minimx/core/storage/pool.py" in place for place in places)
    notebook.shoot("memory-blocks-source")
    page.keyboard.press("Escape")
    page.keyboard.press("b")
    notebook.until(f"() => {data('memory', 'show')} === 'categories'")
    assert notebook.complaints == []


def test_arrows_of_the_gradient_are_shown_switched_and_followed(
    notebook: Notebook,
) -> None:
    notebook.open(notebook.lab.notebook("gradient.ipynb", MAKE, SHOW))
    notebook.run(0)
    notebook.run(1)
    page = notebook.page
    notebook.until(f"() => Number({data('engine', 'operations')}) > 10")
    view = page.locator("[data-view=engine]")
    view.focus()
    # To an operation whose gradient has several, such as the second layer.
    several = f"() => ({data('engine', 'gradient')} || '').includes(',')"
    for _ in range(20):
        page.keyboard.press("ArrowRight")
        page.evaluate("() => new Promise(drawn => setTimeout(drawn, 100))")
        if page.evaluate(several):
            break
    notebook.until(f"() => ({data('engine', 'gradient')} || '').includes(',')")
    gradient = page.evaluate(f"() => {data('engine', 'gradient')}").split(",")
    forward = page.evaluate(f"() => {data('engine', 'selected')}")
    assert "gradient of it" in view.locator(".mx-legend").inner_text()
    for dark in (False, True):
        notebook.dark(dark)
        notebook.shoot(f"gradient-{'dark' if dark else 'light'}")
    page.keyboard.press("j")
    notebook.until(f"() => {data('engine', 'selected')} === '{gradient[0]}'")
    assert page.evaluate(f"() => {data('engine', 'gradient')}") == forward
    for _ in gradient:
        page.keyboard.press("j")
    notebook.until(f"() => {data('engine', 'selected')} === '{forward}'")
    page.keyboard.press("g")
    notebook.until(f"() => {data('engine', 'gradient')} === 'off'")
    assert "gradient of it" not in view.locator(".mx-legend").inner_text()
    view.get_by_role("button", name="Arrows of the gradient").click()
    notebook.until(f"() => {data('engine', 'gradient')} === '{','.join(gradient)}'")
    assert notebook.complaints == []
