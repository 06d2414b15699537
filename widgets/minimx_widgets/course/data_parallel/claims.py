"""What the documents say about several devices, and verdicts that are computed.

Each function makes its experiment and decides by the numbers: (claim, verdict,
evidence), as `verdicts` shows them. Arguments change the experiment, so that each
verdict can come out in another way; the defaults are those of the notebook.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from minimx.core.knobs import knobs
from minimx.kvstore.planners.placement import place
from minimx.kvstore.policy import threads_of_sum
from minimx.kvstore.simulation import Cluster, Workload, simulate
from minimx_widgets.course.data_parallel.nodes import two_nodes
from minimx_widgets.course.data_parallel.stories import eight_gpus, waiting_share
from minimx_widgets.course.data_parallel.turning import buckets
from minimx_widgets.course.data_parallel.workloads import alexnet, line, three_layers

Verdict = tuple[str, str, str]
#: A step that waits for less than this share of its time does not wait.
NOTHING: Final = 0.02
#: Times within this factor are equal.
ALIKE: Final = 1.05
SMALL: Final = 8  # images a device


def less_than_computing(
    tables: Sequence[Workload] = (three_layers(10), three_layers(5)),
) -> Verdict:
    """Communication that is shorter than computing should cost nothing."""
    found = [simulate(table, line(), "ring", 2) for table in tables]
    shorter = [one for one in found if one.communication_seconds < one.compute_seconds]
    waiting = [one for one in shorter if waiting_share(one) > NOTHING]
    verdict = "holds" if not waiting else "depends on which gradient comes last"
    return (
        "“Ideally, the communication cost should be less than the time to compute a "
        "batch” <i>(tips, 264)</i>",
        verdict,
        "modelled: "
        + "; ".join(
            f"{one.communication_seconds * 1e3:.0f} ms of communication, "
            f"{one.compute_seconds * 1e3:.0f} ms of computing, and a step still waits "
            f"{one.exposed_seconds * 1e3:.0f} ms"
            for one in waiting or shorter
        ),
    )


def larger_batches(batches: Sequence[int] = (8, 16, 32, 64)) -> Verdict:
    """Waiting should become a smaller share."""
    shares = [waiting_share(eight_gpus("ring", batch)) for batch in batches]
    falling = all(a > b for a, b in zip(shares, shares[1:], strict=False))
    return (
        "“Increasing the batch size to improve the computation to communication ratio” "
        "<i>(tips, 268)</i>",
        "holds" if falling else "fails",
        "modelled, AlexNet, eight GPUs on a ring: a step waits for "
        + ", ".join(
            f"{share:.0%} at {batch}"
            for batch, share in zip(batches, shares, strict=True)
        )
        + " images a device",
    )


def device_or_nccl(batches: Sequence[int] = (8, 32, 128)) -> Verdict:
    """`device` should be slower than `nccl`."""
    factors = [
        eight_gpus("device", batch).step_seconds
        / eight_gpus("nccl", batch).step_seconds
        for batch in batches
    ]
    slower = [factor > ALIKE for factor in factors]
    verdict = "holds" if all(slower) else "fails"
    if any(slower) and not all(slower):
        verdict = "depends on the batch"
    return (
        "“Suboptimal kvstore choice (e.g., using device over nccl)” <i>(guide, 33)</i>",
        verdict,
        "modelled, AlexNet, eight GPUs on PCI Express: device takes "
        + ", ".join(
            f"{factor:.2f} × at {batch}"
            for batch, factor in zip(batches, factors, strict=True)
        )
        + " images a device",
    )


def trees(
    clusters: Sequence[Cluster] = (Cluster.mesh(), Cluster.pcie()), batch: int = SMALL
) -> Verdict:
    """Trees should be faster than `device` and `nccl` for small batches."""
    rows, faster = [], []
    for cluster in clusters:
        ms = {
            store: simulate(alexnet(batch), cluster, store, 8).step_seconds * 1e3
            for store in ("tree", "device", "nccl")
        }
        faster.append(ms["tree"] * ALIKE < min(ms["device"], ms["nccl"]))
        named = ", ".join(f"{store} {one:.0f} ms" for store, one in ms.items())
        rows.append(f"{cluster.name}: {named}")
    verdict = "holds" if all(faster) else "fails"
    if any(faster) and not all(faster):
        verdict = "depends on the links"
    return (
        "Tree reduction is “faster than the standard --kv-store device Push/Pull and "
        "--kv-store nccl Push/Pull for small batch sizes” <i>(1.x, 124)</i>",
        verdict,
        f"modelled, AlexNet, {batch} images a device. {'; '.join(rows)}",
    )


def bigger_than(elements: int = 1_000_000) -> Verdict:
    """An array of exactly the bound should be small."""
    threads = threads_of_sum(elements, bound=1_000_000, threads=4)
    exact = threads > 1 and elements == 1_000_000
    return (
        "“When the array size is bigger than this threshold, … NTHREADS threads are "
        "used” <i>(1.x, 117)</i>",
        "fails at the bound" if exact else "holds",
        f"planned, as MXNet's source: {elements:,} elements take {threads} "
        f"thread{'s' if threads > 1 else ''}",
    )


def random_server(keys: int = 8, servers: int = 4) -> Verdict:
    """The server of a small weight should be picked at random."""
    picks = [
        [place(key, 1000, servers, 1_000_000)[0].server for key in range(keys)]
        for _ in range(2)
    ]
    return (
        "A small weight “is sent to a single randomly picked server” <i>(1.x, 118)</i>",
        "fails" if picks[0] == picks[1] else "holds",
        f"planned twice: keys 0 to {keys - 1} go to servers "
        f"{' '.join(map(str, picks[0]))}, and again to "
        f"{' '.join(map(str, picks[1]))}",
    )


def bucket_size() -> Verdict:
    """The bucket of the guide should do something."""
    found = buckets()
    before, after = found.values.values()
    verdict = "depends on the library" if found.moved else "fails"
    return (
        "<code>MXNET_KVSTORE_REDUCE_BUCKET_SIZE = '2048'</code> <i>(guide, 69)</i>",
        verdict,
        f"recorded in minimx: {before:.0f} copies a step become {after:.0f}. No "
        "version of MXNet reads it; minimx's default is "
        f"{knobs.declared['MXNET_KVSTORE_REDUCE_BUCKET_SIZE'].default}",
    )


def equal_seeds(same_data: bool = True) -> Verdict:
    """Equal seeds on all nodes should be what one wants."""
    weights = two_nodes(seeds=(1, 1), broadcast=False)
    drawn = two_nodes(same_data=same_data)
    repeated = sum(a == b for a, b in drawn.losses)
    good = weights.at_end == 0
    verdict = "fails"
    if good:
        verdict = "depends on what is drawn" if repeated else "holds"
    return (
        "“Synchronized seeding across processes” <i>(guide, 67)</i>",
        verdict,
        f"recorded: equal seeds of weights leave them {weights.at_end:g} apart. Data "
        f"drawn from equal seeds: in {repeated} of {len(drawn.losses)} steps both "
        "nodes learn from the same examples",
    )


def all_claims() -> list[Verdict]:
    """All of them, with the notebook's experiments."""
    return [
        less_than_computing(),
        larger_batches(),
        device_or_nccl(),
        trees(),
        bigger_than(),
        random_server(),
        bucket_size(),
        equal_seeds(),
    ]
