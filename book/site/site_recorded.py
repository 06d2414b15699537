"""A training of LeNet, recorded for the pages on which a reader turns knobs.

    data = KEPT["pool"](folder)

makes the record of the pool's page, saves it in the folder, where readers find it, and
returns what the page needs of it, as JSON has it. Operations run one after the other,
or on the virtual clock, so that nothing depends on the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

from turning_engine import ENGINE, WORKERS
from turning_pool import MEMORY

import minimx as mx
from minimx import autograd, gluon
from minimx.core.record import Record
from minimx.core.replay import Steps
from minimx.core.storage.policy import BYPASS, knob_names
from minimx.experiments.graphs import GraphProgram, programs_of
from minimx.experiments.operations import Operations
from minimx.experiments.rerun import rerun
from minimx_widgets.training.networks import lenet

#: Images of the batches: the last one of an epoch is smaller.
BATCHES = (64, 64, 40, 64, 64, 40)
SIDE, CLASSES = 28, 10
#: Lists of a `NumberedGraph` and of `Operations` that are numbers and texts already.
GRAPH = (
    *("ins", "reads", "pairs", "readers", "sizes", "itemsizes", "nbytes"),
    *("initial", "writers"),
)
OPERATIONS = (
    *("name", "phase", "device", "worker", "kind", "priority", "ns", "gap"),
    *("waits", "inside"),
)


def trained(
    device: Any, batches: Iterable[int], hybrid: bool = False, parts: int = 1
) -> tuple[Any, Record]:
    """LeNet and a record of some steps on blank images, one for each batch size.

    parts: into how many a batch is cut; they need not wait for one another.
    """
    mx.random.seed(17)
    net = lenet(SIDE, CLASSES)
    net.initialize(ctx=device)
    if hybrid:
        net.hybridize(static_alloc=True)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"momentum": 0.9})
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    net(mx.nd.zeros((1, 1, SIDE, SIDE), ctx=device)).wait_to_read()  # finds the shapes
    with Record() as record:
        for count in batches:
            images = mx.nd.zeros((count, 1, SIDE, SIDE), ctx=device)
            labels = mx.nd.zeros((count,), ctx=device)
            ends = [k * count // parts for k in range(parts + 1)]
            with autograd.record():
                losses = [
                    loss_of(net(images[first:last]), labels[first:last])
                    for first, last in pairwise(ends)
                ]
            autograd.backward(losses)
            trainer.step(count)
            del images, labels, losses
        mx.nd.waitall()
    return net, record


def pool_record() -> Record:
    """On a simulated GPU of 64 MiB, one operation after the other."""
    with (
        mx.knobs(MXNET_ENGINE_TYPE="NaiveEngine", MINIMX_SIM_GPU_MEMORY="1MiB"),
        mx.knobs(MINIMX_SIM_GPU_MEMORY="64MiB"),
    ):
        return trained(mx.gpu(0), BATCHES)[1]


def pool(folder: Path) -> dict[str, Any]:
    """What the page of the pool needs: the program's steps, and the knobs."""
    record = pool_record()
    record.save(folder / "pool.npz")
    steps = Steps.of(record, "gpu(0)")
    number: dict[int, int] = {}
    blocks = [number.setdefault(each, len(number)) for each in steps.block.tolist()]
    zeros = [0] * len(steps)
    names = (*knob_names("gpu"), BYPASS, MEMORY)
    return {
        "columns": {
            "row": [*range(len(steps))],
            "t": zeros,
            "kind": steps.kind.tolist(),
            "block": blocks,
            "requested": steps.requested.tolist(),
        },
        "knobs": {name: record.conditions.knobs[name] for name in names},
    }


def planner_program() -> GraphProgram:
    """The graph of a training step of LeNet, with its gradient, ready to be planned."""
    with mx.knobs(MXNET_ENGINE_TYPE="NaiveEngine"):
        net, record = trained(mx.cpu(), BATCHES[:1], hybrid=True)
    return max(programs_of(net, record), key=lambda one: len(one.prepared.graph))


def planner(folder: Path) -> dict[str, Any]:
    """What the page of the planner needs: the graph as lists of numbers."""
    plan = planner_program().prepared.plan
    graph = plan.numbers
    assert plan.colours is None, "pages do not divide graphs into colours"
    return {
        "ops": [node.op.name if node.op else "" for node in graph.nodes],
        "outs": [[outs.start, outs.stop] for outs in graph.outs],
        "ignored": [sorted(each) for each in graph.ignored],
        "dtypes": [str(dtype) for dtype in graph.dtypes],
        **{name: getattr(graph, name) for name in GRAPH},
    }


def engine_record() -> Record:
    """One step on the CPU and the virtual clock, its batch in four parts."""
    with mx.knobs(MINIMX_CLOCK="virtual", MXNET_CPU_WORKER_NTHREADS=2):
        return trained(mx.cpu(), BATCHES[:1], parts=4)[1]


def engine(folder: Path) -> dict[str, Any]:
    """What the page of the engine needs: operations, what they wait for, and times."""
    record = engine_record()
    record.save(folder / "engine.npz")
    found = Operations.of(record)
    assert not found.copies and not found.naive, "pages schedule one device's work"
    names = (ENGINE, WORKERS)
    values = record.conditions.knobs
    alone = rerun(record, MXNET_ENGINE_TYPE="NaiveEngine")
    return {
        **{name: getattr(found, name) for name in OPERATIONS},
        "before": [list(each) for each in found.before],
        "overheads": list(found.overheads),
        "knobs": {name: values[name] for name in names},
        "longest": alone.schedule.makespan,
    }


#: By page: makes what it is about, in a folder where readers find records, and returns
#: what the page needs of it.
KEPT: dict[str, Callable[[Path], dict[str, Any]]] = {
    "pool": pool,
    "planner": planner,
    "engine": engine,
}
