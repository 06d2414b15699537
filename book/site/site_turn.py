"""Pages of the book on which a reader turns a knob, and policies of minimx answer.

    names = write(stage / "static" / "turn")

writes for each page of `turning` a script with its controls, a recorded training and
frames: the answers for the values that a reader can choose where the page cannot run
Python, as when it was opened from a file. Beside them lie Python for the browser
(`site_python.py`), a zip of the source files that decide, and the record.

The zip has the modules that a page needs, unchanged. Packages that only collect names
are empty in it, so that a page need not load all of minimx, and NumPy is a stand-in
that knows names and computes nothing (`turning_numpy.py`).
"""

from __future__ import annotations

import ast
import io
import itertools
import json
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import site_python
import site_recorded
import turning

SITE = Path(__file__).resolve().parent
ROOT = SITE.parents[1]
#: Packages whose own module imports more than a page needs.
EMPTY = (
    "minimx",
    "minimx.core.engine",
    "minimx.core.graph.passes",
    "minimx.core.ops",
    "minimx.experiments",
    "minimx.tools",
)
#: What modules of the core ask for by name (`core/extensions.py`).
ASKED_FOR = (
    "minimx.fast.compiled",
    "minimx.tools.knob_declarations",
    "minimx.tools.memory",
    "minimx.tools.record_curves",
)
FROZEN = (1980, 1, 1, 0, 0, 0)  # the same files give the same zip


@dataclass(frozen=True)
class Control:
    """A knob on a page.

    values: what can be chosen. framed: those of them that have frames, where the page
    cannot run Python. start: the first one. unit: behind the number; "bytes" are shown
    in the largest unit that fits, a "power of two" as such.
    """

    knob: str
    label: str
    values: tuple[Any, ...]
    framed: tuple[Any, ...]
    start: Any
    unit: str = ""


KIB, MIB = 1 << 10, 1 << 20
PAGE_SIZES = tuple(KIB * k for k in (4, 8, 12, 16, 32, 64, 128, 256, 512, 1024))
CONTROLS = {
    "pool": (
        Control(
            "MXNET_GPU_MEM_POOL_TYPE",
            "Type of the pool",
            ("Naive", "Round", "Unpooled"),
            ("Naive", "Round", "Unpooled"),
            "Naive",
        ),
        Control(
            "MXNET_GPU_MEM_POOL_PAGE_SIZE",
            "Smallest block",
            PAGE_SIZES,
            (4 * KIB, 64 * KIB, 1024 * KIB),
            4 * KIB,
            "bytes",
        ),
        Control(
            "MXNET_GPU_MEM_LARGE_ALLOC_ROUND_SIZE",
            "Large requests: multiples of (Naive)",
            tuple(MIB * k for k in (1, 2, 3, 4, 6, 8, 12, 16)),
            (2 * MIB, 8 * MIB),
            2 * MIB,
            "bytes",
        ),
        Control(
            "MXNET_GPU_MEM_POOL_ROUND_LINEAR_CUTOFF",
            "Powers of two up to (Round)",
            tuple(range(20, 29)),
            (20, 24),
            24,
            "power of two",
        ),
        Control(
            "MXNET_GPU_MEM_POOL_RESERVE",
            "Left to others",
            tuple(range(0, 100, 5)),
            (5, 50, 80),
            5,
            "%",
        ),
        Control(
            "MINIMX_SIM_GPU_MEMORY",
            "Memory of the GPU",
            tuple(MIB * k for k in (8, 10, 12, 14, 16, 20, 24, 32, 48, 64)),
            (12 * MIB, 20 * MIB, 64 * MIB),
            64 * MIB,
            "bytes",
        ),
    ),
    "planner": (
        Control(
            "MXNET_EXEC_ENABLE_INPLACE",
            "Write results over inputs",
            (True, False),
            (True, False),
            True,
        ),
        Control(
            "NNVM_EXEC_MATCH_RANGE",
            "Match range",
            (0, 1, 2, 3, 4, 6, 8, 16, 32, 64, 128),
            (0, 1, 2, 4, 16, 64),
            16,
        ),
        Control(
            "NNVM_AUTO_SEARCH_MATCH_RANGE",
            "Try 1, 2, 4, … up to it",
            (True, False),
            (True, False),
            False,
        ),
    ),
    "engine": (
        Control(
            "MXNET_ENGINE_TYPE",
            "Engine",
            ("ThreadedEnginePerDevice", "ThreadedEngine", "NaiveEngine"),
            ("ThreadedEnginePerDevice", "ThreadedEngine", "NaiveEngine"),
            "ThreadedEnginePerDevice",
        ),
        Control(
            "MXNET_CPU_WORKER_NTHREADS",
            "Workers of the CPU",
            tuple(range(1, 17)),
            (1, 2, 3, 4, 8),
            2,
        ),
    ),
}
#: What the figures of a page are called, in their order.
FIGURES = {
    "pool": {
        "peak_reserved": "most bytes reserved",
        "peak_requested": "most bytes requested at once",
        "n_malloc": "calls of the driver",
        "n_hit": "blocks used again",
        "n_flush": "flushes of all idle blocks",
        "refused": "requests without room",
    },
    "planner": {
        "total": "bytes of all blocks",
        "apart": "bytes if nothing were shared",
        "blocks": "blocks",
        "inplace": "results over an input",
        "match_range": "match range that was taken",
        "tried": "match ranges tried",
    },
    "engine": {
        "makespan": "makespan",
        "busy": "work of all workers",
        "workers": "workers that had work",
        "share": "busy share of those",
        "pushes": "operations pushed",
    },
}


