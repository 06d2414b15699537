"""A real JupyterLab on an empty folder, and a headless browser to look at it.

Configuration, data, runtime and IPython folders are the test's own, so nothing of the
user's is read and nothing leaks from one run into the next.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Error,
    Page,
    TimeoutError,
    ViewportSize,
    sync_playwright,
)

ROOT = Path(__file__).parents[2]
SCREENSHOTS = Path(__file__).parent / "screenshots"
TOKEN = "minimx"
VIEWPORT: ViewportSize = {"width": 1400, "height": 1000}
CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]
# What every page would ask of the server although no test looks at it: which extensions
# could be installed (where there is a Node.js, the server waits for yarn), whether
# JupyterLab should be built anew, and what its news are.
QUIET_PAGE = {
    "buildCheck": False,
    "disabledExtensions": {
        "@jupyterlab/apputils-extension:announcements": True,
        "@jupyterlab/extensionmanager-extension:plugin": True,
    },
}
# Harmless lines of the page's console that are not ours.
FOREIGN = ("favicon", "Source map", "DevTools", "preload")

IS_READY = """() => {
  const widget = window.jupyterapp?.shell.currentWidget;
  const session = widget?.context?.isReady && widget.sessionContext;
  return !!(session && session.isReady && session.session?.kernel?.status === 'idle'
            && widget.isVisible);
}"""
RUN_CELL = """index => {
  const notebook = jupyterapp.shell.currentWidget.content;
  notebook.activeCellIndex = index;
  notebook.mode = 'command';
  jupyterapp.commands.execute('notebook:run-cell');
  return 0;
}"""
CELL_IS_DONE = """index => {
  const cell = jupyterapp.shell.currentWidget.content.widgets[index];
  return cell.model.executionState !== 'running' && cell.model.executionCount !== null
    && (cell.inputHidden
      || /\\d/.test(cell.node.querySelector('.jp-InputPrompt').textContent));
}"""
OPEN = """path => {
  jupyterapp.commands.execute('docmanager:open', {path, factory: 'Notebook'});
}"""
# Nothing is asked and nothing is saved: what a test did is forgotten.
CLOSE_ALL = """async () => {
  const app = window.jupyterapp;
  if (!app?.shell) return false;
  for (const dialog of document.querySelectorAll('.jp-Dialog .jp-mod-reject'))
    dialog.click();
  await app.serviceManager.sessions.shutdownAll();
  for (const widget of [...app.shell.widgets('main')]) {
    if (widget.context) widget.context.model.dirty = false;
    widget.close();
  }
  return true;
}"""
IS_EMPTY = """() => !document.querySelector('.jp-NotebookPanel, .mx-view, .jp-Dialog')
  && ![...jupyterapp.shell.widgets('main')].some(one => one.context)"""
#: What every view says of itself.
VIEWS = """() => [...document.querySelectorAll('.mx-view')].map(
  view => JSON.stringify(view.dataset)).join('\\n')"""
OUTPUTS = """index => {
  const cell = jupyterapp.shell.currentWidget.content.widgets[index];
  return cell.model.outputs.toJSON();
}"""


@dataclass
class JupyterLab:
    """A running server: its address, the folder that it serves, what it wrote."""

    address: str
    folder: Path
    log: Path

    def notebook(self, name: str, *cells: str) -> str:
        """Write a notebook with these code cells; returns its name."""
        book = {
            "nbformat": 4,
            "nbformat_minor": 5,
            "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
            "cells": [
                {
                    "id": f"cell{i}",
                    "cell_type": "code",
                    "source": cell,
                    "metadata": {},
                    "outputs": [],
                    "execution_count": None,
                }
                for i, cell in enumerate(cells)
            ],
        }
        (self.folder / name).write_text(json.dumps(book), encoding="utf-8")
        return name


@dataclass
class Notebook:
    """A notebook in the browser, with what page and kernel complained about."""

    page: Page
    lab: JupyterLab
    complaints: list[str] = field(default_factory=list)
    reloaded: bool = False
    ready_at: int = 0

    def reload(self) -> None:
        """Load the page anew. It restores its documents when it likes, also later."""
        self.reloaded = True
        self.page.reload(wait_until="domcontentloaded")

    def visit(self, path: str) -> None:
        """Load JupyterLab anew, in a fresh workspace."""
        address = f"{self.lab.address}/{path}?reset&token={TOKEN}"
        self.page.goto(address, wait_until="domcontentloaded")

    def open(self, name: str) -> None:
        """Open a notebook and wait for its kernel.

        In the page of the test before if there is one: to load JupyterLab takes longer
        than most tests.
        """
        if self.page.url.startswith(self.lab.address):
            self.page.evaluate(OPEN, name)
        else:
            self.visit(f"lab/tree/{name}")
        self.until(IS_READY, timeout=90)
        self.ready_at = self.lab.log.stat().st_size

    def listen(self) -> None:
        """Collect what the page complains about."""
        self.page.on("pageerror", self._page_error)
        self.page.on("console", self._console)

    def leave(self) -> bool:
        """Shut down the kernels and close all documents; whether the page can stay."""
        self.page.remove_listener("pageerror", self._page_error)
        self.page.remove_listener("console", self._console)
        if not self.page.evaluate(CLOSE_ALL) or self.reloaded:
            return False
        if self.page.evaluate("() => document.body.dataset.jpThemeLight") == "false":
            self.dark(False)
        try:
            self.page.wait_for_function(IS_EMPTY, timeout=5000)
        except TimeoutError:
            return False
        self.page.mouse.move(0, 0)
        self.page.set_viewport_size(VIEWPORT)
        return True

    def start(self, index: int) -> None:
        """Start a cell and do not wait for it."""
        self.page.evaluate(RUN_CELL, index)

    def run(self, index: int, timeout: float = 60) -> str:
        """Run a cell to its end; returns its text. An error in it is a failure."""
        self.start(index)
        return self.finish(index, timeout)

    def finish(self, index: int, timeout: float = 60) -> str:
        """Wait for a cell that was started; returns its text."""
        self.page.wait_for_function(CELL_IS_DONE, arg=index, timeout=1000 * timeout)
        text = []
        for output in self.page.evaluate(OUTPUTS, index):
            if output["output_type"] == "error":
                raise AssertionError("\n".join(output["traceback"]))
            text.append(output.get("text", ""))
            text.append(output.get("data", {}).get("text/plain", ""))
        return "".join("".join(part) for part in text)

    def until_says(self, index: int, accept: Callable[[str], bool]) -> str:
        """Run a cell until its text is accepted; returns it.

        For what the page has sent on its own: messages of widgets have a thread of
        their own in the kernel, so a cell may be done before one that was sent first.
        """
        end = time.monotonic() + 30
        while not accept(said := self.run(index)):
            assert time.monotonic() < end, said
        return said

    def traces(self) -> str:
        """What server and kernels wrote since this notebook's kernel was ready."""
        with self.lab.log.open(encoding="utf-8", errors="replace") as log:
            log.seek(self.ready_at)
            return log.read()

    def data(self, view: str, key: str) -> str:
        """A data attribute of a view, such as the lanes of the engine timeline."""
        found = self.page.locator(f'.mx-view[data-view="{view}"]').first
        return found.get_attribute(f"data-{key}") or ""

    def until(self, condition: str, argument: Any = None, timeout: float = 30) -> None:
        """Wait until a JavaScript condition holds; looked at in every frame."""
        try:
            self.page.wait_for_function(condition, arg=argument, timeout=1000 * timeout)
        except TimeoutError as late:
            views = self.page.evaluate(VIEWS)
            seen = f"{self.shoot('failed')}; {self.complaints}; {views}"
            raise AssertionError(f"{condition} did not happen: {seen}") from late

    def shoot(self, name: str) -> Path:
        """A screenshot, kept beside the tests (and out of version control)."""
        SCREENSHOTS.mkdir(exist_ok=True)
        path = SCREENSHOTS / f"{name}.png"
        self.page.screenshot(path=str(path))
        return path

    def dark(self, on: bool = True) -> None:
        """Switch JupyterLab's theme."""
        theme = "JupyterLab Dark" if on else "JupyterLab Light"
        command = (
            "t => { jupyterapp.commands.execute('apputils:change-theme', {theme: t}); }"
        )
        self.page.evaluate(command, theme)
        self.until(
            f"() => document.body.dataset.jpThemeLight === '{str(not on).lower()}'"
            " && !document.querySelector('#jupyterlab-splash')"
        )

    def scroll_to(self, view: str) -> None:
        """Bring a view into sight."""
        self.page.locator(
            f'.mx-view[data-view="{view}"]'
        ).first.scroll_into_view_if_needed()

    def _page_error(self, error: Error) -> None:
        self.complaints.append(f"page: {error}")

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not any(
            word in message.text for word in FOREIGN
        ):
            self.complaints.append(f"console: {message.text}")


