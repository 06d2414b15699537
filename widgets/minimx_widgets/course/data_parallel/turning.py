"""Each variable of the kvstore, turned once, and what it moves.

    effects()                 # one line for each of eleven variables
    threads_in_ms()           # the twelfth question, for a stopwatch

`Effect.how` says how its numbers were got: *recorded* in a run on simulated GPUs,
*planned* by the policy that a store asks, or *modelled* by the simulator.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterable
from itertools import count
from time import perf_counter
from typing import Any, Final, NamedTuple

import numpy as np

import minimx as mx
from minimx.core import engine
from minimx.core.device import gpu
from minimx.core.knobs import knobs
from minimx.core.record import Record
from minimx.kvstore.planners.placement import place
from minimx.kvstore.planners.trees import Tree, link_use, link_weights
from minimx.kvstore.policy import threads_of_sum
from minimx.kvstore.simulation import Cluster, simulate
from minimx.kvstore.topology import ranks_of, trees_for
from minimx_widgets.course.data_parallel.ordering import WORKERS
from minimx_widgets.course.data_parallel.sums import summed
from minimx_widgets.course.data_parallel.workloads import language_model
from minimx_widgets.course.parts.text import Shown, table

#: More than three nets of ordinary size have elements: no slices at all.
ONE_SLICE: Final = 10**9
_RUNS: Final = count(1)


class Effect(NamedTuple):
    """A variable, what was observed, how, and the values by setting."""

    knob: str
    observed: str
    how: str
    values: dict[str, float]

    @property
    def moved(self) -> bool:
        """Whether the settings make a difference."""
        return len(set(self.values.values())) > 1


def effects() -> list[Effect]:
    """Turn all of them, one after the other."""
    return [turn() for turn in TURNS]


def shown(found: Iterable[Effect]) -> Shown:
    """Effects as a table."""
    rows = [
        (
            one.knob,
            one.observed,
            "; ".join(f"{key} → {value:,.5g}" for key, value in one.values.items()),
            one.how,
        )
        for one in found
    ]
    return table(("variable", "observed", "setting → result", "how"), rows)


def _turned(
    knob: str, values: Iterable[Any], observe: Callable[[], float]
) -> dict[str, float]:
    found = {}
    for value in values:
        with knobs(**{knob: value}):
            found[str(value)] = observe()
    return found


def _bytes(*values: int, knob: str, **others: Any) -> dict[str, float]:
    """Bytes into the busiest of 4 GPUs, for a gradient of 4,096 bytes."""
    found: dict[str, float] = {}
    for value in values:
        changes: dict[str, Any] = {knob: value, **others}
        found[str(value)] = summed("device", 4, layout="mesh", **changes).busiest
    return found


def threads_on_host() -> Effect:
    """How many threads add an array of 1,048,576 elements."""
    name = "MXNET_KVSTORE_REDUCTION_NTHREADS"

    def threads() -> float:
        bound = int(knobs.MXNET_KVSTORE_BIGARRAY_BOUND)
        return threads_of_sum(1024 * 1024, bound, int(getattr(knobs, name)))

    observed = "threads that add 1,048,576 numbers on the host"
    return Effect(name, observed, "planned", _turned(name, (1, 4), threads))


def servers_of_a_key() -> Effect:
    """How many of four servers hold a weight of 960,000 elements."""
    name = "MXNET_KVSTORE_BIGARRAY_BOUND"

    def servers() -> float:
        return len(place(0, 800 * 1200, 4, int(getattr(knobs, name))))

    values = _turned(name, (1_000_000, 500_000), servers)
    return Effect(name, "of 4 servers hold a weight of 800×1200", "planned", values)


def flat_or_tree() -> Effect:
    """Bytes into the busiest GPU."""
    name = "MXNET_KVSTORE_USETREE"
    observed = "bytes into the busiest of 4 GPUs, of 4,096 bytes each"
    return Effect(name, observed, "recorded", _bytes(0, 1, knob=name))


def trees_in_the_log() -> Effect:
    """How many trees a store prints."""
    name = "MXNET_KVSTORE_LOGTREE"
    found = {}
    for value in (0, 1):
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            # A penalty that no other run has had, so that trees are planned anew.
            penalty = 0.7 - next(_RUNS) * 1e-9
            changes: dict[str, Any] = {name: value}
            changes["MXNET_KVSTORE_TREE_LINK_USAGE_PENALTY"] = penalty
            summed("tree", 8, layout="mesh", **changes)
        found[str(value)] = float(text.getvalue().count("Tree "))
    return Effect(name, "trees in the log", "recorded", found)


def slices_over_trees() -> Effect:
    """Bytes into the busiest GPU, whole and in slices."""
    name = "MXNET_KVSTORE_TREE_ARRAY_BOUND"
    values = _bytes(10_000_000, 10, knob=name, MXNET_KVSTORE_USETREE=1)
    return Effect(
        name, "bytes into the busiest of 4 GPUs, over trees", "recorded", values
    )


def _trees() -> tuple[Tree, ...]:
    with knobs(MINIMX_SIM_LINKS="mesh"):
        return trees_for([gpu(k) for k in range(8)])


def search_of_trees() -> Effect:
    """The weight of the links that the first of eight trees takes."""
    name = "MXNET_KVSTORE_TREE_BACKTRACK"

    def weight() -> float:
        with knobs(MINIMX_SIM_LINKS="mesh"):
            links = link_weights(ranks_of([gpu(k) for k in range(8)]))
        return float(sum(links[pair] for pair in _trees()[0].pairs()))

    observed = "weight of the links of the first tree"
    return Effect(name, observed, "planned", _turned(name, (0, 1), weight))


def trees_on_a_link() -> Effect:
    """How many of eight trees crowd on one link."""
    name = "MXNET_KVSTORE_TREE_LINK_USAGE_PENALTY"

    def most() -> float:
        return max(link_use(_trees()).values())

    values = _turned(name, (1.0, 0.7, 0.1), most)
    return Effect(name, "of 8 trees on the busiest link", "planned", values)


def first_layer_back(slice_threshold: int) -> float:
    """Milliseconds until the next forward pass can begin."""
    found = simulate(
        language_model(),
        Cluster.ethernet(25),
        "p3",
        WORKERS,
        slice_threshold=slice_threshold,
    )
    return 1e3 * min(one.start for one in found.lanes if one.phase == "forward")


def slices_of_p3() -> Effect:
    """When the first layer's weights are back."""
    values = {
        f"{size:g}": first_layer_back(size) for size in (ONE_SLICE, 1_000_000, 40_000)
    }
    return Effect(
        "MXNET_KVSTORE_SLICE_THRESHOLD",
        "ms until the first layer is back, dist_p3",
        "modelled",
        values,
    )


