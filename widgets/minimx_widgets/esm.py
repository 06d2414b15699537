"""One JavaScript module from several.

anywidget loads a view's module from a blob, where `import "./lib/drawing/scale.js"` has
no folder to be relative to. The files under `static/` stay real ES modules all the
same, so that editors and `node --test` understand them; `join` puts a view and
everything it imports into one text, each imported module a function of its own, so that
private names never collide.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

STATIC = Path(__file__).parent / "static"

# The forms of import and export that our modules use; anything else is refused.
_IMPORT = re.compile(
    r'^import\s*\{(?P<names>[^}]*)\}\s*from\s*"(?P<path>\.{1,2}/[^"]+)";[ \t]*\n', re.M
)
_EXPORT = re.compile(
    r"^export (?P<word>(?:async )?function\*?|class|const|let) (?P<name>[\w$]+)", re.M
)
_DEFAULT = re.compile(r"^export default ", re.M)
_LEFT_OVER = re.compile(r"^(?:import\b|export\b).*", re.M)


@cache
def module(name: str) -> str:
    """The joined text of the view `static/<name>.js`, as in `module("lab/five")`."""
    return join(STATIC / f"{name}.js")


def join(entry: Path) -> str:
    """The text of `entry` with every local module that it imports, directly or not."""
    order: list[Path] = []
    _visit(entry.resolve(), order, ())
    *helpers, last = order
    return "\n".join([*map(_as_function, helpers), _as_entry(last)])


def _visit(path: Path, order: list[Path], above: tuple[Path, ...]) -> None:
    """Append the modules that `path` imports, then `path` itself, each once."""
    if path in above:
        circle = " → ".join(p.name for p in (*above, path))
        raise ImportError(f"JavaScript modules import each other in a circle: {circle}")
    if path in order:
        return
    if not path.is_file():
        by = above[-1].name if above else "nobody"
        raise ImportError(f"{path.name} does not exist; it is imported by {by}.")
    for found in _IMPORT.finditer(path.read_text(encoding="utf-8")):
        _visit((path.parent / found["path"]).resolve(), order, (*above, path))
    order.append(path)


def _as_function(path: Path) -> str:
    """A helper module as a function called once, giving what the module exports."""
    text = path.read_text(encoding="utf-8")
    names = [found["name"] for found in _EXPORT.finditer(text)]
    body = _EXPORT.sub(r"\g<word> \g<name>", _with_imports(path, text))
    _refuse_left_over(path, body)
    gives = ", ".join(names)
    return f"const {_handle(path)} = (() => {{\n{body}\nreturn {{ {gives} }};\n}})();\n"


def _as_entry(path: Path) -> str:
    """The view itself: only its default export is left."""
    text = path.read_text(encoding="utf-8")
    body = _EXPORT.sub(r"\g<word> \g<name>", _with_imports(path, text))
    _refuse_left_over(path, _DEFAULT.sub("", body))
    return body


def _with_imports(path: Path, text: str) -> str:
    """`text` with each import line turned into names taken from a joined module."""

    def taken(found: re.Match[str]) -> str:
        source = (path.parent / found["path"]).resolve()
        names = " ".join(found["names"].split()).replace(" as ", ": ")
        return f"const {{ {names} }} = {_handle(source)};\n"

    return _IMPORT.sub(taken, text)


def _handle(path: Path) -> str:
    return "$" + re.sub(r"\W", "_", path.stem)


def _refuse_left_over(path: Path, text: str) -> None:
    left = _LEFT_OVER.search(text)
    if left:
        raise ImportError(
            f"{path.name}: {left[0]!r} cannot be joined. "
            'Write import { a, b } from "./file.js"; and export a named declaration.'
        )
