"""The static book: built without a warning, read from files with the network cut."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import site_recorded
from playwright.sync_api import Browser, Page, Route

from minimx.core.graph.memory.memory import plan_memory
from minimx.core.record import Record
from minimx.core.replay import replay_pool
from minimx.experiments.graphs import settings_of
from minimx.experiments.rerun import rerun
from tests.browser.axe import AXE_SCRIPT, violations
from tests.browser.pages import SHOTS

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "book" / "site" / "site_build.py"
SHOWN = "n => document.querySelector(`.mx-live[data-name=${n}] .mx-view`)"


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The book, with every warning an error: a link without a target is one.

    That of BUILT_BOOK, if `make test` has built one just before.
    """
    if built := os.environ.get("BUILT_BOOK"):
        assert (Path(built) / "index.html").is_file(), "make built has failed"
        return Path(built)
    out = tmp_path_factory.mktemp("book")
    done = subprocess.run(
        [sys.executable, BUILD, "--out", out],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert not done.returncode, done.stderr[-3000:]
    return out / "html"


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page without a network, on which any error is a failure."""
    context = browser.new_context(viewport={"width": 1300, "height": 900})
    context.set_offline(True)
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("requestfailed", lambda request: errors.append(request.url))
    yield page
    context.close()
    assert errors == []


def shoot(page: Page, name: str) -> None:
    SHOTS.mkdir(exist_ok=True)
    page.wait_for_timeout(300)
    page.screenshot(path=str(SHOTS / f"{name}.png"))


def test_start_chapter_reference_and_search(page: Page, book: Path) -> None:
    page.goto(f"file://{book}/index.html")
    assert page.locator(".toctree-l1").count() > 25
    shoot(page, "book-start")
    page.goto(f"file://{book}/notebooks/08-pools-and-fragmentation.html")
    assert page.locator(".cell_output img").count() > 2
    assert page.locator("details summary").count() > 5  # answers are folded
    shoot(page, "book-chapter")
    page.goto(f"file://{book}/book/knobs.html#mxnet-engine-type")
    shoot(page, "book-knobs")
    page.goto(f"file://{book}/search.html?q=fragmentation")
    page.wait_for_selector("#search-results li")
    assert "Pools and fragmentation" in page.inner_text("#search-results")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_term_shows_its_definition(page: Page, book: Path, theme: str) -> None:
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    page.goto(f"file://{book}/notebooks/08-pools-and-fragmentation.html")
    term = page.locator("a.mx-term", has_text="pool").first
    tip = page.locator("#mx-tip-term-pool")
    assert term.get_attribute("aria-describedby") == "mx-tip-term-pool"
    assert page.locator(":is(h1, h2, h3, h4, pre, code) a.mx-term").count() == 0
    term.focus()
    assert tip.is_visible() and tip.inner_text().startswith("Allocates blocks")
    shoot(page, f"book-term-{theme}")
    page.keyboard.press("Escape")
    assert not tip.is_visible()
    term.hover()
    tip.hover()  # the pointer may go to the definition, to read or to copy it
    page.wait_for_timeout(400)
    assert tip.is_visible()
    page.mouse.move(5, 5)
    tip.wait_for(state="hidden")
    term.press("Enter")
    page.wait_for_url("**/glossary.html#term-pool")
    assert page.locator("#term-pool").count() == 1


def test_views_answer_to_the_mouse_without_a_kernel(page: Page, book: Path) -> None:
    page.goto(f"file://{book}/book/views.html")
    for name in ("MemoryTimeline", "EngineTimeline"):
        place = page.locator(f".mx-live[data-name={name}]")
        place.locator("button").first.click()
        page.wait_for_function(SHOWN, arg=name)
        place.scroll_into_view_if_needed()
    page.evaluate("() => { document.documentElement.dataset.theme = 'dark'; }")
    memory = page.locator(".mx-live[data-name=MemoryTimeline]")
    memory.scroll_into_view_if_needed()
    shoot(page, "book-views-dark")
    box = memory.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_function(
        "() => /activation/.test(document.querySelector('.mx-tip, [role=tooltip]')"
        "?.innerText ?? '')"
    )
    shoot(page, "book-views-tip")


# -- pages on which knobs are turned ---------------------------------------------------

FIGURES = """() => Object.fromEntries(
  [...document.querySelectorAll('.mx-turn [data-figure]')].map(
    one => [one.dataset.figure, Number(one.dataset.value)]))"""
IS = "state => document.querySelector('.mx-turn')?.dataset.state === state"
ANSWERED = """() => {
  const { asked, answered } = document.querySelector('.mx-turn').dataset;
  return asked === answered;
}"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def address(book: Path) -> Iterator[str]:
    """The book behind a server of this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=book))
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def served(browser: Browser, address: str) -> Iterator[Page]:
    """A page that reaches that server and nothing else; any error is a failure."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    asked: list[str] = []

    def elsewhere(route: Route) -> None:
        if route.request.url.startswith((address, "blob:", "data:")):
            return route.continue_()
        asked.append(route.request.url)
        return route.abort()

    context.route("**/*", elsewhere)
    page = context.new_page()
    page.on("pageerror", lambda error: asked.append(str(error)))
    yield page
    context.close()
    assert asked == []


def turn(page: Page, name: str, value: str) -> None:
    """Choose what a control shows as `value`, as a hand would."""
    control = page.locator(f"[data-knob={name}]")
    if control.evaluate("one => one.tagName") == "SELECT":
        control.select_option(value)
    elif control.get_attribute("type") == "checkbox":
        control.set_checked(value == "on")
    else:
        control.focus()
        page.keyboard.press("Home")
        said = page.locator(f"output[for=mx-turn-{name}]")
        for _ in range(30):
            if said.inner_text() == value:
                break
            page.keyboard.press("ArrowRight")
        assert said.inner_text() == value
    page.wait_for_function(ANSWERED)


def live(page: Page, address: str, name: str, book: Path) -> None:
    """Open a page on which Python runs; skip where the package could not be had."""
    if not (book / "_static/turn/pyodide/pyodide.asm.wasm").exists():
        pytest.skip("the npm package pyodide could not be had: frames only")
    page.goto(f"{address}/book/turning/{name}.html")
    page.wait_for_function(IS, arg="live", timeout=120_000)
    page.wait_for_function(ANSWERED)


def looked_at(page: Page, name: str) -> None:
    """Pictures in both themes, on a wide and on a narrow page."""
    for width in (1400, 700):
        page.set_viewport_size({"width": width, "height": 1000})
        for theme in ("dark", "light"):
            page.evaluate("t => { document.documentElement.dataset.theme = t; }", theme)
            page.locator(".mx-turn").scroll_into_view_if_needed()
            shoot(page, f"book-turning-{name}-{theme}-{width}")
            if AXE_SCRIPT:
                page.evaluate(AXE_SCRIPT)
                assert violations(page, ".mx-turn", f"{theme}, {width}") == []
        wide = page.evaluate("() => document.body.scrollWidth - innerWidth")
        assert wide <= 0, f"{wide} pixels too wide at {width}"


def test_a_page_from_a_file_shows_frames_and_says_so(page: Page, book: Path) -> None:
    page.goto(f"file://{book}/book/turning/pool.html")
    page.wait_for_function(IS, arg="frames")
    assert "opened from a file" in page.locator(".mx-turn-note").inner_text()
    turn(page, "MXNET_GPU_MEM_POOL_TYPE", "Unpooled")
    turn(page, "MINIMX_SIM_GPU_MEMORY", "12 MiB")
    record = Record.load(book / "_static/turn/pool.npz")
    knobs = {"MXNET_GPU_MEM_POOL_TYPE": "Unpooled"}
    expected = replay_pool(record, "gpu(0)", knobs=knobs, capacity=12 << 20).stats
    found = page.evaluate(FIGURES)
    assert found["peak_reserved"] == expected.peak_reserved
    assert found["n_malloc"] == expected.n_malloc


def test_a_pool_is_turned_in_the_page(served: Page, address: str, book: Path) -> None:
    live(served, address, "pool", book)
    record = Record.load(book / "_static/turn/pool.npz")

    def expected(**knobs: Any) -> Mapping[str, Any]:
        memory = knobs.pop("memory", 64 << 20)
        pools = {f"MXNET_GPU_MEM_{name}": value for name, value in knobs.items()}
        found = replay_pool(record, "gpu(0)", knobs=pools, capacity=memory)
        names = ("peak_reserved", "peak_requested", "n_malloc", "n_hit", "n_flush")
        figures = {name: getattr(found.stats, name) for name in names}
        return {**figures, "refused": len(found.refused)}

    assert served.evaluate(FIGURES) == expected()
    turn(served, "MXNET_GPU_MEM_POOL_TYPE", "Round")
    turn(served, "MXNET_GPU_MEM_POOL_ROUND_LINEAR_CUTOFF", "2**21")
    mine = expected(POOL_TYPE="Round", POOL_ROUND_LINEAR_CUTOFF=21)
    assert served.evaluate(FIGURES) == mine != expected()
    turn(served, "MXNET_GPU_MEM_POOL_PAGE_SIZE", "12 KiB")
    assert "power of two" in served.locator(".mx-turn-error").inner_text()
    turn(served, "MXNET_GPU_MEM_POOL_TYPE", "Naive")
    turn(served, "MINIMX_SIM_GPU_MEMORY", "12 MiB")
    tight = expected(POOL_PAGE_SIZE=12 << 10, memory=12 << 20)
    assert served.evaluate(FIGURES) == tight
    assert tight["refused"] > 0 and not served.locator(".mx-turn-error").is_visible()
    looked_at(served, "pool")


def test_a_planner_is_turned_in_the_page(
    served: Page, address: str, book: Path
) -> None:
    live(served, address, "planner", book)
    made = site_recorded.planner_program().prepared

    def expected(**knobs: Any) -> list[int]:
        settings = settings_of(knobs)
        plan = plan_memory(made.graph, made.specs, made.external, settings)
        return [plan.total, len(plan.blocks), len(plan.inplace), plan.match_range]

    def found() -> list[int]:
        figures = served.evaluate(FIGURES)
        names = ("total", "blocks", "inplace", "match_range")
        return [figures[name] for name in names]

    assert found() == expected()
    turn(served, "MXNET_EXEC_ENABLE_INPLACE", "off")
    assert found() == expected(MXNET_EXEC_ENABLE_INPLACE=False) != expected()
    turn(served, "NNVM_EXEC_MATCH_RANGE", "3")
    mine = expected(MXNET_EXEC_ENABLE_INPLACE=False, NNVM_EXEC_MATCH_RANGE=3)
    assert found() == mine
    turn(served, "NNVM_EXEC_MATCH_RANGE", "64")
    turn(served, "NNVM_AUTO_SEARCH_MATCH_RANGE", "on")
    turn(served, "MXNET_EXEC_ENABLE_INPLACE", "on")
    searched = {"NNVM_EXEC_MATCH_RANGE": 64, "NNVM_AUTO_SEARCH_MATCH_RANGE": True}
    assert found() == expected(**searched)
    looked_at(served, "planner")


def test_an_engine_is_turned_in_the_page(
    served: Page, address: str, book: Path
) -> None:
    live(served, address, "engine", book)
    record = Record.load(book / "_static/turn/engine.npz")

    def check(**knobs: Any) -> int:
        replay = rerun(record, **knobs)
        figures = served.evaluate(FIGURES)
        assert figures["makespan"] == replay.schedule.makespan
        assert figures["busy"] == sum(one.end - one.start for one in replay.lanes)
        lanes = len({one.worker for one in replay.lanes})
        assert figures["workers"] == lanes
        assert served.locator(".mx-turn-picture .mx-turn-box").count() == len(
            replay.lanes
        )
        return int(figures["makespan"])

    two = check()
    turn(served, "MXNET_CPU_WORKER_NTHREADS", "1")
    one = check(MXNET_CPU_WORKER_NTHREADS=1)
    turn(served, "MXNET_CPU_WORKER_NTHREADS", "6")
    six = check(MXNET_CPU_WORKER_NTHREADS=6)
    turn(served, "MXNET_ENGINE_TYPE", "NaiveEngine")
    naive = check(MXNET_ENGINE_TYPE="NaiveEngine", MXNET_CPU_WORKER_NTHREADS=6)
    assert six < two < one < naive
    turn(served, "MXNET_ENGINE_TYPE", "ThreadedEnginePerDevice")
    looked_at(served, "engine")
