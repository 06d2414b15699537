"""A knob of the lab is tried in a replay while a network trains, by mouse and keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.test_lab import STEP, open_lab, train

if TYPE_CHECKING:
    from tests.browser.conftest import Notebook

pytestmark = pytest.mark.browser

BOARD = "document.querySelector('[data-view=compare]')?.dataset"
SAID = "document.querySelector('.mx-knob-said').textContent"
THREADS, POOL = "MXNET_CPU_WORKER_NTHREADS", "MXNET_CPU_MEM_POOL_TYPE"


def test_a_knob_is_tried_while_the_network_trains(notebook: Notebook) -> None:
    said = "import minimx as mx; print(mx.knobs.diff(), lab.session.state)"
    open_lab(notebook, said)
    train(notebook, 6)
    pool = notebook.page.locator(f".mx-knob[data-knob={POOL}]")
    pool.locator(".mx-knob-name").click(modifiers=["Alt"])
    notebook.until(f"() => {BOARD}?.turned === '{POOL}'", timeout=60)
    assert notebook.data("compare", "predicted") == "true,true"
    step = int(notebook.data("training", "step"))
    notebook.until(f"n => {STEP} > n", step, timeout=60)
    notebook.until(f"() => {SAID}.includes('tried on the last 2 steps')")

    # A value that was typed, and a switch of which the control sees nothing.
    field = notebook.page.locator(f".mx-knob[data-knob={THREADS}] .mx-entry")
    field.fill("3")
    field.press("Alt+Enter")
    notebook.until(f"() => {BOARD}?.turned === '{THREADS}'", timeout=60)
    chip = notebook.page.locator(".mx-ab-turned button")
    assert chip.inner_text() == f"{THREADS}=3 ×"
    notebook.until(f"() => {BOARD}.why !== ''", timeout=60)
    assert notebook.run(1).strip() == "{} training", "no knob was turned"

    # Paused: another knob on the same steps.
    notebook.page.click("[data-command=pause]")
    notebook.until("() => document.querySelector('[data-view=lab][data-state=paused]')")
    pool.locator("select").focus()
    notebook.page.keyboard.press("Alt+Enter")
    notebook.until(f"() => {BOARD}?.turned === '{THREADS}|{POOL}'", timeout=60)
    notebook.until(f"() => {BOARD}.why !== ''", timeout=60)
    for dark in (False, True):
        notebook.dark(dark)
        notebook.scroll_to("compare")
        notebook.shoot(f"lab-replay-{'dark' if dark else 'light'}")
    knobs = notebook.page.locator("[data-view=knobs]")
    knobs.focus()
    notebook.page.keyboard.press("?")
    assert "Alt+Enter" in knobs.locator(".mx-help").inner_text()
    notebook.shoot("lab-replay-help")
    notebook.page.keyboard.press("Escape")

    # The lines that obey a knob, in the narrow panel.
    pool.locator("select").focus()
    knobs.focus()
    notebook.page.keyboard.press("o")
    lines = knobs.locator(".mx-code-panel mark").first
    lines.wait_for(state="visible")
    notebook.shoot("lab-source")
    notebook.page.keyboard.press("Escape")
    assert not lines.is_visible()

    # What no replay can turn says so at its knob.
    search = knobs.locator(".mx-search")
    search.fill("MXNET_SAFE_ACCUMULATION")
    row = notebook.page.locator(".mx-knob[data-knob=MXNET_SAFE_ACCUMULATION]")
    row.locator(".mx-knob-name").click(modifiers=["Alt"])
    error = row.locator(".mx-knob-error")
    error.wait_for(state="visible")
    assert "cannot be replayed" in error.inner_text()
    assert notebook.run(1).strip() == "{} paused"
    assert notebook.complaints == []
