"""A training that writes a checkpoint after each step, and goes on from the newest.

    checkpoints.py FOLDER [kill STEP]     (rank 1 is killed in the middle of that step)

A checkpoint is a folder with weights, states of the trainer and the step in its name.
It is written beside and renamed when it is whole. Random numbers are seeded anew for
each step and rank, and data follows from the step, so that nothing else has to be kept.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np

import minimx as mx
from minimx import autograd, gluon, nd
from minimx.gluon import nn

STEPS, BATCH = 8, 8


def network() -> Any:
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(16, activation="tanh", in_units=6), nn.Dropout(0.3))
        net.add(nn.Dense(3, in_units=16))
    mx.random.seed(3)
    net.initialize(mx.init.Xavier())
    return net


def save(folder: Path, step: int, net: Any, trainer: Any) -> None:
    whole = folder / f"{step:04}"
    part = folder / f"{step:04}.part"
    part.mkdir()
    net.save_parameters(str(part / "weights"))
    trainer.save_states(str(part / "states"))
    part.rename(whole)


def resume(folder: Path, net: Any, trainer: Any) -> int:
    """Load the newest checkpoint; returns the step that comes next."""
    found = sorted(one for one in folder.iterdir() if one.name.isdigit())
    if not found:
        return 0
    net.load_parameters(str(found[-1] / "weights"))
    trainer.load_states(str(found[-1] / "states"))
    return int(found[-1].name) + 1


def main(folder: Path, kill: int = -1) -> None:
    kv = mx.kv.create("dist_sync")
    sys.stdout.write(f"process {os.getpid()}\n")
    sys.stdout.flush()
    net = network()
    slower = mx.lr_scheduler.FactorScheduler(step=3, factor=0.5)
    settings = {"learning_rate": 0.2, "momentum": 0.9, "lr_scheduler": slower}
    trainer = gluon.Trainer(net.collect_params(), "sgd", settings, kvstore=kv)
    loss_of = gluon.loss.L2Loss()
    first = resume(folder, net, trainer)
    sys.stdout.write(f"begins with step {first}\n")
    for step in range(first, STEPS):
        draw = np.random.default_rng(100 * step + kv.rank)
        mx.random.seed(100 * step + kv.rank)
        x = nd.array(draw.normal(size=(BATCH, 6)).astype("float32"))
        with autograd.record():
            loss = loss_of(net(x), x[:, :3])
        loss.backward()
        if step == kill and kv.rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        trainer.step(BATCH * kv.num_workers)
        nd.waitall()
        if kv.rank == 0:
            save(folder, step, net, trainer)
    weights = {k: v.data().asnumpy() for k, v in net.collect_params().items()}
    np.savez(folder / f"final-{kv.rank}.npz", **weights)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[3]) if "kill" in sys.argv else -1)
