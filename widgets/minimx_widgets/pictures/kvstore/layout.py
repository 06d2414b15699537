"""Where the places and links of a cluster are drawn: all in the unit square.

Workers stand in a row above the switches of their machines. Host and parameter servers
stand below; where there is a network between machines, it lies between, and the host
stands beside the workers of its machine. More than `MOST` places of a kind are joined.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from minimx.kvstore.simulation import Cluster, Link

WORKER, SERVER, HOST, RANK = "worker", "server", "host", "rank"
#: So many places of a kind stand alone.
MOST = 16
ARROW = " → "
ABOVE, BELOW = 0.2, 0.86
_GROUP = re.compile(r"(?P<size>\d+) workers (?P<first>\d+)…(?P<last>\d+)")
Point = tuple[float, float]


@dataclass(frozen=True)
class Place:
    """A worker, a server or the host, or several of them.

    count: how many it stands for. factor: of its compute times, 1 as in the workload.
    """

    name: str
    kind: str
    x: float
    y: float
    count: int = 1
    factor: float = 1.0


@dataclass(frozen=True)
class Bus:
    """A switch or a network, as a bar from `left` to `right`."""

    name: str
    left: float
    right: float
    y: float


@dataclass(frozen=True)
class Wire:
    """One direction of a link as it is drawn, from its first point to its last.

    usual: the link before anything was changed; now: as it is, None if it is cut.
    curved: drawn as an arc, as it joins two places of one row.
    """

    name: str
    points: tuple[Point, Point]
    usual: Link | None
    now: Link | None
    curved: bool = False

    @property
    def state(self) -> str:
        """In a word: as it was, slower, or cut."""
        if self.now is None:
            return "cut"
        usual = self.usual
        slower = usual is not None and self.now.bandwidth < usual.bandwidth
        return "slow" if slower else ""


@dataclass(frozen=True)
class Layout:
    """Everything of the topology that does not move.

    alias: which drawn place or link stands for one that is not drawn itself.
    """

    places: tuple[Place, ...]
    buses: tuple[Bus, ...]
    wires: tuple[Wire, ...]
    spans: tuple[tuple[int, int, int, int], ...] = ()

    def place_of(self, name: str) -> int:
        """The position of the place that stands for one by this name; -1 for none."""
        known = {place.name: k for k, place in enumerate(self.places)}
        if name in known:
            return known[name]
        kind, _, number = name.rpartition(" ")
        if kind == SERVER and f"servers {MOST - 1}…" in known:
            return known[f"servers {MOST - 1}…"]
        if _GROUP.fullmatch(name):
            return self._group_of(span_of(name)[0])
        if kind != WORKER or not number.isdigit():
            return -1
        return self._group_of(int(number))

    def _group_of(self, worker: int) -> int:
        found = [
            (first not in (worker,) and last not in (worker,), -size, k)
            for first, last, size, k in self.spans
            if first <= worker <= last
        ]
        return min(found)[2] if found else -1


def spread(count: int) -> list[float]:
    """Places in a row.

    >>> spread(2)
    [0.25, 0.75]
    """
    return [(k + 0.5) / count for k in range(count)]


def laid_out(
    cluster: Cluster, usual: Cluster, groups: Sequence[str], servers: int, host: bool
) -> Layout:
    """The topology of a cluster.

    usual: the cluster before links were changed. groups: names of the workers, or of
    groups of them, as lanes call them. servers, host: what takes part besides.
    """
    shown, rest = list(groups), 0
    if len(shown) > MOST:
        shown, rest = shown[: MOST - 1], len(groups) - MOST + 1
    beside = host and cluster.network is not None
    columns = len(shown) + bool(rest) + beside
    xs = spread(columns)
    places, spans = [], []
    if beside:
        places.append(Place("host", HOST, xs[0], ABOVE))
    for name, x in zip(shown, xs[beside:], strict=False):
        first, last, size = span_of(name)
        spans.append((first, last, size, len(places)))
        factor = cluster.factor(first)
        places.append(Place(name, WORKER, x, ABOVE, size, factor))
    if rest:
        first = span_of(groups[MOST - 1])[0]
        last = max(span_of(name)[1] for name in groups[MOST - 1 :])
        size = sum(span_of(name)[2] for name in groups[MOST - 1 :])
        spans.append((first, last, size, len(places)))
        name = f"{size} workers {first}…{last}"
        places.append(Place(name, WORKER, xs[-1], ABOVE, size))
    places += _below(servers, host and not beside)
    buses = _buses(cluster, places)
    made = Layout(tuple(places), buses, (), tuple(spans))
    wires = [*_direct(cluster, usual, made), *_to_switches(cluster, usual, made)]
    return Layout(tuple(places), buses, tuple(wires), tuple(spans))


def span_of(name: str) -> tuple[int, int, int]:
    """The first and the last worker of a group, and how many there are.

    >>> span_of("worker 3"), span_of("19 workers 0…18")
    ((3, 3, 1), (0, 18, 19))
    """
    found = _GROUP.fullmatch(name)
    if found:
        return int(found["first"]), int(found["last"]), int(found["size"])
    number = int(name.rpartition(" ")[2])
    return number, number, 1


def _below(servers: int, host: bool) -> list[Place]:
    names = [f"server {k}" for k in range(servers)]
    if servers > MOST:
        names = [*names[: MOST - 1], f"servers {MOST - 1}…"]
    names += ["host"] if host else []
    counts = [servers - MOST + 1 if name.startswith("servers") else 1 for name in names]
    return [
        Place(name, HOST if name == "host" else SERVER, x, BELOW, count)
        for name, x, count in zip(
            names, spread(max(len(names), 1)), counts, strict=False
        )
    ]


def _machine(cluster: Cluster, place: Place) -> int:
    if place.kind != WORKER:
        return 0
    return cluster.machine_of(span_of(place.name)[0])


def _buses(cluster: Cluster, places: Sequence[Place]) -> tuple[Bus, ...]:
    """A switch for each machine; a network below them where the cluster has one."""
    margin = 0.42 / max(sum(place.y == ABOVE for place in places), 1)
    below = any(place.y == BELOW for place in places)
    if cluster.network is None:
        return (Bus("switch", 0.02, 0.98, (ABOVE + BELOW) / 2 if below else 0.75),)
    by_machine: dict[int, list[float]] = {}
    for place in places:
        if place.y == ABOVE:
            by_machine.setdefault(_machine(cluster, place), []).append(place.x)
    switches = [
        Bus(f"switch of machine {k}", min(xs) - margin, max(xs) + margin, 0.45)
        for k, xs in by_machine.items()
    ]
    return (*switches, Bus("network", 0.02, 0.98, 0.66 if below else 0.78))


def _to_switches(cluster: Cluster, usual: Cluster, made: Layout) -> Iterable[Wire]:
    """From each place to its switch, from each switch to the network, and back."""
    network = made.buses[-1]
    for place in made.places:
        bus = network
        if place.y == ABOVE and cluster.network is not None:
            machine = _machine(cluster, place)
            bus = next(b for b in made.buses if b.name.endswith(f" {machine}"))
        name = _first_of(place)
        link = cluster.wire if place.kind == WORKER else cluster.host
        yield from _both(cluster, usual, name, "switch", (place.x, place.y),
                         (place.x, bus.y), link)  # fmt: skip
    for bus in made.buses[:-1]:
        x = (bus.left + bus.right) / 2
        name = "machine " + bus.name.rpartition(" ")[2]
        assert cluster.network is not None
        yield from _both(cluster, usual, name, "network", (x, bus.y), (x, network.y),
                         cluster.network)  # fmt: skip


def _first_of(place: Place) -> str:
    if place.kind == WORKER:
        return f"worker {span_of(place.name)[0]}"
    return f"server {MOST - 1}" if place.name.startswith("servers") else place.name


def _both(
    cluster: Cluster,
    usual: Cluster,
    near: str,
    far: str,
    start: Point,
    end: Point,
    link: Link,
) -> Iterable[Wire]:
    for name, points in (
        (f"{near}{ARROW}{far}", (start, end)),
        (f"{far}{ARROW}{near}", (end, start)),
    ):
        before = usual.changed.get(name, link)
        yield Wire(name, points, before, cluster.changed.get(name, before))


def _direct(cluster: Cluster, usual: Cluster, made: Layout) -> Iterable[Wire]:
    """Links between two workers that stand alone."""
    alone = [
        place for place in made.places if place.kind == WORKER and place.count == 1
    ]
    for a in alone:
        for b in alone:
            if a is b:
                continue
            start, end = span_of(a.name)[0], span_of(b.name)[0]
            route = usual.route(start, end)
            if len(route) == 1:
                ((name, link),) = route
                now = cluster.changed.get(name, link)
                yield Wire(name, ((a.x, a.y), (b.x, b.y)), link, now, curved=True)
