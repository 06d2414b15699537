"""Workers that do the same, taken together.

In a full simulation each worker is a group of its own. Workers of one speed on one
switch, none of which holds anything for the others, may be one group: their copies
follow each other at the place where they meet, and those of one machine follow each
other on its wire to the network as well.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from minimx.kvstore.simulation.cluster import Cluster, Route, name_of

#: So many machines are followed one by one.
MOST_MACHINES: Final = 16


class Group(NamedTuple):
    """Workers that do the same.

    first, last: places of two of them. size: how many. factor: of compute times. near:
    how many of them are of one machine.
    """

    first: int
    last: int
    size: int
    factor: float
    near: int = 1

    @property
    def name(self) -> str:
        """What lanes call the group."""
        if self.size == 1:
            return name_of(self.first)
        return f"{self.size} workers {self.first}…{self.last}"


def alone(place: int) -> Group:
    """A place by itself."""
    return Group(place, place, 1, 1.0)


def groups_of(
    cluster: Cluster, workers: int, special: Collection[int] | None
) -> dict[int, Group]:
    """The group of each worker.

    special: workers that hold something for others and stay alone; None: all of them.
    So does the machine of such a worker, where there are several, and each worker with
    a link of its own. Other workers of one machine are a group; those of all machines
    where there are more than MOST_MACHINES.
    """
    if special is None:
        special = range(workers)
    else:
        changed = [
            one for one in range(workers) if _has_own_links(cluster, name_of(one))
        ]
        special = {*special, *changed}
    busy = {cluster.machine_of(one) for one in special} if cluster.machine else set()
    apart = bool(cluster.machine) and workers <= MOST_MACHINES * cluster.machine
    alike: dict[object, list[int]] = {}
    for one in range(workers):
        machine = cluster.machine_of(one)
        single = one in special or machine in busy
        others = -1 - machine if apart else -1
        kind = (one, 0.0) if single else (others, cluster.factor(one))
        alike.setdefault(kind, []).append(one)
    found = {}
    for members in alike.values():
        first, last = members[0], members[-1]
        size, home = len(members), cluster.machine_of(first)
        near = sum(cluster.machine_of(one) == home for one in members)
        group = Group(first, last, size, cluster.factor(first), near)
        found.update(dict.fromkeys(members, group))
    return dict(sorted(found.items()))


def _has_own_links(cluster: Cluster, name: str) -> bool:
    return any(name in link.split(" → ") for link in cluster.changed)


def routes(cluster: Cluster, source: Group, target: Group) -> tuple[Route, Route]:
    """The ways of the first and of the last copy from one group to another."""
    first = cluster.route(source.first, target.first)
    if source.first == source.last and target.first == target.last:
        return first, first
    return first, cluster.route(source.last, target.last)
