"""Schedulers: a policy picks which of the ready operations a free worker takes.

    class LongestFirst:
        '''What takes longest begins first, so that it does not end last.'''

        def pick(self, ready):
            times = [one.ns for one in ready]
            return times.index(max(times))

    mx.engine.register("LongestFirst", LongestFirst)
    mx.knobs.MXNET_ENGINE_TYPE = "LongestFirst"

`pick(ready)`: the operations whose vars have all been granted, in the order in which
they became ready, each a `Ready`; never none. The answer is a position in it. Who may
run is not for the policy to decide (`minimx/core/engine/var.py` does), so no order can
break a dependency. The lanes are those of `ThreadedEnginePerDevice`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, Final, NamedTuple

from minimx.core.device import Device, cpu
from minimx.core.engine import Operation, Var
from minimx.core.engine.costs import declared_ns
from minimx.core.engine.lanes import LAYOUTS, Lane, Sizes, per_device
from minimx.core.errors import MXNetError
from minimx.core.ops.spec import Cost
from minimx.policies.asking import Asked, Broken
from minimx.policies.kinds import Entry, Kind, guarded
from minimx.policies.networks import Work, network
from minimx.tools.virtual_time.simulation import Job, Simulation

#: A lane for so many workers.
Lanes = Callable[[int], Lane]


class Ready(NamedTuple):
    """An operation that may run.

    name: of its operator. ns: how long it takes, by the declared costs. priority: the
    larger, the more urgent. waiting: how many operations wait for what it writes.
    """

    name: str
    ns: int
    priority: int
    waiting: int


@dataclass(frozen=True)
class Trace:
    """Operations in the order in which they are pushed, all at once, and workers."""

    name: str
    operations: tuple[Work, ...]
    workers: int


class Schedulers(Kind[Lanes, Trace]):
    """Of `mx.engine`: which ready operation is next."""

    name = "scheduler"
    method = "pick"
    families = ("training", "several networks", "adversarial")
    unit = "µs of virtual time"
    bound_says = (
        "the longest chain of operations runs one after the other, and the workers "
        "share all the work"
    )
    default = "ThreadedEnginePerDevice"
    knobs = ("MXNET_ENGINE_TYPE",)
    builtins: Mapping[str, Lanes] = {
        "in order": partial(Lane, "workers"),
        "by priority": partial(Lane, "workers", by_priority=True),
    }

    def subject(self, ask: Asked) -> Lanes:
        """A lane whose workers ask the policy."""
        return partial(Lane, "workers", pick=partial(_picked, ask))

    def trace(self, family: str, seed: int) -> Trace:
        """A step of one network, of several at once, or a graph that tempts."""
        chance = random.Random(f"{family} {seed}")
        if family == "adversarial":
            works = _adversarial(chance)
        else:
            works = []
            for _ in range(1 if family == "training" else 3):
                works += _renamed(network(chance.randrange(10**6)).operations(), works)
        return Trace(f"{family} {seed}", tuple(works), chance.choice((2, 3, 4)))

    def run(self, subject: Lanes, trace: Trace) -> float:
        """Run the operations in virtual time, by the engine's own rules of vars."""
        lane = subject(trace.workers)
        operations, numbers = _operations(trace)
        begun: list[tuple[int, int] | None] = [None] * len(operations)

        def start(job: Job, worker: str) -> int:
            number, now = numbers[id(job.claim)], simulation.time
            if begun[number] is not None:
                raise Broken(
                    f"{trace.operations[number].name} began a second time",
                    "every operation runs exactly once",
                )
            begun[number] = now, now + _ns_of(job.claim)
            return begun[number][1]  # type: ignore[index]

        simulation = Simulation(start)
        for operation in operations:
            simulation.push(Job(operation, lane, 0, operation.priority))
        while simulation.pending:
            try:
                simulation.step()
            except Broken as error:
                done = sum(one is not None for one in begun)
                error.step = f"operation {done + 1} of {len(begun)} to begin"
                raise
        check_schedule(trace, begun)
        return max(one[1] for one in begun if one) / 1e3

    def bound(self, trace: Trace) -> float:
        """The longest chain, or all work divided by the workers."""
        operations, _ = _operations(trace)
        ns = [_ns_of(one) for one in operations]
        ends: list[int] = []
        for number, earlier in enumerate(_waits_for(trace)):
            ends.append(ns[number] + max((ends[one] for one in earlier), default=0))
        return max(max(ends), sum(ns) / trace.workers) / 1e3

    def _connect(self, entry: Entry) -> None:
        LAYOUTS[entry.name] = _layout_of(entry)

    def _disconnect(self, name: str) -> None:
        LAYOUTS[name] = partial(_gone, name)


