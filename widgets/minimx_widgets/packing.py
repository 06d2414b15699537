"""Columns for the browser: typed buffers, and a list of what they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
# Table name -> column name -> values. A column's dtype must have a code below, or be
# int64: whole numbers, which travel in the narrowest type that holds them all.
Columns = Mapping[str, Mapping[str, Array]]

_CODES = {
    np.dtype("float64"): "f8",
    np.dtype("float32"): "f4",
    np.dtype("uint32"): "u4",
    np.dtype("int32"): "i4",
    np.dtype("uint16"): "u2",
    np.dtype("uint8"): "u1",
}


def pack(tables: Columns) -> tuple[dict[str, list[list[str]]], list[memoryview]]:
    """The layout of the tables, and one little-endian buffer per column in its order.

    >>> layout, buffers = pack({"ops": {"t": np.zeros(2)}})
    >>> layout, buffers[0].nbytes
    ({'ops': [['t', 'f8']]}, 16)
    """
    layout: dict[str, list[list[str]]] = {}
    buffers = []
    for name, columns in tables.items():
        layout[name] = []
        for title, wide in columns.items():
            column = narrowed(wide) if wide.dtype == np.int64 else wide
            layout[name].append([title, _CODES[column.dtype]])
            little = column.astype(column.dtype.newbyteorder("<"), copy=False)
            buffers.append(np.ascontiguousarray(little).data.cast("B"))
    return layout, buffers


def narrowed(column: Array) -> Array:
    """Whole numbers in the narrowest type that a page knows and that holds them all.

    >>> [narrowed(np.array([0, most])).dtype.str for most in (255, 256, 2**32, -1)]
    ['|u1', '<u2', '<f8', '<i4']
    """
    low, high = column.min(initial=0), column.max(initial=0)
    for code in ("u1", "u2", "u4", "i4"):
        if np.iinfo(code).min <= low and high <= np.iinfo(code).max:
            return column.astype(code)
    return column.astype("f8")


def join(parts: list[Columns]) -> dict[str, dict[str, Array]]:
    """Tables one after the other, column by column."""
    names = dict.fromkeys(name for part in parts for name in part)
    return {
        name: {
            column: np.concatenate([p[name][column] for p in parts if name in p])
            for column in next(p[name] for p in parts if name in p)
        }
        for name in names
    }


def newest(tables: Columns, limit: int) -> tuple[Columns, int]:
    """At most `limit` rows of each table, the newest; and how many were left out."""
    lengths = {name: len(next(iter(table.values()))) for name, table in tables.items()}
    skipped = sum(max(0, length - limit) for length in lengths.values())
    if not skipped:
        return tables, 0
    kept = {
        name: {column: values[-limit:] for column, values in table.items()}
        for name, table in tables.items()
    }
    return kept, skipped


def pieces(tables: Columns, limit: int) -> list[Columns]:
    """The tables in pieces of at most `limit` rows of each, in order.

    >>> [len(piece["t"]["x"]) for piece in pieces({"t": {"x": np.zeros(5)}}, 2)]
    [2, 2, 1]
    """
    longest = max(
        (len(values) for t in tables.values() for values in t.values()), default=0
    )
    return [
        {
            name: {c: values[at : at + limit] for c, values in table.items()}
            for name, table in tables.items()
        }
        for at in range(0, max(longest, 1), limit)
    ]


class Coder:
    """Numbers of a growing string table turned into codes of a fixed list of words.

    >>> Coder(("RAW", "WAR")).codes(["x", "WAR", "RAW"], np.array([1, 2, 0]))
    array([1, 0, 0], dtype=uint8)
    """

    def __init__(self, texts: tuple[str, ...], other: int = 0) -> None:
        self._number = {word: i for i, word in enumerate(texts)}
        self._other = other
        self._codes = np.zeros(0, np.uint8)

    def codes(self, strings: list[str], numbers: Array) -> npt.NDArray[np.uint8]:
        """The code of each string number; `other` for words that are not listed."""
        known = len(self._codes)
        if known < len(strings):
            fresh = [self._number.get(s, self._other) for s in strings[known:]]
            self._codes = np.append(self._codes, np.array(fresh, np.uint8))
        return self._codes[numbers]
