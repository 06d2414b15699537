"""Parameter servers as work: the stores `dist_sync`, `dist_async` and `p3`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, partial

from minimx.kvstore.planners.placement import Part, Slicer, place
from minimx.kvstore.simulation.cluster import Cluster, name_of, server
from minimx.kvstore.simulation.events import Program
from minimx.kvstore.simulation.groups import Group, alone, routes
from minimx.kvstore.simulation.planned import Arrivals, sum_seconds, update_seconds
from minimx.kvstore.simulation.settings import Settings
from minimx.kvstore.simulation.workload import Layer


class Servers:
    """Adds the work of keys that live on servers to a program.

    store: dist_sync, dist_async or p3. Servers have machines of their own, whose wires
    are those of the host.
    """

    def __init__(
        self,
        cluster: Cluster,
        store: str,
        groups: Sequence[Group],
        count: int,
        knobs: Settings,
    ) -> None:
        self._cluster, self._store, self._groups = cluster, store, groups
        self._count, self._knobs = count, knobs
        self._slicer = Slicer(count, knobs.slice_threshold)
        self._on_store = knobs.updates_on_store(store)
        self._routes = cache(partial(routes, cluster))
        self._workers = sum(group.size for group in groups)
        self.program = Program()

    def add(
        self, layer: Layer, index: int, ready: dict[Group, float], urgency: int
    ) -> Arrivals:
        """Add the work of one key.

        index: the key's number, as the Trainer counts. ready: when each group has its
        gradient. urgency: the lower, the sooner it is sent. Returns, for each group,
        the work after which it has the result.
        """
        found: Arrivals = {group: [] for group in self._groups}
        for part in self._parts(layer, index):
            if part.stop == part.start:
                continue
            if self._store == "dist_async":
                self._answer_each(layer, part, ready, found)
            else:
                self._answer_all(layer, part, urgency, ready, found)
        return found

    def _parts(self, layer: Layer, index: int) -> Iterable[Part]:
        if self._store == "p3":
            return self._slicer.slices(layer.elements)
        return place(index, layer.elements, self._count, self._knobs.bigarray_bound)

    def _answer_all(
        self,
        layer: Layer,
        part: Part,
        priority: int,
        ready: dict[Group, float],
        found: Arrivals,
    ) -> None:
        """The server adds what all send, and then answers."""
        home, nbytes = server(part.server), (part.stop - part.start) * layer.itemsize
        pushes = tuple(
            self._move("push", layer, group, home, nbytes, (), ready, priority)
            for group in self._groups
        )
        seconds = sum_seconds(
            *(self._cluster, home, nbytes, self._workers, layer.itemsize, self._knobs)
        )
        if self._on_store:
            seconds += update_seconds(self._cluster, home, nbytes)
        at = name_of(home)
        total = self.program.sum(layer.name, at, seconds, pushes, priority=priority)
        for group in self._groups:
            pull = self._move(
                "pull", layer, group, home, nbytes, (total,), {}, priority
            )
            found[group].append(pull)

    def _answer_each(
        self, layer: Layer, part: Part, ready: dict[Group, float], found: Arrivals
    ) -> None:
        """The server updates with what one worker sends, and answers that one."""
        home, nbytes = server(part.server), (part.stop - part.start) * layer.itemsize
        seconds = update_seconds(self._cluster, home, nbytes)
        for group in self._groups:
            push = self._move("push", layer, group, home, nbytes, (), ready, 0)
            update = self.program.sum(
                *(layer.name, name_of(home), seconds, (push,), group.size, True)
            )
            found[group].append(
                self._move("pull", layer, group, home, nbytes, (update,), {}, 0)
            )

    def _move(
        self,
        kind: str,
        layer: Layer,
        group: Group,
        home: int,
        nbytes: int,
        after: tuple[int, ...],
        ready: dict[Group, float],
        priority: int,
    ) -> int:
        """Copies between a group and a server."""
        ends = alone(home), group
        if kind == "push":
            ends = group, alone(home)
            nbytes = self._knobs.pushed(nbytes, layer.itemsize)
        return self.program.copy(
            *(kind, layer.name, group.name, self._routes(*ends), nbytes),
            *(group.size, after, self._store == "dist_async"),
            *(ready.get(group, 0.0), priority, group.near),
        )
