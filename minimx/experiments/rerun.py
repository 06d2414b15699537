"""`rerun`: a recorded run under other knobs, decided again instead of run again.

    found = rerun(record, MXNET_GPU_MEM_POOL_TYPE="Round", MXNET_CPU_WORKER_NTHREADS=4)
    found.peak, found.makespan          # predicted
    found.measure(program)              # the same, beside what a run really needs

The engine, the pools, the memory planner and the stores decide as in a run, by the same
code; only kernels do not run. So what follows from decisions is exact, and `unknown`
says in sentences what does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from minimx.core import engine, storage
from minimx.core.engine.lanes import Sizes
from minimx.core.errors import ArgumentError
from minimx.core.knobs import knobs as registry
from minimx.core.record import Curve, Record
from minimx.core.record.tables import Array
from minimx.core.replay import History, PoolReplay, Steps, replay_pool
from minimx.core.replay.history import ALLOC
from minimx.experiments import graphs
from minimx.experiments.groups import (
    BULKS,
    CAPACITY,
    DELAY,
    ENGINE,
    KEPT,
    POOLS,
    SCHEDULING,
    THREADS,
    checked,
    value_of,
)
from minimx.experiments.machine import SPEEDS, Machine, durations
from minimx.experiments.memory import devices_of, moments, moved, order
from minimx.experiments.operations import Operations, kept_with, once
from minimx.experiments.recut import cut_otherwise, recut
from minimx.experiments.schedule import Engine, Lanes, Schedule, schedule
from minimx.experiments.unknown import sentences
from minimx.kvstore.simulation import Cluster, Prediction, Workload, simulate

#: The figures of a run, with their units.
FIGURES: Final = {
    "peak": "bytes that arrays wanted at once, by device",
    "reserved": "bytes that pools held at once, by device",
    "driver_calls": "allocations by drivers, by device",
    "pushes": "operations that the engine got",
    "makespan": "seconds from the first push to the last end",
}


Values = Mapping[str, Any]  # of knobs, by name
Arenas = Mapping[tuple[str, int], int]  # by device and bytes: the bytes to be


@dataclass(frozen=True, eq=False, repr=False)
class Rerun:
    """A predicted run. Nothing in it was measured.

    changes: the knobs that were turned, by name. knobs: all that a replay looks at, as
    they were for it. schedule: when which operation runs. pools: what the pool of each
    device does. unknown: what a replay cannot know, in sentences. store: the predicted
    step with a kvstore, if one was asked for. nbytes: bytes that operators read and
    write, by what they declare. copied: bytes that devices sent one another. moments:
    by device, when each step of its pool's history happens, nanoseconds from the first
    push, (steps,).
    """

    record: Record
    changes: Mapping[str, Any]
    knobs: Mapping[str, Any]
    schedule: Schedule
    pools: Mapping[str, PoolReplay]
    unknown: tuple[str, ...]
    store: Prediction | None
    nbytes: int
    copied: int
    moments: Mapping[str, Array]

    @cached_property
    def peak(self) -> dict[str, int]:
        """By device, the most bytes that arrays wanted at once."""
        return {k: pool.stats.peak_requested for k, pool in self.pools.items()}

    @cached_property
    def reserved(self) -> dict[str, int]:
        """By device, the most bytes that its pool held at once, idle ones as well."""
        return {k: pool.stats.peak_reserved for k, pool in self.pools.items()}

    @cached_property
    def driver_calls(self) -> dict[str, int]:
        """By device, how often its driver was asked for memory and gave some."""
        return {k: _calls(pool) for k, pool in self.pools.items()}

    @property
    def pushes(self) -> int:
        """How many operations the engine got."""
        return self.schedule.pushes

    @property
    def makespan(self) -> float:
        """Seconds from the first push to the last end."""
        return self.schedule.makespan / 1e9

    @property
    def lanes(self) -> list[Lanes]:
        """Each operation with its worker, start and end, in nanoseconds."""
        return self.schedule.lanes

    @property
    def refused(self) -> int:
        """Requests that no device had room for: the run would have ended there."""
        return sum(len(pool.refused) for pool in self.pools.values())

    def memory_curve(self, device: object, quantity: str = "requested") -> Curve:
        """What would be in use over time; as `Record.memory_curve`."""
        return self._pool(device).curve(quantity)

    def _pool(self, device: object) -> PoolReplay:
        if str(device) not in self.pools:
            known = ", ".join(self.pools) or "no device"
            raise ArgumentError(
                f"replay: the record knows of {known}, and nothing of {device}."
            )
        return self.pools[str(device)]

    def figures(self) -> dict[str, Any]:
        """All of `FIGURES`, for comparison with those of a record (`measured`)."""
        return {name: getattr(self, name) for name in FIGURES}

    def measure(self, program: Callable[[], object]) -> Measured:
        """Run it: the same program under the same knobs, for real.

        program: does what was recorded, once for each call, without arguments. It runs
        twice: first to prepare everything, then under a record. The knobs of the record
        that a replay looks at are set for that time, with the changes.
        """
        values = {
            name: value
            for name, value in self.knobs.items()
            if registry.get(name) != value
        }
        with registry(**values):
            program()
            engine.wait_all()
            for pool in storage.pools():
                pool.release_all()
            calls = bool(self.record.rows("calls"))
            with Record(calls=calls) as record:
                program()
                engine.wait_all()
        return Measured(self, record)

    def __repr__(self) -> str:
        turned = ", ".join(f"{k}={v}" for k, v in self.changes.items())
        peak = ", ".join(f"{k} {storage.human(v)}" for k, v in self.peak.items())
        held = ", ".join(f"{k} {storage.human(v)}" for k, v in self.reserved.items())
        lines = [
            f"predicted under {turned or 'the knobs of the record'}:",
            f"  peak, predicted          {peak or 'no memory was recorded'}",
            f"  reserved, predicted      {held or 'no memory was recorded'}",
            f"  driver calls, predicted  {sum(self.driver_calls.values()):,}",
            f"  pushes, predicted        {self.pushes:,}",
            f"  makespan, predicted      {1e3 * self.makespan:.3f} ms",
        ]
        if self.refused:
            lines.append(f"  refused, predicted       {self.refused:,} requests")
        if self.store is not None:
            lines.append(f"  {self.store!r}")
        return "\n".join([*lines, *(f"  unknown: {each}" for each in self.unknown)])


def _calls(pool: PoolReplay) -> int:
    """How often a driver gave memory, but for what was in use at the start."""
    history, events = pool.history, pool.original.mem()["event"][pool.steps.row]
    texts = pool.original.strings
    live = texts.index("live") if "live" in texts else -1
    new = np.append(events != live, True)  # the last: what comes after all steps
    return int(np.sum((history.event == ALLOC) & new[history.step]))


@dataclass(frozen=True, eq=False, repr=False)
class Measured:
    """A prediction, and a run under the same knobs. record: of that run."""

    predicted: Rerun
    record: Record

    @property
    def rows(self) -> list[tuple[str, Any, Any]]:
        """Name, predicted and measured value of each figure."""
        mine, real = self.predicted.figures(), measured(self.record)
        return [(name, mine[name], real[name]) for name in FIGURES]

    def __repr__(self) -> str:
        lines = [f"{'':14}{'predicted':>24}{'measured':>24}"]
        for name, mine, real in self.rows:
            if isinstance(mine, dict):
                mine, real = sum(mine.values()), sum(real.values())
            shown = (
                f"{each:,}" if isinstance(each, int) else f"{each:.6f}"
                for each in (mine, real)
            )
            lines.append(f"{name:14}" + "".join(f"{each:>24}" for each in shown))
        return "\n".join(lines)


def measured(record: Record) -> dict[str, Any]:
    """The `FIGURES` of a record itself."""
    ops = record.ops()
    pushed = ops["op"][~np.isin(ops["inside"], ops["op"])]  # no part of another one
    ends = np.maximum(ops["t_start"], ops["t_end"])
    ns = int(ends.max() - ops["t_push"].min()) if len(ops) else 0
    histories = {name: History.recorded(record, name) for name in devices_of(record)}
    return {
        "peak": {k: int(one.asked.max(initial=0)) for k, one in histories.items()},
        "reserved": {k: one.peak_reserved for k, one in histories.items()},
        "driver_calls": {k: one.calls for k, one in histories.items()},
        "pushes": len(np.unique(pushed)),
        "makespan": ns / 1e9,
    }


def rerun(
    record: Record,
    *,
    net: Any = None,
    kvstore: str | None = None,
    workers: int = 0,
    steps: int = 1,
    cluster: Cluster | None = None,
    **knobs: Any,
) -> Rerun:
    """A recorded run under other knobs, by replay.

    knobs: the changes, such as `MXNET_ENGINE_TYPE="NaiveEngine"`. net: the hybridized
    block that was recorded; knobs of passes over its graph need it (in-place, match
    range, mirror, …). kvstore, workers, cluster: predict a step that so many workers
    share by that store; `net` tells its parameters, `steps` how many steps the record
    holds. By default there are as many workers as the record has GPUs, on one machine.

    Raises `KnobError` for knobs that do not exist or values that they do not take, and
    `ArgumentError` for those that cannot be replayed (it lists those that can), for a
    network that was not recorded, and for a damaged record.

    >>> import minimx as mx
    >>> with mx.Record() as record:
    ...     x = mx.nd.ones((1000,)) + 1
    ...     mx.nd.waitall()
    >>> found = mx.replay.rerun(record, MXNET_CPU_MEM_POOL_PAGE_SIZE=65536)
    >>> found.reserved["cpu(0)"] % 65536, found.changes
    (0, {'MXNET_CPU_MEM_POOL_PAGE_SIZE': 65536})
    """
    changes = checked(knobs)
    recorded = {name: value_of(record.conditions.knobs, name) for name in KEPT}
    values = {**recorded, **changes}
    turned = {name for name, value in values.items() if value != recorded[name]}
    operations = Operations.of(record)
    _require_graphs(turned, net)
    machine, ns = Machine.of(values), operations.ns
    if turned & {*SPEEDS}:
        ns = _durations(record, operations, machine)
    shapes = turned & {*graphs.PLANNING, *BULKS} and net is not None
    programs = graphs.programs_of(net, record) if shapes else []
    settings = graphs.settings_of({**record.conditions.knobs, **changes})
    if cut_otherwise(programs, settings):
        operations, ns = recut(operations, ns, programs, settings)
    found = _schedule(operations, _engine(values, changes, operations), machine, ns)
    sizes = graphs.new_sizes(programs, settings)
    moves = bool(turned & {*SCHEDULING, *SPEEDS})
    pools, when = _pools(record, changes, sizes, found, moves)
    return Rerun(
        record=record,
        changes=changes,
        knobs={**values, "MINIMX_CLOCK": record.conditions.clock},
        schedule=found,
        pools=pools,
        unknown=sentences(operations, turned, values, programs, settings),
        store=_store(record, net, kvstore, workers, steps, cluster),
        nbytes=int(operations.rows["nbytes"].sum()),
        copied=int(record.comm()["nbytes"].sum()),
        moments=when,
    )


def _schedule(
    operations: Operations, engine: Engine, machine: Machine, ns: list[int]
) -> Schedule:
    """The schedule on an engine; the same object where only other knobs are turned."""
    if ns is not operations.ns:
        return schedule(operations, engine, machine, ns)
    known, key = kept_with(operations), (engine, machine)
    if known.get("engine") != key:
        known["engine"], known["schedule"] = key, schedule(operations, engine, machine)
    found: Schedule = known["schedule"]
    return found


def _pools(
    record: Record, changes: Values, sizes: Arenas, plan: Schedule, moves: bool
) -> tuple[dict[str, PoolReplay], dict[str, Array]]:
    """The requests of each device, with arenas of other sizes, in another order."""
    found, when = {}, {}
    for name in devices_of(record):
        steps = once(record, Steps.of, name)
        if sizes:
            steps = graphs.resized(steps, record, name, sizes)
        own = moments(steps, plan, name)
        places = order(plan, own) if moves else slice(None)
        when[name] = np.maximum.accumulate(own[places])
        steps = moved(steps, places)
        knobs = {each: changes[each] for each in POOLS if each in changes}
        size = changes.get(CAPACITY) if name.startswith("gpu") else None
        found[name] = replay_pool(record, name, knobs=knobs, capacity=size, steps=steps)
    return found, when


def _engine(
    values: Mapping[str, Any], changes: Mapping[str, Any], operations: Operations
) -> Engine:
    """The engine that knobs ask for, and what it joins."""
    sizes = Sizes(**{where: values[name] for name, where in THREADS.items()})
    if not operations.naive and not {*BULKS} & {*changes}:
        return Engine(values[ENGINE], sizes)
    if not values[BULKS[0]]:
        return Engine(values[ENGINE], sizes, 0, 0)
    return Engine(values[ENGINE], sizes, values[BULKS[1]], values[BULKS[2]])


def _durations(record: Record, operations: Operations, after: Machine) -> list[int]:
    virtual = record.conditions.clock == "virtual"
    delay = float(value_of(record.conditions.knobs, DELAY))
    on_gpu = any(name.startswith("gpu") for name in operations.device)
    if not on_gpu or not (virtual or delay):
        why = "on the wall clock simulated GPUs are as fast as the CPU"
        if not on_gpu:
            why = "nothing in the record ran on a GPU"
        raise ArgumentError(
            f"replay: {', '.join(SPEEDS)} say how fast simulated GPUs and their links "
            f"are, but {why}. Record with MINIMX_CLOCK=virtual, or with "
            "MINIMX_SIM_DELAY, on mx.gpu()."
        )
    before = Machine.of(record.conditions.knobs)
    return durations(operations, before, after, 1.0 if virtual else delay)


def _require_graphs(turned: set[str], net: Any) -> None:
    wanted = sorted(turned & {*graphs.PLANNING})
    if wanted and net is None:
        raise ArgumentError(
            f"replay: {wanted[0]} acts on the passes over a graph, and a record does "
            "not hold the graph. Give the hybridized network as well: "
            f"rerun(record, net=net, {wanted[0]}=…)."
        )


def _store(
    record: Record,
    net: Any,
    kvstore: str | None,
    workers: int,
    steps: int,
    cluster: Cluster | None,
) -> Prediction | None:
    if kvstore is None:
        return None
    if net is None:
        raise ArgumentError(
            f"replay: the store {kvstore!r} needs to know which parameters are shared. "
            "Give the network that was trained as net=."
        )
    places = {name for name in Operations.of(record).device if name.startswith("gpu")}
    table = Workload.from_record(record, net, steps)
    count = workers or max(len(places), 1)
    return simulate(table, cluster or Cluster.pcie(), kvstore, count)
