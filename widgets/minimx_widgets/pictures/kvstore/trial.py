"""What a `KVStoreView` asks the simulation: store, cluster, workers, knobs, and faults.

A trial is plain and never changes; each choice makes a new one. It turns no knob of the
process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from minimx.core.errors import ArgumentError, did_you_mean
from minimx.core.knobs import knobs
from minimx.kvstore.simulation import Cluster, Link, Prediction, Workload, simulate
from minimx.kvstore.simulation.cluster import name_of
from minimx.kvstore.simulation.settings import store_of

#: The stores that the page offers; `horovod` and `nccl` are simulated as rings.
STORES = ("local", "device", "tree", "ring", "dist_sync", "dist_async", "p3")
PCIE, MESH, ETHERNET, CLOUD = "PCIe box", "DGX-like", "Ethernet", "cloud"
PRESETS: dict[str, Callable[[], Cluster]] = {
    PCIE: Cluster.pcie,
    MESH: Cluster.mesh,
    ETHERNET: Cluster.ethernet,
    CLOUD: Cluster.cloud,
}
#: How many workers the slider offers.
WORKERS = (*range(1, 17), *(2**k for k in range(5, 13)))
#: The knobs that matter, and what the simulation calls them.
FIELDS = {
    "MXNET_KVSTORE_BIGARRAY_BOUND": "bigarray_bound",
    "MXNET_KVSTORE_TREE_ARRAY_BOUND": "tree_array_bound",
    "MXNET_KVSTORE_SLICE_THRESHOLD": "slice_threshold",
    "MXNET_KVSTORE_REDUCE_BUCKET_SIZE": "reduce_bucket_size",
    "MXNET_KVSTORE_REDUCTION_NTHREADS": "reduction_nthreads",
    "MXNET_UPDATE_ON_KVSTORE": "update_on_kvstore",
}
#: Where the sliders of the knobs end.
LARGEST = {
    "bigarray_bound": 1 << 27,
    "tree_array_bound": 1 << 28,
    "slice_threshold": 1 << 24,
    "reduce_bucket_size": 1 << 16,
    "reduction_nthreads": 64,
}
#: Which stores a knob acts on.
ACTS = {
    "bigarray_bound": ("local", "dist_sync", "dist_async"),
    "tree_array_bound": ("tree",),
    "slice_threshold": ("p3",),
    "reduce_bucket_size": (
        "local",
        "device",
        "tree",
        "ring",
        "dist_sync",
        "dist_async",
    ),
    "reduction_nthreads": ("local", "dist_sync"),
    "update_on_kvstore": ("local", "device", "tree", "dist_sync"),
}
SLOWER, STRAGGLES = 0.25, 2.0
FASTEST = 16.0


@dataclass(frozen=True)
class Trial:
    """One question to the simulation.

    store, workers: as for `simulate`. cluster: before links were changed. dial: how
    much more is computed than in the workload. knobs: what differs from the knobs in
    force, by the simulation's names. links: factors of bandwidths, 0 for a link that is
    cut. slow: factors of single workers' compute times.
    """

    workload: Workload
    cluster: Cluster
    store: str = "local"
    workers: int = 8
    dial: float = 1.0
    knobs: Mapping[str, Any] = field(default_factory=dict)
    links: Mapping[str, float] = field(default_factory=dict)
    slow: Mapping[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the choices that the simulation does not check itself."""
        store_of(self.store)
        if not 1 <= self.workers <= WORKERS[-1]:
            raise ArgumentError(
                f"KVStoreView: {self.workers:,} workers: give 1 to {WORKERS[-1]:,}."
            )
        if not 1 / FASTEST <= self.dial <= FASTEST:
            raise ArgumentError(
                f"KVStoreView: dial={self.dial:g}: give 1/{FASTEST:g} to {FASTEST:g} "
                "times the computing of the workload."
            )

    @cached_property
    def changed(self) -> Cluster:
        """The cluster with its faults."""
        found = self.cluster
        for name, factor in self.links.items():
            usual = usual_link(self.cluster, name)
            now = Link(usual.latency, usual.bandwidth * factor) if factor else None
            found = found.with_link(name, now)
        for worker, factor in self.slow.items():
            found = found.with_straggler(worker, factor)
        return found

    @cached_property
    def work(self) -> Workload:
        """The workload with the dial's compute times."""
        layers = tuple(
            one._replace(
                forward=one.forward * self.dial, backward=one.backward * self.dial
            )
            for one in self.workload.layers
        )
        return replace(self.workload, layers=layers)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The knobs for the simulation: those in force, and what is tried."""
        now = {short: knobs.get(name) for name, short in FIELDS.items()}
        return now | dict(self.knobs)

    def predicted(self, workers: int | None = None) -> Prediction:
        """A step, of other workers than its own if they are given."""
        count = self.workers if workers is None else workers
        return simulate(self.work, self.changed, self.store, count, **self.settings)

    def choices(self) -> dict[str, Any]:
        """What was chosen beside the workload, as plain values by name."""
        return {
            "cluster": self.cluster.name,
            "store": self.store,
            "workers": self.workers,
            "dial": self.dial,
            "knobs": dict(self.knobs),
            "links": dict(self.links),
            "slow": {str(worker): factor for worker, factor in self.slow.items()},
        }

    def facts(self) -> dict[str, Any]:
        """What a page shows of the choices and of the knobs that can be tried."""
        return {
            "stores": list(STORES),
            "store": self.store,
            "offered": list(WORKERS),
            "workers": self.workers,
            "dial": self.dial,
            "faults": self.faults,
            "slow": list(self.slow),
            "values": {
                name: knobs.declared[name].format(self.settings[short])
                for name, short in FIELDS.items()
            },
            "acts": {name: self.store in ACTS[short] for name, short in FIELDS.items()},
            "tried": [name for name, short in FIELDS.items() if short in self.knobs],
        }

    def changed_as(self, wanted: Mapping[str, Any]) -> Trial:
        """With the knobs, links and stragglers of `choices`, and no others."""
        found = replace(self, links={}, slow={}, knobs={})
        names = {short: name for name, short in FIELDS.items()}
        for short, value in dict(wanted["knobs"]).items():
            found = found.with_knob(names[short], value)
        for link, factor in dict(wanted["links"]).items():
            found = found.with_link(link, factor)
        for worker, factor in dict(wanted["slow"]).items():
            found = found.with_straggler(int(worker), factor)
        return found

    def with_knob(self, name: str, value: Any) -> Trial:
        """Another value for a knob of `FIELDS`; None goes back to the one in force."""
        found = {one: now for one, now in self.knobs.items() if one != FIELDS[name]}
        if value is not None:
            declared = knobs.declared[name]
            parsed = declared.parse(value) if isinstance(value, str) else value
            found[FIELDS[name]] = declared.check(parsed)
        return replace(self, knobs=found)

    def with_link(self, name: str, factor: float) -> Trial:
        """A link with another bandwidth, 0 to cut it, 1 as it was."""
        usual_link(self.cluster, name)
        if not factor >= 0:
            raise ArgumentError(
                f"KVStoreView: a link times {factor:g}: give 0 to cut it, or a share "
                "of its bandwidth such as 0.25."
            )
        rest = {one: now for one, now in self.links.items() if one != name}
        return replace(self, links=rest if factor == 1 else {**rest, name: factor})

    def with_straggler(self, worker: int, factor: float) -> Trial:
        """A worker that computes `factor` times as long; 1 as it was."""
        if not 0 <= worker < self.workers or factor < 1:
            raise ArgumentError(
                f"KVStoreView: worker {worker} times {factor:g}: give one of 0 to "
                f"{self.workers - 1}, and a factor from 1."
            )
        rest = {one: now for one, now in self.slow.items() if one != worker}
        return replace(self, slow=rest if factor == 1 else {**rest, worker: factor})

    @property
    def faults(self) -> list[str]:
        """What was slowed or cut, in words."""
        said = [
            f"{name} {'cut' if not factor else f'at ×{factor:g}'}"
            for name, factor in self.links.items()
        ]
        return said + [f"worker {k} ×{f:g} slower" for k, f in self.slow.items()]


def usual_link(cluster: Cluster, name: str) -> Link:
    """A link of a cluster by its name, such as "worker 0 → switch".

    Raises `ArgumentError` for names that no link of this cluster has.
    """
    known = cluster.changed.get(name)
    if known is not None:
        return known
    ends = name.split(" → ")
    kinds = [end.rpartition(" ")[0] or end for end in ends]
    if len(ends) == 2 and {"switch", "network"} & set(ends):
        (kind,) = [one for one in kinds if one not in ("switch", "network")] or [""]
        wire = {"worker": cluster.wire, "host": cluster.host, "server": cluster.host}
        if "network" in ends and kind == "machine" and cluster.network is not None:
            return cluster.network
        if "switch" in ends and kind in wire:
            return wire[kind]
    elif len(ends) == 2 and kinds == ["worker", "worker"]:
        a, b = (int(end.rpartition(" ")[2]) for end in ends)
        route = cluster.route(a, b)
        if len(route) == 1 and route[0][0] == f"{name_of(a)} → {name_of(b)}":
            return route[0][1]
    raise ArgumentError(
        f"KVStoreView: {cluster.name} has no link {name!r}. Links are called as in "
        "the table, such as 'worker 0 → switch'."
    )


def preset(name: str | Cluster) -> Cluster:
    """A cluster by the name of its preset; a cluster is itself."""
    if isinstance(name, Cluster):
        return name
    if name not in PRESETS:
        near = did_you_mean(name, PRESETS)
        raise ArgumentError(
            f"KVStoreView: no cluster {name!r}; there are {', '.join(PRESETS)}.{near}"
        )
    return PRESETS[name]()
