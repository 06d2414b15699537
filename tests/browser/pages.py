"""A view on an empty page, without JupyterLab around it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

STAND_IN = Path(__file__).parent / "stand_in.js"
SHOTS = Path(__file__).parent / "screenshots"
# What a widget shares with its page and a view does not look at.
OF_WIDGETS = ("comm", "layout", "keys", "tabbable", "tooltip")


@contextmanager
def empty_page(browser: Browser, width: int, height: int) -> Iterator[Page]:
    """An empty page on which any error is a failure."""
    context = browser.new_context(viewport={"width": width, "height": height})
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto("about:blank")
    page.add_script_tag(path=STAND_IN)
    yield page
    context.close()
    assert errors == [], errors[0]


def stand(page: Page, view: Any, light: bool = True) -> None:
    """Put a view on the page as a saved notebook would."""
    page.evaluate(
        "light => { document.body.dataset.jpThemeLight = light;"
        " document.body.style.background = light === 'true' ? '#fff' : '#111'; }",
        str(light).lower(),
    )
    traits = {
        name: getattr(view, name)
        for name in view.trait_names(sync=True)
        if not name.startswith("_") and name not in OF_WIDGETS
    }
    setting = {"esm": view._esm, "css": view._css, "traits": traits, "buffers": None}
    page.evaluate("setting => stand(setting)", json.loads(json.dumps(setting)))
    page.wait_for_function("() => document.querySelector('.mx-view')?.dataset.revision")


def shoot(page: Page, name: str) -> None:
    """Keep a picture of the page, to be looked at."""
    SHOTS.mkdir(exist_ok=True)
    page.wait_for_timeout(300)
    page.screenshot(path=str(SHOTS / f"{name}.png"))


def data(page: Page, key: str) -> str:
    """What the view says of itself for tests."""
    return page.locator(".mx-view").get_attribute(f"data-{key}") or ""
