"""A record and its replay in JupyterLab: figures, memory, causes, turned knobs."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.browser.conftest import Notebook

pytestmark = pytest.mark.browser

MAKE = """
import minimx as mx
from minimx import autograd, gluon
from minimx_widgets import ABCompare

net = gluon.nn.HybridSequential()
net.add(gluon.nn.Dense(64, activation="relu"), gluon.nn.Dense(10))
net.initialize()
net.hybridize()
data = mx.nd.random.normal(shape=(32, 20))

def program():
    with autograd.record():
        loss = net(data).square().mean()
    loss.backward()
    mx.nd.waitall()

program()
with mx.Record(calls=True) as record:
    program()
pair = ABCompare(record, net=net, program=program, names=("as it is", ""))
pair
"""
BOARD = "document.querySelector('[data-view=compare]').dataset"
INPLACE = "MXNET_EXEC_ENABLE_INPLACE"


def drawn(notebook: Notebook) -> str:
    """Wait until board and timelines show the newest revision; returns its number."""
    views = "[...document.querySelectorAll('[data-view=compared]')]"
    notebook.until(
        f"() => {BOARD}.revision"
        f" && {views}.map(v => v.dataset.drawn).join() === {BOARD}.timelines"
    )
    return notebook.data("compare", "revision")


def figure(notebook: Notebook, name: str) -> list[str]:
    """The cells of a figure: A, B, perhaps what was measured, B against A."""
    row = notebook.page.locator(f".mx-ab-figures tr[data-figure={name}] td")
    return row.all_inner_texts()


def test_knobs_are_turned_for_b_and_the_cause_is_named(notebook: Notebook) -> None:
    said = "print(pair.names, mx.knobs.MXNET_EXEC_ENABLE_INPLACE, pair.frozen)"
    notebook.open(notebook.lab.notebook("replay.ipynb", MAKE, said))
    notebook.run(0)
    notebook.page.evaluate("() => { jupyterapp.shell.collapseLeft(); }")
    first = drawn(notebook)
    assert notebook.data("compare", "predicted") == "false,true"
    assert figure(notebook, "peak")[-1] == "±0 B"

    # By mouse: choose a knob, flip it.
    notebook.page.select_option(".mx-ab-turning select", INPLACE)
    notebook.page.click(".mx-ab-control .mx-switch")
    notebook.until(f"n => {BOARD}.revision !== n", first)
    drawn(notebook)
    a, b, change = figure(notebook, "peak")
    assert a != b and change.startswith("+")
    notebook.until(f"() => {BOARD}.why.includes('could not be written over')")
    why = notebook.page.locator(".mx-ab-why").inner_text()
    assert why.startswith("Why: peak +") and f"{INPLACE}=False" in why
    assert notebook.run(1).strip() == (
        f"('as it is', 'as it is with {INPLACE}=0') True True"
    ), "no knob of the program is turned"
    heads = notebook.page.locator(".mx-ab-figures thead th").all_inner_texts()
    assert heads == ["", "A", "Bpredicted", "B − A"]
    for dark in (False, True):
        notebook.dark(dark)
        notebook.page.mouse.move(2, 2)
        notebook.scroll_to("compare")
        notebook.shoot(f"replay-{'dark' if dark else 'light'}")

    # By keyboard: ratio, swap, freeze, run it, take it back.
    root = notebook.page.locator("[data-view=compare]")
    root.focus()
    notebook.page.keyboard.press("r")
    assert figure(notebook, "peak")[-1].endswith("×")
    notebook.page.keyboard.press("m")
    notebook.until("() => document.querySelector('.mx-ab-measured')", timeout=60)
    assert figure(notebook, "peak")[1] == figure(notebook, "peak")[2], "as predicted"
    notebook.shoot("replay-measured")
    notebook.page.keyboard.press("s")
    notebook.until(f"() => {BOARD}.predicted === 'true,false'")
    assert figure(notebook, "peak")[:2] == [b, a]
    notebook.page.keyboard.press("s")
    notebook.until(f"() => {BOARD}.predicted === 'false,true'")
    notebook.page.keyboard.press("f")
    notebook.until(f"() => {BOARD}.frozen === 'false'")
    notebook.page.keyboard.press("k")
    notebook.page.keyboard.type("MXNET_ENGINE")
    notebook.page.keyboard.press("Tab")
    notebook.page.keyboard.type("Naive")
    notebook.until(f"() => {BOARD}.predicted === 'true,true'")
    assert notebook.data("compare", "turned") == f"{INPLACE}|MXNET_ENGINE_TYPE"
    drawn(notebook)
    notebook.shoot("replay-followed")
    root.focus()
    notebook.page.keyboard.press("x")
    notebook.until(f"() => {BOARD}.turned === ''")

    # A value that is refused changes nothing and says why.
    revision = drawn(notebook)
    notebook.page.select_option(".mx-ab-turning select", "MXNET_CPU_WORKER_NTHREADS")
    field = notebook.page.locator(".mx-ab-control .mx-entry")
    field.fill("many")
    field.press("Enter")
    note = notebook.page.locator("[data-view=compare] .mx-note")
    note.wait_for(state="visible")
    assert "MXNET_CPU_WORKER_NTHREADS" in note.inner_text()
    assert notebook.data("compare", "revision") == revision
    assert field.input_value() != "many"

    # The same operation is marked on both sides.
    notebook.page.locator("[data-view=compared]").nth(0).focus()
    notebook.page.keyboard.press("ArrowRight")
    chosen = (
        "[...document.querySelectorAll('[data-view=compared]')]"
        ".map(v => v.dataset.selected)"
    )
    notebook.until(f"() => {chosen}[0] !== '0' && {chosen}[0] === {chosen}[1]")
    assert notebook.complaints == []


LONG = """
import numpy as np
import minimx as mx
from minimx import autograd, gluon
from minimx_widgets import ABCompare

