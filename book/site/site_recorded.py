"""A training of LeNet, recorded for the pages on which a reader turns knobs.

    data = KEPT["pool"](folder)

makes the record of the pool's page, saves it in the folder, where readers find it, and
returns what the page needs of it, as JSON has it. Operations run one after the other,
or on the virtual clock, so that nothing depends on the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from turning.pool import MEMORY

import minimx as mx
from minimx import autograd, gluon
from minimx.core.record import Record
from minimx.core.replay import Steps
from minimx.core.storage.policy import BYPASS, knob_names
from minimx_widgets.training.networks import lenet

#: Images of the batches: the last one of an epoch is smaller.
BATCHES = (64, 64, 40, 64, 64, 40)
SIDE, CLASSES = 28, 10


def trained(device: Any, batches: Iterable[int], hybrid: bool = False) -> Record:
    """The record of some steps of LeNet on random images, one for each batch size."""
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
            with autograd.record():
                loss = loss_of(net(images), labels)
            loss.backward()
            trainer.step(count)
            del images, labels, loss
        mx.nd.waitall()
    return record


def pool_record() -> Record:
    """On a simulated GPU of 64 MiB, one operation after the other."""
    with (
        mx.knobs(MXNET_ENGINE_TYPE="NaiveEngine", MINIMX_SIM_GPU_MEMORY="1MiB"),
        mx.knobs(MINIMX_SIM_GPU_MEMORY="64MiB"),
    ):
        return trained(mx.gpu(0), BATCHES)


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


#: By page: makes a record in a folder, and returns what the page needs of it.
KEPT: dict[str, Callable[[Path], dict[str, Any]]] = {"pool": pool}
