"""Programs as syntax trees, and what the names in them mean."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Part:
    """A program, or one cell of a notebook: where it stands, and its lines."""

    where: str
    source: str
    #: The imports of the cells before it.
    before: tuple[str, ...] = ()


def parts_of(path: Path) -> list[Part]:
    """A file's program; of a notebook, every cell with code.

    Lines of IPython's own (`%matplotlib`, `!pip`) become empty ones. Raises OSError for
    a file that cannot be opened, ValueError for one that is no text.
    """
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return [Part(str(path), text)]
    found: list[Part] = []
    before: list[str] = []
    for number, cell in enumerate(json.loads(text)["cells"], 1):
        if cell["cell_type"] == "code":
            source = "".join(cell["source"])
            lines = ["" if _is_ipythons(one) else one for one in source.split("\n")]
            found.append(Part(f"{path}[{number}]", "\n".join(lines), tuple(before)))
            before += [one for one in lines if one.startswith(("import ", "from "))]
    return found


def _is_ipythons(line: str) -> bool:
    return line.lstrip().startswith(("%", "!", "?"))


class Names:
    """What the names of a program stand for: `nd` for `mxnet.nd`, and so on."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    def learn(self, tree: ast.AST) -> None:
        """Take in the imports of a program, wherever they stand."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for one in node.names:
                    first = one.name.partition(".")[0]
                    self.known[one.asname or first] = one.name if one.asname else first
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for one in node.names:
                    self.known[one.asname or one.name] = f"{node.module}.{one.name}"

    def of(self, node: ast.AST) -> str | None:
        """The full name of an expression such as `nd.relu`; None if it is no name.

        A name that was not imported has none, as it may be anything.
        """
        words: list[str] = []
        while isinstance(node, ast.Attribute):
            words.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.known:
            return None
        return ".".join([self.known[node.id], *reversed(words)])


def imported(tree: ast.AST) -> Iterator[tuple[ast.stmt, str]]:
    """Every import statement, with each module (or name in one) that it asks for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, one.name) for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for one in node.names:
                name = node.module if one.name == "*" else f"{node.module}.{one.name}"
                yield node, name


def outermost(tree: ast.AST) -> Iterator[ast.expr]:
    """Names and attributes that are not a part of a longer one."""
    inner: set[int] = set()
    for node in ast.walk(tree):  # from the outside in
        if isinstance(node, ast.Attribute):
            inner.add(id(node.value))
        if isinstance(node, (ast.Attribute, ast.Name)) and id(node) not in inner:
            yield node


def keyword(call: ast.Call, name: str) -> Any:
    """The value of a keyword of a call, None if it is not given."""
    return next((one.value for one in call.keywords if one.arg == name), None)
