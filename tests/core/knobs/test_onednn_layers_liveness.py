"""The knobs of oneDNN's dense and recurrent layers are alive, where it is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import nd
from minimx.core.knobs import knobs
from minimx.fast.onednn import library as dnnl
from minimx.fast.onednn.packed import packed
from minimx.gluon import nn
from tests.core.knobs.proofs import defaults, proves, turned

__all__ = ["defaults"]

pytestmark = pytest.mark.skipif(not dnnl.library(), reason="oneDNN is not installed")

AB = "MXNET_ONEDNN_FORCE_FC_AB_FORMAT"


def alone(net: Any, x: Any) -> Any:
    """What the readable kernels make of it."""
    with knobs(MXNET_ONEDNN_ENABLED=0):
        return net(x).asnumpy()


def dense() -> tuple[Any, Any]:
    """A hybridized dense layer, and its data."""
    net = nn.HybridSequential()
    net.add(nn.Dense(512, in_units=512, use_bias=False))
    net.initialize(mx.init.Xavier())
    net.hybridize(static_alloc=True, static_shape=True)
    return net, nd.random.normal(shape=(32, 512))


@proves(AB)
def test_dense_weights_stay_in_plain_order() -> None:
    """The copy in a packed layout is gone at once, and comes back."""
    net, x = dense()
    wanted = alone(net, x)

    def observed() -> int:
        for _ in range(3):
            np.testing.assert_allclose(net(x).asnumpy(), wanted, 1e-4, 1e-4)
        return packed.nbytes()

    plain = 512 * 512 * 4
    (before, during) = turned(observed, **{AB: 1})
    assert plain <= before <= 1.1 * plain
    assert during == 0
