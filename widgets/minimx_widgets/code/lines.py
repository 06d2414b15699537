"""The line of the user's program that a record names, such as "Cell In[3]:7"."""

from __future__ import annotations

import linecache
import sys

from minimx.core.engine.origin import file_name
from minimx.core.errors import ArgumentError
from minimx.core.record import Record
from minimx_widgets.code.pieces import Piece

#: Of a longer text so many lines before and after the one that matters are shown.
ROUND = 20


def line_of(record: Record, place: str) -> Piece:
    """The lines round the one that a record names, which is marked.

    place: of the column `ops.line`. Raises `ArgumentError` where the text cannot be
    found: no line is known, it is of another program, or its file has changed places.
    """
    if not place:
        raise ArgumentError(
            "No line of your program is known here: the memory was taken before the "
            "record began, or minimx itself took it."
        )
    if record._saved:
        raise ArgumentError(
            f"{place}: this record comes from a file, and a file of a record holds no "
            "text of the program that made it. Open that program at this line."
        )
    name, _, number = place.rpartition(":")
    texts = {tuple(linecache.getlines(path)) for path in _paths(name)} - {()}
    if len(texts) != 1:
        why = "its text is not here any more"
        if texts:
            why = f"{len(texts)} files of this program have that name"
        raise ArgumentError(f"{place} cannot be shown: {why}.")
    (lines,) = texts
    line = int(number)
    if line > len(lines):
        raise ArgumentError(f"{place} cannot be shown: {name} has changed since.")
    first = max(1, line - ROUND) if len(lines) > 2 * ROUND else 1
    shown = lines[first - 1 : first + 2 * ROUND]
    text = "".join(shown).rstrip("\n")
    return Piece(name, first, text, (line,), f"line {line} asked for it")


def _paths(name: str) -> list[str]:
    """The files of this process that a record calls so."""
    modules = [getattr(one, "__file__", None) for one in [*sys.modules.values()]]
    paths = dict.fromkeys([*linecache.cache, *filter(None, modules)])
    return [path for path in paths if file_name(path) == name]
