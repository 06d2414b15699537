"""All texts of the course that a learner reads, file by file.

for source in sources(Path("notebooks")):
    source.name, source.texts     # "notebooks/00-knob-board.ipynb", ["00 · The …", …]

They are read where they are written: the markdown of notebooks, and the string literals
of their code cells, of the course's modules and of the failures that notebook 15 is
about. The meanings of knobs are those that cards of knobs show.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import minimx_widgets
from minimx.core.knobs import knobs
from minimx_widgets.course.teaching import exercises
from minimx_widgets.course.translating import literals, markdown

PACKAGE: Final = Path(minimx_widgets.__file__).parent
#: Folders and files of the package with texts for learners.
READ: Final = ("course", "failures", "views/failure_lab.py")
#: What only instructors read, and these files.
UNREAD: Final = ("course/teaching", "course/translating")
_MAGIC: Final = re.compile(r"^(\s*)[%!].*$", re.MULTILINE)


@dataclass
class Source:
    """The texts of a file, each once and in order.

    unseen: the cells or lines of what is shown in English, by its kind: "printed",
    "raised", "joined".
    """

    name: str
    texts: list[str] = field(default_factory=list)
    unseen: dict[str, list[str]] = field(default_factory=dict)

    def add(self, found: literals.Found, cell: str = "") -> None:
        """Add what was found in Python code; cell: the name of its cell."""
        for text in found.texts:
            several = "\n\n" in text
            self.texts += markdown.texts(text) if several else [text]
        for kind, lines in found.unseen.items():
            self.unseen.setdefault(kind, []).extend(cell or str(each) for each in lines)


def sources(course: Path) -> Iterator[Source]:
    """Every file that has a text for learners. course: the folder of the notebooks.

    Raises `NotANotebook` for a damaged notebook.
    """
    for path in sorted(course.glob("*.ipynb")):
        yield of_notebook(path)
    for path in modules():
        source = Source(f"minimx_widgets/{path.relative_to(PACKAGE).as_posix()}")
        source.add(literals.found(path.read_text(encoding="utf-8")))
        if source.texts:
            yield source
    yield Source("minimx/core/knobs/declarations", [knob.meaning for knob in knobs])


def modules() -> Iterator[Path]:
    """The modules of the package in which texts for learners are written."""
    for name in READ:
        place = PACKAGE / name
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            if not path.relative_to(PACKAGE).as_posix().startswith(UNREAD):
                yield path


def of_notebook(path: Path) -> Source:
    """The texts of a notebook, in the order of its cells."""
    source = Source(f"notebooks/{path.name}")
    for cell in exercises.read(path)["cells"]:
        text = cell["source"]
        if cell["cell_type"] == "markdown":
            source.texts += markdown.texts(text)
        elif cell["cell_type"] == "code" and not text.startswith("%%"):
            plain = _MAGIC.sub(r"\1pass", text)
            source.add(literals.found(plain), str(cell.get("id", "")))
    source.texts = list(dict.fromkeys(source.texts))
    return source
