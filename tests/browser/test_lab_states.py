"""What a lab says when its kernel goes, its page is loaded anew, or another takes over.

Each state is brought about in a real JupyterLab, read from the page, and left again.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.browser.test_lab import MAKE_LAB, STEP, hide_sidebar, open_lab, train

if TYPE_CHECKING:
    from tests.browser.conftest import Notebook

pytestmark = pytest.mark.browser

LAB = "document.querySelector('.mx-view[data-view=lab]')"
STATE = f"{LAB}?.dataset.state"
WORDS = f"{LAB}.querySelector('.mx-progress-words').textContent"
KERNEL = "jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel"


def state(notebook: Notebook, wanted: str, timeout: float = 60) -> None:
    notebook.until(f"s => {STATE} === s", wanted, timeout=timeout)


def words(notebook: Notebook) -> str:
    return str(notebook.page.evaluate(f"() => {WORDS}"))


def show(notebook: Notebook) -> None:
    """The head of the lab in sight, and the pointer out of the way."""
    notebook.page.mouse.move(2, 2)
    notebook.page.locator(".mx-lab").first.evaluate("node => node.scrollIntoView()")


def test_a_lab_says_that_its_kernel_is_gone(notebook: Notebook) -> None:
    """Restarted, killed, shut down: after the first two the cell makes another lab."""
    open_lab(notebook, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    train(notebook)
    notebook.page.evaluate(f"async () => {{ await {KERNEL}.restart(); }}")
    says_that_its_kernel_is_gone(notebook, "restarted")
    comes_back(notebook)
    notebook.start(1)
    says_that_its_kernel_is_gone(notebook, "killed")
    comes_back(notebook)
    notebook.page.evaluate(f"async () => {{ await {KERNEL}.shutdown(); }}")
    says_that_its_kernel_is_gone(notebook, "shut-down")
    assert not [said for said in notebook.complaints if "Cannot send" in said]


def says_that_its_kernel_is_gone(notebook: Notebook, how: str) -> None:
    state(notebook, "gone")
    assert words(notebook) == (
        "The kernel is gone, and the training with it. Run the cell again."
    )
    buttons = notebook.page.locator("[data-view=lab] [data-command]")
    assert [buttons.nth(i).is_disabled() for i in range(4)] == [True] * 4
    # What no kernel would receive is dropped: keys, a click on a picture, a table.
    for view, key in (("lab", "s"), ("lab", " "), ("engine", "t"), ("knobs", "r")):
        notebook.page.locator(f".mx-view[data-view={view}]").focus()
        notebook.page.keyboard.press(key)
    notebook.page.locator("[data-view=memory] .mx-surface").first.click()
    show(notebook)
    notebook.shoot(f"states-gone-{how}")


def comes_back(notebook: Notebook) -> None:
    """Run the cell again in the new kernel, and train."""
    notebook.until("() => " + KERNEL + ".status === 'idle'", timeout=60)
    assert notebook.run(0) == "Lab(lenet on (given), cpu(0), ready)"
    state(notebook, "ready")
    train(notebook)


AGAIN = (
    "import minimx as mx\n"
    "print(lab.settings.batch_size, mx.knobs.MXNET_CPU_WORKER_NTHREADS,"
    " lab.engine.state_string, lab.memory.state_string, lab.record.rows('ops') > 100)"
)
#: The kernel dies as it would of a lack of memory, once its last state is written.
DIE = (
    "import os, signal, time\n"
    "end = time.monotonic() + 30\n"
    "while not lab._last.path.exists() and time.monotonic() < end: time.sleep(0.1)\n"
    "lab._last.close()\n"
    "os.kill(os.getpid(), signal.SIGKILL)"
)


def until_kernel_knows(notebook: Notebook, *parts: str) -> None:
    """Wait until the states of the views, which `AGAIN` prints, hold all of `parts`."""
    notebook.until_says(2, lambda said: all(part in said for part in parts))


def test_after_its_kernel_a_lab_brings_the_last_state_back(notebook: Notebook) -> None:
    page = notebook.page
    open_lab(notebook, DIE, AGAIN, "lab.fit.step")
    threads = page.locator("[data-knob=MXNET_CPU_WORKER_NTHREADS] input[type=text]")
    threads.fill("2")
    threads.press("Enter")
    notebook.until(
        "() => document.querySelector("
        "'.mx-knob[data-knob=MXNET_CPU_WORKER_NTHREADS]').dataset.value === '2'"
    )
    page.locator("[data-field=batch_size] input").fill("100")
    page.locator("[data-field=batch_size] input").press("Enter")
    train(notebook, 30)
    page.click("[data-command=pause]")
    state(notebook, "paused")
    for view, keys in (("memory", "m"), ("engine", "cwwwm")):
        page.locator(f".mx-view[data-view={view}]").focus()
        for key in keys:
            page.keyboard.press(key)
    # What is set on a page reaches the kernel a moment after it is drawn.
    until_kernel_knows(notebook, "&marks=[", "measure=rounded")
    page.click("[data-command=train]")
    notebook.until(f"n => {STEP} > n", int(notebook.data("training", "step")))
    page.click("[data-command=pause]")  # which writes the last state
    state(notebook, "paused")
    step = int(notebook.run(3))
    notebook.until(f"n => {STEP} === n", step)
    notebook.start(1)
    state(notebook, "gone")
    assert notebook.data("engine", "colour") == "layer", "what was shown stays"
    page.locator(".jp-Dialog .jp-mod-accept").click()  # JupyterLab says it as well
    notebook.until("() => " + KERNEL + ".status === 'idle'", timeout=60)
    assert notebook.run(0) == "Lab(lenet on (given), cpu(0), ready)"
    state(notebook, "ready")
    offered = page.locator(".mx-recall", has_text="A kernel ended and left a training")
    offered.wait_for()
    assert f"lenet on (given), step {step:,}, " in offered.inner_text()
    for dark in (False, True):
        notebook.dark(dark)
        show(notebook)
        notebook.shoot(f"states-left-{'dark' if dark else 'light'}")
    offered.get_by_text("Bring it back").click()
    offered.wait_for(state="hidden")
    note = page.locator("[data-view=lab] .mx-note")
    note.get_by_text("The weights went with the kernel").wait_for()
    notebook.until(
        "() => Number(document.querySelector('[data-view=training]').dataset.loss) > 0"
        " && document.querySelector('[data-view=engine]').dataset.colour === 'layer'"
        " && document.querySelector('[data-view=memory]').dataset.measure === 'rounded'"
    )
    said = notebook.run(2)
    assert said.startswith("100 2 EngineTimeline:1?colour=layer&"), said
    assert (
        "&marks=[" in said
        and "&window=[" in said
        and "MemoryTimeline:1?measure=rounded" in said
    )
    assert said.strip().endswith("True")
    show(notebook)
    notebook.shoot("states-brought-back")
    assert notebook.data("training", "step") == "0"
    train(notebook)  # it begins afresh, with the same settings
    page.click("[data-command=stop]")
    state(notebook, "stopped")
    page.locator("[data-view=lab]").focus()
    page.keyboard.press("w")
    note.get_by_text("Written to lenet-given-").wait_for()
    (saved,) = notebook.lab.folder.glob("lenet-given-*.npz")
    saved.unlink()
    assert not [said for said in notebook.complaints if "Cannot send" in said]


def test_without_a_trusted_notebook_a_cell_brings_the_lab_back(
    notebook: Notebook,
) -> None:
    """What is not trusted shows no widget, but the kernel still has the lab."""
    again = "Lab.current() is lab, lab.fit.step"
    open_lab(notebook, "lab", again, MAKE_LAB.replace("lab = ", "other = ")[:-4])
    train(notebook)
    name = save(notebook)
    change_elsewhere(notebook, name, name)
    notebook.reload()
    notebook.until(
        f"() => window.jupyterapp && {KERNEL}?.status === 'idle'", timeout=60
    )
    assert notebook.page.locator(".mx-view").count() == 0
    picture = notebook.page.locator("img.mx-stored")
    picture.wait_for()
    assert picture.evaluate("image => image.naturalWidth") > 600
    notebook.shoot("states-untrusted")

    # Another lab is made; this one trains on. (The reload may have ended a thread of
    # ipykernel with a request in it, of which asyncio writes to stderr.)
    assert "Lab(" not in notebook.run(3)
    step = int(notebook.run(2).strip("()").split(", ")[1])
    assert notebook.run(1).startswith("Lab(lenet on (given), cpu(0), training")
    state(notebook, "training")
    notebook.until(f"n => {STEP} > n", step)
    hide_sidebar(notebook)
    show(notebook)
    notebook.shoot("states-back-again")
    notebook.page.click("[data-command=stop]")
    state(notebook, "stopped")


def save(notebook: Notebook) -> str:
    """Save a notebook; returns the name of its file."""
    notebook.page.evaluate(
        "async () => { await jupyterapp.commands.execute('docmanager:save'); }"
    )
    name = notebook.page.evaluate("() => jupyterapp.shell.currentWidget.context.path")
    return str(name)


def change_elsewhere(notebook: Notebook, name: str, target: str) -> str:
    """Write a notebook's file changed, as another program would: it is not trusted."""
    folder = notebook.lab.folder
    book = json.loads((folder / name).read_text(encoding="utf-8"))
    book["metadata"]["changed"] = "elsewhere"
    (folder / target).write_text(json.dumps(book), encoding="utf-8")
    return target


