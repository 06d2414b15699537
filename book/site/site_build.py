"""The static book, from the notebooks, the pages and the code.

    make book                                   # writes build/book/html
    python book/site/site_build.py            # the same, from the pages as they are

Everything is gathered under `build/book/source` as Sphinx wants it: the notebooks with
the outputs that they are stored with, the pages, and one page for each source file that
any of them links to. The book is read without a server and without a network; any
warning of Sphinx, a link without a target too, is an error.
"""

from __future__ import annotations

import argparse
import html
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import site_live
import site_turn
from site_glossary import Glossary

from minimx_widgets.course.predicting.units import shown
from minimx_widgets.course.recalling.rounds import exit_ticket, recall

SITE = Path(__file__).resolve().parent
ROOT = SITE.parents[1]
#: A link in Markdown to a file, perhaps with a place in it.
LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^()\s#]+)(#[^()\s]*)?(?=\))")
WIDGET = "application/vnd.jupyter.widget-view+json"
#: What a card shows where it cannot be answered.
OPEN = "<i>Run the cell to answer.</i>"
#: Cells that ask questions of the bank.
ROUND = re.compile(r'(recall|exit_ticket)\("(\w+)"\)')
ANCHOR = re.compile(r"(?<=\]\(#)[^()\s]+(?=\))")
#: Files that have a page of their own for their text.
TEXTS = {".py": "python", ".js": "javascript", ".css": "css", ".toml": "toml"}
COURSE = "[0-9][0-9]-*.ipynb"


def main(arguments: list[str] | None = None) -> int:
    """Build; the exit status of Sphinx."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "book")
    parser.add_argument("--only-gather", action="store_true", help="do not run Sphinx")
    parser.add_argument(
        "--no-python",
        action="store_true",
        help="pages show frames: Python for the browser is not shipped",
    )
    given = parser.parse_args(arguments)
    stage, pages = given.out / "source", given.out / "html"
    gather(stage, not given.no_python)
    if given.only_gather:
        return 0
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-q", "-W", "--keep-going"]
    done = subprocess.run([*command, str(stage), str(pages)], check=False)
    if not done.returncode:
        print(f"The book: {pages / 'index.html'}")
    return done.returncode


def gather(stage: Path, python: bool = True) -> None:
    """Put everything that Sphinx reads into an empty folder.

    python: whether pages on which knobs are turned get Python for the browser.
    """
    shutil.rmtree(stage, ignore_errors=True)
    shutil.copytree(SITE / "static", stage / "static")
    shutil.copytree(ROOT / "book" / "pictures", stage / "book" / "pictures")
    shutil.copy(SITE / "conf.py", stage)
    names = site_live.write(stage / "static" / "views")
    missing = site_turn.write(stage / "static" / "turn", python)
    if missing:
        print(f"Pages on which knobs are turned show frames only: {missing}.")
    sources = Sources(stage)
    glossary = Glossary.read((ROOT / "book" / "glossary.md").read_text("utf-8"))
    terms = stage / "static" / "glossary-terms.js"
    terms.write_text(glossary.script(), encoding="utf-8")
    for path in sorted((ROOT / "book").rglob("*.md")):
        _page(path, stage, sources, names, glossary)
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        _notebook(path, stage, sources, glossary)
    (stage / "index.md").write_text(_index(), encoding="utf-8")
    sources.write()


class Sources:
    """The source files that pages link to, each with a page of its own."""

    def __init__(self, stage: Path) -> None:
        self._stage = stage
        self._found: set[Path] = set()

    def linked(self, text: str, at: Path) -> str:
        """Markdown in which links to sources lead to their pages. at: where it is."""

        def moved(match: re.Match[str]) -> str:
            target = Path(os.path.normpath(at.parent / match[1]))
            if target.is_dir() and (target / "__init__.py").exists():
                target /= "__init__.py"
            if target.suffix not in TEXTS or not target.is_file():
                return match[0]
            self._found.add(target.relative_to(ROOT))
            page = ROOT / "source" / f"{target.relative_to(ROOT)}.md"
            return os.path.relpath(page, at.parent)

        return LINK.sub(moved, text)

    def write(self) -> None:
        """A page for each file that was linked to, and their list."""
        names = sorted(self._found)
        for name in names:
            page = self._stage / "source" / f"{name}.md"
            page.parent.mkdir(parents=True, exist_ok=True)
            text = (ROOT / name).read_text(encoding="utf-8")
            fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
            page.write_text(
                f"---\norphan: true\n---\n# {name}\n\n{fence}{{code-block}} "
                f"{TEXTS[name.suffix]}\n:linenos:\n\n{text}\n{fence}\n",
                encoding="utf-8",
            )


def _page(
    path: Path,
    stage: Path,
    sources: Sources,
    views: Collection[str],
    glossary: Glossary,
) -> None:
    target = stage / path.relative_to(ROOT)
    target.parent.mkdir(parents=True, exist_ok=True)
    text = sources.linked(path.read_text(encoding="utf-8"), path)
    if path.name == "views.md":
        text = with_places(text, views)
    if path.name == "glossary.md":
        text = glossary.with_places(text)
    else:
        text = glossary.linker().linked(text)
    target.write_text(text, encoding="utf-8")


def with_places(text: str, views: Collection[str]) -> str:
    """The page of views, with a place under a picture for the view itself."""

    def placed(match: re.Match[str]) -> str:
        div = f'<div class="mx-live" data-name="{match[1]}"></div>'
        return f"{match[0]}\n\n{div}" if match[1] in views else match[0]

    picture = r"^!\[[^\]]*\]\(pictures/views/(\w+)\.svg\)$"
    return re.sub(picture, placed, text, flags=re.M)


def _notebook(path: Path, stage: Path, sources: Sources, glossary: Glossary) -> None:
    linker = glossary.linker()
    book = json.loads(path.read_text(encoding="utf-8"))
    book["cells"] = [*_shown(book["cells"])]
    for cell in book["cells"]:
        if cell["cell_type"] == "markdown":
            _rewrite(cell, "source", lambda text: sources.linked(text, path))
            # Jupyter's places are headings as written, Sphinx's in small letters.
            _rewrite(cell, "source", lambda text: ANCHOR.sub(_lower, text))
            _rewrite(cell, "source", linker.linked)
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if "text/markdown" in data:
                _rewrite(data, "text/markdown", lambda t: sources.linked(t, path))
    book["metadata"].pop("widgets", None)
    target = stage / "notebooks" / path.name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(book, ensure_ascii=False), encoding="utf-8")


def _lower(match: re.Match[str]) -> str:
    return match[0].lower()


def _rewrite(owner: dict[str, Any], key: str, change: Callable[[str], str]) -> None:
    owner[key] = change("".join(owner[key]))


def _shown(cells: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Cells as a reader of the book wants them: imports and plumbing folded."""
    for number, cell in enumerate(cells):
        source = "".join(cell["source"])
        if cell["cell_type"] == "code":
            tags = cell["metadata"].setdefault("tags", [])
            imports = number < 3 and source.startswith(("import ", "from "))
            if imports or "PredictCard(" in source or ROUND.match(source):
                tags.append("hide-input")
            folded = folded_answers(source)
            for output in cell["outputs"]:
                # A page has no kernel: what stays is the picture beside the widget.
                data = output.get("data", {})
                data.pop(WIDGET, None)
                for each in folded if "text/html" in data else ():
                    text = "".join(data["text/html"])
                    data["text/html"] = text.replace(OPEN, each, 1)
        yield cell


