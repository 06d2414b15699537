"""The tables of a record: their columns, and rows of Python values turned into arrays.

    record.table("deps")["src"]         # a column, as a NumPy array

Text stands in a table as its number in one string table that all tables share, so a
column is a plain array, quick to search, to send and to save.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Row = tuple[Any, ...]

WHOLE, TEXT, TRUTH, REAL = "int64", "int32", "bool", "float64"

# What happened to memory, the values of the column `mem.event`.
MEMORY_EVENTS = (
    "live",  # was in use when the record started
    "cached",  # idle bytes that the pool held when the record started
    "alloc",  # allocated, fresh from the device
    "hit",  # allocated, an idle block used again
    "free",  # freed by its owner
    "release",  # freed, and from the pool straight on to the device
    "flush",  # all idle bytes went back to the device
    "oom",  # refused
)

# The values of the column `tensors.kind`: what the array was.
TENSOR_KINDS = ("weight", "activation", "gradient")

# The values of the column `marks.event`: what a program did to its own tasks, counters.
MARK_EVENTS = ("start", "stop", "value", "mark")

# Columns that may be negative; other whole numbers are counts, ids and times.
SIGNED = ("priority", "power")

# Column -> kind. Times (t, t0, t1, t_*) are nanoseconds; other quantities of memory and
# communication are bytes. `op` is the id of the operation that ran, 0 outside one.
# `ops.flops` and `ops.nbytes` are its cost as its data sheet declares it (0 and 0: no
# one declared it), `ops.dtype` the type that it computes in. An operation that was
# joined of several has `ops.work`, the number under which `parts` says once what is in
# it. An operation that the engine got as a part of another has `ops.inside`, that one's
# id: both have rows, and sums of pushes or time take those where it is 0. `ops.line` is
# where the user's program pushed it, such as "Cell In[3]:7", or "". Each block that an
# operation read or wrote is a row of `uses`.
TABLES: dict[str, dict[str, str]] = {
    "ops": {
        "op": WHOLE,
        "name": TEXT,
        "layer": TEXT,
        "phase": TEXT,
        "device": TEXT,
        "worker": TEXT,
        "t_push": WHOLE,
        "t_ready": WHOLE,
        "t_start": WHOLE,
        "t_end": WHOLE,
        "priority": WHOLE,
        "forward_op": WHOLE,
        "failed": TRUTH,
        "graph": TRUTH,
        "flops": WHOLE,
        "nbytes": WHOLE,
        "dtype": TEXT,
        "work": WHOLE,
        "inside": WHOLE,
        "line": TEXT,
    },
    "uses": {"op": WHOLE, "block": WHOLE, "writes": TRUTH},
    "parts": {
        "work": WHOLE,
        "name": TEXT,
        "layer": TEXT,
        "flops": WHOLE,
        "nbytes": WHOLE,
        "dtype": TEXT,
    },
    "calls": {
        "t0": WHOLE,
        "t1": WHOLE,
        "name": TEXT,
        "detail": TEXT,
        "thread": TEXT,
    },
    "marks": {
        "t": WHOLE,
        "event": TEXT,
        "kind": TEXT,
        "domain": TEXT,
        "name": TEXT,
        "number": WHOLE,
        "value": REAL,
        "thread": TEXT,
    },
    "deps": {"src": WHOLE, "dst": WHOLE, "kind": TEXT},
    "mem": {
        "t": WHOLE,
        "op": WHOLE,
        "event": TEXT,
        "device": TEXT,
        "block": WHOLE,
        "requested": WHOLE,
        "rounded": WHOLE,
        "address": WHOLE,
        "name": TEXT,
        "layer": TEXT,
        "phase": TEXT,
        "category": TEXT,
    },
    "knobs": {"t": WHOLE, "name": TEXT, "old": TEXT, "new": TEXT, "scope": TEXT},
    "comm": {
        "t0": WHOLE,
        "t1": WHOLE,
        "key": TEXT,
        "src": TEXT,
        "dst": TEXT,
        "nbytes": WHOLE,
        "phase": TEXT,
    },
    "metrics": {"t": WHOLE, "step": WHOLE, "name": TEXT, "value": REAL},
    # A look at the numbers of an array; `used`: the type in which its layer computes,
    # `scale`: what the loss was multiplied by, `squares`: the sum of all squares.
    "tensors": {
        "look": WHOLE,
        "t": WHOLE,
        "step": WHOLE,
        "kind": TEXT,
        "layer": TEXT,
        "name": TEXT,
        "dtype": TEXT,
        "used": TEXT,
        "scale": REAL,
        "size": WHOLE,
        "zeros": WHOLE,
        "infinite": WHOLE,
        "nan": WHOLE,
        "squares": REAL,
    },
    # How many of its numbers lie from 2**power up to 2**(power + 1).
    "exponents": {"look": WHOLE, "power": WHOLE, "count": WHOLE},
    # Steps whose loss was scaled; `tensor`: the gradient that overflowed, if one did,
    # `many`: how many did.
    "scaling": {
        "t": WHOLE,
        "step": WHOLE,
        "scale": REAL,
        "skipped": TRUTH,
        "tensor": TEXT,
        "layer": TEXT,
        "many": WHOLE,
    },
}
# Tables and columns that records had not before this version of their files.
ADDED = {4: ("tensors", "exponents", "scaling"), 6: ("uses",)}
ADDED_COLUMNS = {5: {"ops": ("inside",)}, 6: {"ops": ("line",)}}


def dtype_of(table: str, version: int | None = None) -> np.dtype[Any]:
    """The dtype of a table's rows; text columns hold numbers of the string table.

    version: as they were in files of that version.

    >>> dtype_of("deps").names
    ('src', 'dst', 'kind')
    """
    later = {
        column
        for since, tables in ADDED_COLUMNS.items()
        if version is not None and since > version
        for column in tables.get(table, ())
    }
    return np.dtype([item for item in TABLES[table].items() if item[0] not in later])


class Strings:
    """The texts of a record, each with its number, in order of first appearance.

    Not thread-safe: the record holds its lock while it numbers texts.
    """

    __slots__ = ("_numbers", "texts")

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self.texts = list(texts)
        self._numbers = {text: i for i, text in enumerate(self.texts)}

    def number(self, text: str) -> int:
        """The number of a text, new or known."""
        known = self._numbers.get(text)
        if known is None:
            known = self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return known

    def find(self, text: str) -> int:
        """The number of a text, -1 if no row has it."""
        return self._numbers.get(text, -1)

    def numbers(self, texts: Sequence[str]) -> list[int]:
        """The numbers of many texts."""
        for text in dict.fromkeys(texts):
            self.number(text)
        return list(map(self._numbers.__getitem__, texts))


def to_array(table: str, rows: Sequence[Row], strings: Strings) -> Array:
    """Rows of Python values as one structured array, (n,), of `dtype_of(table)`.

    rows: a value for each column of `TABLES[table]`, in that order. strings: where
    texts get their numbers; new ones are added.
    """
    array = np.empty(len(rows), dtype_of(table))
    if rows:
        columns = zip(*rows, strict=True)
        for (name, kind), column in zip(TABLES[table].items(), columns, strict=True):
            array[name] = strings.numbers(column) if kind == TEXT else column
    return array


@dataclass(frozen=True)
class Contents:
    """What a record is made of: its tables, and the texts that their numbers mean."""

    tables: dict[str, Array]
    strings: list[str]
    dropped: dict[str, int]
    conditions: dict[str, Any]


def allocation_changes(block: Array, begins: Array, ends: Array) -> Array:
    """+1 where an allocation begins, -1 where it ends, else 0; all (n,), one per event.

    block: the numbers of the allocations. begins, ends: boolean, where an event says
    so. A block that was in use when the record started may be recorded twice, by "live"
    and by an event that was under way; the first counts. A free without an allocation
    before it, or a second free, does not count.
    """
    sign = np.zeros(len(block), np.int64)
    began, first = np.unique(block[begins], return_index=True)
    ended, last = np.unique(block[ends], return_index=True)
    sign[np.flatnonzero(begins)[first]] = 1
    sign[np.flatnonzero(ends)[last[np.isin(ended, began)]]] = -1
    return sign
