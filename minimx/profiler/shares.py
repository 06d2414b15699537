"""Where the time of each lane went: work by kind, idleness by cause. Pure.

Every instant between the first and the last moment of a record belongs to exactly one
of these, on each lane, so that they add up to the span:

    compute  data  copy  communication            an operation of that kind ran
    bookkeeping        none ran, though one was ready: engine, queue, interpreter
    dependency         those that were pushed waited for others
    no data            nothing was there to do, as the program fetched its next batch
    synchronisation    nothing was there to do, as the program waited for results
    no operation       nothing was there to do, and the program did something else

What an engine knows of a queue holds for all workers that serve it. Threads of the
program have lanes of their own where calls were recorded: there data is the time of
making batches or waiting for them, bookkeeping that inside of other calls, and *no
operation* is Python between the calls. Without calls the last three causes are one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from minimx.core.record.tables import Array

KINDS: Final = ("compute", "data", "copy", "communication")
CAUSES: Final = (
    "bookkeeping",
    "dependency",
    "no data",
    "synchronisation",
    "no operation",
)
BUCKETS: Final = KINDS + CAUSES

#: The lane of what runs on the thread that pushed it (engine/trace.py).
PUSHER: Final = "python"
#: How the lanes of the program's own threads are called.
THREAD: Final = "thread "
#: How calls begin in which a thread of the program waits for results, or has to do with
#: data; and those among them that fetch the program's next batch.
WAITS: Final = ("MXNDArrayWait",)
LOADS: Final = ("DataLoader", "MXDataIter")
FETCHES: Final = ("DataLoader.next", "MXDataIterNext")


@dataclass(frozen=True)
class LaneShares:
    """One lane's nanoseconds by bucket; they add up to the span."""

    name: str
    ns: tuple[int, ...]

    @property
    def busy(self) -> int:
        """The time in which operations ran."""
        return sum(self.ns[: len(KINDS)])

    @property
    def is_thread(self) -> bool:
        """Whether it is a thread of the program, not a worker of an engine."""
        return self.name.startswith(THREAD)


@dataclass(frozen=True)
class Span:
    """The time that is looked at, in nanoseconds of the record's clock."""

    start: int
    end: int

    @property
    def ns(self) -> int:
        """How long it is."""
        return self.end - self.start


def covered(start: Array, end: Array) -> Array:
    """Of each interval, how much no earlier one has covered; in order of `start`.

    What runs inside of something else counts for that, so that the sum is the length
    of the union.

    >>> covered(np.array([0, 2, 9]), np.array([5, 7, 10])).tolist()
    [5, 2, 1]
    """
    if not len(start):
        return np.zeros(0, np.int64)
    before = np.maximum.accumulate(np.concatenate([start[:1], end[:-1]]))
    return np.asarray(np.maximum(end - np.maximum(start, before), 0))


def present(column: Array) -> list[int]:
    """The different values of a column of small numbers, in order; quick.

    >>> present(np.array([3, 1, 3]))
    [1, 3]
    """
    found: list[int] = np.flatnonzero(np.bincount(column)).tolist()
    return found


def lanes(
    ops: Array, kind: Array, worker: Sequence[str], calls: Calls, span: Span
) -> list[LaneShares]:
    """Every lane with its shares, in order of name; threads of the program first.

    ops: the operations, without those that hold others. kind: of each, as a number of
    `KINDS`. worker: the names behind `ops["worker"]`.
    """
    numbers = present(ops["worker"])
    found = []
    if not numbers or any(worker[number] != PUSHER for number in numbers):
        found = [_thread(name, calls.of(name), span) for name in calls.threads]
    queues: dict[str, list[int]] = {}
    for number in sorted(numbers, key=lambda n: worker[n]):
        queues.setdefault(worker[number].rpartition("/")[0], []).append(number)
    for lanes_of_queue in queues.values():
        mine = np.flatnonzero(np.isin(ops["worker"], lanes_of_queue))
        alone = all(worker[number] == PUSHER for number in lanes_of_queue)
        ruled = _Queue(ops[mine], calls, span, alone)
        for number in lanes_of_queue:
            own = mine[ops["worker"][mine] == number]
            found.append(_worker(worker[number], ops[own], kind[own], ruled, span))
    return found


def _worker(
    name: str, ops: Array, kind: Array, queue: _Queue, span: Span
) -> LaneShares:
    """The shares of one worker of a queue."""
    order = np.argsort(ops["t_start"], kind="stable")
    start = np.clip(ops["t_start"][order], span.start, span.end)
    end = np.clip(ops["t_end"][order], span.start, span.end)
    busy = np.bincount(kind[order], covered(start, end), len(KINDS))
    reached = np.maximum.accumulate(np.append(span.start, end))
    *idle, loading = queue.between(reached, np.append(start, span.end))
    busy[KINDS.index("data")] += loading
    return LaneShares(name, tuple(map(int, (*busy, *idle))))


