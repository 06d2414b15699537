"""A hybridized block shows what its graph became."""

from __future__ import annotations

from minimx import nd
from minimx.core import autograd
from minimx.core.knobs import knobs
from minimx.gluon import nn


def test_a_block_shows_what_its_graph_became_under_the_knobs_in_force() -> None:
    net = nn.HybridSequential()
    for _ in range(4):
        net.add(nn.Dense(16, in_units=16, activation="tanh"))
    net.initialize()
    net.hybridize()
    assert net.prepared is None

    def planned() -> int:
        with autograd.record():
            net(nd.ones((64, 16)))
        net(nd.ones((64, 16)))
        assert net.prepared is not None
        assert net.prepared.wanted, "it is the one for training"
        return net.prepared.plan.total

    shared = planned()
    with knobs(MXNET_BACKWARD_DO_MIRROR=True, MINIMX_MIRROR="best"):
        recomputed = planned()
    assert recomputed < shared
    assert planned() == shared
    net.hybridize(False)
    assert net.prepared is None
