"""What a lab has in its drawers, as a learner opens them while a network trains."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.test_lab import SELECTED, STEP, open_lab, train

if TYPE_CHECKING:
    from tests.browser.conftest import Notebook

pytestmark = pytest.mark.browser

NUMBERS = "How large the numbers are"
CONVOLUTIONS = "Who computes the convolutions"
WORDS = "document.querySelector('.mx-progress-words').textContent"
LOOK = "Number(document.querySelector('[data-view=numerics]')?.dataset.step)"


def pull(notebook: Notebook, title: str) -> None:
    notebook.page.get_by_text(title, exact=True).click()


def choose(notebook: Notebook, field: str, value: str) -> None:
    notebook.page.select_option(f"[data-field={field}] select", value)


def test_training_in_float16_shows_its_scale_and_the_steps_it_skips(
    notebook: Notebook,
) -> None:
    said = (
        "rows = lab.record.scalings()\n"
        "print(lab.settings.dtype, len(rows) > 0, bool(rows['skipped'][0]))"
    )
    open_lab(notebook, said, "import minimx as mx; print(mx.amp.is_active())")
    notebook.page.click("[data-control=dtype] [data-value=float16]")
    pull(notebook, NUMBERS)
    train(notebook, 22)
    notebook.until(f"() => /loss scale [0-9,]+, .* skipped/.test({WORDS})")
    notebook.until(f"() => {LOOK} >= 11")
    assert notebook.run(1).strip() == "float16 True True"
    notebook.page.click("[data-command=pause]")
    notebook.until("() => document.querySelector('[data-view=lab][data-state=paused]')")
    notebook.scroll_to("numerics")
    for dark in (False, True):
        notebook.dark(dark)
        notebook.page.locator(".mx-lab").evaluate("node => node.scrollIntoView()")
        notebook.shoot(f"lab-float16-{'dark' if dark else 'light'}")
        notebook.scroll_to("numerics")
        notebook.shoot(f"lab-numbers-{'dark' if dark else 'light'}")

    pull(notebook, NUMBERS)  # closed again
    notebook.until("() => !document.querySelector('[data-view=numerics]')")
    notebook.page.click("[data-control=dtype] [data-value=bfloat16]")
    step = int(notebook.data("training", "step"))
    notebook.page.click("[data-command=train]")
    notebook.until(f"n => {STEP} >= n + 4", step, timeout=60)
    notebook.until(f"() => {WORDS}.includes('bfloat16') && !{WORDS}.includes('scale')")
    notebook.page.click("[data-command=stop]")
    notebook.until("() => document.querySelector('[data-state=stopped]')")
    assert notebook.run(2).strip() == "False"
    assert notebook.complaints == []


def compare(notebook: Notebook) -> None:
    """Compare what was turned last, in its drawer."""
    pull(notebook, "Compare two settings")
    panel = notebook.page.locator(".mx-compare-row")
    panel.wait_for(state="visible")
    assert panel.locator("input").nth(0).input_value() == "MXNET_EXEC_ENABLE_INPLACE"
    assert panel.locator("input").nth(1).input_value() == "1"
    assert panel.locator("input").nth(2).input_value() == "0"
    panel.get_by_role("button", name="Compare").click()
    sides = "document.querySelector('[data-view=sides]')?.dataset"
    notebook.until(f"() => {sides}?.lanes === '1,1'", timeout=60)
    notebook.until(f"() => {sides}.state === 'done'", timeout=60)
    assert notebook.data("sides", "steps") == "60,60"
    peak = notebook.page.locator("[data-view=sides] [data-figure=peak]")
    assert peak.get_attribute("data-direction") == "▲"
    assert "losses the same to the bit" in notebook.data("sides", "headline")
    assert "as the comparison took over" in str(notebook.page.evaluate(WORDS))
    for dark in (False, True):
        notebook.dark(dark)
        notebook.scroll_to("sides")
        notebook.shoot(f"lab-compare-{'dark' if dark else 'light'}")
    pull(notebook, "Compare two settings")
    notebook.until("() => !document.querySelector('[data-view=sides]')")


def test_two_settings_are_compared_and_convolutions_are_those_of_the_settings(
    notebook: Notebook,
) -> None:
    open_lab(notebook)
    train(notebook, 8)
    notebook.page.locator("[data-switch=inplace] input").press("Space")
    notebook.until(f"() => {STEP} >= 12", timeout=60)
    notebook.page.click("[data-command=pause]")
    notebook.until("() => document.querySelector('[data-view=lab][data-state=paused]')")
    compare(notebook)
    pull(notebook, CONVOLUTIONS)
    row = notebook.page.locator(".mx-conv-row").first
    row.wait_for(state="visible", timeout=30_000)
    assert notebook.data("conv", "layer") == "lenet_conv0_fwd"
    notebook.page.select_option("[data-view=conv] select", "lenet_conv1_fwd")
    notebook.until(f"() => {SELECTED} > 0")
    assert notebook.data("engine", "selected") == notebook.data("memory", "selected")
    for dark in (False, True):
        notebook.dark(dark)
        notebook.scroll_to("conv")
        notebook.shoot(f"lab-convolutions-{'dark' if dark else 'light'}")
    choose(notebook, "device", "gpu(0)")
    notebook.page.locator("[data-field=device] + .mx-ask").get_by_text(
        "Begin afresh"
    ).click()
    device = "document.querySelector('[data-view=conv]')?.dataset.device"
    notebook.until(f"() => {device} === 'gpu'")
    choose(notebook, "network", "mlp")
    notebook.page.get_by_text("the network has no convolution").wait_for()
    notebook.shoot("lab-no-convolutions")
    pull(notebook, CONVOLUTIONS)
    gone = "the network has no convolution"
    notebook.until(f"() => !document.body.innerText.includes('{gone}')")
    assert notebook.complaints == []
