"""The knob page of the book, written from the declarations.

    python -m minimx.tools.knob_page > book/knobs.md

A test compares the page with what this module writes, so that it cannot grow old.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from minimx.core.knobs import PRESETS
from minimx.core.knobs.declarations import GROUPS
from minimx.core.knobs.example import Example
from minimx.core.knobs.knob import Knob
from minimx.tools.knob_show import acts, tried, when

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"

HEAD = """\
<!-- Written by `python -m minimx.tools.knob_page` from minimx/core/knobs/declarations.
-->

# Knobs

Every environment variable that MXNet's documents name, those that only its code reads,
and minimx's own. Each is a knob: `mx.knobs.NAME` reads it, `mx.knobs.set(NAME=value)`
turns it while the program runs, and `with mx.knobs(NAME=value):` turns it for the
length of a block. `NAME=value` in the environment sets it at the start, and `%env
NAME=value` in a notebook turns it from the next cell on. `minimx knobs` prints the list
with the values of the moment.

A knob that is **live** acts today, and a test turns it and watches its effect. Its
section names the function that obeys it and gives a few lines to run after
`import minimx as mx`; what they print under each value is tested as well. A
**planned** one is checked and stored, and says when it is set that it does not act yet.

The documents are MXNet's pages on environment variables of the generations 0.x, 1.x and
2.0, its performance tips, and a troubleshooting guide. A number behind a document is a
line.
"""


def markdown() -> str:
    """The whole page."""
    return "\n".join([HEAD, *_contents(), *_presets(), *_groups()]).rstrip() + "\n"


def _contents() -> Iterator[str]:
    knobs = [knob for group in GROUPS for knob in group.KNOBS]
    live = sum(knob.live for knob in knobs)
    yield f"There are {len(knobs)} knobs; {live} are live.\n"
    yield "| knob | default | acts | meaning |"
    yield "| --- | --- | --- | --- |"
    for knob in knobs:
        anchor = knob.name.lower().replace("_", "-")
        yield (
            f"| [`{knob.name}`](#{anchor}) | {_cell(knob.default_text)} "
            f"| {_cell(acts(knob))} | {_cell(knob.summary)} |"
        )
    yield ""


def _presets() -> Iterator[str]:
    yield "## Presets\n"
    yield "`mx.knobs.preset(name)` turns the knobs of a preset together.\n"
    for name, preset in PRESETS.items():
        values = ", ".join(f"`{knob}={value}`" for knob, value in preset.values.items())
        yield f"**{name}** sets {values}. {preset.meaning} ({preset.source})\n"


def _groups() -> Iterator[str]:
    for group in GROUPS:
        yield f"## {group.GROUP[0].upper()}{group.GROUP[1:]}\n"
        for knob in group.KNOBS:
            yield from _section(knob)


def _section(knob: Knob) -> Iterator[str]:
    yield f"({knob.name.lower().replace('_', '-')})="
    yield f"### `{knob.name}`\n"
    yield f"{knob.meaning}\n"
    yield f"- **Values** {knob.kind}; default {knob.default_text}"
    yield f"- **Acts** {when(knob)}"
    if knob.example is not None:
        yield f"- **Acts in** `{knob.example.acts_in}`"
    yield f"- **Look at** {knob.observable}"
    if knob.aliases:
        yield f"- **Also called** {', '.join(f'`{alias}`' for alias in knob.aliases)}"
    if knob.defaults_by_document:
        documented = knob.defaults_by_document.items()
        listed = "; ".join(f"{document}: {text}" for document, text in documented)
        yield f"- **Documented defaults** {listed}"
    if knob.sources:
        yield f"- **Documents** {', '.join(knob.sources)}"
    if found := notebooks(knob.name):
        links = (f"[{name.stem}](../notebooks/{name.name})" for name in found)
        yield f"- **Notebooks** {', '.join(links)}"
    if knob.example is not None:
        yield from _trial(knob.example)
    yield ""


def _trial(example: Example) -> Iterator[str]:
    yield f"\n{tried(example)}\n"
    yield f"```python\n{example.typed()}\n```\n"
    yield f"It prints\n\n```text\n{example.output()}```"


def notebooks(name: str) -> list[Path]:
    """The notebooks that name a knob, in text or in code, in their order."""
    return [path for path, names in _names_in_notebooks().items() if name in names]


@cache
def _names_in_notebooks() -> dict[Path, frozenset[str]]:
    """Every word in capitals that stands in the cells of each notebook."""
    found = {}
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        text = "\n".join("".join(cell["source"]) for cell in cells)
        found[path] = frozenset(re.findall(r"\b[A-Z]+(?:_[A-Z0-9]+)+\b", text))
    return found


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    import sys

    sys.stdout.write(markdown())
