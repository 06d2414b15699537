"""What learners and readers read, taken from notebooks, modules and pages.

A passage is a piece of text with its place. Code, targets of links, HTML tags and
quotations (“…” and lines that begin with ">") are left out: they are not ours to edit.
"""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Modules whose strings the course shows: questions, hints, verdicts, exercises.
COURSE = ROOT / "widgets" / "minimx_widgets" / "course"
#: Docstrings as a page, which `test_names.py` reads, and the list of what not to write.
LEFT_OUT = ("operators.md", "style.md")
#: Printed on the book's page of benchmarks below a target that is missed. All of them
#: are read, as another run may miss another target.
NOTES = ROOT / "tests" / "benchmarks" / "results" / "notes.toml"
#: A string of fewer words is a name, a unit or a key.
FEWEST = 3

QUOTED = re.compile(r"“[^”]*”|<q>.*?</q>", re.S)
FENCED = re.compile(r"^( *)(```+|~~~+).*?^ *\2 *$", re.M | re.S)
CODE = re.compile(r"(`+)[^`]+?\1|<code>.*?</code>|\$[^$\n]+\$", re.S)
LINK = re.compile(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
TAG = re.compile(r"<!--.*?-->|</?[a-zA-Z][^<>]*>", re.S)
ADDRESS = re.compile(r"https?://\S+")
#: Stands for code in a sentence: one word.
WORD = "X"


@dataclass(frozen=True)
class Passage:
    """A piece of text. page: its file; place: the cell or the line in it."""

    page: str
    place: str
    text: str


def passages() -> Iterator[Passage]:
    """All of them, file by file."""
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        yield from of_notebook(path, _named(path))
    for path in [ROOT / "README.md", *sorted((ROOT / "book").rglob("*.md"))]:
        if path.name not in LEFT_OUT:
            yield Passage(_named(path), "", path.read_text(encoding="utf-8"))
    for case, text in tomllib.loads(NOTES.read_text(encoding="utf-8"))["notes"].items():
        yield Passage(_named(NOTES), case, text)
    for path in sorted(COURSE.rglob("*.py")):
        yield from of_module(path.read_text(encoding="utf-8"), _named(path))


def _named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def of_notebook(path: Path, page: str) -> Iterator[Passage]:
    """Markdown cells, and the strings of code cells. page: what to call it."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    for number, cell in enumerate(cells):
        source = "".join(cell["source"])
        place = f"cell {number}"
        if cell["cell_type"] == "markdown":
            yield Passage(page, place, source)
        elif not source.startswith("%%"):
            bare = re.sub(r"^(\s*)[%!].*$", r"\1pass", source, flags=re.M)
            yield from of_module(bare, page, place)


def of_module(source: str, page: str, place: str = "") -> Iterator[Passage]:
    """Strings of a module in which there are words, without its docstrings."""
    tree = ast.parse(source)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    inner = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in node.values
    }
    for node in ast.walk(tree):
        if id(node) in docstrings | inner:
            continue
        if isinstance(node, ast.expr) and (text := said(node)):
            at = f"{place}, line {node.lineno}" if place else f"line {node.lineno}"
            yield Passage(page, at, text)


def said(node: ast.expr) -> str:
    """The text of a string, with a word in place of each value in it; "" for others."""
    if isinstance(node, ast.JoinedStr):
        parts = [
            str(part.value) if isinstance(part, ast.Constant) else "\0"
            for part in node.values
        ]
        text = re.sub(r"(?<=\w)\0", " \0", "".join(parts))
        text = re.sub(r"\0(?=\w)", "\0 ", text).replace("\0", WORD)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        text = node.value
    else:
        return ""
    return text if len(words(text)) >= FEWEST else ""


def plain(text: str) -> str:
    """Without code, targets, HTML and quotations; line breaks stay.

    >>> plain("See [the *pool*](a.md) of `x`: “whence” <b>it</b> came.")
    'See the pool of X: X it came.'
    """
    text = FENCED.sub("", text)
    text = re.sub(r"^ *>.*$|^\(\S+\)=$", "", text, flags=re.M)
    text = re.sub(r"^(?: {4}|\t)(?![-*] |\d+\. ).*$", "", text, flags=re.M)
    for pattern in (QUOTED, CODE):
        text = pattern.sub(WORD, text)
    text = LINK.sub(r"\1", text)
    text = re.sub(r"<br ?/?>|</?p>", "\n\n", text)
    text = ADDRESS.sub(WORD, TAG.sub("", text))
    return re.sub(r"\*+|(?<!\w)_(?=\w)|(?<=\w)_(?!\w)", "", text)


def words(text: str) -> list[str]:
    """Words and numbers.

    >>> words("A pool's 2.5 MiB, in-place")
    ['A', "pool's", '2.5', 'MiB', 'in-place']
    """
    return re.findall(r"[^\W_]+(?:[-'’.,/][^\W_]+)*", text)


def sentences(text: str) -> list[str]:
    """Sentences of running text: no headings, tables and single words.

    A sentence ends with . ! or ? before a space, and with its paragraph or list item.

    >>> sentences("# A title\\n\\nIt is e.g. one, here. And two:\\n\\n- and a third")
    ['It is e.g. one, here.', 'and a third']
    """
    found = []
    text = re.sub(r"^ *(#|\||:?-{3}).*$", "", plain(text), flags=re.M)
    text = re.sub(r"^ *([-*]|\d+\.) +", "\n\n", text, flags=re.M)
    for paragraph in re.split(r"\n\s*\n|<br>", text):
        whole = " ".join(paragraph.split())
        for each in re.split(r"(?<=[.!?])[\"”)]*\s+(?=[^a-z\s])", whole):
            if len(words(each)) >= FEWEST:
                found.append(each)
    return found
