"""Virtual time: when each copy and each sum of a step starts and ends.

Work is a copy that occupies links, or a sum that occupies the memory of a place. In
order: each resource serves its work in the order in which the gradients were ready that
it is about; what comes later waits. So each time is a maximum of sums of durations, and
nothing that gets faster can make anything slower. By arrival: whenever a sender is
idle, it sends what is ready, the most urgent first (P3), and of that what came first.

Work may stand for that of many workers that do the same, one after the other at the
resource that they share: then it has a count. The first and the last of them are
followed, which is exact as long as the others lie between. What some of them share, as
those of one machine its wire to the network, is busy for as many of the count.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from minimx.kvstore.simulation.cluster import Route, copy_seconds, is_shared

#: What happens: resources are free again, work is done, work is ready to start.
FREE, DONE, READY = range(3)
#: (when, what, position of the work, resources that are free again).
Event = tuple[float, int, int, tuple[str, ...]]
#: Work that is ready: (priority, since when, its position, the resource whose queue).
Head = tuple[int, float, int, str]


@dataclass(slots=True)
class Work:
    """A copy or a sum, or `count` of them that share a resource.

    kind: push, reduce or pull. place: whose lane it is in. first, last: the resources
    of the first and of the last of the count. turns: how many of the count use each of
    these. seconds: of one of them. after: positions
    of work that has to end before. each: every one of the count waits only for the same
    one of the work before. release: when the gradients are ready that it is about.
    nbytes: of one copy; 0 for a sum.
    """

    kind: str
    key: str
    place: str
    first: tuple[str, ...]
    last: tuple[str, ...]
    turns: Mapping[str, int]
    seconds: float
    count: int
    after: tuple[int, ...]
    each: bool
    release: float
    priority: int
    nbytes: int = 0

    def renamed(self, key: str) -> Work:
        """The same for another key."""
        return replace(self, key=key)


class Times(NamedTuple):
    """Of work: when it starts, when the first of its count ends, and when the last."""

    start: float
    first_end: float
    end: float


class Way(NamedTuple):
    """The routes of the first and the last of a count, and what `Work` has of them."""

    routes: tuple[Route, Route]
    first: tuple[str, ...]
    last: tuple[str, ...]
    turns: Mapping[str, int]


@dataclass
class Program:
    """The work of a step, and the bytes that it brings over each link."""

    works: list[Work] = field(default_factory=list)
    nbytes: Counter[str] = field(default_factory=Counter)
    _ways: dict[tuple[int, ...], Way] = field(default_factory=dict)

    def copy(
        self,
        kind: str,
        key: str,
        place: str,
        routes: tuple[Route, Route],
        nbytes: int,
        count: int = 1,
        after: tuple[int, ...] = (),
        each: bool = False,
        release: float = 0.0,
        priority: int = 0,
        near: int = 1,
    ) -> int:
        """Add a copy; returns its position.

        routes: of the first and the last. near: how many of the count are of one
        machine.
        """
        way = self._way(routes, count, near)
        for name, times in way.turns.items():
            self.nbytes[name] += nbytes * times
        seconds = copy_seconds(routes[0], nbytes)
        return self._add(
            Work(
                *(kind, key, place, *way[1:], seconds),
                *(count, after, each, release, priority, nbytes),
            )
        )

    def sum(
        self,
        key: str,
        place: str,
        seconds: float,
        after: tuple[int, ...],
        count: int = 1,
        each: bool = False,
        release: float = 0.0,
        priority: int = 0,
    ) -> int:
        """Add work at the memory of a place; returns its position."""
        at = (f"memory of {place}",)
        return self._add(
            Work(
                *("reduce", key, place, at, at, {at[0]: count}, seconds),
                *(count, after, each, release, priority),
            )
        )

    def _way(self, routes: tuple[Route, Route], count: int, near: int) -> Way:
        """What routes are by the names of links. They are made once and taken often."""
        kind = *map(id, routes), count, near
        if kind not in self._ways:  # the routes are kept, so that their ids stay theirs
            first, last = (tuple(name for name, _ in route) for route in routes)
            turns = {
                name: count
                if name in first and name in last
                else (near if is_shared(name) else 1)
                for name in dict.fromkeys((*first, *last))
            }
            self._ways[kind] = Way(routes, first, last, turns)
        return self._ways[kind]

    def _add(self, work: Work) -> int:
        for before in work.after:
            work.release = max(work.release, self.works[before].release)
        self.works.append(work)
        return len(self.works) - 1


def in_order(works: list[Work]) -> list[Times]:
    """Times when each resource serves in the order of readiness."""
    free: defaultdict[str, float] = defaultdict(float)
    times = [Times(0.0, 0.0, 0.0)] * len(works)
    for k in sorted(range(len(works)), key=lambda k: (works[k].release, k)):
        work = works[k]
        start = work.release
        ready = 0.0
        for before in work.after:
            ready = max(ready, times[before].end)
            start = max(start, times[before].first_end if work.each else ready)
        for name in work.first:
            start = max(start, free[name])
        end = start + work.count * work.seconds
        if work.count > 1:
            held = max(free[x] + work.turns[x] * work.seconds for x in work.last)
            end = max(end, ready + work.seconds, held)
        times[k] = Times(start, start + work.seconds, end)
        for name in work.first:
            free[name] = start + work.turns[name] * work.seconds
        for name in work.last:
            free[name] = end
    return times


def by_arrival(works: list[Work]) -> list[Times]:
    """Times when each sender takes the most urgent first (lowest priority number).

    Of what is equally urgent, what was ready first.
    """
    return _Loop(works).run()


class _Loop:
    """Senders with queues, and the events that let them start."""

    def __init__(self, works: list[Work]) -> None:
        self._works = works
        self._times = [Times(0.0, 0.0, 0.0)] * len(works)
        self._missing = [len(work.after) for work in works]
        self._following: defaultdict[int, list[int]] = defaultdict(list)
        for k, work in enumerate(works):
            for before in work.after:
                self._following[before].append(k)
        self._events: list[Event] = [
            (work.release, READY, k, ())
            for k, work in enumerate(works)
            if not work.after
        ]
        heapq.heapify(self._events)
        self._queues: defaultdict[str, list[Head]] = defaultdict(list)
        self._busy: set[str] = set()
        self._until: defaultdict[str, float] = defaultdict(float)  # of the last's links
        # Heads of queues that wait for a resource, by that resource.
        self._waiting: defaultdict[str, list[Head]] = defaultdict(list)

    def run(self) -> list[Times]:
        """Process all events."""
        while self._events:
            now = self._events[0][0]
            freed: set[str] = set()
            arrived: set[str] = set()
            while self._events and self._events[0][0] == now:
                self._happens(*heapq.heappop(self._events), freed, arrived)
            self._start(now, sorted(freed), sorted(arrived))
        return self._times

    def _happens(
        self,
        now: float,
        what: int,
        k: int,
        names: tuple[str, ...],
        freed: set[str],
        arrived: set[str],
    ) -> None:
        """One event; note resources that are free and queues that have new work."""
        self._busy.difference_update(names)
        freed.update(names)
        if what == READY:
            work = self._works[k]
            name = work.first[0]
            heapq.heappush(self._queues[name], (work.priority, now, k, name))
            arrived.add(name)
        for other in self._following[k] if what == DONE else ():
            self._missing[other] -= 1
            if not self._missing[other]:
                at = max(now, self._works[other].release)
                heapq.heappush(self._events, (at, READY, other, ()))

    def _start(self, now: float, freed: list[str], arrived: list[str]) -> None:
        """Start what can start, the most urgent first.

        Of those that wait for a resource the next is looked at only if the one before
        could not start, for which it needs something else.
        """
        candidates = [(self._queues[name][0], "") for name in arrived]
        candidates += [
            (heapq.heappop(self._waiting[name]), name)
            for name in freed
            if self._waiting[name]
        ]
        heapq.heapify(candidates)
        while candidates:
            head, resource = heapq.heappop(candidates)
            queue = self._queues[head[3]]
            if queue and queue[0] == head:  # it neither started nor was overtaken
                self._try(now, head)
            free = resource and resource not in self._busy
            if free and self._waiting[resource]:
                following = heapq.heappop(self._waiting[resource])
                heapq.heappush(candidates, (following, resource))

    def _try(self, now: float, head: Head) -> None:
        """Start work at the head of a queue, or note what it waits for."""
        _, _, k, name = head
        work = self._works[k]
        for one in work.first:
            if one in self._busy:
                heapq.heappush(self._waiting[one], head)
                return
        queue = self._queues[name]
        heapq.heappop(queue)
        if queue:
            heapq.heappush(self._waiting[name], queue[0])
        end = now + work.count * work.seconds
        if work.count > 1:
            held = (self._until[x] + work.turns[x] * work.seconds for x in work.last)
            end = max(end, *held)
        self._times[k] = Times(now, now + work.seconds, end)
        self._busy.update(work.first)
        self._until.update((one, end) for one in work.last)
        rest = tuple(one for one in work.first if one in work.last)
        for one in work.first:
            if one not in rest:
                until = now + work.turns[one] * work.seconds
                heapq.heappush(self._events, (until, FREE, k, (one,)))
        heapq.heappush(self._events, (end, DONE, k, rest))