def test_without_its_kernel_a_notebook_shows_the_stored_picture(
    notebook: Notebook,
) -> None:
    """Whether it is trusted, or another program has changed it."""
    open_lab(notebook)
    train(notebook)
    notebook.page.click("[data-command=stop]")
    state(notebook, "stopped")
    name = save(notebook)
    changed = change_elsewhere(notebook, name, f"changed-{name}")
    notebook.page.evaluate("() => jupyterapp.serviceManager.sessions.shutdownAll()")
    notebook.reload()
    stored_picture(notebook, "trusted")
    notebook.open(changed)
    stored_picture(notebook, "untrusted")


def stored_picture(notebook: Notebook, which: str) -> None:
    """The notebook in front shows the picture that stands in its file."""
    panel = notebook.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")
    picture = panel.locator("img.mx-stored")
    picture.wait_for(timeout=60_000)
    assert picture.evaluate("image => image.naturalWidth") > 600
    said = panel.locator(".jp-OutputArea-output").first.inner_text()
    assert "Run the cell" in said
    assert "Loading widget" not in said
    assert "Error displaying" not in said
    notebook.shoot(f"states-stored-{which}")


def test_two_labs_take_over_in_turn_and_say_so(notebook: Notebook) -> None:
    second = "other = Lab('mlp', 'glyphs', epochs=200)\nother"
    open_lab(notebook, second)
    train(notebook)
    notebook.run(1)
    labs = notebook.page.locator(".mx-view[data-view=lab]")
    assert "takes over from lenet on (given)" in labs.nth(1).inner_text()
    labs.nth(1).locator("[data-command=train]").click()
    state(notebook, "paused")
    assert words(notebook).startswith("Paused, as mlp on glyphs took over")
    before = int(notebook.data("training", "step"))
    for dark in (False, True):
        notebook.dark(dark)
        show(notebook)
        notebook.shoot(f"states-second-lab-{'dark' if dark else 'light'}")
    go_on = labs.first.locator("[data-command=train]")
    assert go_on.inner_text() == "Go on"
    go_on.click()
    notebook.until(f"n => {STEP} > n + 2", before)
    other = "document.querySelectorAll('.mx-view[data-view=lab]')[1]"
    notebook.until(f"() => {other}.dataset.state === 'paused'")
    assert "lenet on (given) took over" in labs.nth(1).inner_text()
    labs.first.locator("[data-command=stop]").click()
    state(notebook, "stopped")
    assert notebook.complaints == []