def _picked(ask: Asked, operations: Sequence[Operation]) -> int:
    """The position that the policy picks."""
    ready = tuple(
        Ready(
            one.name,
            _ns_of(one),
            one.priority,
            sum(len(var.later or ()) for var in one.writes),
        )
        for one in operations
    )
    answer = ask(ready)
    whole = isinstance(answer, int) and not isinstance(answer, bool)
    if not whole or not 0 <= answer < len(ready):
        raise Broken(
            ask.shown((ready,), answer),
            f"the answer is a position among the {len(ready)} that are ready, from 0 "
            f"to {len(ready) - 1}",
        )
    return int(answer)


def _ns_of(operation: Any) -> int:
    try:
        return declared_ns(operation)
    except MXNetError:  # such as: there is no such device; the operation will say so
        return 0


def _layout_of(entry: Entry) -> Callable[[Device, int, Sizes], Lane]:
    """The lanes of the per-device engine, each with an instance of its own."""
    picks: dict[str, Any] = {}

    def layout(device: Device, prop: int, sizes: Sizes) -> Lane:
        lane = per_device(device, prop, sizes)
        if lane.name not in picks:
            own = guarded(entry, lambda ready: 0, partial(_picked, entry.new()))
            picks.setdefault(lane.name, own)
        return replace(lane, by_priority=False, pick=picks[lane.name])

    return layout


def _gone(name: str, device: Device, prop: int, sizes: Sizes) -> Lane:
    """The lanes under a name that is not registered any more."""
    SCHEDULERS.gone(name)
    return per_device(device, prop, sizes)


def check_schedule(trace: Trace, begun: Sequence[tuple[int, int] | None]) -> None:
    """Raise `Broken` unless all ran, each after those that it has to wait for.

    begun: when each operation began and ended. This looks at reads and writes in the
    order of the program, without the queues of vars by which the engine decides.
    """
    for number, one in enumerate(begun):
        if one is None:
            raise Broken(
                f"{trace.operations[number].name} never ran",
                "every operation runs exactly once",
            )
    for number, earlier in enumerate(_waits_for(trace)):
        for other in earlier:
            mine, its = begun[number], begun[other]
            if mine and its and mine[0] < its[1]:
                raise Broken(
                    f"{trace.operations[number].name} began at {mine[0]:,} ns, before "
                    f"{trace.operations[other].name} had ended at {its[1]:,} ns",
                    "reads and writes of one var keep the order of the program",
                )
    moments = sorted([(one[0], 1) for one in begun if one])
    moments = sorted([*moments, *((one[1], -1) for one in begun if one)])
    now = 0
    for _, change in moments:
        now += change
        if now > trace.workers:
            raise Broken(f"{now} operations run at once", "a worker runs one at a time")


@lru_cache(64)
def _waits_for(trace: Trace) -> list[list[int]]:
    """For each operation, those before it that must have ended."""
    writer: dict[int, int] = {}
    readers: dict[int, list[int]] = {}
    found = []
    for number, work in enumerate(trace.operations):
        mine = [writer[var] for var in (*work.reads, *work.writes) if var in writer]
        for var in work.writes:
            mine += readers.pop(var, [])
            writer[var] = number
        for var in set(work.reads) - set(work.writes):
            readers.setdefault(var, []).append(number)
        found.append(mine)
    return found


def _operations(trace: Trace) -> tuple[list[Operation], dict[int, int]]:
    """The engine's operations, on new vars; and their numbers."""
    size = 1 + max(max((*work.reads, *work.writes)) for work in trace.operations)
    variables = [Var() for _ in range(size)]
    made = [
        Operation(
            _nothing,
            cpu(),
            [variables[k] for k in work.reads],
            [variables[k] for k in work.writes],
            work.name,
            work.priority,
            cost=Cost(work.flops, work.bytes_moved),
        )
        for work in trace.operations
    ]
    return made, {id(one): number for number, one in enumerate(made)}


def _nothing() -> None:
    """Only the order and the time count."""


def _renamed(works: list[Work], before: list[Work]) -> list[Work]:
    """Operations on other vars than those before."""
    first = 1 + max((max((*one.reads, *one.writes)) for one in before), default=-1)

    def moved(numbers: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(first + number for number in numbers)

    return [
        one._replace(reads=moved(one.reads), writes=moved(one.writes)) for one in works
    ]


def _adversarial(chance: random.Random) -> list[Work]:
    """Work in the worst order: a chain, or the longest operations, pushed last."""
    short = [chance.randint(1, 9) * 10**8 for _ in range(chance.randint(20, 60))]
    long = [chance.randint(10, 30) * 10**8 for _ in range(chance.randint(4, 12))]
    chain = chance.random() < 0.5
    works = []
    for number, flops in enumerate([*short, *long]):
        var = 0 if chain and number >= len(short) else number + 1
        priority = chance.choice((0, 0, 1))
        works.append(Work(f"op{number}", priority, flops, 1, (), (var,)))
    return works


SCHEDULERS: Final[Any] = Schedulers()
