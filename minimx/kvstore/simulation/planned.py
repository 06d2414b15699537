"""Plans of reductions as work: the stores `local`, `device`, `tree` and `ring`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial

from minimx.kvstore.planners import flat, ring, tree
from minimx.kvstore.planners.steps import HOST, WHOLE, Copy, Piece, Plan, Step, slices
from minimx.kvstore.planners.trees import Tree, all_trees, link_weights
from minimx.kvstore.policy import threads_of_sum
from minimx.kvstore.simulation.cluster import (
    Cluster,
    Link,
    Route,
    copy_seconds,
    name_of,
)
from minimx.kvstore.simulation.events import Program, Times, by_arrival, in_order
from minimx.kvstore.simulation.groups import Group, alone, groups_of, routes
from minimx.kvstore.simulation.settings import Settings
from minimx.kvstore.simulation.workload import Layer

#: An optimizer reads gradient and weight, and writes the weight.
UPDATE_TOUCHES = 3
#: Up to so many workers MXNet's search finds the trees; it takes minutes for hundreds.
MOST_SEARCHED = 16


def sum_seconds(
    cluster: Cluster,
    place: int,
    nbytes: int,
    arrays: int,
    itemsize: int,
    knob: Settings,
) -> float:
    """How long a place adds `arrays` of `nbytes` each: all are read, one is written."""
    threads = 1
    if place < 0:
        elements = nbytes // itemsize
        bound, most = knob.bigarray_bound, knob.reduction_nthreads
        threads = threads_of_sum(elements, bound, most)
        threads = min(threads, cluster.cores or threads)
    return (arrays + 1) * nbytes / (cluster.memory_of(place) * threads)


def update_seconds(cluster: Cluster, place: int, nbytes: int) -> float:
    """How long a place takes to update a weight of `nbytes`."""
    if place >= 0 and cluster.update is not None:
        return cluster.update.latency + nbytes / cluster.update.bandwidth
    return UPDATE_TOUCHES * nbytes / cluster.memory_of(place)


@dataclass
class Builder:
    """Turns plans into work of a program, for groups of workers."""

    cluster: Cluster
    knobs: Settings
    groups: dict[int, Group]
    on_store: bool
    program: Program = field(default_factory=Program)

    def __post_init__(self) -> None:
        """The host is a place as well."""
        self.groups = {**self.groups, HOST: alone(HOST)}
        self._single = all(group.size == 1 for group in self.groups.values())
        self._routes = cache(partial(routes, self.cluster))
        self._known: dict[int, tuple[Sequence[Step], list[tuple[Step, int]]]] = {}

    def group(self, place: int) -> Group:
        """The group of a place."""
        return self.groups[place]

    def add(self, plan: Plan, layer: Layer, ready: dict[Group, float]) -> Arrivals:
        """Add the work of one key.

        ready: when each group has its gradient. Returns, for each group, the work after
        which it has the result.
        """
        rows = layer.rows or layer.elements
        have: dict[tuple[Group, Piece], tuple[int, ...]] = {}
        came: dict[tuple[Group, Piece], tuple[int, ...]] = {}
        for step, count in self._grouped(plan.reduce):
            nbytes = _size(step.piece, rows, layer.nbytes)
            if isinstance(step, Copy):
                target = self.group(step.target)
                work = self._copy("push", layer, step, nbytes, count, have, ready)
                before = came.get((target, step.piece), ())
                came[target, step.piece] = (*before, work)
                continue
            place = self.group(step.place)
            after = (
                *came.pop((place, step.piece), ()),
                *have.get((place, step.piece), ()),
            )
            seconds = sum_seconds(
                *(self.cluster, step.place, nbytes, len(step.sources)),
                *(layer.itemsize, self.knobs),
            )
            release = ready.get(place, 0.0)
            at = name_of(step.place)
            work = self.program.sum(layer.name, at, seconds, after, release=release)
            have[place, step.piece] = (work,)
        return self._broadcast(plan, layer, rows, have, ready)

    def _broadcast(
        self,
        plan: Plan,
        layer: Layer,
        rows: int,
        have: dict[tuple[Group, Piece], tuple[int, ...]],
        ready: dict[Group, float],
    ) -> Arrivals:
        found: Arrivals = {}
        for piece, root in plan.roots.items():
            place = self.group(root)
            if self.on_store:
                nbytes = _size(piece, rows, layer.nbytes)
                seconds = update_seconds(self.cluster, root, nbytes)
                after = have.get((place, piece), ())
                work = self.program.sum(layer.name, name_of(root), seconds, after)
                have[place, piece] = (work,)
            found.setdefault(place, []).extend(have.get((place, piece), ()))
        for step, count in self._grouped(plan.broadcast):
            assert isinstance(step, Copy)
            nbytes = _size(step.piece, rows, layer.nbytes)
            target = self.group(step.target)
            work = self._copy("pull", layer, step, nbytes, count, have, ready)
            have[target, step.piece] = (work,)
            found.setdefault(target, []).append(work)
        return found

    def _copy(
        self,
        kind: str,
        layer: Layer,
        step: Step,
        nbytes: int,
        count: int,
        have: dict[tuple[Group, Piece], tuple[int, ...]],
        ready: dict[Group, float],
    ) -> int:
        assert isinstance(step, Copy)
        source, target = self.group(step.source), self.group(step.target)
        if kind == "push":
            nbytes = self.knobs.pushed(nbytes, layer.itemsize)
        return self.program.copy(
            kind,
            layer.name,
            (source if kind == "push" else target).name,
            self._routes(source, target),
            nbytes,
            count,
            after=have.get((source, step.piece), ()),
            release=ready.get(source, 0.0) if kind == "push" else 0.0,
            near=max(source.near, target.near),
        )

    def _grouped(self, steps: Sequence[Step]) -> list[tuple[Step, int]]:
        """Steps with how often they happen: copies between the same groups are one."""
        if self._single:
            return [(step, 1) for step in steps]
        if id(steps) in self._known:
            return self._known[id(steps)][1]
        counts: Counter[tuple[object, ...]] = Counter()
        firsts: dict[tuple[object, ...], Step] = {}
        for number, step in enumerate(steps):
            kind: tuple[object, ...] = (number,)
            if isinstance(step, Copy):
                source, target = self.groups[step.source], self.groups[step.target]
                kind = (id(source), id(target), step.piece)
            counts[kind] += 1
            firsts.setdefault(kind, step)
        found = [(step, counts[kind]) for kind, step in firsts.items()]
        self._known[id(steps)] = steps, found  # kept, so that the id stays theirs
        return found


#: After which work each group has the result.
Arrivals = dict[Group, list[int]]


def _size(piece: Piece, rows: int, nbytes: int) -> int:
    """The bytes of a piece, as `planners.steps.traffic` counts them."""
    if piece == WHOLE:
        return nbytes
    stop = rows if piece.stop < 0 else piece.stop
    return nbytes * (stop - piece.start) // rows


class Collective:
    """The stores `tree` and `ring`: one key after the other, by all workers together.

    A key begins when it is ready everywhere and the key before is done, as with the
    collectives of NCCL and MPI on one stream, so the work of a key depends on its size
    only. Folded, each round takes as long as over its slowest link: exact for rings,
    and for trees over equal links if the number of workers is a power of two. Above
    `MOST_SEARCHED` workers trees are regular instead of searched for, and use links
    more evenly than MXNet's: between equal links a sliced sum is up to a third faster.
    """

    def __init__(
        self, cluster: Cluster, store: str, workers: int, knobs: Settings, fold: bool
    ) -> None:
        self._cluster, self._store, self._knobs = cluster, store, knobs
        self._workers, self._fold = workers, fold
        self._on_store = knobs.updates_on_store(store)
        self._known: dict[tuple[int, int, int], tuple[Program, list[Times]]] = {}
        self._sent: Counter[str] = Counter()  # bytes, around the ring and over the tree

    def of(self, layer: Layer) -> tuple[Program, list[Times]]:
        """The work of one key from time 0."""
        if self._store == "ring":  # MPI and NCCL cut anywhere, not between rows
            layer = layer._replace(rows=0)
            if (link := self._cluster.collective(self._workers)) is not None:
                return self._as_measured(layer, link)
        rows, bound = layer.rows or layer.elements, self._knobs.tree_array_bound
        cut = self._store == "ring"
        cut = cut or tree.is_sliced(rows, layer.elements, self._workers, bound)
        if self._fold:
            share = 2 * (self._workers - 1) * layer.nbytes // self._workers
            self._sent["ring" if cut else "tree"] += share if cut else layer.nbytes
        key = layer.elements, layer.itemsize, layer.rows
        if key not in self._known:
            if self._fold:
                self._known[key] = self._rounds(layer, rows, cut)
            else:
                self._known[key] = self._steps(layer, rows)
        return self._known[key]

    def _as_measured(self, layer: Layer, link: Link) -> tuple[Program, list[Times]]:
        """The work of one key where a sum over all ranks was measured as a whole."""
        everyone, program = f"{self._workers} workers", Program()
        way = ((f"sum over {self._workers} ranks", link),)
        program.copy("reduce", layer.name, everyone, (way, way), layer.nbytes)
        return program, in_order(program.works)

    @property
    def loads(self) -> dict[str, int]:
        """The bytes that folded keys brought over each link."""
        found: Counter[str] = Counter()
        for shape, nbytes in self._sent.items():
            for way in self._ways(shape == "ring"):
                found.update({name: nbytes for name, _ in way})
        return dict(found)

    def _steps(self, layer: Layer, rows: int) -> tuple[Program, list[Times]]:
        """Each step of the plan."""
        n, bound = self._workers, self._knobs.tree_array_bound
        if self._store == "ring":
            plan = ring.on_ring(range(n), rows)
        else:
            plan = tree.over_trees(self._trees, rows, layer.elements, bound)
        groups = groups_of(self._cluster, n, None)
        made = Builder(self._cluster, self._knobs, groups, self._on_store)
        made.add(plan, layer, dict.fromkeys(groups.values(), 0.0))
        # Trees cross: what is ready on one must not wait for another's turn.
        crossing = self._store == "tree" and len(plan.roots) > 1
        run = by_arrival if crossing else in_order
        return made.program, run(made.program.works)

    @cached_property
    def _trees(self) -> Sequence[Tree]:
        n, weight = self._workers, self._cluster.weight
        if n > MOST_SEARCHED:
            return [regular_tree(n, root) for root in range(n)]
        ranks = [[0 if a == b else weight(a, b) for b in range(n)] for a in range(n)]
        return all_trees(link_weights(ranks))

    def _ways(self, around: bool) -> list[Route]:
        """The routes of all copies: around the ring, or up and down the tree."""
        n, route = self._workers, self._cluster.route
        if around:
            return [route(k, (k + 1) % n) for k in range(n)]
        pairs = list(regular_tree(n).pairs())
        return [route(*pair) for pair in pairs] + [route(b, a) for a, b in pairs]

    @cached_property
    def _hops(self) -> dict[bool, list[list[Route]]]:
        """Routes of each speed that copies take at once, hop by hop.

        Around the ring all hops are alike; in the tree there is one for each level,
        from the leaves up.
        """
        n, route = self._workers, self._cluster.route
        levels = [
            [
                route(b, a)
                for a, b in zip(level[::2], level[1::2], strict=True)
                if a != b
            ]
            for level in regular_tree(n).levels[1:]
        ]
        found = {True: [self._ways(around=True)], False: levels[::-1]}
        return {
            around: [
                list({tuple(x for _, x in way): way for way in ways}.values())
                for ways in hops
            ]
            for around, hops in found.items()
        }

    def _rounds(
        self, layer: Layer, rows: int, cut: bool
    ) -> tuple[Program, list[Times]]:
        """A piece goes over a link and is added, round after round; then results go.

        cut: n pieces in n - 1 rounds; else the whole, once for each level of a tree.
        """
        n = self._workers
        largest = max(b - a for a, b in slices(rows, n)) if cut else rows
        nbytes, name = layer.nbytes * largest // rows, layer.name
        program = Program()
        everyone = f"{n} workers"
        count = n - 1 if cut else 1
        ways = [
            (max(hop, key=lambda way: copy_seconds(way, nbytes)),) * 2
            for hop in self._hops[cut]
        ]
        adds = sum_seconds(self._cluster, 0, nbytes, 2, layer.itemsize, self._knobs)
        done: tuple[int, ...] = ()
        for way in ways:
            push = program.copy("push", name, everyone, way, nbytes, count, done)
            done = (program.sum(name, everyone, adds, (push,), count),)
        if self._on_store:
            update = update_seconds(self._cluster, 0, nbytes)
            done = (program.sum(name, everyone, update, done),)
        for way in reversed(ways):
            pull = program.copy("pull", name, everyone, way, nbytes, count, done)
            done = (pull,)
        program.nbytes.clear()  # see `loads`
        return program, in_order(program.works)


def regular_tree(devices: int, root: int = 0) -> Tree:
    """A balanced tree by position, for links that are all equal.

    >>> print(regular_tree(6))
    0 / 0 3 / 0 2 3 5 / 0 1 2 2 3 4 5 5
    """
    spans = [(0, devices)]
    levels: list[tuple[int, ...]] = [(root,)]
    while any(stop - start > 1 for start, stop in spans):
        spans = [half for span in spans for half in _halves(*span)]
        levels.append(tuple((start + root) % devices for start, _ in spans))
    return Tree(tuple(levels))


def _halves(start: int, stop: int) -> tuple[tuple[int, int], tuple[int, int]]:
    middle = (start + stop + 1) // 2
    if middle == stop:
        return (start, stop), (start, stop)
    return (start, middle), (middle, stop)


def flat_plan(store: str, workers: int, home: int) -> Plan:
    """The plan of `local`, or of `device` for a key with a home."""
    if store == "local":
        return flat.on_host(workers)
    return flat.on_device(workers, home)
