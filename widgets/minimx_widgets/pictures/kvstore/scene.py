"""A step of a store as it is drawn: places, links with their load, and bars in rows.

The same for what a simulation predicts and for what a record holds (see
`measured`). Times are nanoseconds from the start of what is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from minimx.kvstore.simulation import Cluster, Prediction, Workload
from minimx_widgets.packing import Array
from minimx_widgets.pictures.kvstore.layout import ARROW, MOST, Layout, laid_out

BACKWARD, FORWARD, UPDATE, PUSH, REDUCE, PULL, OTHER = range(7)
KINDS = ("backward", "forward", "update", "push", "reduce", "pull", "other")
COMPUTING = (BACKWARD, FORWARD, UPDATE, OTHER)
#: Lines of a place's row, and what lies in them.
LINES = ("compute", "push", "reduce", "pull")
LINE_OF = (0, 0, 0, 1, 2, 3, 0)
#: Of more bars those are joined that lie nearer than a share of the time: the least
#: share that leaves few enough.
MOST_BARS, NEAR = 20_000, (1 / 300, 1 / 100, 1 / 30)
MODELLED, MEASURED = "modelled", "measured"


@dataclass(frozen=True)
class Row:
    """A row of the timeline: a place, and which of `LINES` it has."""

    label: str
    place: int
    lines: tuple[int, ...]


@dataclass(frozen=True)
class Bars:
    """What happened, (n,) each, by start.

    row, kind, key: numbers of rows, of `KINDS` and of keys; start, end: nanoseconds.
    route: the number of a route, -1 for none. nbytes: that a copy brings. op: the
    number of a recorded operation, 0 for none; of several joined, the first one's.
    """

    row: Array
    kind: Array
    key: Array
    start: Array
    end: Array
    route: Array
    nbytes: Array
    op: Array

    @classmethod
    def of(cls, found: Sequence[tuple[float, ...]]) -> Bars:
        """From tuples in the order of the columns, without `op` or with it.

        Of more than `MOST_BARS`, those of one key on one way that follow each other
        closely are one.
        """
        table = np.zeros((len(found), 8))
        if found:
            table[:, : len(found[0])] = found
        for share in NEAR:
            if len(table) > MOST_BARS:
                table = _joined(table, share * table[:, 4].max())
        table = table[np.argsort(table[:, 3], kind="stable")]
        types = ("u2", "u1", "u2", "f8", "f8", "i4", "f8", "u4")
        return cls(*(table[:, k].astype(t) for k, t in enumerate(types)))

    def __len__(self) -> int:
        return len(self.row)


def _joined(table: Array, gap: float) -> Array:
    """Rows of bars that follow each other within a gap, as one with all their bytes."""
    same = table[:, [0, 1, 2, 5]]  # row, kind, key, route
    order = np.lexsort((table[:, 3], *same.T))
    table, same = table[order], same[order]
    fresh = np.append(True, (np.diff(same, axis=0) != 0).any(axis=1))
    fresh[1:] |= table[1:, 3] - table[:-1, 4] > gap
    firsts = np.flatnonzero(fresh)
    found = table[firsts]
    found[:, 4] = np.maximum.reduceat(table[:, 4], firsts)
    found[:, 6] = np.add.reduceat(table[:, 6], firsts)
    return found


@dataclass(frozen=True)
class Load:
    """What a drawn link carried: bytes, nanoseconds in use, and their share."""

    nbytes: int
    busy: float
    share: float


@dataclass(frozen=True)
class Key:
    """A key: bytes of one copy of it, and its priority, 0 the most urgent."""

    name: str
    priority: int
    nbytes: int


@dataclass(frozen=True)
class Numbers:
    """The key numbers, times in nanoseconds.

    overlap: the share of communication that is hidden behind computation.
    efficiency: the share of the speed of so many single workers; None: not known.
    """

    step: float
    compute: float
    communication: float
    exposed: float
    overlap: float
    efficiency: float | None = None


@dataclass(frozen=True)
class Scene:
    """All that one picture shows.

    source: modelled or measured. title: store, workers and cluster in words. routes:
    of copies, positions of links. loads: in the order of `layout.wires`. waits: row,
    start and end where a worker waits. span: where the axis ends, in nanoseconds.
    lesson: why there is nothing to show; then there are no numbers. begins: at which
    nanosecond of its record a measured step begins.
    """

    source: str
    title: str
    layout: Layout
    loads: tuple[Load, ...]
    rows: tuple[Row, ...]
    bars: Bars
    routes: tuple[tuple[int, ...], ...]
    keys: tuple[Key, ...]
    waits: tuple[tuple[int, float, float], ...]
    span: float
    numbers: Numbers | None
    lesson: str = ""
    begins: int = 0

    @property
    def workers(self) -> int:
        """How many workers the rows are of."""
        return sum(p.count for p in self.layout.places if p.kind in ("worker", "rank"))


def modelled(
    found: Prediction, workload: Workload, cluster: Cluster, usual: Cluster
) -> Scene:
    """The scene of a prediction. usual: the cluster before links were changed."""
    lanes = found.lanes
    names = list(dict.fromkeys(lane.worker for lane in lanes))
    groups = list(
        dict.fromkeys(lane.worker for lane in lanes if lane.kind == "compute")
    )
    servers = {
        int(end[7:]) for name in found.nbytes for end in name.split(ARROW)
        if end.startswith("server ")
    }  # fmt: skip
    layout = laid_out(cluster, usual, groups, len(servers), found.store == "local")
    number = _row_numbers(names, groups, layout)
    drawing = Drawing(layout, workload)
    bars = [
        (
            number[lane.worker],
            KINDS.index(lane.phase) if lane.kind == "compute" else
            KINDS.index(lane.kind),
            drawing.key(lane.key, lane.nbytes),
            1e9 * lane.start,
            1e9 * lane.end,
            drawing.route(lane.links),
            lane.nbytes,
        )
        for lane in lanes
    ]  # fmt: skip
    step = 1e9 * found.step_seconds
    made = Bars.of(bars)
    numbers = Numbers(
        step=step,
        compute=1e9 * found.compute_seconds,
        communication=1e9 * found.communication_seconds,
        exposed=1e9 * found.exposed_seconds,
        overlap=found.overlap,
        efficiency=found.efficiency,
    )
    return Scene(
        MODELLED,
        f"{found.store}, {found.workers:,} workers, {cluster.name}",
        layout,
        drawing.loads(found, step),
        rows_of(number, layout, made),
        made,
        tuple(drawing.routes),
        tuple(drawing.keys.values()),
        tuple(waits(made)),
        max(step, float(made.end.max(initial=0.0))),
        numbers,
    )


def disconnected(
    lesson: str, title: str, cluster: Cluster, usual: Cluster, workers: int, store: str
) -> Scene:
    """The scene of a step that cannot be: some link is cut that has no other way.

    lesson: what the simulation says.
    """
    groups = [f"worker {k}" for k in range(min(workers, MOST))]
    if workers > MOST:
        groups = [f"{workers} workers 0…{workers - 1}"]
    servers = min(workers, 64) if store in ("dist_sync", "dist_async", "p3") else 0
    layout = laid_out(cluster, usual, groups, servers, store == "local")
    none = Bars.of([])
    loads = tuple(Load(0, 0.0, 0.0) for _ in layout.wires)
    return Scene(
        *(MODELLED, title, layout, loads, (), none, (), (), (), 1.0),
        numbers=None,
        lesson=lesson,
    )


class Drawing:
    """Gives keys, links and routes their numbers."""

    def __init__(self, layout: Layout, workload: Workload) -> None:
        last = len(workload.layers) - 1
        self._sizes = {one.name: one.nbytes for one in workload.layers}
        self._rank = {one.name: last - k for k, one in enumerate(workload.layers)}
        self._layout = layout
        self._wire = {wire.name: k for k, wire in enumerate(layout.wires)}
        self._ends: dict[tuple[int | str, ...], int] = {}
        for k, wire in enumerate(layout.wires):
            self._ends.setdefault(self._drawn(wire.name), k)
        self._number: dict[str, int] = {}
        self._known: dict[tuple[str, ...], int] = {}
        self.keys: dict[str, Key] = {}
        self.routes: list[tuple[int, ...]] = []

    def key(self, name: str, nbytes: int) -> int:
        """The number of a key; of several that travel together, the last counts."""
        if name not in self._number:
            members = name.split(" … ")
            size = self._sizes.get(name, nbytes)
            rank = min(self._rank.get(one, 0) for one in members)
            self._number[name] = len(self.keys)
            self.keys[name] = Key(name, rank, size)
        return self._number[name]

    def wire(self, name: str) -> int:
        """The drawn link that stands for a link; -1 for none."""
        if name not in self._wire:
            self._wire[name] = self._ends.get(self._drawn(name), -1)
        return self._wire[name]

    def _drawn(self, name: str) -> tuple[int | str, ...]:
        ends = name.split(ARROW)
        places = [self._layout.place_of(end) for end in ends]
        return tuple(
            place if place >= 0 else end
            for place, end in zip(places, ends, strict=True)
        )

    def route(self, links: tuple[str, ...]) -> int:
        """The number of a route; -1 for no links."""
        if not links:
            return -1
        if links not in self._known:
            self._known[links] = len(self.routes)
            wires = [self.wire(name) for name in links]
            self.routes.append(tuple(k for k in wires if k >= 0))
        return self._known[links]

    def loads(self, found: Prediction, step: float) -> tuple[Load, ...]:
        """What each drawn link carries; of several that it stands for, the busiest."""
        nbytes = [0] * len(self._layout.wires)
        seconds = [0.0] * len(self._layout.wires)
        for name, count in found.nbytes.items():
            k = self.wire(name)
            if k >= 0:
                nbytes[k] = max(nbytes[k], count)
                seconds[k] = max(seconds[k], 1e9 * found.busy.get(name, 0.0))
        return tuple(
            Load(count, busy, busy / step if step else 0.0)
            for count, busy in zip(nbytes, seconds, strict=True)
        )


def _row_numbers(
    names: Sequence[str], groups: Sequence[str], layout: Layout
) -> dict[str, int]:
    """The row of each place that something happened at: workers, then the others.

    Places that are drawn as one share a row.
    """
    others = sorted((n for n in names if n not in groups), key=_natural)
    number: dict[str, int] = {}
    seen: dict[object, int] = {}
    for name in [*groups, *others]:
        place: object = layout.place_of(name)
        if place == -1:
            place = name
        seen.setdefault(place, len(seen))
        number[name] = seen[place]
    return number


def _natural(name: str) -> tuple[str, int]:
    word, _, number = name.rpartition(" ")
    return (word, int(number)) if number.isdigit() else (name, 0)


def rows_of(number: dict[str, int], layout: Layout, bars: Bars) -> tuple[Row, ...]:
    """The rows with what they are called, and the lines that they need."""
    rows: dict[int, Row] = {}
    lines = np.array(LINE_OF)[bars.kind]
    for name, row in number.items():
        if row in rows:
            continue
        place = layout.place_of(name)
        label = layout.places[place].name if place >= 0 else name
        used = np.unique(lines[bars.row == row])
        rows[row] = Row(label, place, tuple(used.tolist()))
    return tuple(rows[k] for k in sorted(rows))


def waits(bars: Bars, least: float = 1.0) -> Iterable[tuple[int, float, float]]:
    """Row, start and end of stretches in which a computing place does not compute.

    least: nanoseconds from which on a gap counts.
    """
    computes = np.isin(bars.kind, COMPUTING)
    for row in np.unique(bars.row[computes]).tolist():
        mine = computes & (bars.row == row)
        starts, ends = bars.start[mine], np.maximum.accumulate(bars.end[mine])
        gaps = np.flatnonzero(starts[1:] - ends[:-1] > least)
        for k in gaps.tolist():
            yield row, float(ends[k]), float(starts[k + 1])


def covered(starts: Array, ends: Array) -> npt.NDArray[np.float64]:
    """Spans joined where they touch, (n, 2), by start.

    >>> covered(np.array([0.0, 1.0, 5.0]), np.array([2.0, 3.0, 6.0])).tolist()
    [[0.0, 3.0], [5.0, 6.0]]
    """
    order = np.argsort(starts, kind="stable")
    found: list[list[float]] = []
    for start, end in zip(starts[order].tolist(), ends[order].tolist(), strict=True):
        if found and start <= found[-1][1]:
            found[-1][1] = max(found[-1][1], end)
        else:
            found.append([start, end])
    return np.array(found, np.float64).reshape(len(found), 2)
