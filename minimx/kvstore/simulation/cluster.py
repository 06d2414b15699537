"""A cluster that is only described: places, the links between them, and their speed.

Places are numbers as in plans: a worker's position, `HOST` for the memory of the host,
and `server(k)` for the machine of a parameter server.

Each place has one wire to its switch, with two directions. Workers may have direct
links as well (NVLink), and those in one machine may share one wire to the network. A
link is known by its name, such as `worker 0 → switch`, and carries one copy at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from minimx.core.drivers import links
from minimx.core.errors import ArgumentError
from minimx.kvstore.planners.steps import HOST


class Link(NamedTuple):
    """One direction of a link. latency: seconds. bandwidth: bytes per second."""

    latency: float
    bandwidth: float

    def __repr__(self) -> str:
        return f"{self.latency * 1e6:g} µs, {self.bandwidth / 1e9:g} GB/s (modelled)"


Route = tuple[tuple[str, Link], ...]


def copy_seconds(route: Route, nbytes: int) -> float:
    """How long a copy occupies all links of its route.

    >>> copy_seconds((("a → b", Link(1.0, 4.0)), ("b → c", Link(1.0, 2.0))), 8)
    6.0
    """
    latency = sum(link.latency for _, link in route)
    return latency + nbytes / min(link.bandwidth for _, link in route)


def is_shared(link: str) -> bool:
    """Whether a link is the wire of a machine, which all workers in it share."""
    return link.endswith(" → network") or link.startswith("network → ")


def server(number: int) -> int:
    """The place of a parameter server."""
    return HOST - 1 - number


def name_of(place: int) -> str:
    """How links and lanes call a place.

    >>> name_of(3), name_of(HOST), name_of(server(0))
    ('worker 3', 'host', 'server 0')
    """
    if place >= 0:
        return f"worker {place}"
    return "host" if place == HOST else f"server {HOST - 1 - place}"


@dataclass(frozen=True)
class Cluster:
    """What the simulation knows of the machines.

    wire: from each worker to its switch, in each direction. host: from the host, or a
    server, to the switch. network: from each machine to the network between machines,
    where machines hold several workers. machine: workers in one machine; 0: all of them
    share one switch. layout: direct links in a machine, by the numbers of two workers;
    None: the matrix `direct` alone. direct: bandwidths of direct links, 0 for none.
    memory, host_memory: bytes per second that a worker, and one thread of the host or
    of a server, reads and writes while it adds. slow: factors (from 1) for the compute
    times of single workers; slow_every, slowdown: the same for each so-manyth worker.
    changed: links by name that differ; None is a link that is cut.

    Where workers are processes of one machine (`measure.measure_machine`): cores: how
    many they share; 0: each computes on its own. together: how many times as long
    computing takes while all cores compute. update: seconds and bytes per second of the
    operations that update and copy a key. collectives: the same of a sum over so many
    ranks as the stores run it, instead of a ring of single copies. measured: whether
    the figures are.
    """

    name: str
    wire: Link
    host: Link
    network: Link | None = None
    machine: int = 0
    layout: links.Layout | None = None
    direct: tuple[tuple[float, ...], ...] = ()
    memory: float = 500e9
    host_memory: float = 8e9
    slow: Mapping[int, float] = field(default_factory=dict)
    slow_every: int = 0
    slowdown: float = 1.0
    changed: Mapping[str, Link | None] = field(default_factory=dict)
    cores: int = 0
    together: float = 1.0
    update: Link | None = None
    collectives: Mapping[int, Link] = field(default_factory=dict)
    measured: bool = False

    @classmethod
    def pcie(cls) -> Cluster:
        """One machine: its GPUs and its host on one switch of PCI Express 3."""
        wire = Link(10e-6, links.PCIE.bandwidth)
        return cls("PCIe box", wire, wire)

    @classmethod
    def mesh(cls, gigabits: float = 100) -> Cluster:
        """Machines like a DGX-1: eight GPUs on NVLinks; `gigabits` between machines."""
        wire = Link(10e-6, links.PCIE.bandwidth)
        network = Link(20e-6, gigabits * 1e9 / 8)
        return cls("DGX-like", wire, wire, network, 8, links.mesh)

    @classmethod
    def ethernet(cls, gigabits: float = 10) -> Cluster:
        """Machines with one worker each on one switch, which is never the bottleneck.

        gigabits: of each machine's wire, per second and direction.
        """
        wire = Link(50e-6, gigabits * 1e9 / 8)
        return cls(f"Ethernet, {gigabits:g} Gbit/s", wire, wire)

    @classmethod
    def cloud(cls, slow_every: int = 20, slowdown: float = 1.5) -> Cluster:
        """Rented machines on Ethernet of 25 Gbit/s, some of them slower than others."""
        wire = Link(100e-6, 25e9 / 8)
        made = cls("cloud with stragglers", wire, wire)
        return replace(made, slow_every=slow_every, slowdown=slowdown)

    @classmethod
    def of_matrix(
        cls, bandwidths: Sequence[Sequence[float]], latency: float, wire: Link
    ) -> Cluster:
        """Workers with direct links.

        bandwidths: bytes per second from each worker to each other; 0: over the wires.
        latency: seconds of a direct link. wire: from each worker and from the host to
        the switch.
        """
        direct = tuple(tuple(float(one) for one in row) for row in bandwidths)
        if any(len(row) != len(direct) for row in direct):
            raise ArgumentError(
                f"a matrix of links is square; here are {len(direct)} rows of "
                f"{sorted({len(row) for row in direct})} numbers."
            )
        made = cls("matrix", wire, wire, direct=direct)
        names = {
            f"{name_of(a)} → {name_of(b)}": Link(latency, bandwidth)
            for a, row in enumerate(direct)
            for b, bandwidth in enumerate(row)
            if a != b and bandwidth > 0
        }
        return replace(made, changed=names)

    def with_link(self, name: str, link: Link | None) -> Cluster:
        """The cluster with one link changed, or cut (None).

        Copies over a direct link that is cut go over the wires.
        """
        return replace(self, changed={**self.changed, name: link})

    def with_straggler(self, worker: int, factor: float) -> Cluster:
        """The cluster with one worker that computes `factor` times as long."""
        if factor < 1:
            raise ArgumentError(
                f"a straggler takes a factor from 1 on, not {factor:g}; give shorter "
                "times in the workload if all are faster."
            )
        return replace(self, slow={**self.slow, worker: factor})

    def factor(self, worker: int) -> float:
        """What the compute times of a worker are multiplied by."""
        every = self.slow_every and worker % self.slow_every == self.slow_every - 1
        return self.slow.get(worker, self.slowdown if every else 1.0)

    def machine_of(self, place: int) -> int:
        """The machine of a place. Host: that of worker 0; each server has its own."""
        if place <= HOST:
            return 0 if place == HOST else place
        return place // self.machine if self.machine else 0

    def memory_of(self, place: int) -> float:
        """Bytes per second of one thread that adds at a place."""
        return self.memory if place >= 0 else self.host_memory

    def collective(self, ranks: int) -> Link | None:
        """What a sum over so many ranks takes, if such sums were measured.

        Between two measured numbers of ranks: on the line between them. Above: in
        proportion, as ranks that share cores take turns.
        """
        if not self.collectives:
            return None
        known = sorted(self.collectives)
        given = [self.collectives[one] for one in known]
        most = max(ranks / known[-1], 1.0)
        latency = np.interp(ranks, known, [one.latency for one in given]) * most
        inverse = np.interp(ranks, known, [1 / one.bandwidth for one in given]) * most
        return Link(float(latency), 1 / float(inverse))

    def crowded(self, ranks: int) -> bool:
        """Whether the ranks' two threads each, one for MPI, have to share cores."""
        return bool(self.cores) and ranks > 1 and 2 * ranks > self.cores

    def stretch(self, ranks: int) -> float:
        """How many times as long ranks compute as one alone, as they share cores.

        >>> wire = Link(0.0, 1e9)
        >>> shared = Cluster("four cores", wire, wire, cores=4, together=1.6)
        >>> [round(shared.stretch(ranks), 3) for ranks in (1, 2, 4, 8)]
        [1.0, 1.2, 1.6, 3.2]
        """
        if not self.cores:
            return 1.0
        busy = (min(ranks, self.cores) - 1) / max(self.cores - 1, 1)
        return max(ranks / self.cores, 1.0) * (1 + busy * (self.together - 1))

    def weight(self, a: int, b: int) -> int:
        """MXNet's weight of the link between two workers: 1, and more for NVLinks."""
        link = self._direct(a, b)
        if link is None:
            return 1
        if self.layout is not None:
            return getattr(self.layout(a, b), "weight", 1)
        least = min(one for row in self.direct for one in row if one > 0)
        return 1 + max(1, round(link.bandwidth / least))

    def route(self, source: int, target: int) -> Route:
        """The links that a copy occupies, all of them at once.

        Raises `ArgumentError` where the only way is cut.
        """
        direct = self._direct(source, target)
        start, end = name_of(source), name_of(target)
        if direct is not None:
            return ((f"{start} → {end}", direct),)
        near, far = self.machine_of(source), self.machine_of(target)
        steps = [(f"{start} → switch", self._wire(source))]
        if self.network is not None and near != far:
            between = []
            if near >= 0:
                between.append(f"machine {near} → network")
            if far >= 0:
                between.append(f"network → machine {far}")
            steps += [(name, self.network) for name in between]
        steps.append((f"switch → {end}", self._wire(target)))
        found = [(name, self.changed.get(name, link)) for name, link in steps]
        cut = [name for name, link in found if link is None]
        if cut:
            raise ArgumentError(
                f"no way from {start} to {end}: the link {cut[0]!r} is cut. Restore it "
                "with with_link, or take fewer workers."
            )
        return tuple((name, link) for name, link in found if link is not None)

    def _wire(self, place: int) -> Link:
        return self.wire if place >= 0 else self.host

    def _direct(self, a: int, b: int) -> Link | None:
        """The direct link from one worker to another, if there is one."""
        if a < 0 or b < 0:
            return None
        name = f"{name_of(a)} → {name_of(b)}"
        if name in self.changed:
            return self.changed[name]
        found = self.layout(a, b) if self.layout is not None else None
        if found is None or found.weight <= links.PCIE.weight:
            return None
        return Link(self.wire.latency, found.bandwidth)

    def __repr__(self) -> str:
        if not self.measured:
            return f"Cluster({self.name}, modelled)"
        lines = [
            f"{self.cores} cores",
            f"a thread adds {self.memory / 1e9:.3g} GB/s",
            f"of {self.cores} {self.host_memory / 1e9:.3g} GB/s each",
            f"{self.together:.3g} × as long for computing on all",
        ]
        if self.update is not None:
            lines.append(f"update of a key {_said(self.update)}")
        if self.collectives:
            way = Link(2 * self.wire.latency, self.wire.bandwidth)
            lines.append(f"message between ranks {_said(way)}")
        for ranks, link in sorted(self.collectives.items()):
            lines.append(f"sum over {ranks} ranks {_said(link)}")
        return f"Cluster({self.name}, measured: {'; '.join(lines)})"


def _said(link: Link) -> str:
    return f"{link.latency * 1e6:.3g} µs + {link.bandwidth / 1e9:.3g} GB/s"
