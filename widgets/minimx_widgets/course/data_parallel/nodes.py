"""Two nodes that train one network: with or without what keeps them equal.

Both are in this process, so that everything can be looked at: node k is `cpu(k)`, with
weights and an optimizer of its own and its own half of each batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

import minimx as mx
from minimx import autograd, gluon, kvstore, nd
from minimx.core.device import cpu

STEPS: Final = 10
EXAMPLES: Final = 16  # of each node, a step


@dataclass(frozen=True)
class Nodes:
    """How two nodes trained.

    at_start, at_end: the largest difference of a weight between them. losses: of each
    node, by step.
    """

    at_start: float
    at_end: float
    losses: tuple[tuple[float, float], ...]

    def __repr__(self) -> str:
        return (
            f"Nodes({len(self.losses)} steps; weights differ by at most "
            f"{self.at_start:.2g} at the start, {self.at_end:.2g} at the end)"
        )


def two_nodes(
    seeds: tuple[int, int] = (1, 1),
    add: bool = True,
    broadcast: bool = True,
    same_data: bool = False,
    steps: int = STEPS,
) -> Nodes:
    """Train one network on two nodes, from the same seed of data.

    seeds: from which each draws its first weights. add: whether gradients are summed by
    a store, as they should be. broadcast: whether node 0 sends its weights first.
    same_data: whether both draw the same examples, as nodes do whose seeds are equal
    and whose data was not split.
    """
    store = kvstore.create("device")
    nets = [_network(seed, cpu(k)) for k, seed in enumerate(seeds)]
    weights = [[one.data() for one in _parameters(net)] for net in nets]
    for key, pair in enumerate(zip(*weights, strict=True)):
        store.init(key, pair[0])
        if broadcast:
            store.pull(key, out=list(pair))
    at_start = _apart(weights)
    updaters = [mx.optimizer.get_updater(mx.optimizer.SGD(0.1)) for _ in nets]
    draw = np.random.default_rng(13)
    losses = []
    for _ in range(steps):
        x = draw.normal(size=(2, EXAMPLES, 4)).astype("float32")
        if same_data:
            x[1] = x[0]
        losses.append(_backward(nets, x))
        _update(nets, store if add else None, updaters)
    return Nodes(at_start, _apart(weights), tuple(losses))


def _network(seed: int, device: Any) -> Any:
    mx.random.seed(seed)
    net = gluon.nn.HybridSequential()
    net.add(
        gluon.nn.Dense(8, in_units=4, activation="tanh"), gluon.nn.Dense(1, in_units=8)
    )
    net.initialize(mx.init.Xavier(), ctx=device)
    return net


def _parameters(net: Any) -> list[Any]:
    return list(net.collect_params().values())


def _apart(weights: Sequence[Sequence[Any]]) -> float:
    return max(
        float(np.abs(a.asnumpy() - b.asnumpy()).max())
        for a, b in zip(*weights, strict=True)
    )


def _backward(nets: Sequence[Any], data: Any) -> tuple[float, float]:
    """The losses of both nodes; their gradients are in their parameters."""
    losses = []
    for k, net in enumerate(nets):
        x = nd.array(data[k], ctx=cpu(k))
        with autograd.record():
            loss = ((net(x) - x.sum(axis=1, keepdims=True)) ** 2).mean() / len(nets)
        loss.backward()
        losses.append(float(loss.asscalar()))
    return losses[0], losses[1]


def _update(nets: Sequence[Any], store: Any, updaters: Sequence[Any]) -> None:
    parameters = zip(*(_parameters(net) for net in nets), strict=True)
    for key, pair in enumerate(parameters):
        gradients = [one.grad() for one in pair]
        if store is not None:
            store.pushpull(key, gradients)
        for one, gradient, update in zip(pair, gradients, updaters, strict=True):
            update(key, gradient, one.data())