def test_an_interrupt_leaves_training_and_controls_alone(notebook: Notebook) -> None:
    waiting = "print('waiting', flush=True); lab.wait()"
    fresh = "print('in', flush=True); lab.run(50)"
    open_lab(notebook, fresh, "lab.session.state", waiting)
    train(notebook)
    interrupt = f"async () => {{ await {KERNEL}.interrupt(); }}"
    before = int(notebook.data("training", "step"))
    notebook.page.evaluate(interrupt)  # no cell runs
    notebook.until(f"n => {STEP} > n + 2", before)
    notebook.start(3)  # a cell that waits for the training
    notebook.page.get_by_text("waiting", exact=True).wait_for()
    notebook.page.evaluate(interrupt)
    with pytest.raises(AssertionError, match="KeyboardInterrupt"):
        notebook.finish(3)
    before = int(notebook.data("training", "step"))
    notebook.until(f"n => {STEP} > n + 2", before)
    assert notebook.run(2) == "'training'"
    notebook.page.click("[data-command=pause]")
    state(notebook, "paused")
    notebook.page.evaluate(interrupt)
    notebook.page.click("[data-command=train]")
    state(notebook, "training")

    notebook.start(1)  # a cell that trains afresh and waits: interrupting it pauses
    notebook.page.get_by_text("in", exact=True).wait_for()
    notebook.until(f"() => {STEP} > 2 && {STATE} === 'training'", timeout=60)
    notebook.page.evaluate(interrupt)
    with pytest.raises(AssertionError, match="KeyboardInterrupt"):
        notebook.finish(1)
    state(notebook, "paused")
    assert notebook.run(2) == "'paused'"
    before = int(notebook.data("training", "step"))
    notebook.page.click("[data-command=train]")
    notebook.until(f"n => {STEP} > n", before)
    notebook.page.click("[data-command=stop]")
    state(notebook, "stopped")
    assert notebook.complaints == []


