"""The view of a store in a real JupyterLab: mouse, keyboard, both themes, no kernel."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from minimx_widgets import KVStoreView
from tests.browser.conftest import JupyterLab, Notebook
from tests.browser.pages import OF_WIDGETS, empty_page, shoot
from tests.browser.pages import data as said

pytestmark = pytest.mark.browser

VIEW = '.mx-view[data-view="kvstore"]'
MAKE = """
from minimx.kvstore.simulation import Layer, Workload
from minimx_widgets import KVStoreView
layers = [Layer(f"dense{k}", 400_000, 5e-4, 1e-3, rows=40) for k in range(29, -1, -1)]
net = Workload(tuple(layers))
view = KVStoreView(net, store="local", cluster="Ethernet", workers=8)
view
"""
RECORD = """
import minimx as mx
from minimx import autograd, gluon
from minimx.core.record import Record
net = gluon.nn.Dense(64)
with mx.knobs(MINIMX_SIM_GPUS=2):
    here = [mx.gpu(0), mx.gpu(1)]
    net.initialize(ctx=here)
    trainer = gluon.Trainer(net.collect_params(), "sgd", kvstore="local")
    parts = gluon.utils.split_and_load(mx.nd.ones((8, 32)), here)
    with Record() as record:
        for _ in range(3):
            with autograd.record():
                losses = [net(part).sum() for part in parts]
            autograd.backward(losses)
            trainer.step(8)
            mx.nd.waitall()
    view.show(record)
    del net, trainer, parts, losses
