"""The operations of a recorded run, as the scheduling policy wants them.

    found = Operations.of(record)
    found.ns[3], found.before[3]        # how long it took, and for whom it had to wait

A record says when each operation was pushed, got ready, started and ended, and which
operation it came after and why (RAW, WAR, WAW). From that follows what belongs to the
program, and not to the engine: the order of pushes, how long Python worked between two
of them, where it waited for a result, and how long each operation took.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np

from minimx.core.device import Device
from minimx.core.drivers import links
from minimx.core.engine.kinds import (
    BULK,
    COPY_TO_GPU,
    CPU_PRIORITIZED,
    GPU_PRIORITIZED,
    NORMAL,
    SEGMENT,
)
from minimx.core.engine.trace import PUSHER
from minimx.core.errors import ArgumentError
from minimx.core.record import Record
from minimx.core.record.tables import Array
from minimx.core.replay.pool import parsed

#: In `Operations.waits`: Python waited for nothing, or for everything.
NOTHING, EVERYTHING = -1, -2
#: Nanoseconds. A shorter pause of the pushing thread is not taken for a wait.
SHORTEST_WAIT: Final = 50_000
Made = TypeVar("Made")


class Overheads(NamedTuple):
    """What the engine itself took, medians of a record, in nanoseconds.

    push: from the call to the queue of a var. idle: from ready to start, where a worker
    slept; busy: where one came from another operation. part: between two parts of a
    joined operation. On the virtual clock all but the first are 0.
    """

    push: int = 0
    idle: int = 0
    busy: int = 0
    part: int = 0


class Copy(NamedTuple):
    """What a copy between devices brought: their names, and the bytes."""

    source: str
    target: str
    nbytes: int


@dataclass(frozen=True, eq=False)
class Operations:
    """The operations of a record, one entry each, in the order of their pushes.

    op: ids. name, layer, phase, device: texts. kind: as in `engine.kinds`. ns: how long
    it ran. gap: nanoseconds that Python worked before the push. waits: the position of
    the operation for whose end Python waited before the push, or `NOTHING`, or
    `EVERYTHING`. before: the positions of those that have to be over. inside: the
    position of the joined operation of which it was a part, -1 if of none. copies: by
    position. pushed, start, end: as recorded, from the first push. lost: rows that the
    record knew and has no more. outside: how many waited for what was pushed before the
    record began. guessed: whether waits are concluded from pauses.
    """

    record: Record
    rows: Array
    op: list[int]
    name: list[str]
    layer: list[str]
    phase: list[str]
    device: list[str]
    worker: list[str]
    kind: list[int]
    priority: list[int]
    ns: list[int]
    gap: list[int]
    waits: list[int]
    before: list[tuple[int, ...]]
    inside: list[int]
    copies: dict[int, Copy]
    pushed: Array
    start: Array
    end: Array
    overheads: Overheads
    lost: int
    outside: int
    guessed: bool

    def __len__(self) -> int:
        return len(self.op)

    @cached_property
    def after(self) -> list[list[int]]:
        """For each operation those that come after it, the other way of `before`."""
        found: list[list[int]] = [[] for _ in range(len(self))]
        for place, before in enumerate(self.before):
            for each in before:
                found[each].append(place)
        return found

    @cached_property
    def place_of(self) -> dict[int, int]:
        """The position of each id; what no record has, has id 0 and is left out."""
        return {op: place for place, op in enumerate(self.op) if op}

    @property
    def naive(self) -> bool:
        """Whether they ran on the thread that pushed them."""
        return bool(self.worker) and self.worker[0] == PUSHER

    @property
    def makespan(self) -> int:
        """Nanoseconds from the first push to the last end, as recorded."""
        return int(self.end.max(initial=0))

    @classmethod
    def of(cls, record: Record) -> Operations:
        """Those of a record; the same object as long as the record does not grow.

        Raises `ArgumentError` where operations wait for one another in a circle, which
        no run can bring about.
        """
        return once(record, _read)


def kept_with(owner: object) -> dict[Any, Any]:
    """What replays computed from an object and keep with it, as long as it lives."""
    found: dict[Any, Any] = vars(owner).setdefault("_replays", {})
    return found


def once(record: Record, make: Callable[..., Made], *more: str) -> Made:
    """`make(record, *more)`; the same object as long as the record does not grow."""
    kept, size = kept_with(record), (record.rows("ops"), record.rows("mem"))
    known = kept.get((make, more))
    if known is None or known[0] != size or record.running:
        known = kept[make, more] = size, make(record, *more)
    made: Made = known[1]
    return made


def _read(record: Record) -> Operations:
    ops = _ordered(record.ops())
    ids = ops["op"]
    place = dict(zip(ids.tolist(), range(len(ids)), strict=True))
    inside = [place.get(each, -1) for each in ops["inside"].tolist()]
    texts = {
        column: record.texts(ops[column])
        for column in ("name", "layer", "phase", "device", "worker")
    }
    origin = int(ops["t_push"].min()) if len(ops) else 0
    pushed, start, end = (ops[c] - origin for c in ("t_push", "t_start", "t_end"))
    end = np.maximum(start, end)
    copies, sent = _copies(record, ops, texts["name"])
    ns = (end - start).tolist()
    for row, took in sent.items():
        ns[row] = min(ns[row], took)
    before, lost = _before(record, place, len(ops))
    virtual = record.conditions.clock == "virtual"
    at_once, late = _unhindered(ops, inside, before)
    overheads = _overheads(ops, inside, texts["worker"], at_once, virtual)
    gap, waits, guessed = _pauses(record, ops, inside, texts["worker"], overheads)
    return Operations(
        record=record,
        rows=ops,
        op=ids.tolist(),
        **texts,
        kind=_kinds(ops, inside, texts),
        priority=ops["priority"].tolist(),
        ns=ns,
        gap=gap,
        waits=waits,
        before=before,
        inside=inside,
        copies=copies,
        pushed=pushed,
        start=start,
        end=end,
        overheads=overheads,
        lost=lost + sum(record.dropped[table] for table in ("ops", "deps", "mem")),
        outside=int(np.count_nonzero(late)),
        guessed=guessed,
    )


def _ordered(ops: Array) -> Array:
    """One row an operation, in the order in which the engine got them.

    Ids are given at the push; that of a joined operation, when it is handed over: just
    after its last part.
    """
    ops = ops[np.unique(ops["op"], return_index=True)[1]]
    key = ops["op"].astype(np.float64)
    parts = ops[ops["inside"] > 0]
    for joined, part in zip(
        parts["inside"].tolist(), parts["op"].tolist(), strict=True
    ):
        row = int(np.searchsorted(ops["op"], joined))
        if row < len(ops) and ops["op"][row] == joined:
            key[row] = part + 0.5  # parts come in their order: the last one stays
    return ops[np.argsort(key, kind="stable")]


def _before(
    record: Record, place: dict[int, int], count: int
) -> tuple[list[tuple[int, ...]], int]:
    """For each operation those that it comes after, and how many are not there."""
    deps = record.table("deps")
    bulk = record.strings.index("BULK") if "BULK" in record.strings else -1
    deps = deps[deps["kind"] != bulk]
    found: list[set[int]] = [set() for _ in range(count)]
    lost = 0
    for src, dst in zip(deps["src"].tolist(), deps["dst"].tolist(), strict=True):
        a, b = place.get(src), place.get(dst)
        if b is None or a is None:
            lost += a is None and b is not None
        elif a < b:
            found[b].add(a)
        else:
            raise ArgumentError(
                f"replay: by its dependencies operation {dst} comes after {src}, which "
                "was pushed later. No run can do that: the record is damaged, or was "
                "put together by hand."
            )
    return [tuple(sorted(each)) for each in found], lost


def _kinds(ops: Array, inside: Sequence[int], texts: dict[str, list[str]]) -> list[int]:
    """The kind of each operation, which decides on its lane."""
    joined = {each for each in inside if each >= 0}
    graph, priority = ops["graph"].tolist(), ops["priority"].tolist()
    found = []
    for row, worker in enumerate(texts["worker"]):
        on_gpu = texts["device"][row].startswith("gpu")
        lane = worker.partition("/")[0]
        if row in joined:
            kind = BULK
        elif graph[row]:
            kind = SEGMENT
        elif lane.endswith("copy") or (
            on_gpu and texts["name"][row].startswith("Copy")
        ):
            kind = COPY_TO_GPU
        elif lane.endswith("priority") or (priority[row] and lane in (PUSHER, "pool")):
            kind = GPU_PRIORITIZED if on_gpu else CPU_PRIORITIZED
        else:
            kind = NORMAL
        found.append(kind)
    return found


def _copies(
    record: Record, ops: Array, names: Sequence[str]
) -> tuple[dict[int, Copy], dict[int, int]]:
    """The copies between devices, and how long each was under way, by position.

    A copy's operation waits for its wires as well; the table `comm` has the copy alone.
    """
    comm = record.comm()
    by_end: dict[int, list[Any]] = {}
    for row, end in enumerate(comm["t1"].tolist()):
        by_end.setdefault(end, []).append(row)
    found, took = {}, {}
    starts, ends = ops["t_start"].tolist(), ops["t_end"].tolist()
    for place, name in enumerate(names):
        if not name.startswith("Copy"):
            continue
        rows = by_end.get(ends[place], [])
        mine = [row for row in rows if comm["t0"][row] >= starts[place]]
        if mine:
            rows.remove(mine[0])
            one = comm[mine[0]]
            source, target = record.texts([one["src"], one["dst"]])
            found[place] = Copy(source, target, int(one["nbytes"]))
            took[place] = int(one["t1"] - one["t0"])
    return found, took


def _unhindered(
    ops: Array, inside: Sequence[int], before: Sequence[tuple[int, ...]]
) -> tuple[Array, Array]:
    """Which operations were ready at their push, and which had to wait all the same.

    The second had nothing of the record in their way, and were ready only after Python
    had gone on to its next push: they waited for what was pushed before the record.
    """
    places = np.arange(len(ops))
    whole = np.asarray(inside, np.int64)
    own = whole < 0
    ends = ops["t_end"][np.where(own, places, whole)]  # of parts: that of the whole
    last = np.array([max(ends[[*each]], default=0) for each in before], np.int64)
    alone = own & ~np.isin(places, inside)  # joined: their parts wait
    free = alone & (last <= ops["t_push"])
    after = np.append(ops["t_push"][1:], ops["t_ready"][-1:]) + SHORTEST_WAIT
    late = free & (ops["t_ready"] > after)
    return free & ~late, late


def _overheads(
    ops: Array,
    inside: Sequence[int],
    workers: Sequence[str],
    at_once: Array,
    virtual: bool,
) -> Overheads:
    """What the engine took, by the medians of a record.

    A push is the time to the queues of vars, for operations that nothing was in the way
    of: `at_once`.
    """
    if not len(ops):
        return Overheads()
    own = np.asarray(inside) < 0
    whole = np.where(own, np.arange(len(ops)), inside)
    push = _median((ops["t_ready"] - ops["t_push"])[at_once].tolist())
    if virtual:
        return Overheads(push)
    free: dict[str, int] = {}
    idle: list[int] = []
    busy: list[int] = []
    columns = (ops["t_ready"], ops["t_start"], ops["t_end"])
    rows = np.flatnonzero(own)
    for row in rows[np.argsort(columns[1][rows], kind="stable")].tolist():
        ready, start, end = (int(column[row]) for column in columns)
        last = free.get(workers[row], 0)
        (idle if ready >= last else busy).append(start - max(ready, last))
        free[workers[row]] = end
    took = columns[2] - columns[1]
    heads, many = np.unique(whole[~own], return_counts=True)
    spent = np.bincount(whole[~own], took[~own], len(ops))[heads]
    between = ((took[heads] - spent) // many).tolist()
    return Overheads(push, *(_median(each) for each in (idle, busy, between)))


def _median(values: Sequence[int]) -> int:
    return max(int(np.median(values)), 0) if values else 0


def _pauses(
    record: Record,
    ops: Array,
    inside: Sequence[int],
    workers: Sequence[str],
    overheads: Overheads,
) -> tuple[list[int], list[int], bool]:
    """How long Python worked before each push, and for whom it waited.

    Calls of waiting functions say so where they were recorded. Otherwise a pause in
    which operations end counts as a wait for the last of those, on the virtual clock
    every pause.
    """
    calls = _waiting_calls(record)
    guessed = not record.rows("calls") and record.conditions.clock != "virtual"
    least = SHORTEST_WAIT if guessed else 0
    ends = ops["t_end"]
    by_end = np.argsort(ends, kind="stable")
    sorted_ends = ends[by_end]
    gaps, waits = [], []
    free = int(ops["t_push"][0]) if len(ops) else 0
    next_call = 0
    moments = zip(ops["t_push"].tolist(), ends.tolist(), strict=True)
    for row, (pushed, end) in enumerate(moments):
        pause, target = pushed - free, NOTHING
        while next_call < len(calls) and calls[next_call][1] <= pushed:
            begun, over, everything = calls[next_call]
            next_call += 1
            target = EVERYTHING if everything else _ended(by_end, sorted_ends, over)
            target = NOTHING if target >= row else target
            pause -= over - max(begun, free)
        if not calls and pause > least:
            ended = _ended(by_end, sorted_ends, pushed)
            if NOTHING < ended < row and ends[ended] > free:
                target, pause = ended, pushed - int(ends[ended])
        gaps.append(max(pause, 0))
        waits.append(target)
        if workers[row] == PUSHER and inside[row] < 0:
            free = max(end, pushed)
        else:
            free = max(free, pushed) + (overheads.push if inside[row] < 0 else 0)
    return gaps, waits, guessed


def _ended(by_end: Array, sorted_ends: Array, moment: int) -> int:
    """The operation that ended last until a moment; `NOTHING` if none did."""
    at = int(np.searchsorted(sorted_ends, moment, side="right")) - 1
    return int(by_end[at]) if at >= 0 else NOTHING


def _waiting_calls(record: Record) -> list[tuple[int, int, bool]]:
    """The recorded calls that wait: begin, end, and whether it was for everything."""
    calls = record.table("calls")
    names = record.texts(calls["name"])
    return sorted(
        (int(row["t0"]), int(row["t1"]), name == "MXNDArrayWaitAll")
        for row, name in zip(calls, names, strict=True)
        if name.startswith("MXNDArrayWait")
    )


def device_of(text: str) -> Device:
    """The device that a record names, such as "gpu(0)"; the host is "host"."""
    return Device("cpu", 0) if text == links.HOST else Device(*parsed(text))