class _Queue:
    """Why a worker of a queue was idle, at any moment."""

    def __init__(self, ops: Array, calls: Calls, span: Span, alone: bool) -> None:
        """alone: it has no workers; what is pushed runs there and then."""
        push, ready, start = (
            np.clip(ops[name], span.start, span.end) - span.start
            for name in ("t_push", "t_ready", "t_start")
        )
        ready = push if alone else np.clip(ready, push, None)
        start = np.clip(start, ready, None)
        spans = [calls.spent(which) for which in ("fetch", "load", "wait", "call")]
        bounds = [moment for pair in spans for moment in pair]
        ends = np.array([0, span.ns])
        edges = np.sort(np.concatenate([push, ready, start, *bounds, ends]))
        edges = edges[np.append(True, edges[1:] != edges[:-1])]
        fit, held = (
            _level(edges, *pair) > 0 for pair in ((ready, start), (push, ready))
        )
        fetch, load, wait, call = (_level(edges, *pair) > 0 for pair in spans)
        table, none = CAUSES.index("bookkeeping"), CAUSES.index("no operation")
        if alone:  # calls are this lane's own
            order = [(fit, table), (load, len(CAUSES)), (wait, 3), (call, table)]
        else:
            order = [(fit, table), (held, 1), (fetch, 2), (wait, 3)]
        cause = np.select([when for when, _ in order], [why for _, why in order], none)
        took = np.diff(edges, append=edges[-1:])
        self._edges = edges.astype(np.float64)
        self._origin = span.start
        self._upto = [
            np.concatenate([[0], np.cumsum(np.where(cause == c, took, 0))[:-1]])
            for c in range(len(CAUSES) + 1)
        ]

    def between(self, start: Array, end: Array) -> list[int]:
        """The time of each cause, and of loading, within gaps from `start` to `end`."""
        end = np.maximum(start, end) - self._origin
        start = start - self._origin
        return [
            round(float((self._at(end, upto) - self._at(start, upto)).sum()))
            for upto in self._upto
        ]

    def _at(self, moment: Array, upto: Array) -> Array:
        """How much of a cause there was before a moment.

        It grows by nothing or by one a nanosecond, so that this is exact.
        """
        return np.interp(moment, self._edges, upto)


def _level(edges: Array, begin: Array, end: Array) -> Array:
    """How many intervals are open after each edge."""
    places = [np.searchsorted(edges, each) for each in (begin, end)]
    more, less = (np.bincount(each, minlength=len(edges)) for each in places)
    return np.cumsum(more - less)


class Calls:
    """The calls of the interface that a record has, by thread."""

    def __init__(self, rows: Array, texts: Sequence[str], span: Span) -> None:
        self._rows = rows
        self._span = span
        names = present(rows["name"])

        def those(called: tuple[str, ...]) -> Array:
            fitting = [n for n in names if texts[n].startswith(called)]
            return np.isin(rows["name"], fitting)

        self._which = {
            "fetch": those(FETCHES),
            "load": those(LOADS),
            "wait": those(WAITS),
            "call": np.ones(len(rows), bool),
        }
        numbers = present(rows["thread"])
        self._threads = {texts[number]: number for number in numbers}

    @property
    def threads(self) -> list[str]:
        """The names of the threads."""
        return sorted(self._threads)

    def of(self, thread: str) -> list[tuple[Array, Array]]:
        """A thread's intervals: of loading, of that or waiting, and of all calls."""
        mine = self._rows["thread"] == self._threads[thread]
        load, wait = (self._which[word] for word in ("load", "wait"))
        every = (load & mine, (wait | load) & mine, mine)
        return [self._intervals(which) for which in every]

    def spent(self, what: str) -> tuple[Array, Array]:
        """When any thread fetched a batch, loaded data, waited, or was in a call."""
        return self._intervals(self._which[what])

    def _intervals(self, which: Array) -> tuple[Array, Array]:
        start, end = (
            np.clip(self._rows[name][which], self._span.start, self._span.end)
            - self._span.start
            for name in ("t0", "t1")
        )
        return start, end


def _thread(name: str, calls: Iterable[tuple[Array, Array]], span: Span) -> LaneShares:
    """The shares of a thread of the program. Loading goes before waiting."""
    loading, waiting, inside = (_union(*each) for each in calls)
    ns: dict[str, Any] = dict.fromkeys(BUCKETS, 0)
    ns["data"] = loading
    ns["synchronisation"] = waiting - loading
    ns["bookkeeping"] = inside - waiting
    ns["no operation"] = span.ns - inside
    return LaneShares(THREAD + name, tuple(ns[bucket] for bucket in BUCKETS))


def _union(start: Array, end: Array) -> int:
    """The length of the union of intervals."""
    order = np.argsort(start, kind="stable")
    return int(covered(start[order], end[order]).sum())