def test_beginning_afresh_is_asked_and_can_be_undone(notebook: Notebook) -> None:
    open_lab(notebook, "lab.settings.network, lab.settings.seed, lab.fit.step")
    page = notebook.page
    network = page.locator("[data-field=network] select")
    ask = page.locator("[data-field=network] + .mx-ask")
    network.select_option("mlp")  # nothing trains: no question
    assert ask.is_hidden()
    network.select_option("lenet")
    state(notebook, "ready")
    train(notebook)
    network.select_option("mlp")
    ask.wait_for()
    assert "Network mlp begins afresh, and leaves step" in ask.inner_text()
    state(notebook, "training")
    for dark in (False, True):
        notebook.dark(dark)
        show(notebook)
        notebook.shoot(f"states-ask-{'dark' if dark else 'light'}")
    ask.get_by_text("Keep").click()
    assert ask.is_hidden()
    assert network.input_value() == "lenet"

    seed = page.locator("[data-field=seed] input")
    seed.fill("7")
    seed.press("Enter")
    begin = page.locator("[data-field=seed] + .mx-ask").get_by_text("Begin afresh")
    page.keyboard.press("Tab")  # from the field to what it asks
    assert begin.evaluate("node => node.closest('button') === document.activeElement")
    step = int(notebook.data("training", "step"))
    page.keyboard.press("Enter")
    state(notebook, "ready")
    left = page.locator(".mx-left")
    left.wait_for()
    assert left.inner_text().startswith("A training was left: lenet on (given), step ")
    notebook.until(
        "() => !document.querySelector('[data-view=training]').dataset.step"
        f" || {STEP} === 0"
    )
    show(notebook)
    notebook.shoot("states-undo")
    left.get_by_text("Undo").click()
    state(notebook, "paused")
    notebook.until(f"n => {STEP} >= n", step)
    seen = notebook.run(1)
    assert seen.startswith("('lenet', 0, ")
    assert int(seen.strip("()").split(", ")[2]) >= step
    assert left.is_hidden()
    page.click("[data-command=train]")
    notebook.until(f"n => {STEP} > n + 2", step)
    page.click("[data-command=stop]")
    state(notebook, "stopped")
    assert "left" not in words(notebook).split("·")[-1]
    assert notebook.complaints == []


BOTTOM = """name => {
  const box = document.querySelector(name).getBoundingClientRect();
  return [Math.round(box.top), Math.round(box.bottom), Math.round(box.height)];
}"""
OVERPRINTS = """() => {
  const leaves = [...document.querySelectorAll('.mx-lab *')].filter((node) =>
    node.offsetParent && node.childElementCount === 0 && node.textContent.trim()
    && !node.closest('svg, select, .mx-table, .mx-tip, .mx-help'
      + ', .mx-knob-list, .mx-knob-card'));
  const boxes = leaves.map((node) => {
    const range = document.createRange();
    range.selectNodeContents(node);
    return [...range.getClientRects()];
  });
  const found = [];
  for (let i = 0; i < leaves.length; i += 1)
    for (let j = i + 1; j < leaves.length; j += 1)
      for (const a of boxes[i]) for (const b of boxes[j])
        if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2
            && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4)
          found.push(`${leaves[i].textContent} × ${leaves[j].textContent}`);
  return [...new Set(found)];
}"""


def test_the_knobs_stay_in_sight_and_nothing_overprints(notebook: Notebook) -> None:
    page = notebook.page
    page.set_viewport_size({"width": 1440, "height": 900})
    open_lab(notebook)
    train(notebook)
    page.click("[data-command=pause]")
    state(notebook, "paused")
    page.locator("[data-view=knobs]").focus()
    page.keyboard.press("a")
    page.locator("[data-knob=MXNET_CPU_MEM_POOL_TYPE]").hover()
    whole = page.evaluate(BOTTOM, ".mx-lab")[2]
    assert whole < 1900, "all knobs do not make the lab longer"
    page.locator("[data-view=engine]").evaluate("node => node.scrollIntoView()")
    top, bottom, height = page.evaluate(BOTTOM, ".mx-lab-knobs")
    assert 0 < top < bottom <= 900
    assert height > 500
    cut = page.evaluate(
        "() => [...document.querySelectorAll('.mx-lab .mx-default')]"
        ".filter((node) => node.scrollWidth > node.clientWidth + 1).length"
    )
    assert cut == 0, "defaults are shown in full"
    notebook.shoot("layout-all-knobs")
    for dark in (False, True):
        notebook.dark(dark)
        for width in (1440, 1024, 720):
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_timeout(300)
            show(notebook)
            notebook.shoot(f"layout-{width}-{'dark' if dark else 'light'}")
            assert page.evaluate(OVERPRINTS) == []
            wide = "node => node.scrollWidth - node.clientWidth"
            assert page.locator(".mx-lab").evaluate(wide) <= 1
    assert notebook.complaints == []
