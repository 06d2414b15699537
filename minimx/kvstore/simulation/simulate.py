"""A step of training in virtual time: computing, sharing, and waiting for it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from minimx.core.errors import ArgumentError
from minimx.kvstore.planners.buckets import Sized, plan_buckets
from minimx.kvstore.policy import needs_store, plan_homes
from minimx.kvstore.simulation.cluster import Cluster
from minimx.kvstore.simulation.events import (
    Program,
    Times,
    Work,
    by_arrival,
    in_order,
)
from minimx.kvstore.simulation.groups import Group, groups_of
from minimx.kvstore.simulation.planned import (
    MOST_SEARCHED,
    Arrivals,
    Builder,
    Collective,
    flat_plan,
    update_seconds,
)
from minimx.kvstore.simulation.prediction import (
    Lane,
    Prediction,
    Scaling,
    union_seconds,
)
from minimx.kvstore.simulation.servers import Servers
from minimx.kvstore.simulation.settings import Settings, settings_of, store_of
from minimx.kvstore.simulation.sharing import taking_turns
from minimx.kvstore.simulation.workload import Layer, Workload

#: More than MOST_SEARCHED workers are taken together where they do the same.
MOST_ALONE = MOST_SEARCHED
#: Parameter servers, unless their number is given: one for each worker up to so many.
MOST_SERVERS = 64
UP_TO_4096 = tuple(2**k for k in range(13))


class Key(NamedTuple):
    """What travels as one message: a layer, or several in a bucket.

    layers: their positions in backward order. number: of the first layer in the net,
    counted from the front. urgency: p3 sends the lowest first; as MXNet's Trainer asks,
    it is the number.
    """

    layer: Layer
    layers: tuple[int, ...]
    number: int
    urgency: int


def simulate(
    workload: Workload,
    cluster: Cluster,
    store: str,
    workers: int,
    *,
    servers: int | None = None,
    full: bool | None = None,
    priorities: Mapping[str, int] | None = None,
    **knobs: Any,
) -> Prediction:
    """Predict a step of `workers` that each have this workload.

    store: local, device, tree, ring (horovod, nccl), dist_sync, dist_async or p3.
    servers: of the parameter server; by default as many as workers, as MXNet's launcher
    starts, but no more than 64. full: follow each worker; by default up to 16, and
    beyond that workers that do the same together. priorities: of p3, by layer; as in
    `KVStore.push` the largest goes first. By default the nearer to the front, the
    larger. knobs: see `Settings`. Raises `ArgumentError` for unknown stores, knobs and
    layers, for no workers, and for places that no link joins.

    >>> table = Workload((Layer("dense", 1_000_000, 0.001, 0.002),))
    >>> simulate(table, Cluster.ethernet(gigabits=10), "ring", 4)
    Prediction(ring, 4 workers, modelled: step 8.44 ms, 0% of communication hidden, \
efficiency 36%)
    """
    kind = store_of(store)
    settings = settings_of(knobs, kind)
    count = min(workers, MOST_SERVERS) if servers is None else servers
    if workers < 1 or count < 1:
        raise ArgumentError(
            f"a simulation has at least one worker and one server, not {workers} and "
            f"{count}."
        )
    alone = workers <= MOST_ALONE if full is None else full
    single = Step(workload, cluster, kind, 1, settings, alone).computed(1.0)
    if cluster.cores:
        workload, cluster = taking_turns(workload, cluster, workers)
    step = Step(workload, cluster, kind, workers, settings, alone, single)
    if priorities is not None:
        step.order(priorities)
    if not needs_store(store, workers) and kind != "p3":
        return step.finished(Shared(Program(), [], {}))
    if kind in ("tree", "ring"):
        return step.finished(step.by_collectives())
    if kind in ("local", "device"):
        return step.finished(step.in_one_place())
    return step.finished(step.over_servers(count))


def scaling(
    workload: Workload,
    cluster: Cluster,
    store: str,
    workers: Sequence[int] = UP_TO_4096,
    **given: Any,
) -> Scaling:
    """Predict steps for growing numbers of workers; `given` as for `simulate`."""
    if not workers:
        raise ArgumentError("scaling: give at least one number of workers.")
    return Scaling(
        tuple(simulate(workload, cluster, store, one, **given) for one in workers)
    )


class Shared(NamedTuple):
    """What communication did: its work and times, and when whom each layer reaches."""

    program: Program
    times: list[Times]
    arrived: dict[tuple[Group, int], float]


class Step:
    """One step in the making: what is known before communication is planned."""

    def __init__(
        self,
        workload: Workload,
        cluster: Cluster,
        store: str,
        workers: int,
        settings: Settings,
        full: bool,
        single: float = 0.0,
    ) -> None:
        self._layers, self._cluster, self._store = workload.layers, cluster, store
        self._workers, self._settings, self._full = workers, settings, full
        self._single = single
        self._on_store = settings.updates_on_store(store)
        self._keys = list(_keys(self._layers, store, settings.reduce_bucket_size))
        self._homes: dict[Any, int] = {}
        if store == "device":
            sizes = {key.number: key.layer.elements for key in self._keys}
            self._homes = plan_homes(sizes, range(workers))
        special = None if full else set(self._homes.values())
        if store == "local" and not full and cluster.machine:
            special = {0}  # whose machine is the host's as well
        self._group_of = groups_of(cluster, workers, special)
        self._groups = list(dict.fromkeys(self._group_of.values()))

    def order(self, priorities: Mapping[str, int]) -> None:
        """Give each layer a priority; the largest is sent first."""
        names = {key.layer.name for key in self._keys}
        if self._store != "p3" or names != set(priorities):
            raise ArgumentError(
                "priorities are for p3, one for each of "
                f"{', '.join(sorted(names))}; {self._store} got some for "
                f"{', '.join(sorted(map(str, priorities))) or 'none'}."
            )
        self._keys = [
            key._replace(urgency=-priorities[key.layer.name]) for key in self._keys
        ]

    def in_one_place(self) -> Shared:
        """Each key meets on the host, or on its home."""
        made = Builder(self._cluster, self._settings, self._group_of, self._on_store)
        arrivals = []
        plans = {
            home: flat_plan(self._store, self._workers, home)
            for home in {self._homes.get(key.number, 0) for key in self._keys}
        }
        for key in self._keys:
            plan = plans[self._homes.get(key.number, 0)]
            arrivals.append(made.add(plan, key.layer, self._ready(key)))
        # Homes send and receive: one key's result must not hold up another's gradients.
        run = in_order if self._store == "local" else by_arrival
        return self._timed(made.program, run(made.program.works), arrivals)

    def over_servers(self, count: int) -> Shared:
        """Keys live on servers, whole or in parts."""
        made = Servers(self._cluster, self._store, self._groups, count, self._settings)
        arrivals = [
            made.add(key.layer, key.number, self._ready(key), key.urgency)
            for key in self._keys
        ]
        run = by_arrival if self._store == "p3" else in_order
        return self._timed(made.program, run(made.program.works), arrivals)

    def by_collectives(self) -> Shared:
        """All workers share one key after the other."""
        cluster, settings = self._cluster, self._settings
        made = Collective(cluster, self._store, self._workers, settings, not self._full)
        program, times = Program(), []
        arrived: dict[tuple[Group, int], float] = {}
        now = 0.0
        for key in self._keys:
            now = max(now, *self._ready(key).values())
            part, spans = made.of(key.layer)
            program.works += [work.renamed(key.layer.name) for work in part.works]
            program.nbytes.update(part.nbytes)
            times += [Times(*(now + at for at in one)) for one in spans]
            now += max(one.end for one in spans)
            for group in self._groups:
                arrived.update(((group, layer), now) for layer in key.layers)
        program.nbytes.update(made.loads)
        return Shared(program, times, arrived)

    def _ready(self, key: Key) -> dict[Group, float]:
        """When each group has all gradients of a key."""
        last = key.layers[-1]
        if self._cluster.crowded(self._workers):  # then computing and MPI take turns
            last = len(self._layers) - 1
        passed = sum(layer.backward for layer in self._layers[: last + 1])
        return {group: passed * group.factor for group in self._groups}

    def _timed(
        self, program: Program, times: list[Times], arrivals: list[Arrivals]
    ) -> Shared:
        arrived: dict[tuple[Group, int], float] = {}
        for key, whom in zip(self._keys, arrivals, strict=True):
            for group in self._groups:
                at = max((times[k].end for k in whom.get(group, ())), default=0.0)
                arrived.update(((group, layer), at) for layer in key.layers)
        return Shared(program, times, arrived)

    # -- what comes of it -------------------------------------------------------------

    def finished(self, shared: Shared) -> Prediction:
        """The prediction, from what communication did."""
        lanes = [
            lane for group in self._groups for lane in self._computing(group, shared)
        ]
        ends = {lane.worker: lane.end for lane in lanes}  # each group's last stays
        busy: defaultdict[str, float] = defaultdict(float)
        for work, time in zip(shared.program.works, shared.times, strict=True):
            for name, turns in work.turns.items():
                busy[name] += turns * work.seconds
            lanes.append(_lane(work, time))
        if self._store == "dist_async":
            rate = sum(one.size / ends[one.name] for one in self._groups)
            step = self._workers / rate
        else:
            step = max(ends.values())
        return Prediction(
            store=self._store,
            workers=self._workers,
            step_seconds=step,
            compute_seconds=max(self.computed(one.factor) for one in self._groups),
            single_seconds=self._single,
            communication_seconds=union_seconds((t.start, t.end) for t in shared.times),
            nbytes=dict(shared.program.nbytes),
            busy={name: busy[name] for name in shared.program.nbytes},
            events=len(shared.program.works),
            lanes=tuple(lanes),
        )

    def computed(self, factor: float) -> float:
        """Seconds that a worker computes in a step."""
        layers = self._layers
        return factor * sum(one.forward + one.backward for one in layers) + sum(
            self._update(one) for one in layers
        )

    def _update(self, layer: Layer) -> float:
        """Seconds of a worker for the optimizer, unless it runs in the store."""
        stored = self._on_store and needs_store(self._store, self._workers)
        return 0.0 if stored else update_seconds(self._cluster, 0, layer.nbytes)

    def _computing(self, group: Group, shared: Shared) -> Iterator[Lane]:
        """A backward pass, then the next forward pass, as weights come in."""
        now = 0.0
        for layer in self._layers:
            start, now = now, now + layer.backward * group.factor
            yield Lane(group.name, "compute", layer.name, start, now, "backward")
        for k in range(len(self._layers) - 1, -1, -1):
            layer = self._layers[k]
            now = max(now, shared.arrived.get((group, k), 0.0))
            if update := self._update(layer):
                yield Lane(
                    group.name, "compute", layer.name, now, now + update, "update"
                )
                now += update
            start, now = now, now + layer.forward * group.factor
            yield Lane(group.name, "compute", layer.name, start, now, "forward")


def _lane(work: Work, time: Times) -> Lane:
    links = work.first if work.nbytes else ()
    kind, start, end = work.kind, time.start, time.end
    return Lane(work.place, kind, work.key, start, end, links=links, nbytes=work.nbytes)


def _keys(layers: Sequence[Layer], store: str, bucket: int) -> Iterator[Key]:
    """What travels, in the order in which gradients are ready.

    bucket: KiB of small keys that travel together; P3 cuts keys and does not join them.
    """
    limit = 0 if store == "p3" else bucket * 1024
    sized = [Sized(k, one.nbytes, one.itemsize) for k, one in enumerate(layers)]
    for members in plan_buckets(sized, limit):
        first = layers[members[0]]
        if len(members) > 1:
            total = sum(layers[k].elements for k in members)
            name = f"{first.name} … {layers[members[-1]].name}"
            first = first._replace(name=name, elements=total, rows=0)
        number = len(layers) - 1 - members[-1]
        yield Key(first, tuple(members), number, number)