net = gluon.nn.HybridSequential()
for _ in range(4):
    net.add(gluon.nn.Dense(32, activation="relu"))
net.add(gluon.nn.Dense(10))
net.initialize()
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
data = mx.nd.random.normal(shape=(16, 20))

def step():
    with autograd.record():
        loss = net(data).square().mean()
    loss.backward()
    trainer.step(16)

step()
mx.nd.waitall()
with mx.Record(calls=True) as record:
    while record.rows("ops") < 10_000:
        step()
    mx.nd.waitall()
pair = ABCompare(record)
pair
"""
# Milliseconds from a new value of the control to the moment when figures, memory and
# both timelines were painted, for each value.
TIMES = """async ([name, values]) => {
  const root = document.querySelector('[data-view=compare]');
  const views = [...document.querySelectorAll('[data-view=compared]')];
  const chooser = root.querySelector('.mx-ab-turning select');
  chooser.value = name;
  chooser.dispatchEvent(new Event('change'));
  const input = root.querySelector('.mx-ab-control :is(.mx-entry, select)');
  const took = [];
  for (const value of values) {
    const before = root.dataset.revision;
    const painted = () => root.dataset.revision !== before &&
      views.map(view => view.dataset.drawn).join() === root.dataset.timelines;
    const began = performance.now();
    input.focus();
    input.value = value;
    if (input.matches('select')) input.dispatchEvent(new Event('change'));
    else input.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter' }));
    while (!painted()) {
      await new Promise(requestAnimationFrame);
      if (performance.now() - began > 20000) throw new Error(`${value} was not drawn`);
    }
    took.push(performance.now() - began);
  }
  return took;
}"""
TARGET = 100  # milliseconds from a knob to the redrawn picture


def test_a_knob_is_answered_at_once_for_ten_thousand_operations(
    notebook: Notebook,
) -> None:
    notebook.open(notebook.lab.notebook("long_replay.ipynb", LONG))
    notebook.run(0)
    drawn(notebook)
    operations = int(
        notebook.page.locator("[data-view=compared]").nth(1).get_attribute(
            "data-operations"
        ) or 0
    )  # fmt: skip
    assert operations >= 9_000
    changes = {
        "MXNET_CPU_MEM_POOL_PAGE_SIZE": [str(4096 * k) for k in range(2, 12)],
        "MXNET_CPU_WORKER_NTHREADS": [str(k) for k in range(2, 12)],
    }
    times: list[float] = []
    timelines = [notebook.data("compare", "timelines")]
    for name, values in changes.items():
        took = notebook.page.evaluate(TIMES, [name, values])
        median, least = statistics.median(took), min(took)
        print(f"\n{name}: median {median:.0f} ms of {len(took)}, least {least:.0f} ms")
        timelines.append(notebook.data("compare", "timelines"))
        times += took
        # Others may use the machine as well: then only the quickest says what it takes.
        assert least < 3 * TARGET
    median = statistics.median(times)
    print(f"knob to redraw, {operations} operations, 20 changes: {median:.0f} ms")
    assert len(times) == 20
    assert timelines[0] == timelines[1] != timelines[2], (
        "a pool moves no operation, so none is sent again; workers do"
    )
    assert notebook.complaints == []
