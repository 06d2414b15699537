"""The card of a knob shows what to run, what it prints, and gives it to be copied."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from minimx.core.knobs import knobs
from minimx.tools import knob_examples as examples
from minimx_widgets import KnobPanel
from tests.browser.pages import empty_page, shoot, stand
from tests.core.knobs import made_up

pytestmark = pytest.mark.browser

NAME = "MXNET_EXEC_ENABLE_INPLACE"


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    names = [NAME, made_up.NAME]
    with made_up.declared(knobs), empty_page(browser, 900, 640) as page:
        panel = KnobPanel(names, only=names)
        stand(page, panel)
        yield page
        panel.close()


def test_the_card_names_the_function_and_shows_the_example(page: Page) -> None:
    page.hover(f"[data-knob={NAME}]")
    example = examples.of(NAME)
    assert example is not None
    card = page.locator(".mx-knob-card")
    assert example.acts_in in card.inner_text()
    assert page.inner_text(".mx-trial-code") == example.typed()
    assert page.inner_text(".mx-trial-prints").strip() == example.output().strip()
    shoot(page, "knob-card")


def test_what_is_copied_runs_and_prints_what_the_card_says(page: Page) -> None:
    page.hover(f"[data-knob={NAME}]")
    printed = page.inner_text(".mx-trial-prints").strip()
    page.click(".mx-trial-copy")
    page.wait_for_function(
        "() => document.querySelector('.mx-knob-said').textContent !== ''"
    )
    copied = page.evaluate("() => getSelection().toString()")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(copied, "copied", "exec"), {})
    assert out.getvalue().strip() == printed


def test_a_planned_knob_has_no_example(page: Page) -> None:
    page.hover(f"[data-knob={made_up.NAME}]")
    page.wait_for_function(
        "() => document.querySelector('.mx-knob-card').dataset.knob.endsWith('MADE_UP')"
    )
    assert page.locator(".mx-trial-code").count() == 0


def test_what_a_kernel_repeats_late_takes_back_no_typed_letter(page: Page) -> None:
    search = page.locator(".mx-search")
    search.focus()
    page.keyboard.type("po")
    page.evaluate("() => stage.change({ search: 'p' })")  # sent before, heard of now
    page.keyboard.type("ol")
    assert search.input_value() == "pool"
    page.wait_for_function("() => stage.saved === 1")
    assert page.evaluate("() => stage.traits.search") == "pool"
    page.evaluate("() => stage.change({ search: 'mirror' })")  # set by a program
    assert search.input_value() == "mirror"