from minimx_widgets import EngineTimeline
EngineTimeline(record)
"""
SELECTED = """
names = {int(one["op"]): record.strings[int(one["name"])] for one in record.ops()}
print(names.get(view._run.selected), view.state_string)
"""
# Where the middle of a link is on the page; half-way, so that a click hits it.
MIDDLE = """name => {
  const line = document.querySelector(`[data-wire="${name}"] .mx-kv-hit`);
  const at = line.getPointAtLength(line.getTotalLength() / 2);
  const to = line.getScreenCTM();
  return [at.x * to.a + to.e, at.y * to.d + to.f];
}"""
# Milliseconds from a key until what it changed is painted.
KEY_TO_PAINT = """async ([key, what]) => {
  const view = document.querySelector('.mx-view[data-view="kvstore"]');
  const before = view.dataset[what];
  const began = performance.now();
  view.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
  while (view.dataset[what] === before && performance.now() - began < 5000)
    await new Promise((done) => requestAnimationFrame(done));
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - began;
}"""
OVERFLOW = """() => {
  const view = document.querySelector('.mx-view[data-view="kvstore"]');
  const right = view.getBoundingClientRect().right;
  return [...view.querySelectorAll('button, select, input, output, svg text')]
    .filter((node) => node.getBoundingClientRect().right > right + 1)
    .map((node) => node.textContent || node.tagName);
}"""


def test_a_store_is_tried_by_mouse_and_keyboard(
    notebook: Notebook, jupyterlab: JupyterLab
) -> None:
    said = "print(view.trial.store, view.trial.faults)"
    cells = (MAKE, RECORD, said, SELECTED, "view.select(0)")
    notebook.open(jupyterlab.notebook("kvstore.ipynb", *cells))
    notebook.run(0)
    page = notebook.page
    until(notebook, "view.dataset.curveDone === 'true' && view.dataset.curve === '13'")
    assert data(notebook, "store") == "local"

    # Controls, and what they cost.
    page.get_by_role("radio", name="dist_sync").click()
    until(notebook, "view.dataset.store === 'dist_sync'")
    assert data(notebook, "rows").endswith("server 7")
    page.locator(VIEW).focus()
    took = sorted(page.evaluate(KEY_TO_PAINT, ["+", "revision"]) for _ in range(5))
    print(f"\nknob → painted: {', '.join(f'{ms:.0f}' for ms in took)} ms")
    assert took[0] < 400, "100 ms on a machine that does nothing else"

    # A link is slowed, cut and mended, a worker made slow.
    for faults in ("worker 3 → switch at ×0.25", "worker 3 → switch cut"):
        page.mouse.click(*page.evaluate(MIDDLE, "worker 3 → switch"))
        until(notebook, f"view.dataset.faults === {faults!r}")
    lesson = page.locator(".mx-kv-lesson")
    assert "no way from worker 3" in lesson.inner_text()
    assert page.locator(".mx-note").first.is_hidden(), "a lesson is no error"
    notebook.shoot("kvstore_cut")
    page.locator(VIEW).focus()
    page.keyboard.press("r")
    until(notebook, "view.dataset.faults === '' && view.dataset.lesson === ''")
    page.locator('[data-place="worker 5"]').click()
    until(notebook, "view.dataset.faults === 'worker 5 ×2 slower'")
    assert "dist_sync ['worker 5 ×2 slower']" in notebook.run(2)

    # The map by keyboard: the first item is a worker, Enter makes it slow.
    page.locator(".mx-kv-map").focus()
    page.keyboard.press("ArrowRight")
    assert data(notebook, "item") == "worker 0"
    page.keyboard.press("Enter")
    until(notebook, "view.dataset.faults.includes('worker 0')")

    # Time: keys follow one gradient, playing moves it.
    page.locator(VIEW).focus()
    page.keyboard.press("ArrowDown")
    assert data(notebook, "key") == "dense29"
    assert "priority 29" in page.locator(".mx-kv-key").inner_text()
    page.keyboard.press("Space")
    until(notebook, "Number(view.dataset.moment) > 0 && view.dataset.packets !== '0'")
    notebook.shoot("kvstore_light")
    page.keyboard.press("Space")
    assert data(notebook, "playing") == "false"
    page.keyboard.press("l")
    assert "worker 0 → switch" in data(notebook, "rows")
    page.keyboard.press("l")
    page.keyboard.press("Escape")

    # The curve goes to more workers than the picture, and keeps the one before.
    until(notebook, "view.dataset.curveOf.startsWith('dist_sync')")
    assert data(notebook, "ghost") != ""
    chart = page.locator(".mx-kv-curve .mx-surface").bounding_box()
    assert chart is not None
    page.mouse.move(chart["x"] + chart["width"] - 14, chart["y"] + 60)
    assert "4,096 workers" in page.locator(".mx-tip").inner_text()
    page.keyboard.press("t")
    page.wait_for_selector(".mx-table td")
    assert "Scaling: dist_sync" in page.locator(".mx-table").inner_text()
    page.keyboard.press("t")

    # Narrow and dark, then what was measured.
    notebook.dark()
    page.set_viewport_size({"width": 1000, "height": 1000})
    page.wait_for_timeout(200)
    assert page.evaluate(OVERFLOW) == []
    notebook.shoot("kvstore_dark")
    notebook.run(1)
    until(notebook, "view.dataset.source === 'measured'")
    assert {"gpu(0)", "gpu(1)", "host"} <= {*data(notebook, "rows").split("|")}
    marks_operations(notebook)
    page.get_by_role("radio", name="modelled").click()
    until(notebook, "view.dataset.source === 'modelled'")

    # Without a kernel the last state stays, and what needs one is off.
    page.evaluate("() => { jupyterapp.serviceManager.sessions.shutdownAll(); }")
    until(notebook, "view.dataset.kernel === 'gone'")
    page.locator(VIEW).focus()
    page.keyboard.press("ArrowDown")
    assert data(notebook, "key") == "dense29"
    assert page.locator(".mx-kv-choices").evaluate("node => node.inert")
    assert "kernel is gone" in page.locator(".mx-note").first.inner_text()
    assert notebook.complaints == []


def marks_operations(notebook: Notebook) -> None:
    """A bar of the measured step and an operation of the timeline are one selection."""
    page, timeline = notebook.page, '.mx-view[data-view="engine"]'
    engine = f"document.querySelector('{timeline}')"
    notebook.until(f"() => {engine}?.dataset.operations > 0")
    rows = page.locator(".mx-kv-rows")
    rows.scroll_into_view_if_needed()
    box = rows.bounding_box()
    assert box is not None
    for x in range(int(box["x"]) + 120, int(box["x"] + box["width"]) - 14):
        page.mouse.move(x, box["y"] + 18)  # the pushes of the first device
        if data(notebook, "bar") not in ("", "-1"):
            break
    tip = page.locator(f"{VIEW} .mx-tip").inner_text()
    assert "mark its operation in all views" in tip
    page.mouse.down()
    page.mouse.up()
    assert data(notebook, "marked").startswith("push of key")
    op = data(notebook, "selected")
    notebook.until(f"op => {engine}.dataset.selected === op", op)
    said = notebook.until_says(3, lambda said: f"&op={op}" in said)
    assert said.startswith("CopyGPU2CPU KVStoreView:1?"), said
    for dark in (False, True):
        notebook.dark(dark)
        page.mouse.move(2, 2)
        page.locator(VIEW).scroll_into_view_if_needed()
        notebook.shoot(f"kvstore_measured_{'dark' if dark else 'light'}")

    # The next bar by keyboard, then an operation that the timeline and a cell select.
    page.locator(VIEW).focus()
    page.keyboard.press("Escape")
    assert data(notebook, "marked") == "" and data(notebook, "selected") == "0"
    page.keyboard.press("Home")
    page.keyboard.press(".")
    page.keyboard.press(".")
    pointed = data(notebook, "pointed")
    assert pointed in page.locator(".mx-kv-key").inner_text()
    page.keyboard.press("Enter")
    assert data(notebook, "marked") == pointed != ""
    second = data(notebook, "selected")
    assert second not in ("0", op)
    notebook.until(f"op => {engine}.dataset.selected === op", second)
    page.locator(timeline).focus()
    page.keyboard.press("ArrowRight")
    until(notebook, f"!['0', '{second}'].includes(view.dataset.selected)")
    notebook.run(4)
    until(notebook, "view.dataset.selected === '0' && view.dataset.marked === ''")


def stand(page: Page, view: KVStoreView) -> None:
    """Put a view on an empty page, as a saved notebook would."""
    header, raw = view.frozen
    traits = {
        name: getattr(view, name)
        for name in view.trait_names(sync=True)
        if not name.startswith("_") and name not in (*OF_WIDGETS, "frozen")
    }
    setting = {
        "esm": view._esm,
        "css": view._css,
        "traits": {**traits, "header": header},
        "buffers": [base64.b64encode(buffer).decode() for buffer in raw],
    }
    page.evaluate("setting => stand(setting)", json.loads(json.dumps(setting)))
    page.wait_for_function("() => document.querySelector('.mx-view')?.dataset.revision")


def test_a_narrow_page_shows_many_workers_and_leaves_nothing_behind(
    browser: Browser,
) -> None:
    view = KVStoreView("resnet50", store="ring", cluster="DGX-like", workers=16)
    with empty_page(browser, 700, 1150) as page:
        page.evaluate("() => countListeners()")
        stand(page, view)
        assert page.evaluate(OVERFLOW) == []
        page.locator(VIEW).focus()
        for key in ("End", "ArrowLeft", "ArrowUp"):
            page.keyboard.press(key)
        assert said(page, "key") == view.scene.keys[-1].name
        shoot(page, "kvstore_narrow")
        for key in (".", "]", "x"):
            page.keyboard.press(key)
        assert page.evaluate("() => stage.sent") == [
            {"kind": "hello"},
            {"kind": "set", "name": "store", "text": "dist_sync"},
            {"kind": "set", "name": "workers", "text": 32},
            {"kind": "reset"},
        ]
        assert said(page, "stale") == "true"
        page.evaluate("() => stage.tell({ kind: 'answer', ok: false, text: 'no' })")
        assert said(page, "stale") == "false"
        assert page.locator(".mx-note").inner_text() == "no"
        page.evaluate("() => stage.close()")
        assert page.evaluate("() => window.held") == 0
        assert page.evaluate("() => stage.listening()") == 0
    view.close()


def data(notebook: Notebook, key: str) -> str:
    return notebook.data("kvstore", key)


def until(notebook: Notebook, condition: str, argument: Any = None) -> None:
    """Wait until the view says so of itself."""
    find = f"const view = document.querySelector('{VIEW}');"
    notebook.until(f"() => {{ {find} return view && {condition}; }}", argument)
