"""Recorded tapes for tests of the view that steps through them."""

from __future__ import annotations

from typing import Any

import minimx as mx
from minimx import nd
from minimx.core import autograd
from minimx.gluon import loss, nn
from minimx.tools.tape_watch import Watch


def mlp(prefix: str = "mlp_") -> Any:
    """784–256–10, as in the notebook."""
    net = nn.HybridSequential(prefix=prefix)
    with net.name_scope():
        net.add(nn.Dense(256, activation="relu", in_units=784))
        net.add(nn.Dense(10, in_units=256))
    net.initialize(mx.init.Constant(0.01))
    return net


def batch() -> tuple[Any, Any]:
    """64 images and their labels."""
    return nd.ones((64, 784)), nd.zeros((64,))


def walked(retain: bool = False, net: Any = None) -> Watch:
    """The tape of a batch, walked back."""
    net = net or mlp()
    x, y = batch()
    with Watch() as watch:
        with autograd.record():
            out = loss.SoftmaxCrossEntropyLoss(prefix="loss_")(net(x), y)
        out.backward(retain_graph=retain)
    return watch


def diamond() -> Watch:
    """x is squared, and the square is used twice."""
    x = nd.array([3.0])
    x.attach_grad()
    with Watch() as watch:
        with autograd.record():
            square = x * x
            out = square.exp() + square
        out.backward()
    return watch
