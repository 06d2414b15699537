"""The five switches in JupyterLab, turned while a network trains.

What is claimed is read from the page: the figures of the strip, the lines of the
switches, the lanes of the timeline, the views that light up.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.browser.test_lab import (
    HOLD_NOTHING,
    LANES,
    MAKE_LAB,
    STEP,
    hide_sidebar,
    open_lab,
    train,
)

if TYPE_CHECKING:
    from tests.browser.conftest import Notebook

pytestmark = pytest.mark.browser

TURN = "document.querySelector('[data-view=turns]').dataset"
#: Five steps settle a figure; a median of twelve does not mind two that overlapped.
SETTLED = (
    f"n => {TURN}.settled === 'true' && Number({TURN}.turn) >= n"
    f" && Number({TURN}.steps) >= 12"
)
WORDS = "document.querySelector('.mx-progress-words').textContent"
VALUE = "document.querySelector('[data-control={}]').dataset.value".format
SIZES = ((1440, False), (1024, False), (1440, True), (1024, True), (720, True))


#: By figure: before, after, change.
Figures = dict[str, tuple[str, str, str]]


def settled(notebook: Notebook, turn: int) -> Figures:
    """Wait until a turn is measured; its figures: before, after, change."""
    notebook.until(SETTLED, turn, timeout=60)
    cards = notebook.page.locator("[data-view=turns] .mx-figure").evaluate_all(
        "cards => cards.map(card => [card.dataset.figure, "
        "...['before', 'after', 'change'].map("
        "part => card.querySelector('.mx-figure-' + part).textContent)])"
    )
    return {name: (before, after, change) for name, before, after, change in cards}


def share(change: str) -> float:
    """A change in per cent, less than nothing if it fell; 0 within the noise."""
    if change == "same":
        return 0.0
    assert change.endswith(" %"), change
    return (1 if change.startswith("▲") else -1) * float(change[1:-1])


def line(notebook: Notebook, switch: str) -> str:
    """What a switch says of itself."""
    at = f"[data-switch={switch}] .mx-five-state"
    return notebook.page.locator(at).inner_text()


def pictures(notebook: Notebook, name: str) -> None:
    """The lab in every width and theme, to be looked at."""
    for width, dark in SIZES:
        notebook.page.set_viewport_size({"width": width, "height": 900})
        notebook.dark(dark)
        hide_sidebar(notebook)
        notebook.shoot(f"lab-five-{width}-{'dark' if dark else 'light'}-{name}")
    notebook.page.set_viewport_size({"width": 1440, "height": 900})


def back(notebook: Notebook, turn: int) -> None:
    """Press the line of a turn, which is the next turn."""
    notebook.page.locator(f".mx-turn[data-turn='{turn}']").click()
    notebook.until(f"n => Number({TURN}.turn) === n", turn + 1)


@pytest.mark.alone
def test_memory_answers_to_in_place_and_mirror_and_comes_back(
    notebook: Notebook,
) -> None:
    open_lab(notebook)
    pictures(notebook, "ready")
    train(notebook, 25)
    notebook.page.locator("[data-switch=inplace] input").press("Space")
    changed = settled(notebook, 1)
    assert share(changed["peak"][2]) > 20, changed
    assert share(changed["planned"][2]) > 20, changed
    assert line(notebook, "inplace").startswith("bound again at step ")
    assert int(notebook.data("memory", "lit") or 0) >= 1
    assert notebook.page.locator(".mx-hint").is_hidden()
    pictures(notebook, "turned")
    higher = changed["peak"][1]

    back(notebook, 1)
    again = settled(notebook, 2)
    assert again["planned"][1] == changed["planned"][0] + " MiB", (changed, again)
    assert share(again["peak"][2]) < -15, again
    assert notebook.page.locator("[data-switch=inplace] input").is_checked()

    notebook.page.locator("[data-control=policy]").select_option("best")
    settled(notebook, 3)
    notebook.page.locator("[data-switch=mirror] .mx-switch").click()
    mirrored = settled(notebook, 4)
    assert share(mirrored["planned"][2]) < -9, mirrored
    # LeNet saves little, and steps overlap: the peak may be within its noise.
    assert share(mirrored["peak"][2]) <= 0, mirrored
    assert higher not in mirrored["peak"]
    assert line(notebook, "mirror").startswith("bound again at step ")
    notebook.page.click("[data-command=stop]")
    assert notebook.complaints == []


def test_precision_answers_with_casts_a_scale_and_less_memory(
    notebook: Notebook,
) -> None:
    open_lab(notebook, "print(lab.settings.dtype, lab.settings.scaling)")
    train(notebook, 25)
    notebook.page.locator("[data-control=dtype] [data-value=float16]").click()
    half = settled(notebook, 1)
    assert share(half["peak"][2]) < -15, half
    notebook.until(f"() => {WORDS}.includes('loss scale')")
    assert int(notebook.data("training", "lit")) >= 1
    notebook.page.locator("[data-control=scaling]").select_option("off")
    settled(notebook, 2)
    assert notebook.run(1).strip() == "float16 off"
    notebook.until(f"() => !{WORDS}.includes('loss scale')")
    back(notebook, 2)
    assert notebook.page.locator("[data-control=scaling]").input_value() == "dynamic"
    notebook.page.locator("[data-control=dtype] [data-value=float16]").press(
        "ArrowLeft"
    )
    full = settled(notebook, 4)
    assert share(full["peak"][2]) > 15, full
    step = int(notebook.data("training", "step"))
    notebook.until(f"n => {STEP} > n", step)
    text = "document.querySelector('[data-switch=precision] .mx-five-state').innerText"
    notebook.until(f"() => {text}.startsWith('bound again at step ')")
    notebook.page.click("[data-command=stop]")
    assert notebook.complaints == []


def test_a_network_that_runs_imperatively_is_told_to_the_two_that_need_a_graph(
    notebook: Notebook,
) -> None:
    name = f"lab-{time.monotonic_ns()}.ipynb"
    made = MAKE_LAB.replace("epochs=200", "epochs=200, graph='imperative'")
    notebook.open(notebook.lab.notebook(name, made, "lab.set('graph', 'hybridized')"))
    notebook.run(0)
    notebook.until("() => document.querySelector('[data-switch=inplace]')")
    why = "acts on graphs; this network runs imperatively"
    assert line(notebook, "inplace") == line(notebook, "mirror") == why
    notebook.run(1)
    notebook.until(
        "() => !document.querySelector('[data-switch=mirror] .mx-five-state')"
        ".dataset.kind"
    )
    assert notebook.complaints == []


def opened(notebook: Notebook, network: str) -> Callable[[str], Figures]:
    """A lab that trains a network; the function that it returns awaits the next turn.

    The first turn, of the policy of mirror, is made already.
    """
    name = f"lab-{time.monotonic_ns()}.ipynb"
    notebook.open(notebook.lab.notebook(name, MAKE_LAB.replace("lenet", network)))
    notebook.run(0)
    notebook.until("() => document.querySelector('[data-switch=mirror]')")
    hide_sidebar(notebook)
    notebook.page.locator("[data-control=policy]").select_option("best")
    train(notebook, 12)
    turns = 1

    def turned(what: str) -> Figures:
        nonlocal turns
        turns += 1
        found = settled(notebook, turns)
        notebook.shoot(f"five-{network}-{turns}-{what}")
        return found

    return turned


def test_engine_and_pool_by_mouse_and_back_by_keyboard(notebook: Notebook) -> None:
    """Whatever the network is: they act on operations and blocks."""
    turned = opened(notebook, "lenet")
    page = notebook.page
    page.evaluate(HOLD_NOTHING)
    page.locator("[data-control=engine] [data-value=NaiveEngine]").click()
    turned("naive")
    notebook.until(f"() => {LANES} === 'python'")
    assert int(notebook.data("engine", "lit")) >= 1
    page.locator("[data-control=engine] [aria-checked=true]").press("Home")
    turned("per-device")
    notebook.until(f"() => {LANES} === 'cpu(0)/0'")

    page.locator("[data-control=pool] [data-value=Unpooled]").click()
    unpooled = turned("unpooled")
    assert float(unpooled["driver_calls"][1]) > 10, unpooled
    assert share(unpooled["reserved"][2]) < 0, unpooled
    assert line(notebook, "pool").startswith("reserved ")
    page.locator("[data-control=pool] [aria-checked=true]").press("Home")
    assert float(turned("pooled")["driver_calls"][1]) < 3
    page.locator("[data-control=engine] [aria-checked=true]").press("End")
    notebook.until(f"() => {LANES} === 'python'")
    page.select_option("select[aria-label^=Stories]", "defaults")
    notebook.until(f"() => {LANES} === 'cpu(0)/0'")
    page.click("[data-command=stop]")
    assert notebook.complaints == []


#: By network: per cent by which the plan rises without in place and falls with mirror.
LEAST = {"lenet": (20, -9), "resnet": (4, -30)}


@pytest.mark.parametrize("network", LEAST)
def test_those_of_the_graph_by_mouse_and_back_by_keyboard(
    notebook: Notebook, network: str
) -> None:
    turned = opened(notebook, network)
    page = notebook.page
    more, less = LEAST[network]
    page.locator("[data-switch=inplace] .mx-switch").click()
    off = turned("in-place-off")
    assert share(off["planned"][2]) > more, off
    assert share(off["peak"][2]) > more, off
    page.locator("[data-switch=inplace] input").press("Space")
    on = turned("in-place-on")
    assert on["planned"][1] == off["planned"][0] + " MiB", (off, on)

    page.locator("[data-switch=mirror] .mx-switch").click()
    mirrored = turned("mirror-on")
    assert share(mirrored["planned"][2]) <= less, mirrored
    # LeNet saves little, and steps overlap: the peak may be within its noise.
    least = 0 if network == "lenet" else less
    assert share(mirrored["peak"][2]) <= least, mirrored
    page.locator("[data-switch=mirror] input").press("ArrowLeft")
    plain = turned("mirror-off")
    assert plain["planned"][1] == mirrored["planned"][0] + " MiB", (mirrored, plain)
    assert network == "lenet" or share(plain["peak"][2]) > 30, plain
    assert line(notebook, "mirror").startswith("bound again at step ")

    page.locator("[data-control=dtype] [data-value=float16]").click()
    half = turned("float16")
    assert share(half["planned"][2]) < -40, half
    notebook.until(f"() => {WORDS}.includes('loss scale')")
    page.locator("[data-control=dtype] [aria-checked=true]").press("Home")
    full = turned("float32")
    assert full["planned"][1] == half["planned"][0] + " MiB", (half, full)
    notebook.until(f"() => !{WORDS}.includes('loss scale')")
    page.click("[data-command=stop]")
    assert notebook.complaints == []
