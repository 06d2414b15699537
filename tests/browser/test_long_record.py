"""A million operations in JupyterLab: opened in pieces, zoomed and moved in frames."""

from __future__ import annotations

import statistics
from typing import Any

import pytest

from tests.browser.conftest import Notebook

pytestmark = pytest.mark.browser

OPERATIONS = 1_000_000
MAKE = f"""
import numpy as np
from minimx.core.record import Record, TABLES, dtype_of
from minimx.core.record.tables import Contents
from minimx_widgets import EngineTimeline

n = {OPERATIONS}
chance = np.random.default_rng(7)
texts = ["", "other", "forward", "backward", "update", "RAW"]
texts += [f"operator {{i}}" for i in range(40)] + [f"net/dense{{i}}" for i in range(12)]
texts += [f"cpu(0)/{{i}}" for i in range(8)] + ["cpu(0)"]
number = {{text: i for i, text in enumerate(texts)}}
tables = {{name: np.zeros(0, dtype_of(name)) for name in TABLES}}
ops = tables["ops"] = np.zeros(n, dtype_of("ops"))
ops["op"] = np.arange(1, n + 1)
ops["worker"] = number["cpu(0)/0"] + np.arange(n) % 8
ops["name"] = number["operator 0"] + chance.integers(40, size=n)
ops["layer"] = number["net/dense0"] + np.arange(n) // 50 % 12
ops["phase"] = number["forward"] + np.arange(n) // 600 % 3
ops["device"] = number["cpu(0)"]
gaps = chance.integers(100, 4000, size=n) + 4_000_000 * (np.arange(n) % 50_000 == 0)
ops["t_start"] = 10_000 + np.cumsum(gaps)
ops["t_push"] = ops["t_start"] - 5000
ops["t_ready"] = ops["t_start"] - 2000
ops["t_end"] = ops["t_start"] + chance.integers(200, 800, size=n)
deps = tables["deps"] = np.zeros(n - 1, dtype_of("deps"))
deps["src"], deps["dst"] = ops["op"][:-1], ops["op"][1:]
deps["kind"] = number["RAW"]
conditions = dict(knobs={{}}, seed=0, clock="wall", cores=0, devices={{}})
conditions |= dict(t_start=0, t_stop=int(ops["t_end"].max()))
dropped = dict.fromkeys(TABLES, 0)
record = Record.of(Contents(tables, texts, dropped, conditions))
"""
SHOW = "view = EngineTimeline(record); view"
WATCH = """() => {
  window.gaps = [];
  let before = performance.now();
  const look = () => {
    const now = performance.now();
    window.gaps.push(now - before);
    before = now;
    window.watching = requestAnimationFrame(look);
  };
  window.watching = requestAnimationFrame(look);
}"""
# How long the page works for a key: from the press to the end of the painting.
PAINTS = """async keys => {
  const view = document.querySelector('.mx-view[data-view="engine"]');
  const took = [];
  for (const key of keys) {
    let work = 0;
    const original = window.requestAnimationFrame;
    window.requestAnimationFrame = (call) => original((time) => {
      const began = performance.now();
      call(time);
      work += performance.now() - began;
    });
    const began = performance.now();
    view.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
    work += performance.now() - began;
    await new Promise((done) => original(() => setTimeout(done)));
    window.requestAnimationFrame = original;
    took.push(work);
  }
  return took;
}"""


def summary(times: list[float]) -> str:
    ordered = sorted(times)
    late = ordered[int(0.95 * len(ordered))]
    return f"median {statistics.median(ordered):.1f} ms, 95th percentile {late:.1f} ms"


@pytest.mark.alone
def test_a_million_operations_open_in_pieces_and_zoom_in_frames(
    notebook: Notebook, jupyterlab: Any
) -> None:
    notebook.open(jupyterlab.notebook("long.ipynb", MAKE, SHOW))
    notebook.run(0)
    notebook.page.evaluate(WATCH)
    notebook.start(1)
    root = "document.querySelector('.mx-view[data-view=\"engine\"]')?.dataset"
    notebook.until(f"() => Number({root}?.operations) > 0", timeout=60)
    opened = sum(notebook.page.evaluate("() => window.gaps"))
    assert float(notebook.data("engine", "loaded")) < 1, "the first piece is shown"
    notebook.shoot("long_record_loading")
    notebook.until(f"() => Number({root}?.loaded) === 1", timeout=60)
    notebook.finish(1)
    gaps = notebook.page.evaluate(
        "() => { cancelAnimationFrame(watching); return gaps; }"
    )
    assert notebook.data("engine", "operations") == str(OPERATIONS)
    whole = sum(gaps)
    print(f"\nfirst picture after {opened / 1e3:.1f} s, all after {whole / 1e3:.1f} s")
    print(f"longest pause of the page {max(gaps):.0f} ms; frames: {summary(gaps)}")
    assert max(gaps) < 2000, "the page does not freeze"

    keys = [
        *"wwwwwwddaawwwwwwwwddddaaaa",
        *"ssssssssddaassssssss",
        *"fce",
        *"wwwwddss",
        "e",
    ]
    times = notebook.page.evaluate(PAINTS, keys)
    print(f"zooming and moving {len(times)} times: {summary(times)}")
    assert statistics.median(times) < 16 * 4, "drawing only what can be seen"
    for dark in (False, True):
        notebook.dark(dark)
        notebook.page.keyboard.press("Escape")
        notebook.scroll_to("engine")
        notebook.shoot(f"long_record_{'dark' if dark else 'light'}")
    assert notebook.complaints == []
