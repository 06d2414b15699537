"""Where the course turns each variable of the documents, and shows their stories.

    python -m tests.notebooks.places > book/where.md

A variable is turned where a cell of code names it; the cell of verdicts, which quotes
documents, does not count. Where a story is shown, `stories.toml` says.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from minimx.core.knobs import knobs
from minimx.core.knobs.knob import Knob
from minimx_widgets.course.teaching import exercises
from tests.notebooks.answers import notebooks

STORIES = Path(__file__).with_name("stories.toml")
_HEADING = re.compile(r"^#{2,3} (.+)$", re.MULTILINE)
HEAD = """<!-- Written by `python -m tests.notebooks.places` from the notebooks. -->

# Where each variable is turned

For every variable that MXNet's pages name, the parts of the notebooks whose cells turn
it; then for every story of the troubleshooting guide and the performance tips the part
that shows it. A number behind a document is a line.
"""


class Place(NamedTuple):
    """A part of a notebook."""

    notebook: str
    heading: str

    def link(self) -> str:
        """Markdown: the part, and the notebook that it stands in."""
        name = self.notebook[:2] if self.notebook[:2].isdigit() else self.notebook
        return f"[{name}](../notebooks/{self.notebook}.ipynb) {self.heading}"


def variables() -> list[Knob]:
    """The knobs that documents name, in their order."""
    return [knob for knob in knobs if knob.sources]


def cells() -> Iterator[tuple[Place, dict[str, Any]]]:
    """Every cell of the course, with each part that begins in it or it stands in."""
    for path in notebooks():
        heading = "Before the case"
        for cell in exercises.read(path)["cells"]:
            found = [heading]
            if cell["cell_type"] == "markdown":
                found = _HEADING.findall(cell["source"]) or found
                heading = found[-1]
            yield from ((Place(path.stem, one), cell) for one in found)


def code() -> Iterator[tuple[Place, str]]:
    """Each cell of code that is no cell of verdicts, and the part it stands in."""
    for place, cell in cells():
        source = cell["source"]
        if cell["cell_type"] == "code" and not source.startswith("verdicts("):
            yield place, source


def turned() -> dict[str, list[Place]]:
    """The places of each variable."""
    found: dict[str, list[Place]] = {knob.name: [] for knob in variables()}
    names = {
        name: knob.name for knob in variables() for name in (knob.name, *knob.aliases)
    }
    for place, source in code():
        for word in dict.fromkeys(re.findall(r"[A-Z]+_[A-Z0-9_]+", source)):
            places = found.get(names.get(word, ""))
            if places is not None and place not in places:
                places.append(place)
    return found


def stories() -> list[dict[str, Any]]:
    """What the guide and the tips say."""
    found: list[dict[str, Any]] = tomllib.loads(STORIES.read_text("utf-8"))["story"]
    return found


def headings() -> set[str]:
    """ "notebook: heading" of all parts of the course."""
    return {f"{place.notebook}: {place.heading}" for place, _ in cells()}


def markdown() -> str:
    """The page of the book."""
    lines = [HEAD, "| variable | documents | turned in |", "| --- | --- | --- |"]
    for name, places in turned().items():
        knob = knobs.declared[name]
        links = "; ".join(place.link() for place in places)
        lines.append(
            f"| [`{name}`](knobs.md#{name.lower().replace('_', '-')}) "
            f"| {', '.join(knob.sources)} | {links or 'nowhere yet'} |"
        )
    lines += ["", "# Where each story is shown", ""]
    lines += ["| story | document | shown in |", "| --- | --- | --- |"]
    for story in stories():
        links = "; ".join(Place(*one.split(": ", 1)).link() for one in story["where"])
        lines.append(
            f"| {story['says']} | {story['document']}:{story['line']} "
            f"| {links or 'nowhere yet'} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(markdown(), end="")