#: Whether a test has failed, also one that is to be run again.
FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep for the fixtures of a test whether it failed."""
    report = yield
    if call.when == "call":
        item.stash[FAILED] = report.failed
    return report


@pytest.fixture(scope="session")
def jupyterlab() -> Iterator[JupyterLab]:
    """One server for all tests of the session."""
    # Kernels talk over sockets in this folder, whose paths have 107 letters at most:
    # pytest's own temporary folders are too deep.
    with tempfile.TemporaryDirectory(
        prefix="minimx-", ignore_cleanup_errors=True
    ) as at:
        yield from _serve(Path(at))


def _serve(home: Path) -> Iterator[JupyterLab]:
    folder = home / "course"
    folder.mkdir()
    own = _environment(home)
    config = Path(own["JUPYTER_CONFIG_DIR"]) / "labconfig"
    config.mkdir(parents=True)
    (config / "page_config.json").write_text(json.dumps(QUIET_PAGE), encoding="utf-8")
    port = _free_port()
    log = home / "server.log"
    with log.open("w") as out:
        server = subprocess.Popen(
            _command(port, folder), env=own, stdout=out, stderr=out
        )
        try:
            address = f"http://127.0.0.1:{port}"
            _wait_for(address, server, log)
            yield JupyterLab(address, folder, log)
        finally:
            server.terminate()
            try:
                server.wait(timeout=20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Headless Chromium: the system's, else the one that playwright brought."""
    with sync_playwright() as playwright:
        path = shutil.which("chromium") or shutil.which("chromium-browser")
        found = playwright.chromium.launch(
            executable_path=path, headless=True, args=CHROMIUM_ARGUMENTS
        )
        yield found
        found.close()