def write(folder: Path, python: bool = True) -> str:
    """Write everything that pages load; "" or why they cannot run Python.

    python: whether to ship Python for the browser.
    """
    folder.mkdir(parents=True, exist_ok=True)
    missing = "the book was built without it"
    if python:
        missing = site_python.unpack(folder / "pyodide")
    (folder / "minimx.zip").write_bytes(packed())
    for page in turning.PAGES:
        data = site_recorded.KEPT[page](folder)
        setting = {
            "controls": [asdict(control) for control in CONTROLS[page]],
            "figures": FIGURES[page],
            "data": data,
            "missing": missing,
            **frames(page, data),
        }
        text = f"minimxTurn.page({json.dumps(page)}, {json.dumps(setting)});\n"
        (folder / f"{page}.js").write_text(text, encoding="utf-8")
    return missing


def frames(page: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Answers for all combinations of framed values, each answer once.

    The key is the place of each value among those of its control.
    """
    controls = CONTROLS[page]
    keys: dict[str, int] = {}
    answers: dict[str, int] = {}
    for values in itertools.product(*(control.framed for control in controls)):
        turned = {c.knob: value for c, value in zip(controls, values, strict=True)}
        text = json.dumps(turning.answer(page, data, turned))
        places = [
            c.framed.index(value) for c, value in zip(controls, values, strict=True)
        ]
        keys["".join(map(str, places))] = answers.setdefault(text, len(answers))
    return {"frames": keys, "answers": [json.loads(text) for text in answers]}


# -- the zip ---------------------------------------------------------------------------


def packed() -> bytes:
    """A zip of the modules that pages run, and of what those import."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in sorted(sources().items()):
            file = zipfile.ZipInfo(name, FROZEN)
            archive.writestr(file, text, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def sources() -> dict[str, str]:
    """The text of every file in the zip, by name."""
    pages = ["turning", *(f"turning_{page}" for page in turning.PAGES)]
    waiting, found = [*pages, *ASKED_FOR], {}
    stand_in = SITE / "turning_numpy.py"
    files = {"numpy/__init__.py": stand_in.read_text(encoding="utf-8")}
    while waiting:
        module = waiting.pop()
        path = _file_of(module)
        if module in found or path is None:
            continue
        found[module] = path
        text = "" if module in EMPTY else path.read_text(encoding="utf-8")
        base = SITE if path.is_relative_to(SITE) else ROOT
        files[str(path.relative_to(base))] = text
        waiting += [module.rpartition(".")[0], *imported(ast.parse(text).body)]
    return files


def _file_of(module: str) -> Path | None:
    base = SITE if module.startswith("turning") else ROOT
    if not module.startswith(("turning", "minimx")):
        return None
    place = base / module.replace(".", "/")
    for path in (place / "__init__.py", place.with_suffix(".py")):
        if path.exists():
            return path
    return None


def imported(body: Iterable[ast.stmt]) -> Iterator[str]:
    """The modules that statements import when they run, functions not called.

    From `from a import b` follow `a` and `a.b`, which may be a module.

    >>> [*imported(ast.parse("import a" + chr(10) + "from b.c import d").body)]
    ['a', 'b.c', 'b.c.d']
    """
    for node in body:
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.dump(node.test):
            yield from imported([*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            yield from imported(node.body)


if __name__ == "__main__":
    print(write(Path(sys.argv[1])) or "with Python")
