"""Ranks that are processes of one machine and share its cores."""

from __future__ import annotations

from dataclasses import replace

from minimx.kvstore.simulation.cluster import Cluster, Link
from minimx.kvstore.simulation.workload import Workload


def taking_turns(
    workload: Workload, cluster: Cluster, ranks: int
) -> tuple[Workload, Cluster]:
    """The workload of each rank, and its speed, while all ranks use the cores.

    A rank keeps one core busy. More ranks than cores take turns, so all of them take
    longer (`Cluster.stretch`). Where cores are left over, Python prepares operations
    beside those that run; else it takes its time from them.

    >>> from minimx.kvstore.simulation.workload import Layer
    >>> wire = Link(0.0, 1e9)
    >>> two = Cluster("two cores", wire, wire, cores=2)
    >>> net = Workload((Layer("dense", 10, 0.010, 0.020),), dispatch=0.006)
    >>> [round(taking_turns(net, two, n)[0].compute_seconds, 3) for n in (1, 2, 4)]
    [0.03, 0.036, 0.072]
    """
    operations = workload.compute_seconds
    busy = max(operations, workload.dispatch)
    if cluster.crowded(ranks):
        busy = operations + workload.dispatch
    turns = cluster.stretch(ranks)
    factor = turns * busy / operations if operations else turns
    layers = tuple(
        one._replace(forward=one.forward * factor, backward=one.backward * factor)
        for one in workload.layers
    )
    update = cluster.update
    if update is not None:
        update = Link(update.latency * turns, update.bandwidth / turns)
    slower = replace(cluster, memory=cluster.memory / turns, update=update)
    return replace(workload, layers=layers), slower