def peers() -> Effect:
    """Copies of one sum over four GPUs, direct or by way of the host."""
    name = "MXNET_ENABLE_GPU_P2P"

    def copies() -> float:
        return summed("device", 4).copies

    values = _turned(name, (1, 0), copies)
    return Effect(name, "copies of one sum over 4 GPUs", "recorded", values)


def _step_of_a_trainer(observe: Callable[[Record], float]) -> float:
    """Record a step of a small network on four simulated GPUs."""
    with knobs(MINIMX_SIM_GPUS=4, MINIMX_CLOCK="virtual", MXNET_ENGINE_TYPE=None):
        devices = [gpu(k) for k in range(4)]
        net = mx.gluon.nn.HybridSequential()
        for _ in range(3):
            net.add(mx.gluon.nn.Dense(8, in_units=8))
        net.initialize(ctx=devices)
        on_store = None if knobs.MXNET_KVSTORE_REDUCE_BUCKET_SIZE == 0 else False
        trainer = mx.gluon.Trainer(
            net.collect_params(), "sgd", update_on_kvstore=on_store
        )
        ones = [mx.nd.ones((2, 8), ctx=device) for device in devices]
        for _ in range(2):
            with Record() as record:
                with mx.autograd.record():
                    losses = [net(x).sum() for x in ones]
                mx.autograd.backward(losses)
                trainer.step(8)
                engine.wait_all()
        del net, trainer, ones, losses
    return observe(record)


def updates() -> Effect:
    """Weight updates in a step."""
    name = "MXNET_UPDATE_ON_KVSTORE"

    def seen(record: Record) -> float:
        names = record.texts(record.ops()["name"])
        return float(sum("update" in one for one in names))

    with knobs(MXNET_OPTIMIZER_AGGREGATION_SIZE=1):  # an operation for each weight
        values = _turned(name, (1, 0), lambda: _step_of_a_trainer(seen))
    return Effect(name, "updates a step, 6 parameters, 4 GPUs", "recorded", values)


def buckets() -> Effect:
    """Copies between devices in a step."""
    name = "MXNET_KVSTORE_REDUCE_BUCKET_SIZE"

    def copies(record: Record) -> float:
        return float(len(record.comm()))

    with knobs(MXNET_UPDATE_ON_KVSTORE=0):
        values = _turned(name, (0, 2048), lambda: _step_of_a_trainer(copies))
    return Effect(name, "copies a step, 6 parameters, 4 GPUs", "recorded", values)


#: Eight of the documents' kvstore variables, and three beside them.
TURNS: Final[tuple[Callable[[], Effect], ...]] = (
    threads_on_host,
    servers_of_a_key,
    flat_or_tree,
    trees_in_the_log,
    slices_over_trees,
    search_of_trees,
    trees_on_a_link,
    slices_of_p3,
    peers,
    updates,
    buckets,
)


def threads_in_ms(
    threads: Iterable[int] = (1, 2, 4), elements: int = 1 << 20
) -> dict[int, float]:
    """Milliseconds to add eight arrays on the host: measured, the best of five."""
    from minimx.kvstore import sums

    arrays = [np.ones(elements, np.float32) for _ in range(8)]
    out = np.empty_like(arrays[0])
    found = {}
    for most in threads:
        best = float("inf")
        for _ in range(6):  # the first one starts the threads
            start = perf_counter()
            sums.add(arrays, out, most)
            best = min(best, perf_counter() - start)
        found[most] = best * 1e3
    return found