def folded_answers(source: str) -> list[str]:
    """The answers to the questions of a cell, folded, as HTML; none for other cells.

    They are those to the first numbers, which the questions show on the page.
    """
    if asked := ROUND.match(source):
        cards = {"recall": recall, "exit_ticket": exit_ticket}[asked[1]](asked[2]).cards
        return [_folded(card.right_answer(), card.by) for card in cards]
    name = re.search(r'name="(\w+)/([^"]+)"', source)
    if name is None or "PredictCard(" not in source:
        return []
    answers = json.loads((ROOT / "tests/notebooks/answers.json").read_text("utf-8"))
    card = answers[name[1]][f"{name[1]}/{name[2]}"]
    return [_folded(shown(card["answers"][0]["seen"], card["unit"]), card["by"])]


def _folded(said: str, by: str) -> str:
    by = html.escape(by or "the machine on which this was written")
    return (
        "<details><summary>Write an answer down first. Then open this.</summary>"
        f"<b>{html.escape(said)}</b>, says {by}.</details>"
    )


def _index() -> str:
    """The first page: what the README says, and the table of contents."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    opening = readme.partition("\n## ")[0]
    course = sorted(path.stem for path in (ROOT / "notebooks").glob(COURSE))
    beside = sorted(
        {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")} - {*course}
    )
    ways = sorted(path.stem for path in (ROOT / "book" / "ways").glob("*.md"))
    lessons = sorted(path.stem for path in (ROOT / "book" / "lessons").glob("*.md"))
    turning = sorted(path.stem for path in (ROOT / "book" / "turning").glob("*.md"))
    parts = {
        "The course": [f"notebooks/{name}" for name in [*course, *beside]],
        "The laboratory": [
            *("book/views", "book/replay"),
            *(f"book/turning/{name}" for name in turning),
        ],
        "Teaching": [
            *("book/teaching", "book/translating"),
            *(f"book/lessons/{name}" for name in lessons),
        ],
        "Reference": [
            f"book/{name}"
            for name in ("knobs", "where", "operators", "claims", "glossary", "third")
        ],
        "How minimx is built": [
            *(f"book/ways/{name}" for name in ways),
            "book/benchmarks",
            "book/contributing",
            "book/style",
            "book/changelog",
        ],
    }
    tree = "```{{toctree}}\n:caption: {}\n:maxdepth: 1\n\n{}\n```"
    trees = "\n\n".join(tree.format(key, "\n".join(parts[key])) for key in parts)
    return f"{opening}\n\n{trees}\n"


if __name__ == "__main__":
    sys.exit(main())
