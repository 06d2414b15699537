"""A lab on several devices in JupyterLab: devices and store change while it trains."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.test_lab import LANES, hide_sidebar, open_lab, train

if TYPE_CHECKING:
    from tests.browser.conftest import Notebook

pytestmark = pytest.mark.browser

WORDS = "document.querySelector('.mx-progress-words')?.textContent ?? ''"
SENT = "document.querySelector('[data-view=turns] [data-figure=exchanged]')"
STORE = "document.querySelector('.mx-view[data-view=kvstore]')"
SIZES = ((1440, False), (1440, True), (1024, False), (720, True))


def choose(notebook: Notebook, field: str, value: str) -> None:
    notebook.page.select_option(f"[data-field={field}] select", value)


def pictures(notebook: Notebook, name: str) -> None:
    for width, dark in SIZES:
        notebook.page.set_viewport_size({"width": width, "height": 1400})
        notebook.dark(dark)
        hide_sidebar(notebook)
        notebook.page.mouse.move(2, 2)
        notebook.shoot(f"devices-{name}-{width}-{'dark' if dark else 'light'}")


def test_devices_join_while_it_trains_and_every_view_shows_them(
    notebook: Notebook,
) -> None:
    open_lab(notebook, "lab.settings.devices, lab.settings.store, lab.fit.step > 9")
    choose(notebook, "device", "gpu(0)")
    train(notebook)
    choose(notebook, "devices", "4")
    notebook.until(f"() => {WORDS}.includes('4 devices: ')", timeout=60)
    notebook.until(f"() => {LANES}.includes('gpu(3)/0')")
    choose(notebook, "store", "local")
    notebook.until(f"() => {SENT}")
    notebook.until(
        "() => document.querySelector('[data-view=turns]').dataset.settled === 'true'",
        timeout=60,
    )
    notebook.page.get_by_text("Who sends what to whom", exact=True).click()
    notebook.until(f"() => {STORE}?.dataset.source === 'measured'")
    # The first step that it shows may be one before the store was changed.
    rows = "|".join([*(f"gpu({k})" for k in range(4)), "host"])
    notebook.until(f"rows => {STORE}.dataset.rows === rows", rows)
    first = notebook.data("kvstore", "revision")
    notebook.until(f"first => {STORE}.dataset.revision !== first", first)
    notebook.page.click("[data-command=pause]")
    notebook.until("() => document.querySelector('[data-state=paused]')")
    notebook.page.get_by_text("Who sends what to whom", exact=True).click()
    pictures(notebook, "paused")
    assert notebook.run(1) == "(4, 'local', True)"
    assert notebook.complaints == []
