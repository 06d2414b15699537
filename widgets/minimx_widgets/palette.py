"""The colours of every view: one hue for one thing, everywhere, in both themes.

A category of memory and a phase of training keep their hue in all pictures, so that
orange is always "gradient" and always "backward". The browser gets the same colours as
CSS variables, made from these tables by `css()`.
"""

from __future__ import annotations

from minimx.core.events import CATEGORIES, PHASES
from minimx.core.graph.passes.families import FAMILIES
from minimx.profiler.shares import BUCKETS

# name: (light theme, dark theme)
CATEGORY: dict[str, tuple[str, str]] = {
    "parameter": ("#3367c9", "#6d9bf5"),
    "gradient": ("#e2762b", "#f39a56"),
    "optimizer state": ("#8557c7", "#b08cf0"),
    "activation": ("#2c9a72", "#4cc79a"),
    "workspace": ("#c29a14", "#e3c04b"),
    "data": ("#2f9fbd", "#5fc6de"),
    "communication": ("#c9477f", "#ee7fae"),
    "temporary": ("#8b95a1", "#98a3b1"),
}
PHASE: dict[str, tuple[str, str]] = {
    "other": CATEGORY["temporary"],
    "data": CATEGORY["data"],
    "forward": CATEGORY["parameter"],
    "backward": CATEGORY["gradient"],
    "update": CATEGORY["optimizer state"],
    "evaluate": CATEGORY["activation"],
}
# Surfaces and lines of a static picture; live views take JupyterLab's own.
SURFACE: dict[str, tuple[str, str]] = {
    "paper": ("#ffffff", "#16181d"),
    "card": ("#f6f7f9", "#20242b"),
    "ink": ("#1c2330", "#e8ebf0"),
    "muted": ("#5f6978", "#9aa5b5"),
    "line": ("#d9dee6", "#38404c"),
    "accent": ("#3367c9", "#6d9bf5"),
    "alert": ("#c0392b", "#ff8a7a"),
    "mark": ("#b0268f", "#f07fd6"),
    # Words in the hue of a state or a phase, which fills may have paler.
    "good": ("#17764f", "#4cc79a"),
    "caution": ("#a84e0c", "#f39a56"),
    "planned": ("#7645b8", "#b08cf0"),
}
# What kind of work a node of a graph is (minimx.core.graph.passes.families).
FAMILY: dict[str, tuple[str, str]] = {
    "variable": CATEGORY["temporary"],
    "product": CATEGORY["parameter"],
    "norm": CATEGORY["optimizer state"],
    "elementwise": CATEGORY["gradient"],
    "reduce": CATEGORY["activation"],
    "shape": CATEGORY["data"],
    "random": CATEGORY["communication"],
    "fused": CATEGORY["workspace"],
    "other": ("#5c6773", "#c3cad4"),
}
# What the time of a lane went into (minimx.profiler.shares).
BUCKET: dict[str, tuple[str, str]] = {
    "compute": CATEGORY["parameter"],
    "data": CATEGORY["data"],
    "copy": CATEGORY["activation"],
    "communication": CATEGORY["communication"],
    "bookkeeping": CATEGORY["workspace"],
    "dependency": ("#9a6b4a", "#c79a78"),
    "no data": ("#a5d5e2", "#2f6271"),
    "synchronisation": CATEGORY["optimizer state"],
    "no operation": ("#dfe3e9", "#343b46"),
}
# What a pass did to a node.
STATE: dict[str, tuple[str, str]] = {
    "kept": SURFACE["line"],
    "rewired": ("#c29a14", "#e3c04b"),
    "changed": SURFACE["mark"],
    "added": ("#1d8a5f", "#4cc79a"),
    "removed": SURFACE["alert"],
}
# Colours of layers, which have no fixed meaning: taken in order of appearance.
LAYERS: tuple[tuple[str, str], ...] = (
    ("#3367c9", "#6d9bf5"),
    ("#e2762b", "#f39a56"),
    ("#2c9a72", "#4cc79a"),
    ("#c9477f", "#ee7fae"),
    ("#8557c7", "#b08cf0"),
    ("#c29a14", "#e3c04b"),
    ("#2f9fbd", "#5fc6de"),
    ("#7a5c3e", "#c3a27f"),
)

if set(CATEGORY) != set(CATEGORIES) or set(PHASE) != set(PHASES):
    raise ImportError("palette: every category and phase of events needs a colour")
if tuple(BUCKET) != BUCKETS:
    raise ImportError("palette: every bucket of time needs a colour")
if set(FAMILY) != set(FAMILIES):
    raise ImportError("palette: every family of operators needs a colour")


def category(name: str, *, dark: bool = False) -> str:
    """The colour of a category of memory."""
    return CATEGORY[name][dark]


def phase(name: str, *, dark: bool = False) -> str:
    """The colour of a phase of training."""
    return PHASE.get(name, PHASE["other"])[dark]


def surface(name: str, *, dark: bool = False) -> str:
    """The colour of paper, ink or a line."""
    return SURFACE[name][dark]


def family(name: str, *, dark: bool = False) -> str:
    """The colour of a family of operators."""
    return FAMILY[name][dark]


def bucket(name: str, *, dark: bool = False) -> str:
    """The colour of what the time of a lane went into."""
    return BUCKET[name][dark]


def state(name: str, *, dark: bool = False) -> str:
    """The colour of what a pass did to a node."""
    return STATE[name][dark]


def layer(index: int, *, dark: bool = False) -> str:
    """The colour of the layer that appeared as number `index`."""
    return LAYERS[index % len(LAYERS)][dark]


def css() -> str:
    """The colours as CSS variables, the dark ones under `data-mx-theme="dark"`."""
    return _rule(".mx-view", 0) + _rule('.mx-view[data-mx-theme="dark"]', 1)


def _rule(selector: str, theme: int) -> str:
    rows = [f"  --mx-cat-{i}: {CATEGORY[n][theme]};" for i, n in enumerate(CATEGORIES)]
    rows += [f"  --mx-phase-{i}: {PHASE[n][theme]};" for i, n in enumerate(PHASES)]
    rows += [f"  --mx-family-{i}: {FAMILY[n][theme]};" for i, n in enumerate(FAMILIES)]
    rows += [f"  --mx-bucket-{i}: {BUCKET[n][theme]};" for i, n in enumerate(BUCKETS)]
    rows += [
        f"  --mx-state-{i}: {pair[theme]};" for i, pair in enumerate(STATE.values())
    ]
    rows += [f"  --mx-layer-{i}: {pair[theme]};" for i, pair in enumerate(LAYERS)]
    rows += [f"  --mx-{name}: {pair[theme]};" for name, pair in SURFACE.items()]
    return selector + " {\n" + "\n".join(rows) + "\n}\n"
