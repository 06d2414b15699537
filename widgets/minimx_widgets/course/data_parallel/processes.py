"""Real processes: a small training that runs alone or as a rank, and what ranks say.

alone = train()
with mx.cluster(n=2) as cluster:
    both = cluster.run(train)
compared(alone, both)
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

import minimx as mx

BATCH: Final = 16
_WARNING: Final = re.compile(r"the ranks of this job differ.*")


@dataclass(frozen=True)
class Trained:
    """What a process has after a training.

    losses: the sum over its examples, by step. first, last: its weights, in one vector,
    before the store knew them and after the last step.
    """

    losses: tuple[float, ...]
    first: Any
    last: Any


def train(steps: int = 20, add: bool = True, seed_by_rank: bool = False) -> Trained:
    """Train on this rank's share of each batch; alone, on all of it.

    add: whether the store `dist_sync` adds the gradients of all ranks. seed_by_rank:
    whether each rank draws its first weights from a seed of its own.
    """
    kv = mx.kv.create("dist_sync")
    mx.random.seed(5 + (kv.rank if seed_by_rank else 0))
    net = mx.gluon.nn.HybridSequential()
    net.add(
        mx.gluon.nn.Dense(8, in_units=4, activation="tanh"),
        mx.gluon.nn.Dense(1, in_units=8),
    )
    net.initialize(mx.init.Xavier())
    weights = list(net.collect_params().values())
    first = _vector(weights)
    trainer = mx.gluon.Trainer(
        net.collect_params(),
        "sgd",
        {"learning_rate": 0.05, "momentum": 0.9},
        kvstore=kv if add else None,
    )
    draw = np.random.default_rng(1)
    losses = []
    for _ in range(steps):
        batch = draw.normal(size=(BATCH, 4)).astype("float32")
        x = mx.nd.array(batch[kv.rank :: kv.num_workers])  # every rank takes its share
        with mx.autograd.record():
            loss = ((net(x) - x.sum(axis=1, keepdims=True)) ** 2).sum()
        loss.backward()
        trainer.step(BATCH)
        losses.append(float(loss.asscalar()))
    return Trained(tuple(losses), first, _vector(weights))


def _vector(weights: Sequence[Any]) -> Any:
    return np.concatenate([one.data().asnumpy().ravel() for one in weights])


@dataclass(frozen=True)
class Compared:
    """Ranks that trained together, and one process that trained alone.

    ranks: how many. apart_first, apart_last: the largest difference of a weight between
    ranks, before and after. off: the largest difference of a loss, added over ranks,
    from that of the single process, as a share of the largest loss. Numbers are added
    in other orders, so it is not zero.
    """

    ranks: int
    apart_first: float
    apart_last: float
    off: float

    def __repr__(self) -> str:
        same = "the same to the bit"
        first, last = (
            same if one == 0 else f"up to {one:.2g} apart"
            for one in (self.apart_first, self.apart_last)
        )
        loss = "as" if self.off < 1e-6 else "not as"
        return (
            f"{self.ranks} ranks: weights {first} at first, {last} at last; the loss "
            f"is {loss} in one process"
        )


def compared(alone: Trained, ranks: Sequence[Trained]) -> Compared:
    """Compare ranks with each other, and their loss with that of one process."""
    first, last = (
        max(float(np.abs(one - other).max()) for one in vectors for other in vectors)
        for vectors in ([one.first for one in ranks], [one.last for one in ranks])
    )
    total = np.sum([one.losses for one in ranks], axis=0)
    off = float(np.max(np.abs(total - alone.losses)) / np.max(alone.losses))
    return Compared(len(ranks), first, last, off)


def differences_named(
    n: int = 2, knobs_of: Mapping[int, Mapping[str, object]] | None = None
) -> list[str]:
    """What real ranks say to each other's settings when their job begins.

    knobs_of: knobs of single ranks. Empty where they do not differ.
    """
    written = io.StringIO()
    with (
        contextlib.redirect_stdout(written),
        contextlib.redirect_stderr(written),
        mx.cluster(n, knobs_of=knobs_of) as cluster,
    ):
        cluster.run(_begin)
    return _WARNING.findall(written.getvalue())


def _begin() -> None:
    """Join the job, and compare."""
    mx.kv.create("dist_sync")
