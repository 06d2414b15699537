"""Names and docstrings use the terms of the field, which a reader can search for.

The glossary (`book/glossary.md`) says what a term means. Here stand words that earlier
versions used in their place; neither a name nor a docstring may bring them back.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = sorted(
    path for room in ("minimx", "widgets") for path in (ROOT / room).rglob("*.py")
)
#: The word that is not to be used -> what to write.
INSTEAD = {
    "bell": "wake-up",
    "crew": "workers",
    "doors": "aliases",
    "flavour": "np semantics, or kind of array",
    "flavoured": "as np, or as the kind that is set",
    "flavours": "kinds of array",
    "folk": "threads or users",
    "lend": "allocate, or share",
    "lending": "sharing, or allocation",
    "lends": "allocates, or shares",
    "letterbox": "pending frees",
    "shelf": "free list",
    "shelves": "free lists",
    "spoiled": "poisoned",
    "spoils": "poisons",
    "swept": "scanned, or shared",
    "telling": "notifying, or waits that are logged",
    "told": "notified, recorded, given or shown",
    "twin": "CUDA implementation, alias or copy",
    "twins": "CUDA implementations, aliases or copies",
    "unraised": "pending error",
    "whence": "from where",
    "whoever": "the caller, or who",
}


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
