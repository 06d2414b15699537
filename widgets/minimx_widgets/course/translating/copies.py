"""The notebooks in a language, to be copied into a learner's folder.

    with of("de", course, folder) as translated:
        copies.bring(translated, folder)

Only markdown is translated: code, its comments and what it prints stay. The folder
gets the file from which its kernels read the texts of cards, and keeps its language.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from minimx.core.files import write_whole
from minimx_widgets import language as speech
from minimx_widgets.course.teaching import exercises
from minimx_widgets.course.translating import catalogs, markdown
from minimx_widgets.language import FILE, Language, speaking

ENGLISH: Final = "en"
#: A link to a heading, of another notebook or of the same.
LINK: Final = re.compile(r"\]\(([^()#\s]*)#([^()\s]+)\)")
MOST_SHOWN: Final = 10  # mistakes of a translation, in the terminal


@contextmanager
def of(name: str | None, course: Path, folder: Path) -> Iterator[Path]:
    """The course in a language, as a folder that exists during the block.

    name: of a language, or a path to a .po file; "en" for English; None for the
    language that the learner's folder has already. Texts of cards are in the language
    during the block, too; after it the folder keeps the language. Mistakes in the
    translation are printed, and those texts stay English. Raises ValueError, with what
    there is, for an unknown language and for a damaged file; the folder is unchanged.
    """
    kept = folder / FILE
    if not name and kept.exists():
        name = speech.read(kept).name
    if not name or name == ENGLISH:
        with speaking(None):
            yield course
        kept.unlink(missing_ok=True)
        return
    path = catalogs.found(name)
    texts, problems = catalogs.usable(catalogs.read(path))
    for line in problems[:MOST_SHOWN]:
        print(f"{path.name}: {line} It is shown in English.", file=sys.stderr)
    if (more := len(problems) - MOST_SHOWN) > 0:
        print(f"{path.name}: {more} more mistakes.", file=sys.stderr)
    name = str(path) if name.endswith(".po") else name
    with tempfile.TemporaryDirectory() as place:
        compiled = Path(place) / FILE
        compiled.write_bytes(catalogs.compiled(texts, name))
        language = speech.read(compiled)
        target = Path(place) / "notebooks"
        write(course, target, language)
        with speaking(language):
            yield target
        write_whole(kept, compiled.read_bytes(), "minimx lab")


def write(course: Path, target: Path, language: Language) -> None:
    """Write the course into a new folder, its markdown in a language."""
    shutil.copytree(course, target, ignore=shutil.ignore_patterns(".*", "__*"))
    books = {path: exercises.read(path) for path in sorted(target.glob("*.ipynb"))}
    moved: dict[tuple[str, str], str] = {}
    for path, book in books.items():
        for cell in _markdown(book):
            before = _anchors(cell["source"])
            cell["source"] = markdown.replaced(cell["source"], language.shown)
            after = _anchors(cell["source"])
            pairs = zip(before, after, strict=False)
            moved |= {(path.name, old): new for old, new in pairs}
    for path, book in books.items():
        for cell in _markdown(book):
            cell["source"] = _linked(cell["source"], path.name, moved)
        exercises.write(book, path)


def _markdown(book: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    return (cell for cell in book["cells"] if cell["cell_type"] == "markdown")


def _anchors(cell: str) -> list[str]:
    """What links to the headings of a cell end with, as JupyterLab makes it."""
    return [
        re.sub(r"[`*]", "", block.text).replace(" ", "-")
        for block in markdown.blocks(cell)
        if "#" in block.before
    ]


def _linked(cell: str, notebook: str, moved: Mapping[tuple[str, str], str]) -> str:
    """The cell, its links leading to the translated headings."""

    def link(found: re.Match[str]) -> str:
        anchor = moved.get((found[1] or notebook, found[2]), found[2])
        return f"]({found[1]}#{anchor})"

    return LINK.sub(link, cell)
