"""What the devices of a training send each other in a step, read off the record.

Gradients and weights travel while a trainer updates, so copies of that phase count; the
pieces of a batch, which come from the host in any case, do not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from minimx.core.record.tables import TABLES

Span = tuple[int, int]
Row = tuple[Any, ...]
_OPS, _COMM = (list(TABLES[table]) for table in ("ops", "comm"))
_NAME, _OP_PHASE, _PUSHED, _STARTS, _ENDS, _MOVED, _INSIDE = (
    _OPS.index(column)
    for column in ("name", "phase", "t_push", "t_start", "t_end", "nbytes", "inside")
)
_ARRIVES, _FROM, _TO, _BYTES = (
    _COMM.index(column) for column in ("t1", "src", "dst", "nbytes")
)
PHASE = "update"


@dataclass(frozen=True)
class Exchange:
    """Copies between devices.

    nbytes: in all. copies: how many. busiest: the bytes over the link, in one
    direction, that carried most; 0 between CPU devices, which share one memory. ns: how
    long at least one copy ran. hidden: the share of that time in which some device
    computed, 0 to 1.
    """

    nbytes: int
    copies: int
    busiest: int
    ns: int
    hidden: float


def exchange(
    ops: Iterable[Row], comm: Iterable[Row], since: int, until: int
) -> Exchange | None:
    """What was sent by copies that were pushed from one moment to another.

    ops, comm: rows of these tables that have ended, also later ones, as computation of
    the next step hides copies as well. None where nothing was sent.
    """
    copies, computed = [], []
    for row in ops:
        if not row[_NAME].startswith("Copy"):
            if not row[_INSIDE]:
                computed.append((row[_STARTS], row[_ENDS]))
        elif row[_OP_PHASE] == PHASE and since <= row[_PUSHED] < until:
            copies.append(row)
    if not copies:
        return None
    # A copy and its row of `comm` end at the same moment.
    ends = {row[_ENDS] for row in copies}
    over: Counter[tuple[str, str]] = Counter()
    for row in comm:
        if row[_ARRIVES] in ends:
            over[row[_FROM], row[_TO]] += row[_BYTES]
    sent = merged((row[_STARTS], row[_ENDS]) for row in copies)
    ns = length(sent)
    return Exchange(
        nbytes=sum(row[_MOVED] for row in copies) // 2,  # read here, written there
        copies=len(copies),
        busiest=max(over.values(), default=0),
        ns=ns,
        hidden=length(common(sent, merged(computed))) / ns if ns else 0.0,
    )


class Steps:
    """Follows a record, and says what was sent in the steps of a training.

    The newest step is still under way, and so may be the copies of the one before it.
    Those of the step before that are done: the loss of the next one was read, which
    came from the weights that they brought. So what is said lags two steps behind.
    """

    def __init__(self) -> None:
        self._ops: list[Row] = []
        self._comm: list[Row] = []
        self._begins: list[int] = []

    def ended(
        self, began: int, ops: Iterable[Row], comm: Iterable[Row]
    ) -> Exchange | None:
        """A step was pushed; returns what the step two before it sent.

        began: when it was begun to push. ops, comm: rows that are new.
        """
        self._ops += ops
        self._comm += comm
        self._begins = [*self._begins[-2:], began]
        if len(self._begins) < 3:
            return None
        since, until, _ = self._begins
        found = exchange(self._ops, self._comm, since, until)
        self._ops = [row for row in self._ops if row[_PUSHED] >= until]
        self._comm = [row for row in self._comm if row[_ARRIVES] >= until]
        return found


def merged(spans: Iterable[Span]) -> list[Span]:
    """Spans in order, those that touch as one.

    >>> merged([(5, 7), (0, 2), (1, 4)])
    [(0, 4), (5, 7)]
    """
    found: list[Span] = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((begin, end))
    return found


def common(one: Sequence[Span], other: Sequence[Span]) -> list[Span]:
    """Where both are; each is in order and without overlaps.

    >>> common([(0, 4), (5, 9)], [(2, 6), (8, 12)])
    [(2, 4), (5, 6), (8, 9)]
    """
    found, i, j = [], 0, 0
    while i < len(one) and j < len(other):
        begin = max(one[i][0], other[j][0])
        end = min(one[i][1], other[j][1])
        if begin < end:
            found.append((begin, end))
        if one[i][1] < other[j][1]:
            i += 1
        else:
            j += 1
    return found


def length(spans: Iterable[Span]) -> int:
    """How long spans without overlaps are together."""
    return sum(end - begin for begin, end in spans)
