"""The troubleshooting guide's data-parallel stories: provoke, see, fix, with numbers.

    wrong_store()       gradients meet on one device, or on a ring
    small_batches()     communication does not hide behind a small batch
    idle_devices()      one device has more to do than the others, and all wait
    straggler()         one device computes slower than the others
    no_sum()            a node forgets to add gradients: the nodes diverge
    other_seeds()       the nodes begin with different weights
    other_settings()    a node has other knobs; the report of a job's ranks names them

Each returns a `Story` with the number before and after the fix.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from minimx import gluon, kvstore, nd
from minimx.core import engine
from minimx.core.device import gpu
from minimx.core.drivers import driver_for
from minimx.core.knobs import knobs
from minimx.core.ops.spec import Cost
from minimx.core.record import Record
from minimx.kvstore.dist.parity import differences, facts
from minimx.kvstore.simulation import Cluster, Prediction, simulate
from minimx.kvstore.simulation.prediction import union_seconds
from minimx_widgets.course.data_parallel.nodes import STEPS, two_nodes
from minimx_widgets.course.data_parallel.sums import summed
from minimx_widgets.course.data_parallel.workloads import alexnet
from minimx_widgets.course.parts.text import Shown, table

GPUS: Final = 8
#: Images a device, from 8 to 512.
BATCHES: Final = tuple(8 * 2**k for k in range(7))
#: A step may wait for this share of its time at the most.
HIDDEN: Final = 0.05


@dataclass(frozen=True)
class Story:
    """One line of the guide as an experiment.

    advice: of the guide, in short. number: what is measured, with its unit. how:
    recorded or modelled. before, after: the number without the fix and with it; what is
    good is small. fix: what was changed. seen: where one sees it.
    """

    advice: str
    number: str
    how: str
    before: float
    after: float
    fix: str
    seen: Any = None

    @property
    def better(self) -> bool:
        """Whether the fix makes the number smaller."""
        return self.after < self.before

    def __repr__(self) -> str:
        return (
            f"{self.advice}. {self.number}, {self.how}: {self.before:.3g} before, "
            f"{self.after:.3g} after (fix: {self.fix})"
        )


def shown(*found: Story) -> Shown:
    """Stories as a table."""
    rows = [
        (one.number, f"{one.before:.3g}", f"{one.after:.3g}", one.fix, one.how)
        for one in found
    ]
    return table(("measured", "before", "after", "the fix", "how"), rows)


# -- under-utilized GPUs ---------------------------------------------------------------


def wrong_store(store: str = "device", better: str = "ring", batch: int = 32) -> Story:
    """A step of AlexNet on eight GPUs of a PCI Express box, under two stores."""
    steps = [eight_gpus(one, batch) for one in (store, better)]
    before, after = (one.step_seconds * 1e3 for one in steps)
    fix = f"{better} in place of {store}"
    return Story(
        "Wrong store",
        "Milliseconds for a step",
        "modelled",
        before,
        after,
        fix,
        tuple(steps),
    )


def bytes_by_store(
    stores: Sequence[str] = ("local", "device", "tree", "ring"), gpus: int = GPUS
) -> dict[str, int]:
    """Bytes into the busiest place for one gradient of 4,096 bytes, recorded."""
    return {one: summed(one, gpus, layout="mesh").busiest for one in stores}


def eight_gpus(store: str, batch: int, **settings: Any) -> Prediction:
    """A step of AlexNet. batch: images for each of eight GPUs; settings: knobs."""
    return simulate(alexnet(batch), Cluster.pcie(), store, GPUS, **settings)


def waiting_share(step: Prediction) -> float:
    """The share of a step for which workers wait for communication."""
    return step.exposed_seconds / step.step_seconds


def smallest_hiding_batch(store: str, most: float = HIDDEN) -> int | None:
    """The least batch in `BATCHES` at which a step waits for less than that share."""
    return next(
        (one for one in BATCHES if waiting_share(eight_gpus(store, one)) < most), None
    )


def small_batches(store: str = "ring", batch: int = 8) -> Story:
    """The share of waiting, for a small batch and for the least that hides it."""
    shares = {one: waiting_share(eight_gpus(store, one)) for one in BATCHES}
    enough = smallest_hiding_batch(store) or BATCHES[-1]
    return Story(
        "Batches too small",
        "Share of a step spent waiting",
        "modelled",
        shares[batch],
        shares[enough],
        f"{enough} images a device in place of {batch}",
        shares,
    )


# -- idle devices ----------------------------------------------------------------------


def last_takes_the_rest(size: int, devices: int) -> list[int]:
    """How many examples each device gets, by a split that one writes in a hurry.

    >>> last_takes_the_rest(63, 8)
    [7, 7, 7, 7, 7, 7, 7, 14]
    """
    share = size // devices
    return [share] * (devices - 1) + [size - share * (devices - 1)]


def even_shares(size: int, devices: int) -> list[int]:
    """How many examples each device gets from `split_data(even_split=False)`."""
    parts = gluon.utils.split_data(nd.zeros((size, 1)), devices, even_split=False)
    return [len(part) for part in parts]


def idle_shares(shares: Sequence[int]) -> tuple[dict[str, float], Record]:
    """The share of two steps for which each GPU does nothing, from their record.

    shares: examples for each simulated GPU. On the virtual clock an example takes 1 ms
    forward and 2 ms backward; then a store adds a gradient of 1 MB.
    """
    with knobs(
        MINIMX_SIM_GPUS=len(shares), MINIMX_CLOCK="virtual", MXNET_ENGINE_TYPE=None
    ):
        devices = [gpu(k) for k in range(len(shares))]
        store = kvstore.create("device")
        store.init("w", nd.zeros((250, 1000)))
        gradients = [nd.zeros((250, 1000), ctx=device) for device in devices]
        engine.wait_all()
        with Record() as record:
            for _ in range(2):
                for share, one in zip(shares, gradients, strict=True):
                    _compute("forward", share, one)
                    _compute("backward", 2 * share, one)
                store.pushpull("w", gradients)
            engine.wait_all()
        gradients.clear()
        del store, one
    return _idle(record, [str(device) for device in devices]), record


def _compute(name: str, ms: int, array: Any) -> None:
    """Push work of so many milliseconds that needs an array, and writes it."""
    costs = driver_for(array.context).costs
    cost = Cost(round((ms * 1e6 - costs.launch_ns) * costs.flops / 1e9), 0)
    engine.push(lambda: None, array.context, [], [array.chunk], name, cost=cost)


def _idle(record: Record, devices: Sequence[str]) -> dict[str, float]:
    """The time in which no operation ran, by device, over that of the whole record."""
    ops = record.ops()
    span = int(ops["t_end"].max() - ops["t_start"].min())
    spans: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for device, start, end in zip(
        record.texts(ops["device"]),
        ops["t_start"].tolist(),
        ops["t_end"].tolist(),
        strict=True,
    ):
        spans[device].append((start, end))
    return {one: 1 - union_seconds(spans[one]) / span for one in devices}


def mean_idle(shares: Sequence[int]) -> float:
    """The mean of the idle shares."""
    return float(np.mean(list(idle_shares(shares)[0].values())))


def idle_devices(size: int = 63) -> Story:
    """The mean idle share of eight GPUs, for an uneven split and for an even one."""
    uneven, record = idle_shares(last_takes_the_rest(size, GPUS))
    before = float(np.mean(list(uneven.values())))
    after = mean_idle(even_shares(size, GPUS))
    return Story(
        "Idle devices",
        "Mean idle share of the GPUs",
        "recorded on the virtual clock",
        before,
        after,
        "split_data(even_split=False)",
        record,
    )


def straggler(factor: float = 2.0, batch: int = 64) -> Story:
    """A step of eight GPUs of which one computes slower."""
    table, cluster = alexnet(batch), Cluster.pcie()
    slow, sound = (
        simulate(table, one, "ring", GPUS)
        for one in (cluster.with_straggler(3, factor), cluster)
    )
    return Story(
        "A straggler",
        "Milliseconds for a step",
        "modelled",
        slow.step_seconds * 1e3,
        sound.step_seconds * 1e3,
        "worker 3 as fast as the others",
        (slow, sound),
    )


# -- nodes that diverge ----------------------------------------------------------------


def no_sum() -> Story:
    """How far weights are apart if gradients are not added, and if they are."""
    forgotten, added = two_nodes(add=False), two_nodes()
    return Story(
        "Nodes that diverge, a forgotten all-reduce",
        f"Largest difference of a weight after {STEPS} steps",
        "recorded",
        forgotten.at_end,
        added.at_end,
        "add the gradients of all nodes",
        (forgotten, added),
    )


def other_seeds() -> Story:
    """Gradients are added, and still the weights differ: they began so."""
    apart = two_nodes(seeds=(1, 2), broadcast=False)
    together = two_nodes(seeds=(1, 2))
    return Story(
        "Seeds that differ",
        f"Largest difference of a weight after {STEPS} steps",
        "recorded",
        apart.at_end,
        together.at_end,
        "broadcast the weights of node 0 first",
        (apart, together),
    )


def other_settings(**changes: Any) -> Story:
    """What a job's ranks report when one of two has other knobs.

    changes: knobs of the second rank; by default one for safe accumulation.
    """
    first = facts()["compared"]
    with knobs(**(changes or {"MXNET_SAFE_ACCUMULATION": 1})):
        second = facts()["compared"]
    found = differences([first, second])
    return Story(
        "Nodes that diverge, other settings",
        "Differences that the ranks report",
        "recorded",
        len(found),
        len(differences([first, first])),
        "the same environment everywhere",
        tuple(found.values()),
    )
