"""Python numbers what JavaScript names: both must have the same lists."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from playwright._impl._driver import compute_driver_executable

from minimx.core.engine.trace import PUSHER
from minimx.core.events import CATEGORIES, PHASES
from minimx.core.record import MEMORY_EVENTS, TENSOR_KINDS
from minimx.numerics import ZONES
from minimx.tools.drawing import layout as graph_layout
from minimx_widgets import esm, sources
from minimx_widgets.pictures import (
    engine_layout,
    engine_picture,
    graph_diff,
    training_series,
)
from minimx_widgets.training import first_layer, layer_health, meter
from minimx_widgets.views import memory_plan, mirror_explorer, numerics_monitor

LISTS = [
    ("memory/memory_data.js", "CATEGORIES", list(CATEGORIES)),
    ("training/numerics_data.js", "KINDS", list(TENSOR_KINDS)),
    ("training/numerics_data.js", "ZONES", list(ZONES)),
    ("training/numerics_data.js", "RECORDED", numerics_monitor.RECORDED),
    ("memory/memory_steps.js", "PEAK", meter.PEAK),
    ("memory/memory_steps.js", "RESERVED", meter.RESERVED),
    ("memory/memory_steps.js", "PLANNED", meter.PLANNED),
    ("memory/memory_steps.js", "MILLISECONDS", meter.MILLISECONDS),
    ("memory/memory_data.js", "EVENTS", list(MEMORY_EVENTS)),
    ("data/live.js", "PHASES", list(PHASES)),
    ("engine/engine_data.js", "KINDS", list(engine_picture.KINDS)),
    ("engine/engine_data.js", "PUSHER", PUSHER),
    ("graph/graph_paint.js", "STATES", list(graph_diff.STATES)),
    ("graph/graph_paint.js", "WIDE", graph_layout.WIDE),
    ("graph/graph_paint.js", "HIGH", graph_layout.HIGH),
    ("memory/plan_data.js", "ROLES", list(memory_plan.ROLES)),
    ("graph/mirror_paint.js", "FATES", list(mirror_explorer.FATES)),
    ("training/training_data.js", "KEPT", list(training_series.KEPT)),
    ("training/training_data.js", "STEADY", training_series.STEADY),
    ("training/training_data.js", "BATCHES", training_series.BATCHES),
    ("training/training_data.js", "TREND", training_series.TREND),
    ("drawing/scale.js", "NINES", list(training_series.NINES)),
    ("drawing/scale.js", "MOST", training_series.MOST),
    ("drawing/pixels.js", "ZERO", first_layer.ZERO),
    ("drawing/pixels.js", "LOST", first_layer.LOST),
    ("drawing/pixels.js", "KINDS", list(layer_health.KINDS)),
    ("graph/mirror_paint.js", "AGAIN", memory_plan.ROLES.index("recomputed")),
]


@pytest.mark.parametrize(("file", "name", "expected"), LISTS)
def test_lists_agree(file: str, name: str, expected: object, tmp_path: Path) -> None:
    address = (esm.STATIC / "lib" / file).as_uri()
    module = tmp_path / "module.mjs"
    module.write_text(
        f'import {{ {name} }} from "{address}";\nconsole.log(JSON.stringify({name}));'
    )
    node = compute_driver_executable()[0]
    done = subprocess.run(
        [node, module], capture_output=True, text=True, check=True
    )  # fmt: skip
    assert json.loads(done.stdout) == expected


def test_the_pusher_has_one_name() -> None:
    assert engine_layout.PUSHER == PUSHER


def test_sources_are_called_the_same_on_both_sides(tmp_path: Path) -> None:
    words = [sources.MEASURED, sources.VIRTUAL, sources.PLANNED, sources.MODELLED]
    words.append(sources.PREDICTED)
    address = (esm.STATIC / "lib/page/sources.js").as_uri()
    module = tmp_path / "module.mjs"
    module.write_text(
        f'import {{ SOURCES, sourceOf }} from "{address}";\n'
        "const clocks = ['wall', 'virtual'].map((clock) => sourceOf({ clock }));\n"
        "console.log(JSON.stringify([Object.keys(SOURCES), clocks]));"
    )
    node = compute_driver_executable()[0]
    done = subprocess.run(
        [node, module], capture_output=True, text=True, check=True
    )  # fmt: skip
    clocks = [sources.of_clock(clock) for clock in ("wall", "virtual")]
    assert json.loads(done.stdout) == [words, clocks]
