"""Records of several processes, put together into one.

    merged({0: contents(first), 1: contents(second)}, clocks={1: 1_500})

What belongs to a process says so in its name: the lane `cpu(0)/1` of rank 2 is
`rank 2 cpu(0)/1`, and so with devices, threads, ends of communication and metrics.
Numbers of operations, blocks and looks are made different, times are moved onto one
clock, and the rows of each table are in the order of time, as if one record had heard
all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from minimx.core.record import Record
from minimx.core.record.tables import (
    TABLES,
    TEXT,
    WHOLE,
    Array,
    Contents,
    Strings,
    dtype_of,
)

#: Columns of text that name something of the process.
OWN: Final = {
    "ops": ("device", "worker"),
    "calls": ("thread",),
    "marks": ("thread",),
    "mem": ("device",),
    "comm": ("src", "dst"),
    "metrics": ("name",),
}
#: Columns of numbers that count within the process, by what they count; 0 is nothing.
COUNTED: Final = {
    "ops": {"op": "op", "forward_op": "op", "inside": "op", "work": "work"},
    "parts": {"work": "work"},
    "deps": {"src": "op", "dst": "op"},
    "mem": {"op": "op", "block": "block"},
    "uses": {"op": "op", "block": "block"},
    "tensors": {"look": "look"},
    "exponents": {"look": "look"},
}
#: By which column the rows of a table are in order; other tables keep rank after rank.
ORDER: Final = {
    "ops": "t_end",
    "calls": "t1",
    "marks": "t",
    "mem": "t",
    "knobs": "t",
    "comm": "t1",
    "metrics": "t",
    "tensors": "t",
    "scaling": "t",
}


def contents(record: Record) -> Contents:
    """All that a record remembers, as plain data that can be sent."""
    tables = {name: record.table(name) for name in TABLES}
    conditions = dict(vars(record.conditions))
    return Contents(tables, list(record.strings), record.dropped, conditions)


def merged(
    ranks: Mapping[int, Contents],
    clocks: Mapping[int, int],
    title: Callable[[int], str] = "rank {}".format,
) -> Record:
    """One record of all ranks.

    ranks: what each remembers. clocks: by how many nanoseconds a rank's clock is ahead
    of the one that all times are moved to; 0 for ranks that are missing. title: what a
    rank is called, as some numbers may be those of servers.
    """
    if not ranks:
        return Record.of(Contents(_empty(), [], dict.fromkeys(TABLES, 0), {}))
    strings = Strings()
    pieces: dict[str, list[Array]] = {name: [] for name in TABLES}
    highest: dict[str, int] = {}
    for rank, found in sorted(ranks.items()):
        ahead = clocks.get(rank, 0) if found.conditions["clock"] == "wall" else 0
        numbers = _Numbers(found.strings, strings, f"{title(rank)} ")
        counts = _counts(found.tables)
        for name in TABLES:
            table = found.tables[name].copy()
            for column, kind in TABLES[name].items():
                if kind == TEXT:
                    table[column] = numbers.of(name, column, table[column])
                elif kind == WHOLE and _is_time(column):
                    table[column] -= ahead
            for column, what in COUNTED.get(name, {}).items():
                table[column] += np.where(table[column], highest.get(what, 0), 0)
            pieces[name].append(table)
        for what, most in counts.items():
            highest[what] = highest.get(what, 0) + most
    tables = {name: _in_order(name, np.concatenate(pieces[name])) for name in TABLES}
    dropped = {n: sum(one.dropped[n] for one in ranks.values()) for n in TABLES}
    return Record.of(
        Contents(tables, strings.texts, dropped, _conditions(ranks, clocks, title))
    )


class _Numbers:
    """Numbers of one rank's texts in the string table of all."""

    def __init__(self, texts: list[str], strings: Strings, prefix: str) -> None:
        self._texts, self._strings, self._prefix = texts, strings, prefix

    def of(self, table: str, column: str, numbers: Array) -> Array:
        used, where = np.unique(numbers, return_inverse=True)
        texts = [self._texts[number] for number in used.tolist()]
        if column in OWN.get(table, ()):
            texts = [self._named(text) for text in texts]
        found = np.array(self._strings.numbers(texts), np.int32)
        return found[where.reshape(-1)]

    def _named(self, text: str) -> str:
        """A text with its rank, unless it names a process of the job, or all ranks."""
        if text.startswith(("rank ", "server ")) or text.endswith(" ranks"):
            return text
        return f"{self._prefix}{text}".rstrip()


def _counts(tables: Mapping[str, Array]) -> dict[str, int]:
    """The highest number of each thing that is counted."""
    most: dict[str, int] = {}
    for name, columns in COUNTED.items():
        for column, what in columns.items():
            values = tables[name][column]
            if len(values):
                most[what] = max(most.get(what, 0), int(values.max()))
    return most


def _is_time(column: str) -> bool:
    return column in ("t", "t0", "t1") or column.startswith("t_")


def _in_order(name: str, table: Array) -> Array:
    column = ORDER.get(name)
    if column is None:
        return table
    return table[np.argsort(table[column], kind="stable")]


def _empty() -> dict[str, Array]:
    return {name: np.empty(0, dtype_of(name)) for name in TABLES}


def _conditions(
    ranks: Mapping[int, Contents],
    clocks: Mapping[int, int],
    title: Callable[[int], str],
) -> dict[str, Any]:
    """The first rank's circumstances, with the devices and the time of all."""
    every = {rank: one.conditions for rank, one in sorted(ranks.items())}
    begun = [one["t_start"] - clocks.get(rank, 0) for rank, one in every.items()]
    ended = [one["t_stop"] - clocks.get(rank, 0) for rank, one in every.items()]
    return {
        **next(iter(every.values())),
        "devices": {
            f"{title(rank)} {name}": size
            for rank, one in every.items()
            for name, size in one["devices"].items()
        },
        "t_start": min(begun),
        "t_stop": max(ended),
    }
