"""Names and docstrings use the terms of the field, which a reader can search for.

The glossary (`book/glossary.md`) says what a term means. `words.toml` has words that
earlier versions used in their place. No name and no docstring may bring them back.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.words.checking import lists

ROOT = Path(__file__).parents[2]
FILES = sorted(
    path for room in ("minimx", "widgets") for path in (ROOT / room).rglob("*.py")
)
#: The word that is not to be used -> what to write.
INSTEAD = {**lists()["words"], **lists()["names"]}


def names_and_docstrings(source: str) -> Iterator[tuple[int, str]]:
    """(line, text) of every name that a file defines and of every docstring."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            line = getattr(node, "lineno", 1)
            yield line, ast.get_docstring(node) or ""
            yield line, getattr(node, "name", "").replace("_", " ")
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg.replace("_", " ")


def test_files_use_the_terms_of_the_field() -> None:
    found = [
        f"{path.relative_to(ROOT)}, line {line}: {word!r}; write: {INSTEAD[word]}"
        for path in FILES
        for line, text in names_and_docstrings(path.read_text(encoding="utf-8"))
        for word in re.findall(r"[a-z]+", text.lower())
        if word in INSTEAD
    ]
    assert found == []


def test_a_word_of_old_is_found() -> None:
    source = 'def ring_the_bell(twin):\n    """Whoever waits."""\n'
    found = " ".join(text for _, text in names_and_docstrings(source)).lower().split()
    assert {"bell", "twin", "whoever"} <= set(found)
