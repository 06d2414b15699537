"""Two records side by side: the same operation in both, what is new, what is gone.

    found = align(before, after)
    found.pairs                  # rows of both tables of operations
    found.inserted, found.removed, found.changed

An operation is the same if it has the same operator, layer and phase, and is as often
there before it: the third `dot` of `dense0` in the backward pass. When it ran, on which
worker, and whether it was joined with others does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np

from minimx.core.record import Record
from minimx.core.record.tables import Array

#: Columns in which two operations that are the same may differ.
COMPARED: Final = ("device", "priority", "failed", "flops", "nbytes", "dtype")
#: From this share of operations on that both have, they are runs of one network.
RELATED: Final = 0.5


class Changed(NamedTuple):
    """An operation that both records have, and that is not quite the same.

    before, after: its rows. columns: what differs, with both values.
    """

    before: int
    after: int
    columns: dict[str, tuple[Any, Any]]


@dataclass(frozen=True, eq=False)
class Alignment:
    """Two records, operation by operation.

    pairs: the rows of the same operations in the tables `ops` of both, (n, 2), in the
    order of the first. removed: rows of the first that the second has not; inserted:
    of the second that the first has not. Joined operations are left out, their parts
    count.
    """

    before: Record
    after: Record
    pairs: Array
    removed: Array
    inserted: Array

    @property
    def shared(self) -> float:
        """Which share of the operations of the larger record both have; 1 if none."""
        most = len(self.pairs) + max(len(self.removed), len(self.inserted))
        return len(self.pairs) / most if most else 1.0

    @property
    def related(self) -> bool:
        """Whether they are runs of one network."""
        return self.shared >= RELATED

    @cached_property
    def changed(self) -> list[Changed]:
        """The pairs that differ in what is computed, where, or how urgently."""
        first, second = self.before.ops(), self.after.ops()
        mine, theirs = first[self.pairs[:, 0]], second[self.pairs[:, 1]]
        texts = _joint(self.before.strings, self.after.strings)
        differs: dict[str, Array] = {}
        for column in COMPARED:
            a, b = mine[column], theirs[column]
            if column in ("device", "dtype"):
                b = texts[b]
            differs[column] = a != b
        rows = np.flatnonzero(np.any([*differs.values()], axis=0))
        found = []
        for row in rows.tolist():
            columns = {
                column: (
                    _value(self.before, mine[row], column),
                    _value(self.after, theirs[row], column),
                )
                for column in COMPARED
                if differs[column][row]
            }
            at, where = self.pairs[row].tolist()
            found.append(Changed(at, where, columns))
        return found

    def __repr__(self) -> str:
        if not self.related:
            return (
                f"<runs of different networks: only {len(self.pairs):,} of "
                f"{len(self.pairs) + len(self.removed):,} and "
                f"{len(self.pairs) + len(self.inserted):,} operations have the same "
                "operator, layer and phase>"
            )
        return (
            f"<{len(self.pairs):,} operations in both, {len(self.changed):,} of them "
            f"changed; {len(self.inserted):,} inserted, {len(self.removed):,} removed>"
        )


def align(before: Record, after: Record) -> Alignment:
    """Find each operation of a record in another one.

    Layers count by their names; where two blocks of one making were given different
    numbers (`dense0`, `dense3`), by the order in which they are first seen.

    >>> import minimx as mx
    >>> records = []
    >>> for size in (10, 20):
    ...     with mx.Record() as record:
    ...         x = mx.nd.ones((size,)) + 1
    ...         mx.nd.waitall()
    ...     records.append(record)
    >>> mx.replay.align(*records)
    <2 operations in both, 2 of them changed; 0 inserted, 0 removed>
    """
    found = _aligned(before, after, lambda texts: texts)
    if found.related:
        return found
    renumbered = _aligned(before, after, _renumbered)
    return renumbered if renumbered.shared > found.shared else found


def _aligned(before: Record, after: Record, named: Any) -> Alignment:
    tables = before.ops(), after.ops()
    rows = [_own(table) for table in tables]
    mine, theirs = named(before.strings), named(after.strings)
    numbers: dict[str, int] = {}
    joint = [
        np.array([numbers.setdefault(text, len(numbers)) for text in texts], np.int64)
        for texts in (mine, theirs)
    ]
    count = max(len(numbers), 1)
    keys = []
    for table, row, number in zip(tables, rows, joint, strict=True):
        name, layer, phase = (
            number[table[column][row]] if len(row) else np.zeros(0, np.int64)
            for column in ("name", "layer", "phase")
        )
        keys.append((name * count + layer) * count + phase)
    split = len(keys[0])
    codes = np.unique(np.concatenate(keys), return_inverse=True)[1]
    most = max(split, len(keys[1])) + 1
    first, second = (
        part * most + _occurrence(part) for part in (codes[:split], codes[split:])
    )
    _, at, where = np.intersect1d(
        first, second, assume_unique=True, return_indices=True
    )
    order = np.argsort(at, kind="stable")
    at, where = at[order], where[order]
    return Alignment(
        before,
        after,
        np.stack([rows[0][at], rows[1][where]], axis=1),
        np.delete(rows[0], at),
        np.delete(rows[1], where),
    )


def _own(table: Array) -> Array:
    """The rows of operations that were not joined of others, by id."""
    joined = np.isin(table["op"], np.unique(table["inside"]))
    rows = np.flatnonzero(~joined)
    return rows[np.argsort(table["op"][rows], kind="stable")]


def _occurrence(codes: Array) -> Array:
    """How often the same code stands before each one.

    >>> _occurrence(np.array([5, 7, 5, 5])).tolist()
    [0, 0, 1, 2]
    """
    order = np.argsort(codes, kind="stable")
    ranked = codes[order]
    first = np.searchsorted(ranked, ranked)
    found = np.empty(len(codes), np.int64)
    found[order] = np.arange(len(codes)) - first
    return found


_NUMBER = re.compile(r"\d+")


def _renumbered(texts: Sequence[str]) -> list[str]:
    """Texts whose numbers count what comes before them, in order of appearance.

    >>> _renumbered(["dense3", "dense7_relu0", "dense3"])
    ['dense0', 'dense1_relu0', 'dense0']
    """
    known: dict[str, dict[str, int]] = {}

    def renumber(text: str) -> str:
        made, reached = "", 0
        for found in _NUMBER.finditer(text):
            made += text[reached : found.start()]
            mine = known.setdefault(made, {})
            made += str(mine.setdefault(found.group(), len(mine)))
            reached = found.end()
        return made + text[reached:]

    return [renumber(text) for text in texts]


def _joint(mine: Sequence[str], theirs: Sequence[str]) -> Array:
    """The numbers that the texts of the second record have in the first, or -1."""
    known = {text: number for number, text in enumerate(mine)}
    return np.array([known.get(text, -1) for text in theirs] or [-1], np.int64)


def _value(record: Record, row: Any, column: str) -> Any:
    value = row[column]
    text = column in ("device", "dtype")
    return record.strings[value] if text else value.item()
