"""The job on trial: two nodes train one network, stop once, and go on.

Each node is a simulated GPU of this process, so that everything can be looked at; times
are those of the virtual clock, the same on every machine. A healthy job pads its
batches, begins with equal weights, adds gradients on the GPUs, saves all state, and
computes every layer on a GPU. A fault takes one of these away; a remedy is an edit of
the program that may be tried on any fault.
"""

from __future__ import annotations

import gc
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

import numpy as np

import minimx as mx
from minimx import autograd, kvstore, nd
from minimx.core.record import Record
from minimx_widgets.failures.jobs.facts import JobFacts, JobOutcome
from minimx_widgets.failures.jobs.node import FEATURES, NODES, Node, layer_name
from minimx_widgets.failures.program import short

#: Rows of a batch that is too small, as a share of the usual one.
FEW: Final = 16


def run(
    facts: JobFacts,
    fixes: Sequence[str] = (),
    *,
    healthy: bool = False,
    compared: bool = False,
) -> JobOutcome:
    """Train once; healthy leaves the fault out. What raises is part of the outcome.

    compared: run a second time without the restart, for its losses.
    """
    outcome = JobOutcome()
    with _machine("Round" if "round" in fixes else "Naive"):
        _train(facts, fixes, healthy, outcome)
        mx.nd.waitall()
    if compared:
        whole = run(replace(facts, saved=0), fixes, healthy=healthy)
        outcome.unbroken = whole.losses
    return outcome


@contextmanager
def _machine(pool: str) -> Iterator[None]:
    """Two simulated GPUs with links between them, on the virtual clock."""
    before = int(mx.knobs.MINIMX_SIM_GPUS)
    with mx.knobs(
        MINIMX_SIM_GPUS=max(NODES, before),
        MINIMX_SIM_LINKS="mesh",
        MINIMX_CLOCK="virtual",
        MXNET_ENGINE_TYPE=None,
        MXNET_GPU_MEM_POOL_TYPE=pool,
    ):
        if before >= NODES:
            gc.collect()  # else it is done when the second GPU goes again
        for rank in range(NODES):
            mx.storage.empty_cache(mx.gpu(rank))
        yield
        mx.nd.waitall()


