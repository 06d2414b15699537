"""What the documents say about several devices (notebook 13)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from minimx.core.knobs import knobs
from minimx.kvstore.planners.placement import place
from minimx.kvstore.policy import threads_of_sum
from minimx.kvstore.simulation import Cluster, Prediction, Workload, simulate
from minimx_widgets.course.claims.claim import (
    GUIDE,
    TIPS,
    V1,
    Decision,
    Numbers,
    claim,
    if_true,
    weighed,
)
from minimx_widgets.course.data_parallel.nodes import two_nodes
from minimx_widgets.course.data_parallel.stories import eight_gpus, waiting_share
from minimx_widgets.course.data_parallel.turning import buckets
from minimx_widgets.course.data_parallel.workloads import alexnet, line, three_layers

#: A step that waits for less than this share of its time does not wait.
NOTHING: Final = 0.02
#: Times within this factor are equal.
ALIKE: Final = 1.05
SMALL: Final = 8  # images a device
BOUND: Final = 1_000_000  # elements of a big array


def steps(
    tables: Sequence[Workload] = (three_layers(10), three_layers(5)),
) -> Numbers:
    """A step of each table, on a ring of two devices."""
    return {"reports": [simulate(table, line(), "ring", 2) for table in tables]}


@claim(
    "13",
    "“Ideally, the communication cost should be less than the time to compute a batch”",
    TIPS,
    264,
    "modelled",
    steps,
    tolerance="waiting of less than 2 % of a step is none",
)
def less_than_computing(reports: Sequence[Prediction]) -> Decision:
    """Communication that is shorter than computing should cost nothing."""
    shorter = [
        one for one in reports if one.communication_seconds < one.compute_seconds
    ]
    waiting = [one for one in shorter if waiting_share(one) > NOTHING]
    return (
        if_true(not waiting, "holds", "depends on which gradient comes last"),
        "; ".join(
            f"{one.communication_seconds * 1e3:.0f} ms of communication, "
            f"{one.compute_seconds * 1e3:.0f} ms of computing, and a step still waits "
            f"{one.exposed_seconds * 1e3:.0f} ms"
            for one in waiting or shorter
        ),
    )


def shares(batches: Sequence[int] = (8, 16, 32, 64)) -> Numbers:
    """The share of a step that waits, by images a device."""
    waits = {batch: waiting_share(eight_gpus("ring", batch)) for batch in batches}
    return {"waits": waits}


@claim(
    "13",
    "“Increasing the batch size to improve the computation to communication ratio”",
    TIPS,
    268,
    "modelled",
    shares,
)
def larger_batches(waits: Mapping[int, float]) -> Decision:
    """Waiting should become a smaller share."""
    found = list(waits.values())
    falling = all(a > b for a, b in zip(found, found[1:], strict=False))
    shares = ", ".join(f"{share:.0%} at {batch}" for batch, share in waits.items())
    return (
        if_true(falling),
        f"AlexNet, eight GPUs on a ring: a step waits for {shares} images a device",
    )


def slower(batches: Sequence[int] = (8, 32, 128)) -> Numbers:
    """How many times as long a step takes with `device`, by images a device."""
    return {
        "factors": {
            batch: eight_gpus("device", batch).step_seconds
            / eight_gpus("nccl", batch).step_seconds
            for batch in batches
        }
    }


@claim(
    "13",
    "“Suboptimal kvstore choice (e.g., using device over nccl)”",
    GUIDE,
    33,
    "modelled",
    slower,
    tolerance="a factor of 1.05",
)
def device_or_nccl(factors: Mapping[int, float]) -> Decision:
    """`device` should be slower than `nccl`."""
    shares = ", ".join(f"{one:.2f} × at {batch}" for batch, one in factors.items())
    return (
        weighed([one > ALIKE for one in factors.values()], "the batch"),
        f"AlexNet, eight GPUs on PCI Express: device takes {shares} images a device",
    )


def stores(
    clusters: Sequence[Cluster] = (Cluster.mesh(), Cluster.pcie()), batch: int = SMALL
) -> Numbers:
    """The milliseconds of a step by cluster and store."""
    return {
        "ms": {
            cluster.name: {
                store: simulate(alexnet(batch), cluster, store, 8).step_seconds * 1e3
                for store in ("tree", "device", "nccl")
            }
            for cluster in clusters
        },
        "batch": batch,
    }


@claim(
    "13",
    "“Tree reduction technology has been shown to be faster than the standard "
    "--kv-store device Push/Pull and --kv-store nccl Push/Pull for small batch sizes”",
    V1,
    124,
    "modelled",
    stores,
    tolerance="a factor of 1.05",
)
def trees(ms: Mapping[str, Mapping[str, float]], batch: int) -> Decision:
    """Trees should be faster than `device` and `nccl` for small batches."""
    faster = [
        one["tree"] * ALIKE < min(one["device"], one["nccl"]) for one in ms.values()
    ]
    rows = [
        f"{name}: " + ", ".join(f"{store} {time:.0f} ms" for store, time in one.items())
        for name, one in ms.items()
    ]
    return (
        weighed(faster, "the links"),
        f"AlexNet, {batch} images a device. {'; '.join(rows)}",
    )


def threads(elements: int = BOUND) -> Numbers:
    """How many threads sum an array."""
    asked = threads_of_sum(elements, bound=BOUND, threads=4)
    return {"elements": elements, "threads": asked}


@claim(
    "13",
    "“When the array size is bigger than this threshold, "
    "MXNET_KVSTORE_REDUCTION_NTHREADS threads are used”",
    V1,
    117,
    "planned",
    threads,
)
def bigger_than(elements: int, threads: int) -> Decision:
    """An array of exactly the bound should be small."""
    return (
        if_true((threads > 1) == (elements > BOUND), "holds", "fails at the bound"),
        f"as in the source of MXNet 1.9.1, {elements:,} elements take {threads} "
        f"thread{'s' * (threads > 1)}",
    )


def servers(keys: int = 8, count: int = 4) -> Numbers:
    """To which server each small weight goes, twice."""
    picks = [
        [place(key, 1000, count, BOUND)[0].server for key in range(keys)]
        for _ in range(2)
    ]
    return {"first": picks[0], "again": picks[1]}


@claim(
    "13",
    "A small weight “is sent to a single randomly picked server”",
    V1,
    118,
    "planned",
    servers,
)
def random_server(first: Sequence[int], again: Sequence[int]) -> Decision:
    """The server of a small weight should be picked at random."""
    return (
        if_true(first != again),
        f"twice: keys 0 to {len(first) - 1} go to servers "
        f"{' '.join(map(str, first))}, and again to {' '.join(map(str, again))}",
    )


def copies() -> Numbers:
    """Copies of a step without and with the bucket of the guide."""
    before, after = buckets().values.values()
    default = knobs.declared["MXNET_KVSTORE_REDUCE_BUCKET_SIZE"].default
    return {"before": before, "after": after, "default": default, "readers": 0}


@claim(
    "13",
    "“os.environ['MXNET_KVSTORE_REDUCE_BUCKET_SIZE'] = '2048'”",
    GUIDE,
    69,
    "measured",
    copies,
    tolerance="none: copies are counted",
)
def bucket_size(before: float, after: float, default: int, readers: int) -> Decision:
    """The bucket of the guide should do something."""
    return (
        weighed([before != after, readers > 0], "the library"),
        f"in minimx {before:.0f} copies a step become {after:.0f}. "
        f"{readers or 'No'} version of MXNet reads it; minimx's default is {default}",
    )


def seeds(same_data: bool = True) -> Numbers:
    """How far apart two nodes end, and in how many steps they learn from the same."""
    weights = two_nodes(seeds=(1, 1), broadcast=False)
    drawn = two_nodes(same_data=same_data)
    repeated = sum(a == b for a, b in drawn.losses)
    return {"apart": weights.at_end, "repeated": repeated, "steps": len(drawn.losses)}


@claim(
    "13",
    "“Synchronized seeding across processes”",
    GUIDE,
    67,
    "measured",
    seeds,
    tolerance="none: equal to the last bit",
)
def equal_seeds(apart: float, repeated: int, steps: int) -> Decision:
    """Equal seeds on all nodes should be what one wants."""
    return (
        weighed([apart == 0, not repeated], "what is drawn"),
        f"equal seeds of weights leave them {apart:g} apart. Data drawn from equal "
        f"seeds: in {repeated} of {steps} steps both nodes learn from the same "
        "examples",
    )
