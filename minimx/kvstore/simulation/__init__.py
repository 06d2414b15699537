"""Past this machine, by simulation: a step of training on a cluster that is described.

    table = Workload.from_record(record, net)        # or a table of layers
    simulate(table, Cluster.ethernet(gigabits=10), "ring", workers=8)
    scaling(table, Cluster.cloud(), "dist_sync")     # 1, 2, 4, … 4,096 workers

The plans are those of the stores (`minimx.kvstore.planners`); only the arrays are
missing. Time is virtual: the same question has the same answer, on any machine.

How exact it is: on a machine that `measure.measure_machine` measured, `ring` stands for
minimx's `dist_sync`, which adds by MPI's collectives and updates on every rank.
`python -m tests.benchmarks.kvstore` compares its steps with real ones, of an MLP, LeNet
and a small ResNet. On an idle machine of 2 cores they were too short by at most 4 % for
1 rank, 15 % for 2 ranks, and 26 % for 4 ranks, which take turns on the cores: how long
a rank waits for one that does not run just then is not modelled. The presets are
plausible constants, compared with no measured job.

Over 16 workers, equal workers count as one group, in machines of several workers those
of each machine. That is exact on equal links for stores that send in order. On a mesh
of unequal links it was up to 5 % off for up to 128 workers. Beyond 16 machines their
shared wires are not all followed: `dist_sync` was up to 40 % off, `dist_async` 60 %.
`full=True` simulates all workers.

    cluster     places, links, and presets
    measure     this machine as a cluster, measured by processes that run `ranks`
    sharing     ranks that share the cores of one machine
    workload    layers: sizes and compute times
    settings    the stores and their knobs
    events      when copies and sums start and end
    groups      workers that do the same, taken together
    planned     plans as work: local, device, tree, ring
    servers     the same for parameter servers: dist_sync, dist_async, p3
    simulate    the step around it
    prediction  what comes of it
"""

from __future__ import annotations

from minimx.kvstore.simulation.cluster import Cluster, Link
from minimx.kvstore.simulation.prediction import Lane, Prediction, Scaling
from minimx.kvstore.simulation.settings import STORES, Settings
from minimx.kvstore.simulation.simulate import scaling, simulate
from minimx.kvstore.simulation.workload import Layer, Workload

__all__ = [
    "STORES",
    "Cluster",
    "Lane",
    "Layer",
    "Link",
    "Prediction",
    "Scaling",
    "Settings",
    "Workload",
    "scaling",
    "simulate",
]