def batches(
    facts: JobFacts, fixes: Sequence[str], healthy: bool
) -> Iterator[list[tuple[Any, Any, Any, int]]]:
    """By step and node: samples, targets, which rows count, and how many do."""
    fault = "" if healthy else facts.fault
    few = fault == "batch" and "larger" not in fixes
    padded = fault != "shapes" or "pad" in fixes
    most = facts.batch // FEW if few else facts.batch
    draws = np.random.default_rng(facts.seed + 1)
    direction = draws.normal(size=FEATURES)
    for _ in range(facts.steps):
        found = []
        for rank in range(NODES):
            rows = most - int(draws.integers(0, max(1, most // 2)))
            x = np.zeros((most if padded else rows, FEATURES), "float32")
            x[:rows] = draws.normal(size=(rows, FEATURES))
            y = np.tanh(x @ direction)[:, None]
            counts = (np.arange(len(x)) < rows)[:, None]
            device = mx.gpu(rank)
            arrays = [nd.array(a.astype("float32"), ctx=device) for a in (x, y, counts)]
            found.append((arrays[0], arrays[1], arrays[2], rows))
        yield found


class _Job:
    """What is alive while the job runs."""

    def __init__(self, facts: JobFacts, fixes: Sequence[str], healthy: bool) -> None:
        self.facts, self.fixes, self.healthy = facts, fixes, healthy
        self.fault = "" if healthy else facts.fault
        self.nodes = self._begun(facts.seed)
        if "broadcast" in fixes:
            for first, other in zip(
                *(node.parameters for node in self.nodes), strict=True
            ):
                other.set_data(first.data())
        host = self.fault == "store"
        name = "local" if host else "device"
        for other in ("device", "nccl"):
            name = other if other in fixes else name
        self.store = kvstore.create(name)
        for key, parameter in enumerate(self.nodes[0].parameters):
            self.store.init(key, nd.zeros(parameter.shape))

    def _begun(self, seed: int) -> list[Node]:
        apart = self.fault == "seeds" and "seed" not in self.fixes
        return [
            Node(self.facts, self.fixes, self.healthy, rank, seed + rank * apart)
            for rank in range(NODES)
        ]

    def restart(self) -> None:
        """Stop, and go on from a checkpoint with new networks and optimizers."""
        whole = self.fault != "restart" or "states" in self.fixes
        with tempfile.TemporaryDirectory() as folder:
            for node in self.nodes:
                node.save(folder, whole)
            self.nodes = self._begun(self.facts.seed + 100)
            for node in self.nodes:
                node.load(folder)

    def step(self, data: list[tuple[Any, Any, Any, int]]) -> list[Any]:
        """One step of all nodes; their losses, not read yet."""
        total = sum(rows for *_, rows in data)
        losses = []
        for node, (x, y, counts, _) in zip(self.nodes, data, strict=True):
            with autograd.record():
                out = node.net(x)
                loss = (((out - y) ** 2) * counts).sum() / total
            loss.backward()
            losses.append(loss)
        pairs = zip(*(node.parameters for node in self.nodes), strict=True)
        if self.fault != "unsummed" or "sum" in self.fixes:
            for key, pair in enumerate(pairs):
                self.store.pushpull(key, [one.grad() for one in pair])
        for node in self.nodes:
            node.step()
        return losses

    def apart(self) -> float:
        """The largest difference of a weight between the nodes."""
        pairs = zip(*(node.values() for node in self.nodes), strict=True)
        return max(float(np.abs(a - b).max()) for a, b in pairs)


def _train(
    facts: JobFacts, fixes: Sequence[str], healthy: bool, outcome: JobOutcome
) -> None:
    step = 0
    try:
        job = _Job(facts, fixes, healthy)
        outcome.layers = tuple(map(layer_name, job.nodes[0].net.parts))
        outcome.apart = job.apart()
        for step, data in enumerate(batches(facts, fixes, healthy)):
            if step and step == facts.saved:
                job.restart()
            mx.nd.waitall()
            given = _mallocs()
            with Record() as seen:
                losses = job.step(data)
                mx.nd.waitall()
            given = _mallocs() - given
            outcome.losses[step] = float(sum(float(one.asscalar()) for one in losses))
            images = sum(rows for *_, rows in data)
            outcome.steps.append(_numbers(seen, images, given, job.apart()))
        outcome.record = seen
        outcome.copies, outcome.computed = _copies(seen), _computed(seen)
        outcome.operators = job.nodes[0].operators()
    except Exception as error:  # it is what the learner is asked about
        outcome.end_with(error, step, __file__)


def _pools() -> list[Any]:
    return [mx.storage.stats(mx.gpu(rank)) for rank in range(NODES)]


def _mallocs() -> int:
    return sum(pool.n_malloc for pool in _pools())


def _numbers(seen: Record, images: int, given: int, apart: float) -> dict[str, float]:
    """What a step cost."""
    ops = seen.ops()
    begin, end = int(ops["t_start"].min()), int(ops["t_end"].max())
    spans: dict[str, list[tuple[int, int]]] = {}
    devices = seen.texts(ops["device"])
    for device, start, stop in zip(
        devices, ops["t_start"].tolist(), ops["t_end"].tolist(), strict=True
    ):
        spans.setdefault(device, []).append((start, stop))
    busy = [_covered(spans.get(str(mx.gpu(rank)), [])) for rank in range(NODES)]
    pools = _pools()
    return {
        "us": (end - begin) / 1e3,
        "images": float(images),
        "idle": 100 * (1 - sum(busy) / NODES / (end - begin)),
        "mallocs": float(given),
        "reserved": float(sum(pool.reserved for pool in pools)),
        "used": float(sum(pool.live_rounded for pool in pools)),
        "apart": apart,
    }


def _covered(spans: list[tuple[int, int]]) -> int:
    """For how long at least one of some spans lasts.

    >>> _covered([(0, 4), (2, 6), (8, 9)])
    7
    """
    total, reached = 0, 0
    for start, stop in sorted(spans):
        total += max(0, stop - max(start, reached))
        reached = max(reached, stop)
    return total


def _copies(seen: Record) -> dict[tuple[str, str, str, str], tuple[int, int]]:
    """How many copies, and bytes, by (phase, source, target, key)."""
    rows = seen.comm()
    columns = [seen.texts(rows[name]) for name in ("phase", "src", "dst", "key")]
    many: Counter[tuple[str, ...]] = Counter()
    size: Counter[tuple[str, ...]] = Counter()
    for *where, nbytes in zip(*columns, rows["nbytes"].tolist(), strict=True):
        many[tuple(where)] += 1
        size[tuple(where)] += nbytes
    return {
        (one[0], one[1], one[2], one[3]): (many[one], size[one]) for one in sorted(many)
    }


def _computed(seen: Record) -> dict[tuple[str, str], tuple[int, int]]:
    """How many operations, and their ns, by (layer, device)."""
    ops = seen.ops()
    layers = [short(one) or "other" for one in seen.texts(ops["layer"])]
    devices = seen.texts(ops["device"])
    many: Counter[tuple[str, str]] = Counter()
    took: Counter[tuple[str, str]] = Counter()
    for layer, device, ns in zip(
        layers, devices, (ops["t_end"] - ops["t_start"]).tolist(), strict=True
    ):
        many[layer, device] += 1
        took[layer, device] += ns
    return {one: (many[one], took[one]) for one in sorted(many)}