@pytest.fixture(scope="module")
def pages(browser: Browser) -> Iterator[list[Page]]:
    """The page that the test before has left, if it is of the same file."""
    kept: list[Page] = []
    yield kept
    for page in kept:
        page.context.close()


@pytest.fixture
def notebook(
    browser: Browser,
    jupyterlab: JupyterLab,
    pages: list[Page],
    request: pytest.FixtureRequest,
) -> Iterator[Notebook]:
    """A page without documents; its kernels are shut down afterwards.

    A test that fails takes its page with it.
    """
    page = pages.pop() if pages else browser.new_context(viewport=VIEWPORT).new_page()
    found = Notebook(page, jupyterlab)
    found.listen()
    yield found
    if found.leave() and not request.node.stash.get(FAILED, False):
        pages.append(page)
    else:
        page.context.close()


def _command(port: int, folder: Path) -> list[str]:
    root = ["--allow-root"] if os.getuid() == 0 else []
    settings = ROOT / "widgets/share/jupyter/lab/settings"
    return [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        *root,
        "--ip=127.0.0.1",
        f"--port={port}",
        "--ServerApp.port_retries=0",
        f"--IdentityProvider.token={TOKEN}",
        f"--ServerApp.root_dir={folder}",
        f"--LabApp.app_settings_dir={settings}",
        "--LabApp.expose_app_in_browser=True",
        "--KernelManager.transport=ipc",
    ]


def _environment(home: Path) -> dict[str, str]:
    """The process's environment with all of Jupyter's folders in `home`."""
    own = {
        name: str(home / name.lower())
        for name in (
            "JUPYTER_CONFIG_DIR",
            "JUPYTER_DATA_DIR",
            "JUPYTER_RUNTIME_DIR",
            "IPYTHONDIR",
            "MPLCONFIGDIR",
        )
    }
    own["JUPYTER_PATH"] = str(ROOT / "widgets/share/jupyter")
    own["JUPYTER_CONFIG_PATH"] = str(ROOT / "widgets/etc/jupyter")
    paths = [ROOT, ROOT / "widgets", ROOT / "datasets"]
    own["PYTHONPATH"] = os.pathsep.join(map(str, paths))
    kept = {
        k: v for k, v in os.environ.items() if not k.startswith(("MXNET_", "MINIMX_"))
    }
    if "MINIMX_CACHE" in os.environ:  # compiled kernels may be shared
        kept["MINIMX_CACHE"] = os.environ["MINIMX_CACHE"]
    return kept | own


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    """Until the server answers; what it wrote if it never does."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if server.poll() is not None:
            break
        try:
            with urllib.request.urlopen(f"{address}/api?token={TOKEN}", timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()}")
